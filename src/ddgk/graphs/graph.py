"""The graph type that everything else works on: immutable, and validated once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import GraphError, shown
from ddgk.graphs.validation import checked_fields, frozen, smaller_first

if TYPE_CHECKING:
    import networkx

Integers = NDArray[np.int64]


class Graph:
    """A graph, directed or not, with optional labels, attributes, weights and names.

    Everything is checked here once and frozen; code that takes a `Graph` trusts it. Nodes are
    0..n_nodes-1; `node_names` keeps what the caller calls them. Edges are stored in ascending
    order, whatever order they were given in, and what belongs to them follows: an undirected edge
    as (smaller, larger), a directed one as (tail, head), a self-loop as (i, i).

    Parameters
    ----------
    n_nodes : int
        May be 0; whether a model accepts that is a policy (`Policies.empty`).
    edges : array-like of shape (n_edges, 2)
        Each edge once. Repeats are errors here; the converters have a policy for them.
    directed : bool
        Whether (u, v) runs from u to v.
    node_labels : sequence of hashables, optional
        One per node.
    edge_labels : sequence of hashables, optional
        One per edge, in the order of `edges`.
    node_attributes : array-like of shape (n_nodes, k), optional
        Any finite numbers.
    edge_attributes : array-like of shape (n_edges, k), optional
        Any finite numbers, in the order of `edges`.
    edge_weights : array-like of shape (n_edges,), optional
        Any finite numbers, in the order of `edges`; a model scales them (`ddgk.graphs.weights`).
    name : str, optional
        Used in messages and tables, never in results.
    node_names : sequence of hashables, optional
        The caller's names of the nodes, all different. Default 0..n_nodes-1.
    missing : {"error", "mask"}
        Whether attributes may be NaN.

    Examples
    --------
    >>> from ddgk.graphs import Graph
    >>> path = Graph(3, [(1, 0), (1, 2)], node_labels=["C", "O", "C"], name="path")
    >>> path.n_edges, path.edges.tolist()
    (2, [[0, 1], [1, 2]])
    >>> Graph(3, [(2, 0), (0, 1), (1, 1)], directed=True).edges.tolist()
    [[0, 1], [1, 1], [2, 0]]
    >>> Graph(2, [(0, 2)], name="oops")
    Traceback (most recent call last):
    ...
    ddgk.errors.GraphError: graph 'oops': edge (0, 2) names node 2, but it has 2 nodes (0..1)
    """

    n_nodes: int
    edges: Integers
    directed: bool
    node_labels: tuple[Hashable, ...] | None
    edge_labels: tuple[Hashable, ...] | None
    node_attributes: NDArray[np.float64] | None
    edge_attributes: NDArray[np.float64] | None
    edge_weights: NDArray[np.float64] | None
    name: str | None
    node_names: tuple[Hashable, ...]
    _digest: str | None

    __slots__ = tuple(__annotations__)

    def __init__(
        self,
        n_nodes: int,
        edges: ArrayLike | Iterable[tuple[int, int]],
        *,
        directed: bool = False,
        node_labels: Iterable[Hashable] | None = None,
        edge_labels: Iterable[Hashable] | None = None,
        node_attributes: ArrayLike | None = None,
        edge_attributes: ArrayLike | None = None,
        edge_weights: ArrayLike | None = None,
        name: str | None = None,
        node_names: Iterable[Hashable] | None = None,
        missing: str = "error",
    ) -> None:
        who = describe(name)
        if not isinstance(directed, bool | np.bool_):
            raise GraphError(f"{who}: directed must be True or False, not {directed!r}")
        if missing not in ("error", "mask"):
            raise GraphError(f"{who}: missing must be 'error' or 'mask', not {missing!r}")
        fields = checked_fields(
            who,
            n_nodes,
            edges,
            missing,
            node_labels=node_labels,
            edge_labels=edge_labels,
            node_attributes=node_attributes,
            edge_attributes=edge_attributes,
            edge_weights=edge_weights,
            node_names=node_names,
        )
        if not directed:
            fields["edges"] = smaller_first(fields["edges"])
        self._fill(in_order(fields), directed=bool(directed), name=name)
        repeated = (self.edges[1:] == self.edges[:-1]).all(axis=1)
        if repeated.any():
            u, v = self.edges[1:][repeated][0].tolist()
            raise GraphError(
                f"{who}: edge ({u}, {v}) is listed more than once",
                advice="list it once, or convert with from_edges",
                policy="parallel_edges",
                choices=("merge",),
            )

    def _fill(self, fields: dict[str, Any], directed: bool, name: str | None) -> None:
        named = None if name is None else str(name)
        fields = fields | {"directed": directed, "name": named}
        put, get = object.__setattr__, fields.get  # readers make many thousands of graphs
        for key in Graph.__slots__:
            put(self, key, get(key))

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @property
    def has_missing(self) -> bool:
        """Whether an attribute of a node or an edge is missing (NaN)."""
        both = (self.node_attributes, self.edge_attributes)
        return any(values is not None and bool(np.isnan(values).any()) for values in both)

    @property
    def digest(self) -> str:
        """SHA-256 of the content (not of the names), as hexadecimal text.

        Two graphs have the same digest exactly when they are the same arrays and labels in the same
        node order.
        """
        digest = self._digest or _content_digest(self)
        object.__setattr__(self, "_digest", digest)
        return digest

    @classmethod
    def from_checked(
        cls,
        n_nodes: int,
        edges: Integers,
        *,
        directed: bool = False,
        name: str | None,
        **fields: Any,
    ) -> Graph:
        """Make a graph of fields as the constructor would leave them, without checks.

        Edges ascend, and arrays are read-only.
        """
        graph = object.__new__(cls)
        names = {"node_names": tuple(range(n_nodes))}
        graph._fill(names | fields | {"n_nodes": n_nodes, "edges": edges}, directed, name)
        return graph

    def permuted(self, order: Sequence[int] | NDArray[np.integer[Any]]) -> Graph:
        """Return the same graph with its nodes renumbered: new node i is old node ``order[i]``.

        Examples
        --------
        >>> from ddgk.graphs import Graph
        >>> Graph(3, [(0, 1)], node_labels="abc").permuted([2, 0, 1]).node_labels
        ('c', 'a', 'b')
        """
        positions = np.asarray(order if len(order) else np.empty(0, dtype=np.int64))
        whole = positions.ndim == 1 and positions.dtype.kind in "iu"
        if not whole or not np.array_equal(np.sort(positions), np.arange(self.n_nodes)):
            raise GraphError(
                f"{describe(self.name)}: an order must list each of the {self.n_nodes} nodes once"
            )
        place = np.empty(self.n_nodes, dtype=np.int64)
        place[positions] = np.arange(self.n_nodes)
        labels, attributes = self.node_labels, self.node_attributes
        return self.replace(
            edges=place[self.edges],
            node_labels=None if labels is None else [labels[i] for i in positions],
            node_attributes=None if attributes is None else attributes[positions],
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
        fields = self._arguments()
        unknown = sorted(set(changes) - set(fields))
        if unknown:
            raise TypeError(f"Graph has no field {unknown[0]!r}; it has {', '.join(fields)}")
        return Graph(**fields | changes)

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of the constructor that make this graph."""
        fields = {key: getattr(self, key) for key in Graph.__slots__ if key != "_digest"}
        return fields | {"missing": "mask" if self.has_missing else "error"}

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, **how: Any) -> Graph:
        """Convert a networkx graph; `how` as for `ddgk.graphs.from_networkx`.

        Examples
        --------
        >>> import networkx
        >>> from ddgk.graphs import Graph
        >>> Graph.from_networkx(networkx.path_graph(["a", "b", "c"])).node_names
        ('a', 'b', 'c')
        """
        from ddgk.graphs.networkx import from_networkx

        return from_networkx(graph, **how)

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
        """Describe the graph in one line."""
        parts = [f"n_nodes={self.n_nodes}", f"n_edges={self.n_edges}"]
        parts += ["directed"] if self.directed else []
        if self.name is not None:
            short = self.name if len(self.name) <= 40 else f"{self.name[:37]}..."
            parts.append(f"name={short!r}")
        for kind in ("node_labels", "edge_labels", "node_attributes", "edge_attributes"):
            values = getattr(self, kind)
            if values is not None:
                count = len(set(values)) if isinstance(values, tuple) else values.shape[1]
                parts.append(f"{kind}={count}")
        parts += [] if self.edge_weights is None else ["weighted"]
        return f"Graph({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Show a notebook the drawing."""
        from ddgk.graphs.display import draw, page

        return page(repr(self), draw(self))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy is checked too.
        return partial(Graph, **self._arguments()), ()


