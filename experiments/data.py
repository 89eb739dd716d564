"""Where the experiments' graphs come from. The only module that reads data sets."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs import Graph
from ddgk.io import karate_club, load_network
from ddgk.io import load as load_set
from experiments.graphs.generators import degrees_of, generators, thinned
from experiments.graphs.mutations import family
from experiments.graphs.synthetic import FAMILIES, barbell

__all__ = [
    "ATTRIBUTED_SETS",
    "FAMILIES",
    "SETS",
    "GraphSet",
    "barbell",
    "degrees_of",
    "family",
    "generators",
    "karate_club",
    "load",
    "load_molecules",
    "load_network",
    "structure",
    "thinned",
]

SETS = ("MUTAG", "PTC_MR", "NCI1", "DD", "ENZYMES", "PROTEINS", "IMDB-BINARY")
ATTRIBUTED_SETS = ("ENZYMES", "PROTEINS", "BZR", "Letter-med")  # nodes with real attributes
MOLECULES = ("MUTAG", "PTC_MR", "NCI1")


@dataclass(frozen=True)
class GraphSet:
    """Graphs with classes 0, 1, ...; fingerprint: a hash of structure, labels and classes."""

    name: str
    graphs: Sequence[Graph]
    classes: NDArray[np.int64]
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        content = hashlib.sha256(self.classes.astype("<i8").tobytes())
        for graph in self.graphs:
            content.update(f"{graph.n_nodes} ".encode())
            content.update(graph.edges.astype("<i8").tobytes())
            content.update(repr((graph.node_labels, graph.edge_labels)).encode())
        object.__setattr__(self, "fingerprint", content.hexdigest()[:16])


def load(name: str) -> GraphSet:
    """Load a data set by name."""
    graphs, classes = load_set(name)
    if classes is None:
        raise ValueError(f"{name} has no classes")
    return GraphSet(name, graphs, np.unique(classes, return_inverse=True)[1].astype(np.int64))


def structure(graph: Graph, name: str) -> Graph:
    """Return a graph without labels: codes are local to a set and would identify it."""
    return Graph(graph.n_nodes, graph.edges, name=name)


def load_molecules(path: Path | None = None) -> tuple[list[str], NDArray[np.float64]]:
    """Return SMILES and measured log solubility (mol/l) of ESOL (Delaney 2004).

    path: the CSV file; default `molecules/esol.csv` in the folder that DDGK_DATA names.
    """
    found = path or Path(os.environ.get("DDGK_DATA", "")) / "molecules" / "esol.csv"
    if not found.is_file():
        raise FileNotFoundError(f"there is no file {found}; set DDGK_DATA to the data folder")
    with found.open(newline="") as file:
        rows = list(csv.DictReader(file))
    measured = next(name for name in rows[0] if name.startswith("measured"))
    return [row["smiles"].strip() for row in rows], np.array([float(r[measured]) for r in rows])
