"""One door for graphs of every library: the type of a thing chooses its reader."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from ddgk.errors import GraphError
from ddgk.graphs.edgelist import from_edges
from ddgk.graphs.edges import refuse_weight
from ddgk.graphs.foreign import describe_type, kinds
from ddgk.graphs.grakel import from_grakel, is_grakel
from ddgk.graphs.graph import Graph, at_position, describe
from ddgk.graphs.igraph import from_igraph
from ddgk.graphs.matrices import from_matrix
from ddgk.graphs.networkx import from_networkx
from ddgk.graphs.policies import STRICT, Policies, chosen_policies
from ddgk.graphs.pyg import from_pyg


class Door(NamedTuple):
    """Who may come in: things of a library's class that pass a look, and what reads them."""

    library: str
    kind: str
    read: Callable[..., Graph]
    accepts: Callable[[Any], bool] = lambda _: True


def choose_weights(graph: Graph, *, policies: Policies) -> Graph:
    """Apply the policy for weights to a graph that may carry some."""
    weights = graph.edge_weights
    if weights is None or policies.weights == "keep":
        return graph
    telling = weights != 1
    if policies.weights == "error" and telling.any():
        row = int(telling.argmax())
        u, v = (graph.node_names[node] for node in graph.edges[row])
        refuse_weight(describe(graph.name), f"edge ({u!r}, {v!r})", weights[row])
    return graph.replace(edge_weights=None)


def is_edge_list(thing: Collection[Any]) -> bool:
    """Tell whether all members are tuples such as (u, v), and none is a graph of GraKeL's."""
    return bool(thing) and all(isinstance(x, tuple) and not is_grakel(x) for x in thing)


# A tuple is no list of edges: ((0, 0), (0, 1)) is one edge of a grid, not two edges.
DOORS = (
    Door("ddgk", "Graph", choose_weights),
    Door("networkx", "Graph", from_networkx),
    Door("igraph", "Graph", from_igraph),
    Door("torch_geometric", "Data", from_pyg),
    Door("scipy", "spmatrix", from_matrix),
    Door("scipy", "sparray", from_matrix),
    Door("numpy", "ndarray", from_matrix, lambda array: array.ndim == 2),
    Door("builtins", "list", from_grakel, is_grakel),
    Door("builtins", "tuple", from_grakel, is_grakel),
    Door("builtins", "list", from_edges, is_edge_list),
    Door("builtins", "set", from_edges, is_edge_list),
    Door("builtins", "frozenset", from_edges, is_edge_list),
)

READABLE = (
    "a ddgk, networkx or igraph Graph, a torch_geometric Data, a square numpy array, "
    "a scipy sparse matrix, a GraKeL triple, or a list of tuples (u, v)"
)


def as_graph(thing: Any, *, policies: Policies = STRICT, position: int | None = None) -> Graph:
    """Convert a graph of any library ddgk knows.

    Each is read with the defaults of its own function (`from_networkx`, `from_pyg`, ...); call
    that one to choose keys and names.

    Parameters
    ----------
    thing : graph
        A ddgk, networkx or igraph Graph, a torch_geometric Data, a square numpy array, a scipy
        sparse matrix, a GraKeL triple, or a list or set of tuples (u, v).
    policies : Policies
        What to do with directions, self-loops, parallel edges and weights. Default: all errors.
    position : int, optional
        Where in the caller's list the graph stands, for messages.

    Returns
    -------
    Graph
        A `Graph` comes back as it is, but for its weights, which follow the policy.

    Examples
    --------
    >>> import networkx
    >>> from ddgk.graphs import as_graph
    >>> as_graph(networkx.cycle_graph(4)) == as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    True
    >>> as_graph([(0, 1), (1, 1)], position=17)
    Traceback (most recent call last):
    ...
    ddgk.errors.GraphError: graph 17: edge (1, 1) is a self-loop; remove it, or convert with
        Policies(self_loops="drop")
    """
    policies = chosen_policies(policies)
    with at_position(position):
        read = _reader(thing)
        if read is None:
            raise GraphError(
                f"{describe(None)}: cannot read {describe_type(thing)} as a graph; give {READABLE}"
            )
        return read(thing, policies=policies)


def as_graphs(things: Iterable[Any], *, policies: Policies = STRICT) -> list[Graph]:
    """Convert a list of graphs, each of any library ddgk knows; messages say which one failed.

    Parameters
    ----------
    things : iterable of graphs
        At least one.
    policies : Policies
        See `as_graph`.

    Examples
    --------
    >>> import networkx
    >>> from ddgk.graphs import as_graphs
    >>> [graph.n_edges for graph in as_graphs([networkx.path_graph(3), [(0, 1)]])]
    [2, 1]
    >>> as_graphs(networkx.path_graph(3))
    Traceback (most recent call last):
    ...
    ddgk.errors.GraphError: a list of graphs is needed, not one graph (a networkx.Graph);
        pass [graph]
    """
    return list(stream_graphs(things, policies=policies))


def stream_graphs(things: Iterable[Any], *, policies: Policies = STRICT) -> Iterator[Graph]:
    """Convert graphs one by one as they are asked for; otherwise as `as_graphs`."""
    if not _is_wrapped(things) and _reader(things) is not None:
        raise GraphError(
            f"a list of graphs is needed, not one graph ({describe_type(things)}); pass [graph]"
        )
    if isinstance(things, str | bytes | dict) or not isinstance(things, Iterable):
        raise GraphError(f"a list of graphs is needed, not {describe_type(things)}")
    position = -1
    for position, thing in enumerate(things):
        yield as_graph(thing, policies=policies, position=position)
    if position < 0:
        raise GraphError("a list of graphs is needed, but this one is empty")


def _reader(thing: Any) -> Callable[..., Graph] | None:
    """Return the function that reads a thing, or None."""
    known = set(kinds(thing))
    fitting = (door for door in DOORS if (door.library, door.kind) in known)
    return next((door.read for door in fitting if door.accepts(thing)), None)


def _is_wrapped(things: Any) -> bool:
    """Tell whether this is a list around one graph, which may look like GraKeL's [adjacency]."""
    return isinstance(things, list | tuple) and len(things) == 1 and _reader(things[0]) is not None
