"""Which part of one graph corresponds to which part of the other: an alignment, coarsened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.alignment.encoding import Array, Integers, code_graphs
from ddgk.errors import ParameterError
from ddgk.graphs.graph import Graph, label_key
from ddgk.symmetry import canonical_order

if TYPE_CHECKING:
    from ddgk.alignment.result import Alignment

MOST_BLOCKS = 1 << 24  # entries of an attention between groups

# Labels node by node, {node: label}, or collections of nodes.
Groups = Sequence[Any] | Mapping[Hashable, Hashable] | NDArray[Any]


@dataclass(frozen=True)
class Grouping:
    """Nodes of a graph, each in one group.

    Attributes
    ----------
    codes : array of shape (n_nodes,)
        The group of every node, as a place in `names`.
    names : tuple
        What the groups are called.
    """

    codes: Integers
    names: tuple[Hashable, ...]

    @property
    def sizes(self) -> Integers:
        """Return how many nodes each group has, (n_groups,)."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.int64)

    def as_json(self, graph: Graph) -> list[dict[str, Any]]:
        """Return the name of each group and its nodes in a graph, as plain values."""
        found: list[dict[str, Any]] = [{"name": as_plain(name), "nodes": []} for name in self.names]
        for name, group in zip(graph.node_names, self.codes.tolist(), strict=True):
            found[group]["nodes"].append(as_plain(name))
        return found


