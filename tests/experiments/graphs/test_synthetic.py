from __future__ import annotations

from collections import Counter
from itertools import combinations

import networkx
import pytest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_edge_match

from ddgk.errors import ParameterError
from ddgk.graphs import Graph, to_networkx
from experiments.graphs.synthetic import FAMILIES, barbell


def symmetries(graph: Graph) -> list[dict[int, int]]:
    """All automorphisms that preserve node and edge labels, by exhaustive search."""
    made = to_networkx(graph)
    matcher = GraphMatcher(
        made,
        made,
        node_match=lambda a, b: a.get("label") == b.get("label"),
        edge_match=categorical_edge_match("label", None),
    )
    return list(matcher.isomorphisms_iter())


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_how_labels_break_the_symmetries_of_a_barbell(size: int):
    assert len(symmetries(barbell(size))) == 8
    assert len(symmetries(barbell(size, node_labels=True))) == 4
    identity = {node: node for node in range(2 * size)}
    assert symmetries(barbell(size, edge_labels=True)) == [identity]
    assert symmetries(barbell(size, node_labels=True, edge_labels=True)) == [identity]


@pytest.mark.parametrize("size", [3, 5, 8])
def test_every_node_of_a_barbell_sees_edge_labels_of_its_own(size: int):
    graph = barbell(size, edge_labels=True)
    seen: list[Counter[object]] = [Counter() for _ in range(graph.n_nodes)]
    for (u, v), label in zip(graph.edges.tolist(), graph.edge_labels, strict=True):
        seen[u][label] += 1
        seen[v][label] += 1
    assert all(one != other for one, other in combinations(seen, 2))


def test_the_barbell_of_the_paper():
    graph = barbell(node_labels=True)
    assert (graph.n_nodes, graph.n_edges) == (10, 11)
    assert [0, 5] in graph.edges.tolist()
    assert graph.node_labels == (0,) * 5 + (1,) * 5
    with pytest.raises(ParameterError, match="at least 3"):
        barbell(2)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_makes_what_it_says(name: str):
    family = FAMILIES[name]
    assert family.name == name
    for n in range(family.minimum, family.minimum + 30):
        graph = family(n)
        assert family.minimum <= graph.n_nodes <= n
        assert graph.n_nodes > 0.6 * n
        assert graph.name.startswith(f"{name}-{graph.n_nodes}")
        assert graph.node_labels is None
        assert graph.edge_labels is None
    with pytest.raises(ParameterError, match=f"{name} needs n of at least {family.minimum}"):
        family(family.minimum - 1)
    with pytest.raises(ParameterError, match="seed must not be negative"):
        family(30, seed=-1)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_seed_names_the_graph(name: str):
    family = FAMILIES[name]
    assert family(40, seed=5) == family(40, seed=5)
    different = {family(40, seed=seed).digest for seed in range(4)}
    assert len(different) == (4 if family.is_random else 1)


def test_families_have_their_known_shapes():
    def same(name: str, n: int, other: networkx.Graph) -> bool:
        return networkx.is_isomorphic(to_networkx(FAMILIES[name](n)), other)

    assert same("petersen", 10, networkx.petersen_graph())
    assert same("grid", 12, networkx.grid_2d_graph(3, 4))
    assert same("ring", 7, networkx.cycle_graph(7))
    assert same("barbell", 10, to_networkx(barbell()))
    assert FAMILIES["windmill"](9).n_edges == 12
    assert networkx.is_tree(to_networkx(FAMILIES["random_tree"](30, seed=2)))
    regular = to_networkx(FAMILIES["random_regular"](31, seed=2))
    assert {degree for _, degree in regular.degree()} == {3}
