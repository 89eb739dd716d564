"""The one graph type everything above works on: immutable, validated once, undirected and simple."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import GraphError

if TYPE_CHECKING:
    import networkx

    from ddgk.graphs.policies import Policies

Scalar = TypeVar("Scalar", bound=np.generic)


class Graph:
    """An undirected simple graph with optional labels, attributes, weights and names.

    Everything is checked here, once, and frozen; code above trusts it. Nodes are 0..n_nodes-1;
    `node_names` remembers what the caller called them, so that results can speak the caller's
    language. Each edge is stored once as (smaller, larger), in ascending order, whatever order it
    was given in; edge labels and weights follow.

    Parameters
    ----------
    n_nodes : int
        At least 1.
    edges : array-like of shape (n_edges, 2)
        Each undirected edge once. Self-loops and repeats are errors here; the converters have
        policies for them.
    node_labels : sequence of hashables, optional
        One per node.
    edge_labels : sequence of hashables, optional
        One per edge, in the order of `edges`.
    node_attributes : array-like of shape (n_nodes, k), optional
        Finite and non-negative; a row is read as a distribution.
    edge_weights : array-like of shape (n_edges,), optional
        Finite and non-negative, in the order of `edges`.
    name : str, optional
        Used in messages and tables, never in results.
    node_names : sequence of hashables, optional
        The caller's names of the nodes, all different. Default 0..n_nodes-1.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> path = Graph(3, [(1, 0), (1, 2)], node_labels=["C", "O", "C"], name="path")
    >>> path.n_edges, path.edges.tolist()
    (2, [[0, 1], [1, 2]])
    >>> Graph(2, [(0, 2)], name="oops")
    Traceback (most recent call last):
    ...
    ddgk.errors.GraphError: graph 'oops': edge (0, 2) names node 2, but it has 2 nodes (0..1)
    """

    __slots__ = (
        "_digest",
        "edge_labels",
        "edge_weights",
        "edges",
        "n_nodes",
        "name",
        "node_attributes",
        "node_labels",
        "node_names",
    )

    n_nodes: int
    edges: NDArray[np.int64]
    node_labels: tuple[Hashable, ...] | None
    edge_labels: tuple[Hashable, ...] | None
    node_attributes: NDArray[np.float64] | None
    edge_weights: NDArray[np.float64] | None
    name: str | None
    node_names: tuple[Hashable, ...]
    _digest: str | None

    def __init__(
        self,
        n_nodes: int,
        edges: ArrayLike | Iterable[tuple[int, int]],
        *,
        node_labels: Iterable[Hashable] | None = None,
        edge_labels: Iterable[Hashable] | None = None,
        node_attributes: ArrayLike | None = None,
        edge_weights: ArrayLike | None = None,
        name: str | None = None,
        node_names: Iterable[Hashable] | None = None,
    ) -> None:
        who = describe(name)
        count = _checked_count(n_nodes, who)
        pairs = _checked_edges(edges, count, who)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        _refuse_repeats(pairs[order], who)

        put = object.__setattr__
        put(self, "n_nodes", count)
        put(self, "edges", _frozen(pairs[order]))
        put(self, "node_labels", _checked_labels(node_labels, count, "node", who))
        labels = _checked_labels(edge_labels, len(pairs), "edge", who)
        put(self, "edge_labels", None if labels is None else tuple(labels[i] for i in order))
        put(self, "node_attributes", _checked_attributes(node_attributes, count, who))
        weights = _checked_weights(edge_weights, len(pairs), who)
        put(self, "edge_weights", None if weights is None else _frozen(weights[order]))
        put(self, "name", None if name is None else str(name))
        put(self, "node_names", _checked_names(node_names, count, who))
        put(self, "_digest", None)

    @property
    def n_edges(self) -> int:
        """How many undirected edges there are."""
        return len(self.edges)

    @property
    def digest(self) -> str:
        """SHA-256 of the content (not of the names), as hexadecimal text.

        Two graphs have the same digest exactly when they are the same arrays and labels in the same
        node order.
        """
        if self._digest is None:
            object.__setattr__(self, "_digest", _content_digest(self))
        assert self._digest is not None
        return self._digest

    def permuted(self, order: Sequence[int] | NDArray[np.integer[Any]]) -> Graph:
        """Return the same graph with its nodes renumbered: new node i is old node ``order[i]``.

        Examples
        --------
        >>> from ddgk.graphs import Graph
        >>> Graph(3, [(0, 1)], node_labels="abc").permuted([2, 0, 1]).node_labels
        ('c', 'a', 'b')
        """
        positions = np.asarray(order, dtype=np.int64)
        if not np.array_equal(np.sort(positions), np.arange(self.n_nodes)):
            raise GraphError(
                f"{describe(self.name)}: an order must list each of the {self.n_nodes} nodes once"
            )
        place = np.empty(self.n_nodes, dtype=np.int64)
        place[positions] = np.arange(self.n_nodes)
        labels, attributes = self.node_labels, self.node_attributes
        return Graph(
            self.n_nodes,
            place[self.edges],
            node_labels=None if labels is None else [labels[i] for i in positions],
            edge_labels=self.edge_labels,
            node_attributes=None if attributes is None else attributes[positions],
            edge_weights=self.edge_weights,
            name=self.name,
            node_names=[self.node_names[i] for i in positions],
        )

    def replace(self, **changes: Any) -> Graph:
        """Return a copy with some of the constructor's arguments changed.

        Examples
        --------
        >>> from ddgk.graphs import Graph
        >>> Graph(2, [(0, 1)], node_labels="ab").replace(node_labels=None).node_labels is None
        True
        """
        fields: dict[str, Any] = {
            key: getattr(self, key) for key in Graph.__slots__ if key != "_digest"
        }
        unknown = sorted(set(changes) - set(fields))
        if unknown:
            raise TypeError(f"Graph has no field {unknown[0]!r}; it has {', '.join(fields)}")
        fields.update(changes)
        return Graph(fields.pop("n_nodes"), fields.pop("edges"), **fields)

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph,
        *,
        node_labels: str | None = "label",
        edge_labels: str | None = "label",
        node_attributes: str | None = "attributes",
        edge_weights: str | None = "weight",
        name: str | None = None,
        policies: Policies | None = None,
    ) -> Graph:
        """Convert a networkx graph; see `ddgk.graphs.networkx.from_networkx`.

        Examples
        --------
        >>> import networkx
        >>> from ddgk.graphs import Graph
        >>> Graph.from_networkx(networkx.path_graph(["a", "b", "c"])).node_names
        ('a', 'b', 'c')
        """
        from ddgk.graphs.networkx import from_networkx

        return from_networkx(
            graph,
            node_labels=node_labels,
            edge_labels=edge_labels,
            node_attributes=node_attributes,
            edge_weights=edge_weights,
            name=name,
            policies=policies,
        )

    def to_networkx(self) -> networkx.Graph:
        """Convert to networkx, with the caller's node names; the inverse of `from_networkx`."""
        from ddgk.graphs.networkx import to_networkx

        return to_networkx(self)

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError(f"a Graph cannot be changed; use graph.replace({key}=...)")

    def __delattr__(self, key: str) -> None:
        raise AttributeError("a Graph cannot be changed")

    def __eq__(self, other: object) -> bool:
        """Compare content and node order; names do not count."""
        return isinstance(other, Graph) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        parts = [f"n_nodes={self.n_nodes}", f"n_edges={self.n_edges}"]
        parts += [] if self.name is None else [f"name={self.name!r}"]
        parts += [] if self.node_labels is None else [f"node_labels={len(set(self.node_labels))}"]
        parts += [] if self.edge_labels is None else [f"edge_labels={len(set(self.edge_labels))}"]
        if self.node_attributes is not None:
            parts.append(f"node_attributes={self.node_attributes.shape[1]}")
        parts += [] if self.edge_weights is None else ["weighted"]
        return f"Graph({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {key: getattr(self, key) for key in Graph.__slots__ if key != "_digest"}
        return _rebuild, (fields,)


