"""What readers of files take: which parts of a file to read, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ddgk.errors import DatasetError
from ddgk.graphs import Graph, from_networkx
from ddgk.graphs.policies import DEFAULT, Policies

if TYPE_CHECKING:
    import networkx


@dataclass(frozen=True)
class Options:
    """Parameters of `read`, for one file, and a list of what the reader leaves out.

    node_labels, edge_labels, node_attributes, edge_attributes, edge_weights: keys, as in
    `from_networkx`; in tables the names of columns. edges, arcs: names of the two columns of an
    undirected or directed edge list, "FROM,TO". smiles: the name of a column of SMILES. skipped,
    notes: filled by readers, see `ReadReport`.
    """

    node_labels: str | None = "label"
    edge_labels: str | None = "label"
    node_attributes: str | None = "attributes"
    edge_attributes: str | None = "attributes"
    edge_weights: str | None = "weight"
    policies: Policies = DEFAULT
    edges: str | None = None
    arcs: str | None = None
    smiles: str | None = None
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def convert(self, graph: networkx.Graph, name: str) -> Graph:
        """Convert one parsed graph."""
        return from_networkx(
            graph,
            node_labels=self.node_labels,
            edge_labels=self.edge_labels,
            node_attributes=self.node_attributes,
            edge_attributes=self.edge_attributes,
            edge_weights=self.edge_weights,
            name=name,
            policies=self.policies,
        )


def decode(data: bytes, where: str) -> str:
    """Return the text of a file, which must be UTF-8."""
    if b"\0" in data:
        # UTF-16 looks like UTF-8 with NUL characters in it: every name would be another one.
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise DatasetError(f"{where}, line {line}: not UTF-8 text (NUL found); save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DatasetError(f"{where}, line {line}: not UTF-8 text; save it as UTF-8") from error
