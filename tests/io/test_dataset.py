from __future__ import annotations

import pickle

import numpy as np

from ddgk.io import Dataset, karate_club
from experiments.graphs.synthetic import barbell


def make() -> Dataset:
    return Dataset([barbell(), karate_club()], np.array([3, 1]), "two")


def test_it_unpacks_to_exactly_graphs_and_classes():
    graphs, classes = make()
    assert [graph.name for graph in graphs] == ["barbell", "karate"]
    assert classes.tolist() == [3, 1]
    assert make().name == "two"


def test_a_pickled_copy_is_the_same():
    copy = pickle.loads(pickle.dumps(make()))
    assert copy.name == "two"
    assert copy.fingerprint == make().fingerprint


def test_the_fingerprint_sees_content_order_and_classes_but_no_names():
    graphs, classes = make()
    same = Dataset([graph.replace(name=None) for graph in graphs], classes, "other")
    assert same.fingerprint == make().fingerprint
    others = [
        Dataset(graphs[::-1], classes, "two"),
        Dataset(graphs, classes[::-1], "two"),
        Dataset(graphs, None, "two"),
        Dataset(graphs[:1], classes[:1], "two"),
    ]
    assert len({make().fingerprint, *(other.fingerprint for other in others)}) == 5


def test_it_prints_short():
    assert repr(make()) == "Dataset('two', graphs=2, classes=2)"
    assert repr(Dataset([barbell()], None, "one")) == "Dataset('one', graphs=1, classes=0)"
