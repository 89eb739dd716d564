"""Two graphs as arrays: arcs with kinds and weights, label codes, structural node features."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ddgk.compiling import compiled
from ddgk.graphs.graph import Graph, label_key
from ddgk.hashing import scramble
from ddgk.symmetry import Arcs

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

HOPS = 3  # how far node features look
LEAST_STRENGTH = 4e-4  # principal directions weaker than this share of the strongest are dropped
HASH_COLUMNS = 4  # columns that a label is hashed to
THREADS = ThreadpoolController()  # of linear algebra; finding them takes milliseconds
DIGITS = 6  # of features that count, so that rounding does not tell equal nodes apart


class Network(NamedTuple):
    """One graph in compressed rows; every edge is two arcs."""

    starts: Integers  # arcs of node i stand at starts[i]..starts[i + 1]
    heads: Integers  # ascending
    kinds: Integers  # twice the code of the edge label, plus 1 for the reverse of a directed edge
    weights: Array
    labels: Integers  # codes
    features: Array  # (n_nodes, q); node attributes until `describe_nodes` makes features of them

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.starts) - 1

    @property
    def degrees(self) -> Integers:
        """Number of arcs of each node, (n_nodes,)."""
        return np.diff(self.starts)

    @property
    def tails(self) -> Integers:
        """The node at which each arc starts, (n_arcs,)."""
        return np.repeat(np.arange(self.n_nodes), self.degrees)


class Codes(NamedTuple):
    """A graph as it is numbered."""

    colours: Integers  # tell labels and attributes of nodes apart
    arcs: Arcs  # their codes tell kinds and weights apart
    kinds: Integers
    weights: Array
    labels: Integers
    attributes: Array


def shared_attributes(graphs: Sequence[Graph], labels: str) -> tuple[str, ...]:
    """Return the names of what all graphs carry; labels="ignore" leaves labels out."""
    names = ["node_labels", "edge_labels", "node_attributes", "edge_weights"]
    used = []
    for name in names[2 * (labels == "ignore") :]:
        given = [getattr(g, name) for g in graphs if g.n_edges or name.startswith("node")]
        widths = {getattr(values, "shape", ())[1:] for values in given}
        if all(values is not None for values in given) and len(widths) == 1:
            used.append(name)
    return tuple(used)


def code_graphs(graphs: Sequence[Graph], used: Sequence[str]) -> list[Codes]:
    """Give equal labels, attributes and weights equal codes in all graphs."""

    def carried(name: str, otherwise: Callable[[Graph], Any]) -> list[Any]:
        given = [getattr(graph, name) if name in used else None for graph in graphs]
        return [otherwise(g) if own is None else own for g, own in zip(graphs, given, strict=True)]

    nodes = _code_labels(carried("node_labels", lambda graph: (None,) * graph.n_nodes))
    edges = _code_labels(carried("edge_labels", lambda graph: (None,) * graph.n_edges))
    attributes = carried("node_attributes", lambda graph: np.zeros((graph.n_nodes, 0)))
    weights = carried("edge_weights", lambda graph: np.ones(graph.n_edges))
    known, n_known = _code_rows([np.nan_to_num(rows, nan=np.inf) + 0.0 for rows in attributes])
    levels, n_levels = _code_rows(weights)
    coded = []
    for place, graph in enumerate(graphs):
        colours = nodes[place] * n_known + known[place]
        tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
        kinds = np.concatenate([2 * edges[place], 2 * edges[place] + graph.directed])
        arcs = Arcs(tails, heads, kinds * n_levels + np.tile(levels[place], 2))
        doubled = np.tile(weights[place], 2)
        coded.append(Codes(colours, arcs, kinds, doubled, nodes[place], attributes[place]))
    return coded


def _code_labels(given: Sequence[Sequence[Hashable]]) -> list[Integers]:
    """Code the labels of each graph by their order in all."""
    known = sorted(set().union(*given), key=label_key)
    code = {label: place for place, label in enumerate(known)}
    return [np.array([code[label] for label in labels], dtype=np.int64) for labels in given]


def _code_rows(parts: Sequence[Array]) -> tuple[list[Integers], int]:
    """Code numbers, or rows of numbers, by their order in all parts; return how many there are."""
    found, codes = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
    return np.split(codes.reshape(-1), np.cumsum([len(part) for part in parts])[:-1]), len(found)


def make_network(codes: Codes, order: Integers) -> Network:
    """Put a graph into arrays, its nodes in this order; without features."""
    place = np.argsort(order)
    tails, heads = place[codes.arcs.tails], place[codes.arcs.heads]
    by_tail = np.lexsort((codes.kinds, heads, tails))
    starts = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=len(order)), out=starts[1:])
    arcs = heads[by_tail], codes.kinds[by_tail], codes.weights[by_tail]
    return Network(starts, *arcs, codes.labels[order], codes.attributes[order])


def describe_nodes(*networks: Network) -> list[Network]:
    """Add features: degree, triangles, labels and attributes of nodes and of those around them.

    Means and standard deviations over neighbours, up to three hops, whitened. Structural columns
    are centred graph by graph, so that a graph with fewer edges throughout is not a different one.
    """
    labelled = any(network.labels.any() for network in networks)
    mixed = any(network.kinds.any() for network in networks)
    weighted = any((network.weights != 1.0).any() for network in networks)
    given = [np.nan_to_num(own) for own in _standardised([g.features for g in networks])]
    stacks = []
    for network, attributes in zip(networks, given, strict=True):
        parts = [_structure(network)]
        if weighted:
            parts.append(_around(network, network.weights[:, None]))
        if labelled:
            parts.append(_hashed(network.labels))
        if mixed:
            parts.append(_around(network, _hashed(network.kinds)))
        own = last = np.hstack([*parts, attributes])
        parts, n_own = [own], own.shape[1]
        for _ in range(HOPS):
            near = _around(network, last[network.heads])
            spread = _around(network, last[network.heads, :3] ** 2) - near[:, :3] ** 2
            parts += [near, np.sqrt(np.maximum(spread, 0.0))]
            last = np.hstack([near[:, :n_own], parts[-1]])
        stack = np.hstack(parts)
        for columns in (slice(3 + weighted), slice(n_own, None)):
            stack[:, columns] -= stack[:, columns].mean(axis=0)
        stacks.append(stack)
    whole = np.concatenate(_standardised(stacks))
    with THREADS.limit(limits=1):  # matrices are small; threads would only wait
        strengths, directions = np.linalg.eigh(whole.T @ whole / len(whole))
        kept = strengths > LEAST_STRENGTH * max(float(strengths.max()), 1e-12)
        features = np.round(whole @ (directions[:, kept] / np.sqrt(strengths[kept])), DIGITS)
    # Attributes count as themselves too, not only by what is around.
    features = np.hstack([features, np.concatenate(given)])
    if not features.shape[1]:
        features = np.zeros((len(whole), 1))
    split = np.split(features, [networks[0].n_nodes])
    return [g._replace(features=own) for g, own in zip(networks, split, strict=True)]


def _structure(network: Network) -> Array:
    """Return degree, triangles, and the share of pairs of neighbours that are joined, (n, 3)."""
    degrees = network.degrees.astype(np.float64)
    ranks = np.argsort(np.argsort(degrees, kind="stable"))
    triangles = count_triangles(network.starts, network.heads, ranks).astype(np.float64)
    closed = triangles / np.maximum(degrees * (degrees - 1) / 2, 1.0)
    return np.stack([np.log1p(degrees), np.log1p(triangles), closed], axis=1)


@compiled
def count_triangles(starts: Integers, heads: Integers, ranks: Integers) -> Integers:
    """Count the triangles at every node, (n,), each at its node of least rank (by degree)."""
    n_nodes = len(starts) - 1
    found = np.zeros(n_nodes, dtype=np.int64)
    seen = np.full(n_nodes, -1, dtype=np.int64)
    for node in range(n_nodes):
        for near in heads[starts[node] : starts[node + 1]]:
            seen[near] = node
        for near in heads[starts[node] : starts[node + 1]]:
            if ranks[near] > ranks[node]:
                for far in heads[starts[near] : starts[near + 1]]:
                    if ranks[far] > ranks[near] and seen[far] == node:
                        found[node] += 1
                        found[near] += 1
                        found[far] += 1
    return found


def _around(network: Network, values: Array) -> Array:
    """Average over the arcs of every node; values: (n_arcs, q)."""
    sums = np.zeros((network.n_nodes, values.shape[1]))
    filled = np.flatnonzero(network.degrees)
    if len(filled):
        sums[filled] = np.add.reduceat(values, network.starts[filled], axis=0)
    return sums / np.maximum(network.degrees, 1)[:, None]


def _hashed(codes: Integers) -> Array:
    salts = scramble(np.arange(HASH_COLUMNS, dtype=np.uint64))
    return np.asarray(scramble(codes.astype(np.uint64)[:, None] ^ salts) / 2.0**64)


def _standardised(values: Sequence[Array]) -> list[Array]:
    """Give every column mean 0 and standard deviation 1 over both graphs; constant ones are 0."""
    both = np.concatenate(values)
    spread, middle = np.nan_to_num(np.nanstd(both, axis=0)), np.nan_to_num(np.nanmean(both, axis=0))
    scale = np.where(spread > 1e-9, spread, np.inf)
    return [(own - middle) / scale for own in values]
