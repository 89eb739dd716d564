"""Where commands read graphs, and the options for it."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable
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
    """How a command reads graphs: its options, of which those that were not given are None."""

    def __init__(self, **given: Any) -> None:
        self._given = {name: value for name, value in given.items() if value is not None}
        self._sets: dict[str, Dataset] = {}  # that were read

    @property
    def policies(self) -> Policies | None:
        """The policies that were asked for, or None for the defaults of each reader."""
        from ddgk.graphs import Policies

        asked = {name: value for name, value in self._given.items() if name not in KEYS}
        if "threshold" in asked:
            asked.setdefault("negative_weights", "threshold")
        return Policies(**asked) if asked else None

    def read(self, source: str, *, quiet: bool = False) -> Dataset:
        """Read what a name, file, folder, pattern, NAME:INDEX or smiles:TEXT stands for, once.

        What was skipped is written to stderr, unless `quiet`.
        """
        from ddgk.io import Dataset

        numbered = None if os.path.exists(source) else NUMBERED.fullmatch(source)
        place = source if numbered is None else numbered["source"]
        if place not in self._sets:
            self._sets[place] = self._read_all(place, quiet)
        found = self._sets[place]
        if numbered is None:
            return found
        position = int(numbered["position"])
        if position >= len(found.graphs):
            n = len(found.graphs)
            raise DatasetError(
                f"{shown(place)} has no graph {position}; it holds {n}, counted from 0"
            )
        classes = None if found.classes is None else found.classes[position : position + 1]
        return Dataset([found.graphs[position]], classes, found.name, found.report)

    def read_one(self, source: str, *, quiet: bool = False) -> Graph:
        """Read the one graph that a file holds, or that NAME:INDEX picks."""
        graphs, named = self.read(source, quiet=quiet).graphs, shown(source)
        if len(graphs) != 1:
            raise DatasetError(
                f"{named} holds {len(graphs)} graphs; pick one, from {named}:0 to "
                f"{named}:{len(graphs) - 1}"
            )
        return graphs[0]

    def _read_all(self, source: str, quiet: bool) -> Dataset:
        from ddgk.graphs import from_smiles
        from ddgk.io import Dataset, read

        if source.startswith(SMILES):
            molecule = from_smiles(source.removeprefix(SMILES), policies=self.policies)
            return Dataset([molecule], None)
        if not os.path.exists(source) and _is_molecule(source):
            raise DatasetError(
                f"{shown(source)!r} is neither a file nor a data set",
                advice=f"write a molecule as {SMILES}{shown(source)}",
            )
        keys = {name: value for name, value in self._given.items() if name in KEYS}
        found = read(source, **keys, policies=self.policies)
        for line in [] if quiet else found.report.lines():
            typer.echo(line, err=True)
        return found


def _is_molecule(source: str) -> bool:
    """Tell whether text can be a molecule and is no data set's name."""
    from ddgk.io import list_datasets
    from ddgk.io.tables import looks_like_smiles

    return looks_like_smiles(source) and all(info.name != source for info in list_datasets())


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