@dataclass(frozen=True)
class GroupAlignment:
    """How groups of a target's nodes correspond to groups of a source's.

    Attributes
    ----------
    nodes : Alignment
        The alignment of the nodes that it belongs to.
    target_groups, source_groups : Grouping
    attention : array of shape (n_target_groups, n_source_groups)
        Where the nodes of each target group attend, on average; rows sum to 1.
    """

    nodes: Alignment
    target_groups: Grouping
    source_groups: Grouping
    attention: Array

    @cached_property
    def pairs(self) -> Integers:
        """Return the one-to-one matching, (n_matched, 2): target group, source group.

        It leaves as much as can be of the nodes' attention within matched groups. Groups that
        attend to what is left for them less than an even attention would have no partner.
        """
        from scipy.optimize import linear_sum_assignment

        mass = self.attention * self.target_groups.sizes[:, None]
        rows, columns = linear_sum_assignment(mass, maximize=True)
        even = self.source_groups.sizes[columns] / self.nodes.source.n_nodes
        meant = self.attention[rows, columns] > even - 1e-9
        return np.stack([rows[meant], columns[meant]], axis=1).astype(np.int64)

    @property
    def matching(self) -> dict[Hashable, Hashable]:
        """Return {target group: source group}; groups without a partner are left out."""
        return self.quotient.matching

    @property
    def confidence(self) -> dict[Hashable, float]:
        """Return which share of each matched target group's attention its partner has."""
        return self.quotient.confidence

    @property
    def share_within(self) -> float:
        """Return which share of all nodes' attention stays within matched groups."""
        sizes = self.target_groups.sizes
        t, s = self.pairs.T
        return float((self.attention[t, s] * sizes[t]).sum() / sizes.sum())

    @cached_property
    def quotient(self) -> Alignment:
        """Return the same as an alignment of two small graphs, whose nodes are the groups.

        Groups are joined where an edge runs between them; its weight is the share of all possible
        ones that there are.
        """
        target = shrink(self.nodes.target, self.target_groups)
        source = shrink(self.nodes.source, self.source_groups)
        sureness = self.attention[tuple(self.pairs.T)]
        return type(self.nodes)(target, source, self.pairs, self.attention, sureness)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values, names as text where they are not plain."""
        return {
            "target_groups": self.target_groups.as_json(self.nodes.target),
            "source_groups": self.source_groups.as_json(self.nodes.source),
            "matching": plain_pairs(self),
            "share_within": self.share_within,
            "attention": self.attention.tolist(),
        }


def coarsen(
    found: Alignment, target_groups: Groups | None = None, source_groups: Groups | None = None
) -> GroupAlignment:
    """Sum the attention between nodes to one between groups.

        Gamma[g, h] = 1 / |g| sum_{i in g} sum_{j in h} P[i, j]

    Nodes without attention do not count; a group of only such nodes attends evenly.
    """
    mine = group_nodes(found.target, target_groups, "target_groups")
    theirs = group_nodes(found.source, source_groups, "source_groups")
    shape = len(mine.names), len(theirs.names)
    if shape[0] * shape[1] > MOST_BLOCKS:
        raise ParameterError(
            f"{shape[0]:,} by {shape[1]:,} groups are more than an attention between groups can "
            "hold; give fewer groups, as coarsen(target_groups, source_groups)"
        )
    entries = sparse.coo_array(found.attention)
    summed = np.zeros(shape)
    np.add.at(summed, (mine.codes[entries.row], theirs.codes[entries.col]), entries.data)
    sums = summed.sum(axis=1, keepdims=True)
    even = np.broadcast_to(theirs.sizes / theirs.sizes.sum(), shape)
    attention = np.where(sums > 0, summed / np.where(sums > 0, sums, 1.0), even)
    return GroupAlignment(found, mine, theirs, attention)


def shrink(graph: Graph, groups: Grouping) -> Graph:
    """Return a graph of the groups; weights: the density of edges between two of them."""
    ends = np.sort(groups.codes[graph.edges], axis=1)
    between, counts = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0, return_counts=True)
    possible = groups.sizes[between].prod(axis=1)
    return Graph(
        len(groups.names),
        between,
        edge_weights=counts / possible if len(between) else None,
        node_names=groups.names,
        name=graph.name,
    )


def group_nodes(graph: Graph, given: Groups | None, called: str) -> Grouping:
    """Read groups however they are given; None finds communities. called: what to say in errors."""
    if given is None:
        return find_communities(graph)
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    of_nodes = all(isinstance(entry, list | set | frozenset) for entry in listed)
    if listed and of_nodes and not isinstance(given, Mapping):
        given = {name: code for code, members in enumerate(listed) for name in members}
        if len(given) < sum(map(len, listed)):
            name = Counter(name for members in listed for name in members).most_common(1)[0][0]
            raise ParameterError(f"{called}: node {name!r} is in more than one group")
    if isinstance(given, Mapping):
        missing = [name for name in graph.node_names if name not in given]
        unknown = set(given).difference(graph.node_names)
        if missing or unknown:
            what = f"has no node {missing[0]!r}" if missing else f"names node {unknown.pop()!r}"
            raise ParameterError(f"{called} {what}; it needs all {graph.n_nodes} of the graph")
        listed = [given[name] for name in graph.node_names]
    if len(listed) != graph.n_nodes:
        raise ParameterError(
            f"{called} has {len(listed)} labels; the graph has {graph.n_nodes} nodes "
            "(for groups of nodes give lists or sets)"
        )
    names = list(set(listed))
    try:
        names.sort()
    except TypeError:  # labels without an order of their own
        names.sort(key=label_key)
    place = {name: code for code, name in enumerate(names)}
    return Grouping(np.array([place[label] for label in listed], dtype=np.int64), tuple(names))


def find_communities(graph: Graph) -> Grouping:
    """Find communities by Louvain's method, the largest first.

    The nodes are visited in an order that their numbering does not change, so that a renumbered
    graph has the same communities wherever its structure fixes that order.
    """
    import networkx

    codes = code_graphs([graph], ["edge_weights"])[0]
    order = canonical_order(codes.colours, codes.arcs)
    place = np.argsort(order)
    whole = networkx.Graph()
    whole.add_nodes_from(range(graph.n_nodes))
    ends = np.sort(place[graph.edges], axis=1)
    for at in np.lexsort(ends.T[::-1]).tolist():
        whole.add_edge(*ends[at].tolist(), weight=float(codes.weights[at]))
    found = networkx.community.louvain_communities(whole, seed=0)
    groups = np.empty(graph.n_nodes, dtype=np.int64)
    for group, members in enumerate(sorted(found, key=lambda part: (-len(part), min(part)))):
        groups[order[sorted(members)]] = group
    return Grouping(groups, tuple(range(len(found))))


def as_plain(name: Hashable) -> Any:
    """Return a name as JSON can hold it."""
    return name if isinstance(name, str | int | float | bool | None) else str(name)


def plain_pairs(found: Alignment | GroupAlignment) -> list[dict[str, Any]]:
    """Return the pairs of a matching as plain values."""
    sure = found.confidence
    return [
        {"target": as_plain(t), "source": as_plain(s), "confidence": sure[t]}
        for t, s in found.matching.items()
    ]
