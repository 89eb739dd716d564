"""Convert graphs of any library: the type of an object chooses its converter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from ddgk.errors import GraphError, warn_caller
from ddgk.graphs.edgelist import from_edges
from ddgk.graphs.edges import apply_policies
from ddgk.graphs.foreign import describe_type, kinds
from ddgk.graphs.grakel import from_grakel, is_grakel
from ddgk.graphs.graph import Graph, at_position, describe
from ddgk.graphs.igraph import from_igraph
from ddgk.graphs.matrices import from_matrix
from ddgk.graphs.networkx import from_networkx
from ddgk.graphs.policies import Policies, chosen_policies
from ddgk.graphs.pyg import from_pyg
from ddgk.graphs.rdkit import from_rdkit, from_smiles


class Converter(NamedTuple):
    """A class of a library, the function that reads it, and a further condition."""

    library: str
    kind: str
    read: Callable[..., Graph]
    accepts: Callable[[Any], bool] = lambda _: True


def is_edge_list(thing: Collection[Any]) -> bool:
    """Tell whether all members are tuples such as (u, v), and none is a graph of GraKeL's."""
    return bool(thing) and all(isinstance(x, tuple) and not is_grakel(x) for x in thing)


# A tuple is no list of edges: ((0, 0), (0, 1)) is one edge of a grid, not two edges.
CONVERTERS = (
    Converter("ddgk", "Graph", apply_policies),
    Converter("networkx", "Graph", from_networkx),
    Converter("igraph", "Graph", from_igraph),
    Converter("torch_geometric", "Data", from_pyg),
    Converter("rdkit", "Mol", from_rdkit),
    Converter("builtins", "str", from_smiles),
    Converter("scipy", "spmatrix", from_matrix),
    Converter("scipy", "sparray", from_matrix),
    Converter("numpy", "ndarray", from_matrix, lambda array: array.ndim == 2),
    Converter("builtins", "list", from_grakel, is_grakel),
    Converter("builtins", "tuple", from_grakel, is_grakel),
    Converter("builtins", "list", from_edges, is_edge_list),
    Converter("builtins", "set", from_edges, is_edge_list),
    Converter("builtins", "frozenset", from_edges, is_edge_list),
)

READABLE = (
    "a ddgk, networkx or igraph Graph, a torch_geometric Data, a square numpy array, "
    "a scipy sparse matrix, a GraKeL triple, a list of tuples (u, v), an RDKit Mol or a SMILES"
)


def as_graph(thing: Any, *, policies: Policies | None = None, position: int | None = None) -> Graph:
    """Convert a graph of any library ddgk knows.

    Each is read with the defaults of its own function (`from_networkx`, `from_pyg`, ...); call
    that one to choose keys and names.

    Parameters
    ----------
    thing : graph
        A ddgk, networkx or igraph Graph, a torch_geometric Data, a square numpy array, a scipy
        sparse matrix, a GraKeL triple, a list or set of tuples (u, v), an RDKit molecule, or
        a text, which is read as SMILES.
    policies : Policies, optional
        How to read what can be read in more than one way.
    position : int, optional
        Where in the caller's list the graph stands, for messages.

    Returns
    -------
    Graph
        A `Graph` that no policy changes comes back as it is.

    Examples
    --------
    >>> import networkx
    >>> from ddgk.graphs import as_graph
    >>> as_graph(networkx.cycle_graph(4)) == as_graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    True
    >>> as_graph([(0, 1), (1, 0)], position=17)
    Traceback (most recent call last):
    ...
    ddgk.errors.GraphError: graph 17: edge (0, 1) is listed more than once; list it once, or
        use Policies(parallel_edges="merge")
    """
    policies = chosen_policies(policies)
    with at_position(position):
        read = _reader(thing)
        if read is None:
            raise GraphError(
                f"{describe(None)}: cannot read {describe_type(thing)} as a graph; give {READABLE}"
            )
        return read(thing, policies=policies)


def as_graphs(things: Iterable[Any], *, policies: Policies | None = None) -> list[Graph]:
    """Convert a list of graphs, each of any library ddgk knows; messages say which one failed.

    Parameters
    ----------
    things : iterable of graphs
        At least one; a list of texts is read as SMILES.
    policies : Policies, optional
        See `as_graph`. Graphs that they skip are left out, with one warning that lists them.

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


def stream_graphs(things: Iterable[Any], *, policies: Policies | None = None) -> Iterator[Graph]:
    """Convert graphs one by one as they are asked for; otherwise as `as_graphs`."""
    found = describe_type(things)
    is_graph = _reader(things) is not None and not isinstance(things, str)
    if is_graph and not _is_wrapped(things):
        raise GraphError(f"a list of graphs is needed, not one graph ({found}); pass [graph]")
    if not is_graph and (
        not isinstance(things, Iterable) or isinstance(things, str | bytes | dict)
    ):
        raise GraphError(f"a list of graphs is needed, not {found}")
    policies = chosen_policies(policies)
    position, skipped = -1, []
    for position, thing in enumerate(things):
        graph = None
        try:
            graph = as_graph(thing, policies=policies, position=position)
        except GraphError as error:
            if error.policy != "invalid_smiles" or policies.invalid_smiles != "skip":
                raise
        if graph is None or (graph.n_nodes == 0 and policies.empty == "skip"):
            skipped.append(position)
        else:
            yield graph
    if position < 0:
        raise GraphError("a list of graphs is needed, but this one is empty")
    if len(skipped) > position:
        raise GraphError(f"all {position + 1} graphs were skipped by the policies")
    if skipped:
        listed = ", ".join(map(str, skipped[:10])) + (", ..." if len(skipped) > 10 else "")
        warn_caller(
            f"{len(skipped)} of {position + 1} graphs were skipped by the policies: {listed}"
        )


def _reader(thing: Any) -> Callable[..., Graph] | None:
    """Return the function that reads a thing, or None."""
    known = set(kinds(thing))
    fitting = (row for row in CONVERTERS if (row.library, row.kind) in known)
    return next((row.read for row in fitting if row.accepts(thing)), None)


def _is_wrapped(things: Any) -> bool:
    """Tell whether this is a list around one graph, which may look like GraKeL's [adjacency]."""
    return isinstance(things, list | tuple) and len(things) == 1 and _reader(things[0]) is not None
