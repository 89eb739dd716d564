"""The rows of the classification table. A new row is one function and one line here.

kind          what the function returns
------------  ------------------------------------------------------------------------------------
columns       f(graphs, seed) -> array (n_graphs, n_columns); standardised by the training part
kernels       f(graphs, seed) -> list of Gram matrices or kernels, chosen in the training part
transformer   f(set_name, seed, n_jobs) -> scikit-learn transformer, fitted on the training part
classifier    f(set_name, seed, n_jobs) -> scikit-learn classifier of graphs: supervised
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from experiments import models

PUBLISHED_SETS = ("MUTAG", "PTC_MR", "NCI1", "DD")


@dataclass(frozen=True)
class Method:
    """One row: title, kind, module and function, figures of the paper's Table (percent)."""

    title: str
    kind: str
    home: str
    published: tuple[float | None, ...] = ()
    standardise: bool = True

    @property
    def supervised(self) -> bool:
        """Whether the method learns its features from classes."""
        return self.kind == "classifier"

    @property
    def per_fold(self) -> bool:
        """Whether it is fitted anew on every training part."""
        return self.kind in ("transformer", "classifier")

    def function(self) -> Any:
        """Import the function."""
        module, _, name = self.home.partition(":")
        return getattr(import_module(f"experiments.{module}"), name)

    def published_on(self, set_name: str) -> float | None:
        """Return the figure in the paper's table, in percent.

        >>> METHODS["wl"].published_on("NCI1"), METHODS["wl"].published_on("ENZYMES")
        (85.8, None)
        """
        if set_name not in PUBLISHED_SETS or not self.published:
            return None
        return self.published[PUBLISHED_SETS.index(set_name)]


METHODS: dict[str, Method] = {
    "ddgk": Method(
        "DDGK", "transformer", "methods:ddgk", (91.58, 63.14, 68.10, 83.14), standardise=False
    ),
    "ddgk-paper": Method("DDGK, preset paper", "transformer", "methods:ddgk_paper"),
    "sizes": Method("nodes and edges", "columns", "baselines.counting:sizes"),
    "histogram": Method("label histogram", "columns", "baselines.counting:histogram"),
    "attributes": Method(
        "label histogram, attribute statistics", "columns", "baselines.attribute_statistics:columns"
    ),
    "sp": Method(
        "SP kernel",
        "kernels",
        "baselines.shortest_paths:shortest_paths",
        (83.00, 58.90, 74.50, 79.00),
    ),
    "wl": Method(
        "WL kernel", "kernels", "baselines.weisfeiler_lehman:subtree", (86.00, 61.30, 85.80, 79.00)
    ),
    "wl-oa": Method(
        "WL-OA",
        "kernels",
        "baselines.weisfeiler_lehman:optimal_assignment",
        (86.00, 63.60, 86.10, 79.20),
    ),
    "wwl": Method("WWL", "kernels", "baselines.weisfeiler_lehman:wasserstein"),
    "walks": Method("random walks", "kernels", "baselines.random_walks:random_walks"),
    "netlsd": Method("NetLSD", "columns", "baselines.netlsd:heat_traces"),
    "dgk": Method(
        "DGK", "kernels", "baselines.deep_graph_kernels:kernels", (87.40, 60.10, 80.30, None)
    ),
    "graph2vec": Method(
        "graph2vec", "columns", "baselines.graph2vec:graph2vec", (83.15, 60.17, 73.22, None)
    ),
    "node2vec": Method(
        "node2vec means", "columns", "baselines.node2vec:node2vec", (82.01, 55.60, 61.91, None)
    ),
    "s2s": Method(
        "S2S-N2N-PP (our layer sizes)",
        "columns",
        "baselines.sequences:encodings",
        (89.86, 64.54, 83.72, None),
    ),
    "pscn": Method("PSCN", "classifier", "baselines.pscn:make", (88.95, 62.29, 76.34, 76.27)),
    "dgcnn": Method("DGCNN", "classifier", "baselines.dgcnn:make", (85.83, 58.59, 74.44, None)),
    "gin": Method("GIN", "classifier", "baselines.gin:make"),
}


def ddgk(_set_name: str, seed: int, n_jobs: int) -> Any:
    """Return the default embedding."""
    return models.make(seed, n_jobs=n_jobs)


def ddgk_paper(_set_name: str, seed: int, n_jobs: int) -> Any:
    """Return the paper's divergences from 32 sources of the training part."""
    return models.make(seed, preset="paper", n_jobs=n_jobs, n_sources=32)
