"""The graphs that arguments name."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ddgk.errors import DatasetError, LabelError

if TYPE_CHECKING:
    from ddgk.io import Dataset
    from ddgk.graphs import Graph, Policies

# MUTAG:3, or graphs.json:0
NUMBERED = re.compile(r"(?P<source>.+):(?P<position>[0-9]{1,9})")


def chosen_policies(**given: str | None) -> Policies | None:
    """Return the policies that were asked for, or None for what each reader does by itself."""
    from ddgk.graphs import Policies

    asked = {name: value for name, value in given.items() if value is not None}
    return Policies(**asked) if asked else None


def read_graphs(
    source: str,
    *,
    node_labels: str | None = None,
    edge_labels: str | None = None,
    attributes: str | None = None,
    policies: Policies | None = None,
) -> Dataset:
    """Read everything a name, file, folder or pattern stands for."""
    from ddgk.io import read

    keys = {"node_labels": node_labels, "edge_labels": edge_labels, "attributes": attributes}
    given: dict[str, Any] = {name: key for name, key in keys.items() if key is not None}
    return read(source, policies=policies, **given)


def read_graph(source: str, **how: Any) -> Graph:
    """Read the one graph that a file holds, or the one that NAME:INDEX picks."""
    numbered = None if os.path.exists(source) else NUMBERED.fullmatch(source)
    if numbered is None:
        graphs = read_graphs(source, **how).graphs
        if len(graphs) != 1:
            raise DatasetError(
                f"{source} holds {len(graphs)} graphs; pick one, from {source}:0 to "
                f"{source}:{len(graphs) - 1}"
            )
        return graphs[0]
    graphs = read_graphs(numbered["source"], **how).graphs
    position = int(numbered["position"])
    if position >= len(graphs):
        raise DatasetError(
            f"{numbered['source']} has no graph {position}; it holds {len(graphs)}, counted from 0"
        )
    return graphs[position]


def read_groups(kind: str, target: Graph, source: Graph) -> tuple[Any, Any]:
    """Return the groups of both graphs' nodes: their labels, or None where they are to be found."""
    if kind == "communities":
        return None, None
    for graph, what in ((target, "A"), (source, "B")):
        if graph.node_labels is None:
            raise LabelError(f"{what} has no node labels to group its nodes by")
    return target.node_labels, source.node_labels
