"""Two graphs as arrays: arcs with kinds and weights, label codes, structural node features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ddgk.graphs.graph import Graph, label_key
from ddgk.hashing import scramble
from ddgk.symmetry import Arcs, canonical_order

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

HOPS = 3  # how far node features look
LEAST_STRENGTH = 4e-4  # principal directions weaker than this share of the strongest are dropped
HASH_COLUMNS = 4  # columns that a label is hashed to
DIGITS = 6  # of features that count, so that rounding does not tell equal nodes apart


class Network(NamedTuple):
    """One graph in compressed rows; every edge is two arcs.

    starts, heads: arcs of node i stand at starts[i]..starts[i + 1], heads ascending. kinds: twice
    the code of the edge label, plus 1 for the reverse of a directed edge. weights: of each arc.
    labels: code of each node's label. features: (n_nodes, q), squared distances count.
    """

    starts: Integers
    heads: Integers
    kinds: Integers
    weights: Array
    labels: Integers
    features: Array

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.starts) - 1


class Encoded(NamedTuple):
    """Both graphs, nodes in an order that does not depend on how they were numbered.

    used: names of what both carry and what therefore counts. orders: the caller's node at each
    place, of the target and of the source.
    """

    target: Network
    source: Network
    orders: tuple[Integers, Integers]
    used: tuple[str, ...]


class Codes(NamedTuple):
    """What is compared exactly.

    labels, colours: of every node; colours also tell attributes apart. arcs: with codes that tell
    kinds and weights apart. kinds, weights: of every arc, as in `Network`.
    """

    labels: Integers
    colours: Integers
    arcs: Arcs
    kinds: Integers
    weights: Array


def is_directed(graph: Graph) -> bool:
    """Say whether edges have a direction."""
    return bool(getattr(graph, "directed", False))


def shared_attributes(graphs: Sequence[Graph], labels: str) -> tuple[str, ...]:
    """Return the names of what all graphs carry; labels="ignore" leaves labels out."""

    def carried(graph: Graph, name: str) -> bool:
        return getattr(graph, name) is not None or (name.startswith("edge") and not graph.n_edges)

    names = ["node_labels", "edge_labels", "node_attributes", "edge_weights"]
    if labels == "ignore":
        names = names[2:]
    used = [name for name in names if all(carried(graph, name) for graph in graphs)]
    if "node_attributes" in used and len({g.node_attributes.shape[1] for g in graphs}) > 1:  # type: ignore[union-attr]
        used.remove("node_attributes")
    return tuple(name for name in used if any(getattr(graph, name) is not None for graph in graphs))


def code_graphs(graphs: Sequence[Graph], used: Sequence[str]) -> list[Codes]:
    """Give equal labels, attributes and weights equal codes in all graphs."""
    node_labels = _code_labels(graphs, "node_labels", used)
    edge_labels = _code_labels(graphs, "edge_labels", used)
    colours = node_labels
    if "node_attributes" in used:
        rows = np.concatenate([np.asarray(g.node_attributes, dtype=np.float64) for g in graphs])
        known = np.unique(np.nan_to_num(rows, nan=np.inf) + 0.0, axis=0, return_inverse=True)[1]
        own = np.split(known.reshape(-1), np.cumsum([g.n_nodes for g in graphs])[:-1])
        width = 1 + max((int(code.max(initial=0)) for code in own), default=0)
        colours = [labels * width + code for labels, code in zip(node_labels, own, strict=True)]
    given = [
        np.ones(g.n_edges)
        if "edge_weights" not in used or g.edge_weights is None
        else np.asarray(g.edge_weights, dtype=np.float64)
        for g in graphs
    ]
    levels = np.unique(np.concatenate(given)) if given else np.ones(1)
    coded = []
    for graph, nodes, colour, edges, weights in zip(
        graphs, node_labels, colours, edge_labels, given, strict=True
    ):
        tails, heads = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
        back = edges + is_directed(graph)
        kinds = np.concatenate([2 * edges, edges + back])
        exact = kinds * len(levels) + np.tile(np.searchsorted(levels, weights), 2)
        coded.append(Codes(nodes, colour, Arcs(tails, heads, exact), kinds, np.tile(weights, 2)))
    return coded


def _code_labels(graphs: Sequence[Graph], name: str, used: Sequence[str]) -> list[Integers]:
    """Code labels by their order in all graphs; 0 where they do not count."""
    counts = [graph.n_nodes if name == "node_labels" else graph.n_edges for graph in graphs]
    if name not in used:
        return [np.zeros(count, dtype=np.int64) for count in counts]
    given = [getattr(graph, name) or () for graph in graphs]
    known = sorted(set().union(*given), key=label_key)
    code = {label: place for place, label in enumerate(known)}
    return [np.array([code[label] for label in labels], dtype=np.int64) for labels in given]


def order_nodes(codes: Codes) -> Integers:
    """List the nodes of a graph in canonical order, (n_nodes,)."""
    return canonical_order(codes.colours, codes.arcs)


def encode(
    target: Graph,
    source: Graph,
    codes: Sequence[Codes],
    orders: tuple[Integers, Integers],
    used: tuple[str, ...],
    *,
    with_features: bool = True,
) -> Encoded:
    """Put both graphs into arrays, on request with features that are comparable between them."""
    networks = [_network(own, order) for own, order in zip(codes, orders, strict=True)]
    if not with_features:
        return Encoded(networks[0], networks[1], orders, used)
    attributes = None
    if "node_attributes" in used:
        attributes = [
            np.asarray(graph.node_attributes, dtype=np.float64)[order]
            for graph, order in zip((target, source), orders, strict=True)
        ]
    features = describe_nodes(networks, attributes)
    first, second = (
        network._replace(features=own) for network, own in zip(networks, features, strict=True)
    )
    return Encoded(first, second, orders, used)


def describe_nodes(
    networks: Sequence[Network], attributes: Sequence[Array] | None = None
) -> list[Array]:
    """Describe nodes by degree, triangles, labels and attributes, and by those around them.

    Means and standard deviations over neighbours, up to three hops, whitened. Structural columns
    are centred graph by graph, so that a graph with fewer edges throughout is not a different one.
    """
    own = [_own_features(network) for network in networks]
    n_structural = own[0].shape[1]
    labelled = any(network.labels.any() for network in networks)
    mixed = any((network.kinds != 0).any() for network in networks)
    for place, network in enumerate(networks):
        extra = [own[place]]
        if labelled:
            extra.append(_hashed(network.labels))
        if mixed:
            extra.append(_around(network, _hashed(network.kinds)))
        own[place] = np.hstack(extra)
    if attributes is not None:
        values = _standardised(list(attributes))
        own = [
            np.hstack([mine, np.nan_to_num(given)]) for mine, given in zip(own, values, strict=True)
        ]
    stacks = []
    for network, mine in zip(networks, own, strict=True):
        parts, last = [mine], mine
        for _ in range(HOPS):
            near = _around(network, last[network.heads])
            spread = _around(network, last[network.heads, :3] ** 2) - near[:, :3] ** 2
            parts += [near, np.sqrt(np.maximum(spread, 0.0))]
            last = np.hstack([near[:, : mine.shape[1]], parts[-1]])
        stacks.append(np.hstack(parts))
    for stack in stacks:
        stack[:, :n_structural] -= stack[:, :n_structural].mean(axis=0)
        stack[:, own[0].shape[1] :] -= stack[:, own[0].shape[1] :].mean(axis=0)
    whole = np.concatenate(_standardised(stacks))
    with threadpool_limits(1):  # small matrices; threads would only wait for each other
        strengths, directions = np.linalg.eigh(whole.T @ whole / max(len(whole), 1))
        kept = strengths > LEAST_STRENGTH * max(float(strengths.max(initial=0.0)), 1e-12)
        turned = np.round(whole @ (directions[:, kept] / np.sqrt(strengths[kept])), DIGITS)
    if attributes is not None:  # attributes count as themselves too, not only by what is around
        turned = np.hstack([turned, np.concatenate([np.nan_to_num(v) for v in values])])
    if not turned.shape[1]:
        turned = np.zeros((len(whole), 1))
    return np.split(turned, [networks[0].n_nodes])


def _network(codes: Codes, order: Integers) -> Network:
    n_nodes = len(order)
    place = np.empty(n_nodes, dtype=np.int64)
    place[order] = np.arange(n_nodes)
    tails, heads = place[codes.arcs.tails], place[codes.arcs.heads]
    by_tail = np.lexsort((codes.kinds, heads, tails))
    starts = np.zeros(n_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=n_nodes), out=starts[1:])
    return Network(
        starts,
        heads[by_tail],
        codes.kinds[by_tail],
        codes.weights[by_tail],
        codes.labels[order],
        np.zeros((n_nodes, 1)),
    )


def _own_features(network: Network) -> Array:
    from ddgk.alignment.voting import count_triangles

    degrees = np.diff(network.starts).astype(np.float64)
    ranks = np.empty(network.n_nodes, dtype=np.int64)
    ranks[np.argsort(degrees, kind="stable")] = np.arange(network.n_nodes)
    triangles = count_triangles(network.starts, network.heads, ranks).astype(np.float64)
    closed = triangles / np.maximum(degrees * (degrees - 1) / 2, 1.0)
    columns = [np.log1p(degrees), np.log1p(triangles), closed]
    if (network.weights != 1.0).any():
        columns.append(_around(network, network.weights[:, None])[:, 0])
    return np.stack(columns, axis=1)


def _around(network: Network, values: Array) -> Array:
    """Average over the arcs of every node; values: (n_arcs, q)."""
    degrees = np.diff(network.starts)
    sums = np.zeros((network.n_nodes, values.shape[1]))
    filled = np.flatnonzero(degrees)
    if len(filled):
        sums[filled] = np.add.reduceat(values, network.starts[filled], axis=0)
    return sums / np.maximum(degrees, 1)[:, None]


def _hashed(codes: Integers) -> Array:
    salts = scramble(np.arange(HASH_COLUMNS, dtype=np.uint64))
    return np.asarray(scramble(codes.astype(np.uint64)[:, None] ^ salts) / 2.0**64)


def _standardised(values: list[Array]) -> list[Array]:
    """Give every column mean 0 and standard deviation 1 over both graphs; constant ones are 0."""
    both = np.concatenate(values)
    spread = np.nan_to_num(np.nanstd(both, axis=0)) if len(both) else np.zeros(both.shape[1])
    middle = np.nan_to_num(np.nanmean(both, axis=0)) if len(both) else spread
    scale = np.where(spread > 1e-9, spread, np.inf)
    return [(own - middle) / scale for own in values]