def _rebuild(fields: dict[str, Any]) -> Graph:
    """Undo `Graph.__reduce__` through the constructor, so that a copy is checked too."""
    return Graph(fields.pop("n_nodes"), fields.pop("edges"), **fields)


def describe(name: object, position: int | None = None) -> str:
    """Return how messages call a graph: by position, by name, or by both.

    >>> describe("mol-0017", 17)
    "graph 17 ('mol-0017')"
    """
    if position is None:
        return "graph" if name is None else f"graph {str(name)!r}"
    return f"graph {position}" if name is None else f"graph {position} ({str(name)!r})"


def label_key(label: Hashable) -> str:
    """Return text that orders labels the same way in every process and on every machine."""
    return f"{type(label).__name__}:{label!r}"


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array = np.array(array, order="C")
    array.flags.writeable = False
    return array


def _checked_count(n_nodes: int, who: str) -> int:
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, int | np.integer):
        raise GraphError(f"{who}: n_nodes must be a whole number, not {n_nodes!r}")
    if n_nodes < 1:
        raise GraphError(f"{who}: it has no nodes; a graph needs at least one (leave it out)")
    return int(n_nodes)


def _checked_edges(edges: Any, n_nodes: int, who: str) -> NDArray[np.int64]:
    if not isinstance(edges, np.ndarray):
        edges = list(edges)
    try:
        pairs = np.asarray(edges)
    except ValueError as error:
        raise GraphError(f"{who}: edges must be pairs of node numbers") from error
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphError(f"{who}: edges must have shape (n_edges, 2), not {pairs.shape}")
    if pairs.dtype.kind not in "iu":
        raise GraphError(f"{who}: edges must be whole numbers, not {pairs.dtype}")
    pairs = pairs.astype(np.int64)
    outside = (pairs < 0) | (pairs >= n_nodes)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        u, v = pairs[row].tolist()
        raise GraphError(
            f"{who}: edge ({u}, {v}) names node {pairs[row, column]}, "
            f"but it has {n_nodes} nodes (0..{n_nodes - 1})"
        )
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        node = int(pairs[loops][0, 0])
        raise GraphError(
            f"{who}: edge ({node}, {node}) is a self-loop; "
            'remove it, or convert with Policies(self_loops="drop")'
        )
    return np.sort(pairs, axis=1)


