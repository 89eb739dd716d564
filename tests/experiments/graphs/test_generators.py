from __future__ import annotations

import networkx
import numpy as np
import pytest

from ddgk.errors import ParameterError
from ddgk.graphs import to_networkx
from ddgk.io import karate_club
from experiments.graphs.generators import (
    FEWEST_NODES,
    configuration_model,
    degrees_of,
    generators,
    stochastic_blocks,
    thinned,
    watts_strogatz,
)

MAKERS = generators(degrees_of(karate_club()))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("n_nodes", [FEWEST_NODES, 203, 2001])
def test_sizes_and_mean_degrees(name, n_nodes):
    """Graph refuses loops and repeats, so what is made is simple."""
    graph = MAKERS[name](n_nodes, 3)
    assert graph.n_nodes == n_nodes
    assert graph.name == f"{name}-{n_nodes}-3"
    slack = 1.5 if n_nodes > 100 else 3.5
    assert 10 - slack < 2 * graph.n_edges / n_nodes < 11


@pytest.mark.parametrize("name", MAKERS)
def test_the_seed_names_the_graph(name):
    make = MAKERS[name]
    assert make(200, 5) == make(200, 5)
    assert len({make(200, seed).digest for seed in range(4)}) == 4


@pytest.mark.parametrize("name", MAKERS)
def test_refusals(name):
    with pytest.raises(ParameterError, match=f"at least {FEWEST_NODES}"):
        MAKERS[name](FEWEST_NODES - 1, 0)
    with pytest.raises(ParameterError, match="negative"):
        MAKERS[name](100, -1)


def test_kinds_have_their_known_shapes():
    graphs = {name: make(2000, 1) for name, make in MAKERS.items()}
    degrees = {name: degrees_of(graph) for name, graph in graphs.items()}
    assert degrees["barabasi_albert"].min() == 5
    assert degrees["barabasi_albert"].max() > 100
    assert degrees["watts_strogatz"].max() < 20
    for name in ("blocks", "geometric"):  # Poisson: variance and mean agree
        assert degrees[name].var() == pytest.approx(10, rel=0.2)
    clustering = {n: networkx.average_clustering(to_networkx(g)) for n, g in graphs.items()}
    assert clustering["geometric"] == pytest.approx(0.5865, abs=0.03)  # 1 - 3 sqrt(3) / 4 pi
    assert clustering["watts_strogatz"] == pytest.approx(2 / 3 * 0.9**3, abs=0.05)
    assert clustering["blocks"] < 0.03


def test_small_worlds_keep_most_of_their_ring():
    near, far = watts_strogatz(2000, 1).edges.T
    around = np.minimum(far - near, 2000 - (far - near))
    assert (around > 5).mean() == pytest.approx(0.1, abs=0.015)


def test_a_node_has_four_of_five_neighbours_in_its_block():
    blocks = stochastic_blocks(2000, 1).edges // 400
    assert (blocks[:, 0] == blocks[:, 1]).mean() == pytest.approx(0.8, abs=0.02)
    counts = np.bincount(blocks[blocks[:, 0] == blocks[:, 1], 0])
    assert counts == pytest.approx([1600] * 5, rel=0.1)


def test_degrees_are_those_that_were_given():
    graph = configuration_model(5000, 2, degrees=[1, 1, 1, 5])  # scaled by 5
    found, counts = np.unique(degrees_of(graph), return_counts=True)
    assert counts[found <= 5].sum() == pytest.approx(3750, rel=0.03)
    assert counts[(found > 20) & (found <= 25)].sum() == pytest.approx(1250, rel=0.05)


@pytest.mark.parametrize("degrees", [[], [0, 0], [[1]], [-1, 3]])
def test_degrees_that_are_none(degrees):
    with pytest.raises(ParameterError, match="degrees"):
        configuration_model(100, degrees=degrees)


def test_thinned_graphs_are_parts():
    graph = watts_strogatz(100)
    kept = thinned(graph, 470, seed=1)
    assert kept.n_edges == 470
    assert set(map(tuple, kept.edges)) < set(map(tuple, graph.edges))
    assert thinned(graph, 470, seed=1) == kept
    assert thinned(graph, 470, seed=2) != kept
    assert thinned(graph, 500) is graph
