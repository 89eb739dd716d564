"""Measures without classes, networks by kind, the 30 graphs, the attention experiment's helpers."""

import numpy as np
import pytest

from ddgk import Graph
from ddgk.graphs import from_smiles
from experiments import attention, clustering, families, neighbours
from experiments.data import (
    FAMILIES,
    GraphSet,
    PropertySet,
    barbell,
    karate_club,
    load_properties,
)


def ring(n, labels):
    return Graph(n, [(i, (i + 1) % n) for i in range(n)], node_labels=labels)


def star(n, labels):
    return Graph(n, [(0, i) for i in range(1, n)], node_labels=labels)


def test_agreement_shares_places_among_ties():
    apart = np.ones((4, 4)) - np.eye(4)
    assert neighbours.agreement(apart, [0, 0, 1, 1], 1) == pytest.approx(1 / 3)


def test_distances_that_are_size_differences_are_noticed():
    sizes = np.array([3.0, 4, 7, 9, 20])
    apart = np.abs(sizes[:, None] - sizes)
    found = neighbours.measure_distances(apart, [0, 0, 0, 1, 1], sizes, 1)
    assert found["size"] == pytest.approx(1.0)
    assert found["agreement"] == pytest.approx(3 / 5), "7 is nearer to 9 than to 4"


def test_fingerprints_of_equal_environments_are_equal():
    graphs = [ring(6, "CCCCCC"), ring(7, "CCCCCCC"), ring(6, "CCCCCN"), star(4, "NOOO")]
    apart = neighbours.fingerprint_distances(graphs)
    assert apart[0, 1] == 0, "rings of one label have one environment at every radius"
    assert 0 < apart[0, 2] < 1
    assert apart[0, 3] == 1


def test_fingerprints_read_bonds():
    single, double = (Graph(2, [(0, 1)], node_labels="CO", edge_labels=[label]) for label in (1, 2))
    assert neighbours.fingerprint_distances([single, double])[0, 1] > 0


def test_baselines_find_rings_and_stars(rings_and_stars):
    only = ("WL kernel", "WL-OA", "WWL", "NetLSD", "nodes and edges")
    found = neighbours.measure(rings_and_stars, only=only)
    assert set(found["rows"]) == set(only)
    assert found["chance"] == pytest.approx(11 / 23)
    for title in ("WL-OA", "WWL"):
        assert found["rows"][title]["agreement"] > 0.7
        assert found["rows"][title]["adjusted_rand"] == pytest.approx(1.0)


def test_a_property_differs_less_among_neighbours_that_follow_it():
    values = np.arange(12.0)
    apart = np.abs(values[:, None] - values)
    over_all_pairs = np.mean([j - i for i in range(12) for j in range(i + 1, 12)])
    found = neighbours.property_difference(apart, values, 1)
    assert found == pytest.approx(1 / over_all_pairs)
    ties = np.ones((12, 12)) - np.eye(12)
    assert neighbours.property_difference(ties, values, 3) == pytest.approx(1.0)


def test_molecules_with_a_property_have_a_table_of_their_own(rings_and_stars):
    pytest.importorskip("rdkit", reason="reads molecules")
    smiles = ["C" * n for n in range(2, 9)] + ["O" + "C" * n for n in range(2, 9)]
    values = np.array([n + 10.0 * (text[0] == "O") for n, text in enumerate(smiles)])
    chains = PropertySet("chains", [from_smiles(one) for one in smiles], smiles, values, "value")
    only = ("WL kernel", "Morgan, Tanimoto")
    found = neighbours.measure(chains, only=only)
    assert (found["k"], found["n_graphs"], set(found["rows"])) == (10, 14, set(only))
    assert all(0 < row["difference"] < 1 for row in found["rows"].values())
    classes = neighbours.measure(rings_and_stars, only=("WL kernel",))
    text = neighbours.table([classes, found])
    cell = f"{found['rows']['WL kernel']['difference']:.3f}"
    assert f"| WL kernel | {cell} / " in text
    assert f"| WL kernel | {classes['rows']['WL kernel']['agreement']:.3f} / " in text
    both = neighbours.table([classes, classes | {"rows": {"WL-OA": classes["rows"]["WL kernel"]}}])
    assert [line.count("|") for line in both.splitlines() if line.startswith("| WL")] == [5, 5]
    assert "mean" in both


@pytest.mark.parametrize(("name", "n"), [("ESOL", 1128), ("ZINC", 2000)])
def test_sets_with_a_property_are_the_same_every_time(name, n):
    pytest.importorskip("rdkit", reason="reads molecules")
    try:
        one = load_properties(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert len(one.graphs) == len(one.smiles) == len(one.values) == n
    assert one.graphs[-1].n_nodes == from_smiles(one.smiles[-1]).n_nodes
    assert load_properties(name).smiles == one.smiles


def test_perfect_families_have_all_members_and_no_other():
    classes = np.repeat([0, 1, 2], 2)
    clusters = np.array([1, 1, 2, 2, 2, 3])
    assert clustering.perfect_families(clusters, classes, "abc") == ["a"]


def test_nearest_is_own():
    apart = np.array([[0.0, 1, 5], [1, 0, 5], [4, 5, 0]])
    found = families.nearest_is_own(apart, ["x", "x", "y"])
    assert found["share"] == pytest.approx(2 / 3)
    assert found["by_kind"] == {"x": 1.0, "y": 0.0}


def test_rewiring_keeps_the_number_of_edges():
    club = karate_club()
    other = attention.rewire(club, 0.1, 0)
    before, after = ({tuple(e) for e in g.edges.tolist()} for g in (club, other))
    assert other.n_edges == club.n_edges
    assert len(before - after) == 8


def test_symmetries_of_barbells():
    counts = [attention.count_symmetries(barbell(**labels)) for labels in attention.LABELS.values()]
    assert counts == [8, 4, 1]


def test_sets_know_their_sizes():
    data = GraphSet("few", [FAMILIES["ring"](4), FAMILIES["ring"](5)], np.array([0, 1]))
    assert len(data.fingerprint) == 16
