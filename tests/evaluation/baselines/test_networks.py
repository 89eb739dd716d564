"""The supervised network learns from classes, repeats, and is kept apart from what describes."""

import numpy as np
import pytest

from ddgk.datasets import FAMILIES
from ddgk.errors import ParameterError
from ddgk.evaluation.baselines import BASELINES, networks
from ddgk.evaluation.classification import Setting, row_names
from ddgk.evaluation.protocols import nested_accuracies
from ddgk.graphs import Graph


@pytest.fixture
def few_epochs(monkeypatch):
    pytest.importorskip("torch", reason="the network needs torch")
    pytest.importorskip("torch_geometric", reason="the network needs PyTorch Geometric")
    monkeypatch.setattr(networks, "EPOCHS", 25)


@pytest.fixture
def rings_and_stars():
    sizes = range(5, 17)
    graphs = [FAMILIES[kind](n) for kind in ("ring", "star") for n in sizes]
    return graphs, np.repeat([0, 1], len(sizes))


@pytest.mark.usefixtures("few_epochs")
def test_it_learns_and_repeats_on_any_number_of_threads(rings_and_stars):
    graphs, classes = rings_and_stars
    network = BASELINES["gin"].describe(graphs, 0)
    once = nested_accuracies(network, classes, repeats=1)
    assert once.mean() > 0.8
    np.testing.assert_array_equal(once, nested_accuracies(network, classes, repeats=1, n_jobs=2))


@pytest.mark.usefixtures("few_epochs")
def test_of_classes_dealt_at_random_it_learns_nothing(rings_and_stars):
    graphs, classes = rings_and_stars
    network = BASELINES["gin"].describe(graphs, 0)
    dealt = np.random.default_rng(0).permutation(classes)
    assert nested_accuracies(network, dealt, repeats=1).mean() < 0.8


@pytest.mark.usefixtures("few_epochs")
def test_labels_are_its_inputs_where_there_are_any():
    graphs = [Graph(2, [(0, 1)], node_labels="CO"), Graph(1, [], node_labels="N")]
    network = networks.isomorphism_network(graphs, 0)
    assert [rows.shape for rows in network.inputs] == [(2, 3), (1, 3)]
    assert network.arcs[0].tolist() == [[0, 1], [1, 0]]
    assert network.arcs[1].shape == (2, 0)


def test_it_is_measured_by_one_protocol_and_beside_nothing():
    with pytest.raises(ParameterError, match="nothing can be beside it"):
        Setting(beside=("gin",))
    with pytest.raises(ParameterError, match="'nested' only"):
        Setting(baselines=("gin",), protocol="paper")
    assert "gin" in row_names(Setting(baselines=("all",)))
    assert "gin" not in row_names(Setting(baselines=("all",), protocol="paper"))
    assert "ddgk+gin" not in row_names(Setting(beside=("all",)))
    assert "ddgk+wl" in row_names(Setting(beside=("wl",)))
    assert "ddgk+sizes" not in row_names(Setting(beside=("wl",)))
