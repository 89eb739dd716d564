"""Read other libraries' objects without importing the libraries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ddgk.errors import GraphError
from ddgk.graphs.edges import build_graph
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies, chosen_policies

MISSING = object()
# Keys under which networkx and igraph graphs are searched, unless the caller names others.
USUAL = {
    "node_labels": "label",
    "edge_labels": "label",
    "node_attributes": "attributes",
    "edge_attributes": "attributes",
    "edge_weights": "weight",
}


def kinds(thing: object) -> list[tuple[str, str]]:
    """Return (library, class) for the type of a thing and all it inherits from.

    Comparing names in place of `isinstance` recognises a library's object while never importing it.

    >>> kinds(True)
    [('builtins', 'bool'), ('builtins', 'int'), ('builtins', 'object')]
    """
    return [(str(base.__module__).partition(".")[0], base.__name__) for base in type(thing).__mro__]


def describe_type(thing: object) -> str:
    """Return how messages call a thing of some type.

    >>> describe_type([]), describe_type(3)
    ('a list', 'an int')
    """
    library, name = kinds(thing)[0]
    return with_article(name if library == "builtins" else f"{library}.{name}")


def with_article(noun: str) -> str:
    """Return "a" or "an" and the noun."""
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def require(thing: object, library: str, kind: str, reader: str, name: str | None) -> None:
    """Refuse a thing that is not of a library's class."""
    if (library, kind) not in kinds(thing):
        wanted = with_article(f"{library}.{kind}")
        raise GraphError(
            f"{describe(name)}: {reader} reads {wanted}, not {describe_type(thing)}; "
            "as_graph chooses the reader by itself"
        )


def keyed_graph(
    names: Sequence[Hashable],
    ends: Sequence[tuple[int, int]],
    values: Callable[[str, str], Sequence[Any]],
    keys: Mapping[str, str | None],
    *,
    directed: bool,
    name: str | None,
    policies: Policies | None,
) -> Graph:
    """Build the graph of a library that stores labels, attributes and weights under keys.

    names: of the nodes. ends: of the edges, as numbers. values: returns what is stored, given
    "node" or "edge" and a key, with MISSING where nothing is. keys: by parameter; see `USUAL`.
    """
    who, policies = describe(name), chosen_policies(policies)

    def called(kind: str, position: int) -> str:
        if kind == "node":
            return f"node {names[position]!r}"
        u, v = ends[position]
        return f"edge ({names[u]!r}, {names[v]!r})"

    def column(parameter: str) -> list[Any] | None:
        key = keys[parameter]
        if key is None or (parameter == "edge_weights" and policies.weights == "ignore"):
            return None
        kind = parameter.partition("_")[0]
        return whole_column(
            values(kind, key), key, parameter, who, lambda position: called(kind, position)
        )

    return build_graph(
        len(names),
        ends,
        edge_labels=column("edge_labels"),
        edge_weights=column("edge_weights"),
        edge_attributes=column("edge_attributes"),
        listing="directed" if directed else "once",
        policies=policies,
        name=name,
        node_names=names,
        node_labels=column("node_labels"),
        node_attributes=column("node_attributes"),
    )


def whole_column(
    values: Sequence[Any], key: str, parameter: str, who: str, called: Callable[[int], str]
) -> list[Any] | None:
    """Return one value per node or edge; None if there are none and nobody asked for them.

    A column with holes is an error, and so is a missing one whose key is not the usual one, since
    then the caller has asked for it by name.
    """
    missing = [position for position, value in enumerate(values) if value is MISSING]
    if not missing:
        return list(values) if values else None
    if len(missing) < len(values):
        raise GraphError(
            f"{who}: {called(missing[0])} has no {key!r}, but others have; "
            f"give it one, or pass {parameter}=None"
        )
    if key != USUAL[parameter]:
        raise GraphError(
            f"{who}: {called(missing[0])} has no {key!r}, nor has any other; "
            f"pass a {parameter} that exists, or {parameter}=None"
        )
    return None
