"""Where commands read graphs, and the options for it."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli.options import CHOICES, choice, option
from ddgk.errors import DatasetError, shown

if TYPE_CHECKING:
    from ddgk.graphs import Graph, Policies
    from ddgk.io import Dataset

# MUTAG:3, or graphs.json:0
NUMBERED = re.compile(r"(?P<source>.+):(?P<position>[0-9]{1,9})")
SMILES = "smiles:"  # a molecule on the command line, as in smiles:CCO
ONE_GRAPH = "a file with one graph, one of many as in MUTAG:3, or a molecule as in smiles:CCO."
PANEL = "Graph input"

# Options that name parts of a file, and those that are fields of `Policies`.
KEYS = {
    "node_labels": ("KEY", "The key of node labels in .gml, .graphml, .gexf and .json files."),
    "edge_labels": ("KEY", "The key of edge labels in those files, or a table's column."),
    "edge_weights": ("KEY", "The key of edge weights in those files, or a table's column."),
    "edges": ("FROM,TO", "The two columns of an edge list, by name or number."),
    "arcs": ("FROM,TO", "The two columns of a directed edge list, by name or number."),
    "smiles": ("COLUMN", "The column of SMILES in a table, by name or number."),
}
HELP = {
    "directed": "Directed graphs.",
    "self_loops": "Edges from a node to itself.",
    "parallel_edges": "Edges that are listed more than once.",
    "weights": "How edge weights become numbers in [0, 1].",
    "negative_weights": "Edges with a negative weight.",
    "missing": "Missing attributes (NaN).",
    "empty": "Graphs without nodes.",
    "hydrogens": "Hydrogens of molecules.",
    "invalid_smiles": "Molecules that cannot be read.",
}


class InputOptions:
    """The options of a command that say how graphs are read; None where one was not given."""

    def __init__(self, **given: Any) -> None:
        self.given = {name: value for name, value in given.items() if value is not None}

    @property
    def policies(self) -> Policies | None:
        """The policies that were asked for, or None for the defaults of each reader."""
        from ddgk.graphs import Policies

        asked = {name: value for name, value in self.given.items() if name not in KEYS}
        if "threshold" in asked:
            asked.setdefault("negative_weights", "threshold")
        return Policies(**asked) if asked else None

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of `read_graphs`."""
        keys = {name: value for name, value in self.given.items() if name in KEYS}
        return keys | {"policies": self.policies}


def takes_graphs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `InputOptions`, and pass them as its argument `given`."""
    signature = inspect.signature(command, eval_str=True)
    own = [item for item in signature.parameters.values() if item.name != "given"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _options().items()
    ]

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> Any:
        given = InputOptions(**{item.name: arguments.pop(item.name) for item in added})
        return command(**arguments, given=given)

    keywords = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in own]
    wrapped.__signature__ = signature.replace(parameters=[*keywords, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {item.name: item.annotation for item in (*own, *added)}
    return wrapped


def read_graphs(source: str, *, quiet: bool = False, **how: Any) -> Dataset:
    """Read everything that a name, file, folder, pattern, NAME:INDEX or smiles:TEXT stands for.

    how: as for `ddgk.io.read`. What was skipped is written to stderr, unless `quiet`.
    """
    place, position = _split(source)
    found = _read(place, quiet, how)
    return found if position is None else _pick(found, place, position)


def read_each(sources: Iterable[str], *, quiet: bool = False, **how: Any) -> dict[str, Graph]:
    """Read the one graph that each file holds, or that NAME:INDEX picks; files are read once."""
    files: dict[str, Dataset] = {}
    graphs: dict[str, Graph] = {}
    for source in sources:
        place, position = _split(source)
        if place not in files:
            files[place] = _read(place, quiet, how)
        found = files[place] if position is None else _pick(files[place], place, position)
        if len(found.graphs) != 1:
            named = shown(source)
            raise DatasetError(
                f"{named} holds {len(found.graphs)} graphs; pick one, from {named}:0 to "
                f"{named}:{len(found.graphs) - 1}"
            )
        graphs[source] = found.graphs[0]
    return graphs


def _split(source: str) -> tuple[str, int | None]:
    numbered = None if os.path.exists(source) else NUMBERED.fullmatch(source)
    return (source, None) if numbered is None else (numbered["source"], int(numbered["position"]))


def _read(source: str, quiet: bool, how: dict[str, Any]) -> Dataset:
    from ddgk.graphs import from_smiles
    from ddgk.io import Dataset, read

    if source.startswith(SMILES):
        return Dataset(
            [from_smiles(source.removeprefix(SMILES), policies=how.get("policies"))], None
        )
    if not os.path.exists(source) and _is_molecule(source):
        raise DatasetError(
            f"{shown(source)!r} is neither a file nor a data set",
            advice=f"write a molecule as {SMILES}{shown(source)}",
        )
    found = read(source, **how)
    for line in [] if quiet else found.report.lines():
        typer.echo(line, err=True)
    return found


def _is_molecule(source: str) -> bool:
    """Tell whether text can be a molecule and is no data set's name."""
    from ddgk.io import list_datasets
    from ddgk.io.tables import looks_like_smiles

    return looks_like_smiles(source) and all(info.name != source for info in list_datasets())


def _pick(found: Dataset, source: str, position: int) -> Dataset:
    from ddgk.io import Dataset

    if position >= len(found.graphs):
        raise DatasetError(
            f"{shown(source)} has no graph {position}; it holds {len(found.graphs)}, counted from 0"
        )
    classes = None if found.classes is None else found.classes[position : position + 1]
    return Dataset([found.graphs[position]], classes, found.name, found.report)


def _options() -> dict[str, Any]:
    """Return the annotated type of every option, by parameter."""
    found: dict[str, Any] = {
        name: Annotated[str | None, option(metavar, text, panel=PANEL)]
        for name, (metavar, text) in KEYS.items()
    }
    for name, text in HELP.items():
        stated = choice(name, text, default=CHOICES[name][0], panel=PANEL)
        found[name] = Annotated[str | None, stated]
    threshold = option("X", "Keep edges with a weight above this.", min=0.0, panel=PANEL)
    return found | {"threshold": Annotated[float | None, threshold]}