def in_order(fields: dict[str, Any]) -> dict[str, Any]:
    """Put edges into ascending order with what belongs to them, and freeze all arrays."""
    pairs, labels = fields["edges"], fields["edge_labels"]
    order = np.argsort(pairs[:, 0] * fields["n_nodes"] + pairs[:, 1], kind="stable")
    ordered: dict[str, Any] = {}
    if labels is not None:
        ordered["edge_labels"] = tuple(labels[i] for i in order)
    for key, values in fields.items():
        if isinstance(values, np.ndarray):
            ordered[key] = frozen(values[order] if key.startswith("edge") else values)
    return fields | ordered


# Position in the caller's list of the graph being converted. A context variable, so that every
# message has it, those of the constructor included.
_POSITION: ContextVar[int | None] = ContextVar("_POSITION", default=None)


@contextmanager
def at_position(position: int | None) -> Iterator[None]:
    """Let `describe` name graphs by this position of the caller's list while the block runs."""
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
    position = _POSITION.get() if position is None else position
    who = "graph" if position is None else f"graph {position}"
    if name is None:
        return who
    called = shown(repr(str(name)))
    return f"{who} {called}" if position is None else f"{who} ({called})"


def label_key(label: Hashable) -> str:
    """Return text that orders labels the same way in every process and on every computer.

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


def natural_key(value: Hashable) -> tuple[int, Any, str]:
    """Sort numbers by size, before texts, in which numbers count by size too.

    >>> sorted(["a10", "a9", 10, 9], key=natural_key)
    [9, 10, 'a9', 'a10']
    """
    if isinstance(value, int | float | np.number):
        return 0, value, ""
    return 1, 0, re.sub(r"[0-9]+", lambda digits: digits[0].zfill(18), label_key(value))


def _content_digest(graph: Graph) -> str:
    parts = [("n_nodes", str(graph.n_nodes).encode())]
    parts.append(("edges", graph.edges.astype("<i8").tobytes()))
    for kind, labels in (("node", graph.node_labels), ("edge", graph.edge_labels)):
        if labels is not None:
            text = "".join(f"{len(key)}:{key}" for key in map(label_key, labels))
            parts.append((f"{kind}{len(labels)}", text.encode("utf-8", "backslashreplace")))
    for kind, values in (
        ("attr", graph.node_attributes),
        ("weight", graph.edge_weights),
        ("edge attr", graph.edge_attributes),
    ):
        if values is not None:
            parts.append((f"{kind}{values.shape}", values.astype("<f8").tobytes()))
    if graph.directed:
        parts.append(("directed", b""))
    content = hashlib.sha256(b"ddgk graph 1")
    for part, data in parts:
        content.update(f"{part}:{len(data)}:".encode())
        content.update(data)
    return content.hexdigest()
