from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ddgk import DDGK
from ddgk.store.models import load_model
from specimens import random_graph

QUICK = {"encoder_epochs": 50, "curve": (1, 5), "random_state": 0}


def encoder_of(graph, **changes):
    return DDGK(sources=[graph], **QUICK, **changes).fit([graph])._model.encoders[0]


def test_a_small_source_has_a_region_per_node():
    encoder = encoder_of(nx.path_graph(5))
    assert encoder.regions(16).tolist() == [0, 1, 2, 3, 4]
    assert encoder.regions(5).tolist() == [0, 1, 2, 3, 4]


def test_a_large_source_has_as_many_regions_as_asked_for():
    encoder = encoder_of(nx.barabasi_albert_graph(60, 2, seed=0))
    for n_regions in (1, 2, 16, 59):
        assert set(encoder.regions(n_regions).tolist()) == set(range(n_regions))


def test_nodes_of_one_label_share_regions():
    graph = nx.path_graph(40)
    nx.set_node_attributes(graph, {node: "ab"[node >= 20] for node in graph}, "label")
    model = DDGK(sources=[graph], **QUICK).fit([graph])
    encoder = model._model.encoders[0]
    labels = np.array([node < 20 for node in encoder.order])
    regions = encoder.regions(12)
    mixed = [r for r in range(12) if len(set(labels[regions == r].tolist())) > 1]
    assert len(mixed) <= 2


def test_regions_are_the_same_however_nodes_are_numbered_and_after_loading(tmp_path):
    graph = random_graph(3, labels=True)
    order = np.random.default_rng(0).permutation(graph.n_nodes)
    renumbered = encoder_of(graph.permuted(order), regions=4)
    model = DDGK(sources=[graph], **QUICK, regions=4).fit([graph])
    (encoder,) = model._model.encoders
    np.testing.assert_array_equal(encoder.regions(4), renumbered.regions(4))
    model.save(tmp_path / "m.ddgk")
    stored, _ = load_model(tmp_path / "m.ddgk")
    np.testing.assert_array_equal(stored.encoders[0].regions(4), encoder.regions(4))


@pytest.mark.parametrize(
    "changes", [{"encoder_drop": 0.3}, {"encoder_patience": 3}, {"encoder_decay": 0.1}], ids=str
)
def test_encoders_are_the_same_however_nodes_are_numbered(changes):
    """What is hidden goes by the canonical order, not by the numbers of nodes."""
    graph = random_graph(3, labels=True)
    order = np.random.default_rng(1).permutation(graph.n_nodes)
    one, other = (encoder_of(g, **changes).source.weights for g in (graph, graph.permuted(order)))
    assert not np.array_equal(one.table, encoder_of(graph).source.weights.table)
    np.testing.assert_array_equal(one.table, other.table)
    np.testing.assert_array_equal(one.output[0], other.output[0])
