"""Source encoders: one small network per source graph, trained to predict its relation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.batches import attending
from ddgk.engine.problem import EncoderTraining, Engine, Source, Weights
from ddgk.engine.starts import first_weights, source_features
from ddgk.errors import NonFiniteLossError
from ddgk.graphs.graph import Graph, describe
from ddgk.reading import Reader
from ddgk.relations import refuse_large

LARGE = (
    "an encoder learns all pairs of nodes; fit with smaller graphs as sources, "
    "and leave baseline and symmetric as they are by default"
)


@dataclass(frozen=True)
class Encoder:
    """A trained source.

    graph: as it was given. order: the canonical order of its nodes, by which the rows and columns
    of `source` go, so that the same graph numbered otherwise has the same encoder. seed: what the
    random starts of its pairs are drawn from. beside: the encoders of its other relations.
    """

    graph: Graph
    order: NDArray[np.int64]
    seed: int
    source: Source
    beside: tuple[Encoder, ...] = ()

    @property
    def sides(self) -> tuple[Encoder, ...]:
        """Return the encoders of all relations."""
        return (self, *self.beside)

    def regions(self, n_regions: int) -> NDArray[np.int64]:
        """Put the units into at most so many regions; returns the region of each, (n_units,).

        Units that an attention can hardly tell apart share one: those of like rows in the table,
        like columns of the last layer and like attributes.
        """
        n_units = len(self.source.weights.table)
        if n_units <= n_regions:
            return np.arange(n_units)
        from scipy.cluster.hierarchy import fcluster

        found: NDArray[np.int64] = fcluster(self._likeness, n_regions, "maxclust").astype(np.int64)
        return found - 1

    @cached_property
    def _likeness(self) -> NDArray[np.float64]:
        """Return Ward's tree of the units, as scipy writes it."""
        from scipy.cluster.hierarchy import linkage

        tree: NDArray[np.float64] = linkage(source_features(self.source), "ward")
        return tree


def train_encoders(
    graphs: Sequence[Graph], reader: Reader, training: EncoderTraining, engine: Engine, seed: int
) -> list[Encoder]:
    """Train an encoder for every graph (paper eq. 4).

    The start of each is drawn from a hash of the seed and what is read of the graph; neither its
    name nor its place nor the numbering of its nodes enters. An encoder learns all pairs of nodes,
    so very large graphs are refused; they can be targets.
    """
    for place, graph in enumerate(graphs):
        refuse_large(graph, LARGE, place)
    orders = [reader.canonical_order(graph) for graph in graphs]
    ordered = [graph.permuted(order) for graph, order in zip(graphs, orders, strict=True)]
    readings = [reader.read(graph, quotient=False) for graph in ordered]
    seeds = [start_seed(seed, reading.digest) for reading in readings]
    problems = [reading.problem for reading in readings]
    starts = [
        first_weights((attending(problem), problem.relation.shape[1]), seed, training)
        for problem, seed in zip(problems, seeds, strict=True)
    ]
    trained = engine.train_encoders(problems, starts, training, seeds)
    encoders = []
    for place, weights in enumerate(trained):
        if not _finite(weights):
            raise NonFiniteLossError(
                f"the encoder of {describe(graphs[place].name, place)} diverged; "
                f"lower encoder_rate (it is {training.rate:g})"
            )
        source = Source(weights, *reader.attended(ordered[place]))
        encoders.append(Encoder(graphs[place], orders[place], seeds[place], source))
    return encoders


def start_seed(seed: int, content: str) -> int:
    """Hash a seed and a content digest to 64 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{content}".encode()).digest()[:8], "big")


def _finite(weights: Weights) -> bool:
    arrays = [
        weights.table,
        *weights.output,
        *(array for layer in weights.hidden for array in layer),
    ]
    return all(np.isfinite(array).all() for array in arrays)
