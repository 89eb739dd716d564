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

from ddgk.graphs import Graph, from_smiles
from ddgk.io import karate_club, read
from ddgk.io import load as load_set
from experiments.graphs.generators import degrees_of, generators, thinned
from experiments.graphs.mutations import family
from experiments.graphs.synthetic import FAMILIES, barbell

__all__ = [
    "ATTRIBUTED_SETS",
    "FAMILIES",
    "PROPERTIES",
    "SETS",
    "GraphSet",
    "PropertySet",
    "barbell",
    "degrees_of",
    "family",
    "generators",
    "karate_club",
    "load",
    "load_molecules",
    "load_network",
    "load_properties",
    "structure",
    "thinned",
]

SETS = ("MUTAG", "PTC_MR", "NCI1", "DD", "ENZYMES", "PROTEINS", "IMDB-BINARY")
ATTRIBUTED_SETS = ("ENZYMES", "PROTEINS", "BZR", "Letter-med")  # nodes with real attributes
MOLECULES = ("MUTAG", "PTC_MR", "NCI1", "NCI109")
# Molecules with a property in place of classes: file, column, what it is.
PROPERTIES = {
    "ESOL": ("esol.csv", "measured log solubility in mols per litre", "log solubility"),
    "ZINC": ("zinc20k.csv", "logP", "logP"),
}
MAX_MOLECULES = 2_000  # of a set with a property; larger ones are sampled


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


def load_network(name: str) -> Graph:
    """Load a network by name."""
    return read(name).graphs[0]


def load(name: str) -> GraphSet:
    """Load a data set by name."""
    graphs, classes = load_set(name)
    if classes is None:
        raise ValueError(f"{name} has no classes")
    return GraphSet(name, graphs, np.unique(classes, return_inverse=True)[1].astype(np.int64))


@dataclass(frozen=True)
class PropertySet:
    """Molecules with a measured or computed property; what: its name."""

    name: str
    graphs: Sequence[Graph]
    smiles: Sequence[str]
    values: NDArray[np.float64]
    what: str


def load_properties(name: str) -> PropertySet:
    """Load ESOL, or a sample of ZINC that is always the same."""
    file, column, what = PROPERTIES[name]
    smiles, values = load_molecules(file, column)
    drawn = np.arange(len(smiles))
    if len(smiles) > MAX_MOLECULES:
        drawn = np.random.default_rng(0).permutation(drawn)[:MAX_MOLECULES]
        drawn.sort()
    chosen = [smiles[place] for place in drawn.tolist()]
    return PropertySet(name, [from_smiles(one) for one in chosen], chosen, values[drawn], what)


def structure(graph: Graph, name: str) -> Graph:
    """Return a graph without labels: codes are local to a set and would identify it."""
    return Graph(graph.n_nodes, graph.edges, name=name)


def load_molecules(file: str, column: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return SMILES and a column of a CSV file in `molecules/` in the folder that DDGK_DATA names.

    ESOL is Delaney (2004); ZINC the set of Gomez-Bombarelli et al. (2018).
    """
    found = Path(os.environ.get("DDGK_DATA", "")) / "molecules" / file
    if not found.is_file():
        raise FileNotFoundError(f"there is no file {found}; set DDGK_DATA to the data folder")
    with found.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["smiles"].strip() for row in rows], np.array([float(r[column]) for r in rows])
