"""Read other libraries' objects without importing the libraries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ddgk.errors import GraphError
from ddgk.graphs.edges import build_graph
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies, chosen_policies
from ddgk.graphs.validation import called_edge

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
    return _with_article(name if library == "builtins" else f"{library}.{name}")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def require(thing: object, library: str, kind: str, reader: str, name: str | None) -> None:
    """Refuse a thing that is not of a library's class."""
    if (library, kind) not in kinds(thing):
        wanted = _with_article(f"{library}.{kind}")
        raise GraphError(
            f"{describe(name)}: {reader} reads {wanted}, not {describe_type(thing)}; "
            "as_graph chooses the reader by itself"
        )


def keyed_graph(
    names: Sequence[Hashable],
    ends: Sequence[tuple[int, int]],
    values: Callable[[str, str], Sequence[Any]],
    keys: Sequence[str | None],
    *,
    directed: bool,
    name: str | None,
    policies: Policies | None,
) -> Graph:
    """Build the graph of a library that stores labels, attributes and weights under keys.

    names: of the nodes. ends: of the edges, as numbers. values: returns what is stored, given
    "node" or "edge" and a key, with MISSING where nothing is. keys: in the order of `USUAL`.
    """
    policies = chosen_policies(policies)
    columns = {}
    for parameter, key in zip(USUAL, keys, strict=True):
        if key is None or (parameter == "edge_weights" and policies.weights == "ignore"):
            continue
        kind = parameter.partition("_")[0]
        found = values(kind, key)
        present = [value is not MISSING for value in found]
        if all(present):
            columns[parameter] = found if present else None
        elif any(present) or key != USUAL[parameter]:
            place = present.index(False)
            item = called_edge(names, ends[place]) if kind == "edge" else f"node {names[place]!r}"
            lack = "but others have; give it one, or pass {0}=None"
            if not any(present):
                lack = "nor has any other; pass a {0} that exists, or {0}=None"
            fix = lack.format(parameter)
            raise GraphError(f"{describe(name)}: {item} has no {key!r}, {fix}")
    return build_graph(
        len(names),
        ends,
        listing="directed" if directed else "once",
        policies=policies,
        name=name,
        node_names=names,
        **columns,
    )
