"""Inspect other libraries' objects without importing the libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ddgk.errors import GraphError
from ddgk.graphs.graph import describe

MISSING = object()


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


def whole_column(
    values: Sequence[Any],
    key: str,
    *,
    usual: str,
    parameter: str,
    called: Callable[[int], str],
    who: str,
) -> list[Any] | None:
    """Return one value per node or edge; None if there are none and nobody asked for them.

    A column with holes is an error, and so is a missing one whose key is not the `usual`, since
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
    if key != usual:
        raise GraphError(
            f"{who}: {called(missing[0])} has no {key!r}, nor has any other; "
            f"pass a {parameter} that exists, or {parameter}=None"
        )
    return None