def _refuse_repeats(pairs: NDArray[np.int64], who: str) -> None:
    repeated = (pairs[1:] == pairs[:-1]).all(axis=1)
    if repeated.any():
        u, v = pairs[1:][repeated][0].tolist()
        raise GraphError(
            f"{who}: edge ({u}, {v}) is listed more than once; "
            'list it once, or convert with Policies(parallel_edges="merge")'
        )


def _checked_labels(
    labels: Iterable[Hashable] | None, count: int, kind: str, who: str
) -> tuple[Hashable, ...] | None:
    if labels is None:
        return None
    values = tuple(x.item() if isinstance(x, np.generic) else x for x in labels)
    if len(values) != count:
        raise GraphError(f"{who}: {len(values)} {kind} labels for {count} {kind}s")
    for position, value in enumerate(values):
        try:
            hash(value)
        except TypeError as error:
            raise GraphError(
                f"{who}: the label {value!r} of {kind} {position} is not hashable"
            ) from error
        if isinstance(value, float) and value != value:
            raise GraphError(f"{who}: the label of {kind} {position} is NaN")
    return values


def _checked_attributes(
    attributes: ArrayLike | None, n_nodes: int, who: str
) -> NDArray[np.float64] | None:
    if attributes is None:
        return None
    try:
        values = np.asarray(attributes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{who}: node attributes must be numbers") from error
    if values.ndim != 2 or values.shape[0] != n_nodes or values.shape[1] == 0:
        raise GraphError(
            f"{who}: node attributes must have shape ({n_nodes}, k) with k > 0, not {values.shape}"
        )
    _refuse_bad_numbers(values, "node attributes", who)
    return _frozen(values)


def _checked_weights(
    weights: ArrayLike | None, n_edges: int, who: str
) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{who}: edge weights must be numbers") from error
    if values.shape != (n_edges,):
        raise GraphError(f"{who}: edge weights must have shape ({n_edges},), not {values.shape}")
    _refuse_bad_numbers(values, "edge weights", who)
    return values


def _refuse_bad_numbers(values: NDArray[np.float64], what: str, who: str) -> None:
    if not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(values))[0].tolist()
        raise GraphError(f"{who}: {what} must be finite, but entry {at} is {values[tuple(at)]}")
    if (values < 0).any():
        at = np.argwhere(values < 0)[0].tolist()
        raise GraphError(
            f"{who}: {what} must not be negative, but entry {at} is {values[tuple(at)]}"
        )


def _checked_names(
    names: Iterable[Hashable] | None, n_nodes: int, who: str
) -> tuple[Hashable, ...]:
    if names is None:
        return tuple(range(n_nodes))
    values = tuple(x.item() if isinstance(x, np.generic) else x for x in names)
    if len(values) != n_nodes:
        raise GraphError(f"{who}: {len(values)} node names for {n_nodes} nodes")
    if len(set(values)) != n_nodes:
        raise GraphError(f"{who}: node names must be all different")
    return values


def _content_digest(graph: Graph) -> str:
    content = hashlib.sha256(b"ddgk graph 1")
    _add(content, "n_nodes", str(graph.n_nodes).encode())
    _add(content, "edges", graph.edges.astype("<i8").tobytes())
    for kind, labels in (("node", graph.node_labels), ("edge", graph.edge_labels)):
        if labels is not None:
            _add(content, kind, "\x00".join(map(label_key, labels)).encode())
    for kind, values in (("attr", graph.node_attributes), ("weight", graph.edge_weights)):
        if values is not None:
            _add(content, f"{kind}{values.shape}", values.astype("<f8").tobytes())
    return content.hexdigest()


def _add(content: Any, part: str, data: bytes) -> None:
    content.update(f"{part}:{len(data)}:".encode())
    content.update(data)
