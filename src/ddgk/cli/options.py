"""Options that several commands share, and how their text becomes a value.

The choices are spelled out here, since the modules that hold them are slow to import; a test
compares them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

CHOICES: dict[str, tuple[str, ...]] = {
    "preset": ("default", "paper", "authors"),
    "choose": ("random", "sizes", "farthest", "facility"),
    "scores": ("linear", "tanh"),
    "reverse": ("tied", "free"),
    "start": ("equivariant", "glorot"),
    "reduction": ("mean", "sum", "both"),
    "output": ("channels", "total", "edges"),
    "baseline": ("source", "target", "none"),
    "directed": ("error", "undirected"),
    "self_loops": ("error", "drop"),
    "parallel_edges": ("error", "merge"),
    "weights": ("error", "ignore", "keep"),
    "unseen_labels": ("error", "ignore"),
    "attributes": ("ignore", "keep", "shift"),
    "if_busy": ("wait", "share", "fail"),
    "groups": ("communities", "labels"),
    "detail": ("nodes", "groups"),
    "protocol": ("nested", "paper", "authors-code"),
    "classifier": ("svm", "linear", "boosting"),
}

FAMILIES = ("node_labels", "edge_labels", "attributes")
RELATIONS = ("node_to_edges", "closeness", "edge_to_nodes", "neighborhood")
VIEWS = ("node_to_edges", "heat", "closeness")
BASELINES = (
    "sizes",
    "histogram",
    "sp",
    "wl",
    "wl-oa",
    "wwl",
    "walks",
    "netlsd",
    "graph2vec",
    "node2vec",
    "gin",
)


def choice(name: str, text: str, *, default: str | None = None) -> Any:
    """Return an option that takes one of a few words; default: what is said to hold without it."""
    allowed = CHOICES[name]

    def check(value: str | None) -> str | None:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"must be one of {', '.join(allowed)}, not {value!r}")
        return value

    return typer.Option(
        metavar="|".join(allowed),
        help=text,
        callback=check,
        show_default=False if default is None else default,
    )


def at_least(minimum: int, text: str) -> Any:
    """Return an option that takes a number; without it, it is as the preset says."""
    return typer.Option(min=minimum, help=text, show_default=False)


def numbers(text: str | None) -> tuple[int, ...] | None:
    """Read whole numbers separated by commas.

    >>> numbers("1,2,5")
    (1, 2, 5)
    """
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"must be numbers such as 1,2,5, not {text!r}") from None


def seeds(text: str | None) -> tuple[int, ...] | None:
    """Read seeds separated by commas.

    >>> seeds("0,1,2")
    (0, 1, 2)
    """
    found = numbers(text)
    if found is not None and (len(set(found)) < len(found) or min(found) < 0):
        raise typer.BadParameter(f"must be different numbers from 0 on, not {text!r}")
    return found


def shares(text: str | None) -> tuple[float, ...] | None:
    """Read whole percentages that ascend to 100, as shares.

    >>> shares("5,20,100")
    (0.05, 0.2, 1.0)
    """
    found = numbers(text)
    if found is None:
        return None
    if list(found) != sorted(set(found)) or found[0] < 1 or found[-1] != 100:
        raise typer.BadParameter(f"must ascend from 1 at least to 100, not {text!r}")
    return tuple(percent / 100 for percent in found)


def family_names(text: str | None) -> str | tuple[str, ...] | None:
    """Read "auto", "none", or names separated by commas.

    >>> family_names("node_labels,edge_labels")
    ('node_labels', 'edge_labels')
    """
    if text is None or text in ("auto", "none"):
        return text
    return _some_of(FAMILIES, text, "auto, none, or some of")


def relation_names(text: str | None) -> tuple[str, ...] | None:
    """Read the names of what encoders learn to predict, separated by commas.

    >>> relation_names("node_to_edges,edge_to_nodes")
    ('node_to_edges', 'edge_to_nodes')
    """
    found = None if text is None else _some_of(RELATIONS, text, "some of")
    if found is not None and len(set(found)) < len(found):
        raise typer.BadParameter(f"must be different relations, not {text!r}")
    return found


def view_names(text: str | None) -> tuple[str, ...] | None:
    """Read the names of what `align` reconstructs, separated by commas.

    >>> view_names("node_to_edges,heat")
    ('node_to_edges', 'heat')
    """
    return None if text is None else _some_of(VIEWS, text, "some of")


def baseline_names(text: str | None) -> tuple[str, ...] | None:
    """Read "all", or names of baselines separated by commas.

    >>> baseline_names("wl,sp")
    ('wl', 'sp')
    """
    if text == "all":
        return BASELINES
    return None if text is None else _some_of(BASELINES, text, "all, or some of")


def changes(given: list[str] | None) -> tuple[tuple[str, Any], ...]:
    """Read NAME=VALUE, where a value is a number, a list of numbers in brackets, or a word.

    >>> changes(["depth=2", "curve=[5, 20]", "reduction=mean"])
    (('depth', 2), ('curve', (5, 20)), ('reduction', 'mean'))
    """
    found = []
    for text in given or ():
        name, sign, word = text.partition("=")
        if not sign or not name.strip():
            raise typer.BadParameter(f"must be NAME=VALUE, such as reduction=mean, not {text!r}")
        try:
            value = json.loads(word)
        except (ValueError, RecursionError):
            value = word.strip()
        if isinstance(value, dict):
            raise typer.BadParameter(f"{name} must be a number, a list or a word, not {word!r}")
        found.append((name.strip(), tuple(value) if isinstance(value, list) else value))
    return tuple(found)


def _some_of(known: tuple[str, ...], text: str, choice: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"must be {choice} {', '.join(known)}, not {unknown[0]!r}")
    return names


def checked(read: Callable[[str | None], Any]) -> Callable[[str | None], str | None]:
    """Return a callback that refuses, as a mistake in usage, text that `read` cannot read."""

    def check(value: str | None) -> str | None:
        read(value)
        return value

    return check


Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Jobs = Annotated[int, typer.Option(min=1, help="Threads; results do not depend on it.")]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Fixes every draw.")]
Sources = Annotated[int, typer.Option(min=1, help="How many graphs become sources.")]
DataSet = Annotated[
    str, typer.Argument(metavar="DATASET", help="A data set's name, or a TU folder or zip.")
]
Repeats = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How often graphs are dealt into ten folds.",
        show_default="10, and 3 beyond 1000 graphs",
    ),
]

Families = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        callback=checked(family_names),
        help=f"Which labels to read: auto, none, or some of {', '.join(FAMILIES)}, with commas.",
        show_default="auto",
    ),
]

Relations = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        callback=checked(relation_names),
        help=f"What encoders learn to predict: some of {', '.join(RELATIONS)}, with commas.",
        show_default=False,
    ),
]

Views = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        callback=checked(view_names),
        help=f"What is reconstructed: some of {', '.join(VIEWS)}, with commas.",
        show_default="node_to_edges,heat",
    ),
]

NodeLabels = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="The key of node labels in .gml, .graphml and .json files."),
]
EdgeLabels = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="The key of edge labels in those files."),
]
NodeAttributes = Annotated[
    str | None,
    choice("attributes", "Node attributes of sets in TU format.", default="ignore"),
]
Directed = Annotated[
    str | None, choice("directed", "What to do with directed graphs.", default="error")
]
SelfLoops = Annotated[
    str | None, choice("self_loops", "What to do with self-loops.", default="error")
]
ParallelEdges = Annotated[
    str | None, choice("parallel_edges", "What to do with repeated edges.", default="error")
]
Weights = Annotated[
    str | None, choice("weights", "What to do with edge weights other than 1.", default="error")
]
