"""The estimate for big graphs against all eigenvalues."""

import numpy as np
import pytest

from ddgk import Graph
from experiments.baselines import netlsd as module
from experiments.baselines.netlsd import estimated_traces, exact_traces, heat_traces
from experiments.data import FAMILIES, degrees_of, generators, karate_club

MAKERS = generators(degrees_of(karate_club()))


@pytest.mark.parametrize("name", MAKERS)
def test_estimates_are_near(name):
    graph = MAKERS[name](400, 1)
    exact, estimate = exact_traces(graph), estimated_traces(graph, 0)
    assert estimate == pytest.approx(exact, rel=0.15)
    assert np.abs(estimate / exact - 1).mean() < 0.02
    early = module.TIMES < 1  # when the known moments say nearly all
    assert estimate[early] == pytest.approx(exact[early], rel=1e-3)


def test_other_kinds_are_farther_than_estimates_are_off():
    graphs = [make(400, 1) for make in MAKERS.values()]
    exact = np.array([exact_traces(graph) for graph in graphs])
    estimates = np.array([estimated_traces(graph, 0) for graph in graphs])
    apart = np.abs(np.log(estimates[:, None] / exact)).mean(axis=2)
    assert apart.argmin(axis=1).tolist() == list(range(len(graphs)))


@pytest.mark.parametrize(
    "graph",
    [
        FAMILIES["complete"](40),
        FAMILIES["star"](40),
        Graph(9, []),
        Graph(60, [(2 * i, 2 * i + 1) for i in range(25)]),  # pairs and isolated nodes
        Graph(80, [(i, (i + 1) % 40) for i in range(40)]),
    ],
)
def test_few_eigenvalues_are_found_exactly(graph):
    assert estimated_traces(graph, 0) == pytest.approx(exact_traces(graph), rel=0.06, abs=1e-9)


def test_zero_eigenvalues_are_counted_and_not_estimated():
    joined = MAKERS["watts_strogatz"](200, 0).edges
    graph = Graph(
        403, np.concatenate([joined, joined + 200])
    )  # two components, three isolated nodes
    assert estimated_traces(graph, 0)[-1] * 403 == pytest.approx(5, abs=0.3)


def test_big_graphs_are_estimated(monkeypatch):
    graphs = [MAKERS["watts_strogatz"](100, 0), MAKERS["watts_strogatz"](120, 0)]
    monkeypatch.setattr(module, "MAX_EXACT", 100)
    found = heat_traces(graphs, 4)
    assert found[0].tolist() == exact_traces(graphs[0]).tolist()
    assert found[1].tolist() == estimated_traces(graphs[1], 4).tolist()
    assert found[1].tolist() != estimated_traces(graphs[1], 5).tolist()


def test_heat_of_a_complete_graph():
    """Its normalised Laplacian has 0 once and n / (n - 1) otherwise."""
    (found,) = heat_traces([FAMILIES["complete"](5)], 0)
    assert found == pytest.approx((1 + 4 * np.exp(-module.TIMES * 5 / 4)) / 5)
