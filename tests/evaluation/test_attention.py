import numpy as np
import pytest

from ddgk.alignment import Alignment
from ddgk.datasets import barbell, karate_club
from ddgk.errors import ParameterError
from ddgk.evaluation import attention
from ddgk.graphs import Graph


def sure_alignment(target, source, **_):
    """Match nodes by their names, modulo the number of nodes, without any training."""
    n = target.n_nodes
    wanted = [name % n for name in source.node_names]
    found = np.array([[float(node == name) for name in wanted] for node in range(n)])
    return Alignment(target, source, found, 0.0, np.zeros(1))


@pytest.fixture
def _sure(monkeypatch):
    monkeypatch.setattr("ddgk.alignment.align", sure_alignment)


def test_symmetries_of_the_barbell():
    found = [attention.count_symmetries(barbell(**labels)) for labels in attention.LABELS.values()]
    assert found == [8, 4, 1]


def test_the_copy_is_shuffled_for_the_work_and_put_back_in_order(monkeypatch):
    seen = []

    def watched(target, source, **how):
        seen.append(source.node_names)
        return sure_alignment(target, source, **how)

    monkeypatch.setattr("ddgk.alignment.align", watched)
    for found in attention.align_barbells().values():
        np.testing.assert_array_equal(found.attention, np.eye(10))
        assert found.matching == {node: node + 10 for node in range(10)}
        assert found.is_isomorphism
    assert all(names != tuple(range(10, 20)) for names in seen)


@pytest.mark.usefixtures("_sure")
def test_who_is_right_is_counted():
    measured = {one.name: one for one in attention.attend()}
    assert [one.symmetries for one in measured.values()] == [8, 4, 1, None, None]
    assert measured["barbell, labels: none"].own_part == 1.0
    assert measured["karate, copy"].found.is_isomorphism
    assert measured["karate, copy"].right == 34
    rewired = measured["karate, 10% rewired"]
    assert (rewired.right, rewired.kept) == (34, 70)
    assert rewired.as_json()["edges_kept"] == 70


def test_a_wrong_match_is_not_counted(monkeypatch):
    def swapped(target, source, **how):
        found = sure_alignment(target, source, **how)
        return Alignment(target, source, np.roll(found.attention, 1, axis=0), 0.0, np.zeros(1))

    monkeypatch.setattr("ddgk.alignment.align", swapped)
    measured = attention.attend()
    assert measured[0].right == 0
    assert measured[0].own_part == pytest.approx(0.8)
    assert measured[3].right < 17


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_rewiring_keeps_the_number_of_edges(share):
    club = karate_club()
    other = attention.rewire(club, share, seed=1)
    kept = {tuple(e) for e in club.edges.tolist()} & {tuple(e) for e in other.edges.tolist()}
    assert other.n_edges == 78
    assert len(kept) == 78 - round(share * 78)


def test_what_cannot_be_rewired_is_refused():
    with pytest.raises(ParameterError, match="share must lie in"):
        attention.rewire(karate_club(), 1.5, 0)
    with pytest.raises(ParameterError, match="nowhere to go"):
        attention.rewire(Graph(3, [(0, 1), (1, 2), (0, 2)]), 0.5, 0)
