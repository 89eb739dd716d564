"""The one graph type all else works on: immutable, validated once, undirected and simple."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import GraphError
from ddgk.graphs.validation import (
    checked_attributes,
    checked_count,
    checked_edges,
    checked_labels,
    checked_names,
    checked_weights,
    frozen,
    refuse_repeats,
)

if TYPE_CHECKING:
    import networkx

    from ddgk.graphs.policies import Policies


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
        count = checked_count(n_nodes, who)
        names = checked_names(node_names, count, who)
        pairs = checked_edges(edges, count, who)
        order = np.argsort(pairs[:, 0] * count + pairs[:, 1], kind="stable")
        ascending = pairs[order]
        refuse_repeats(ascending, who)

        def called_node(position: int) -> str:
            return f"node {names[position]!r}"

        def called_edge(position: int) -> str:
            u, v = pairs[position]
            return f"edge ({names[u]!r}, {names[v]!r})"

        put = object.__setattr__
        put(self, "n_nodes", count)
        put(self, "edges", frozen(ascending))
        put(self, "node_labels", checked_labels(node_labels, count, "node", who, called_node))
        labels = checked_labels(edge_labels, len(pairs), "edge", who, called_edge)
        put(self, "edge_labels", None if labels is None else tuple(labels[i] for i in order))
        put(self, "node_attributes", checked_attributes(node_attributes, count, who))
        weights = checked_weights(edge_weights, len(pairs), who)
        put(self, "edge_weights", None if weights is None else frozen(weights[order]))
        put(self, "name", None if name is None else str(name))
        put(self, "node_names", names)
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

    @classmethod
    def from_checked(
        cls,
        n_nodes: int,
        edges: NDArray[np.int64],
        *,
        node_labels: tuple[Hashable, ...] | None = None,
        edge_labels: tuple[Hashable, ...] | None = None,
        node_attributes: NDArray[np.float64] | None = None,
        edge_weights: NDArray[np.float64] | None = None,
        name: str | None = None,
    ) -> Graph:
        """Make a graph of arrays as the constructor would leave them, without looking again.

        For who has checked many graphs at once: edges in ascending order, arrays frozen.
        """
        graph = object.__new__(cls)
        put = object.__setattr__
        put(graph, "n_nodes", n_nodes)
        put(graph, "edges", edges)
        put(graph, "node_labels", node_labels)
        put(graph, "edge_labels", edge_labels)
        put(graph, "node_attributes", node_attributes)
        put(graph, "edge_weights", edge_weights)
        put(graph, "name", name)
        put(graph, "node_names", tuple(range(n_nodes)))
        put(graph, "_digest", None)
        return graph

    def permuted(self, order: Sequence[int] | NDArray[np.integer[Any]]) -> Graph:
        """Return the same graph with its nodes renumbered: new node i is old node ``order[i]``.

        Examples
        --------
        >>> from ddgk.graphs import Graph
        >>> Graph(3, [(0, 1)], node_labels="abc").permuted([2, 0, 1]).node_labels
        ('c', 'a', 'b')
        """
        positions = np.asarray(order)
        whole = positions.dtype.kind in "iu" and positions.ndim == 1
        if not whole or not np.array_equal(np.sort(positions), np.arange(self.n_nodes)):
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


# Where in a list the graph being converted stands. Held here rather than handed down, so that every
# message says it, also those of the constructor, which has no business knowing about lists.
_POSITION: ContextVar[int | None] = ContextVar("_POSITION", default=None)


@contextmanager
def at_position(position: int | None) -> Iterator[None]:
    """Let `describe` call graphs by this position of the caller's list while the block runs."""
    token = _POSITION.set(position)
    try:
        yield
    finally:
        _POSITION.reset(token)


def describe(name: object, position: int | None = None) -> str:
    """Return how messages call a graph: by position, by name, or by both.

    >>> describe("mol-0017", 17)
    "graph 17 ('mol-0017')"
    """
    if position is None:
        position = _POSITION.get()
    if position is None:
        return "graph" if name is None else f"graph {str(name)!r}"
    return f"graph {position}" if name is None else f"graph {position} ({str(name)!r})"


def label_key(label: Hashable) -> str:
    """Return text that orders labels the same way in every process and on every machine.

    A frozenset lists its members in an order that changes from process to process, so they are
    sorted here. Other kinds are taken by their repr: a label class of your own needs one that
    says what it holds.

    >>> label_key(frozenset({"b", "a"}))
    "frozenset:{str:'a',str:'b'}"
    """
    if isinstance(label, frozenset):
        return f"frozenset:{{{','.join(sorted(map(label_key, label)))}}}"
    if type(label) is tuple:
        return f"tuple:({','.join(map(label_key, label))})"
    return f"{type(label).__name__}:{label!r}"


def _content_digest(graph: Graph) -> str:
    content = hashlib.sha256(b"ddgk graph 1")
    _add(content, "n_nodes", str(graph.n_nodes).encode())
    _add(content, "edges", graph.edges.astype("<i8").tobytes())
    for kind, labels in (("node", graph.node_labels), ("edge", graph.edge_labels)):
        if labels is not None:
            keys = map(label_key, labels)
            text = "".join(f"{len(key)}:{key}" for key in keys)
            _add(content, f"{kind}{len(labels)}", text.encode("utf-8", "backslashreplace"))
    for kind, values in (("attr", graph.node_attributes), ("weight", graph.edge_weights)):
        if values is not None:
            _add(content, f"{kind}{values.shape}", values.astype("<f8").tobytes())
    return content.hexdigest()


def _add(content: Any, part: str, data: bytes) -> None:
    content.update(f"{part}:{len(data)}:".encode())
    content.update(data)
