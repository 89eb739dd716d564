"""Source encoders: one small network per source graph, trained to predict its relation."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.engine.problem import EncoderTraining, Engine, Source, Weights
from ddgk.engine.starts import first_weights
from ddgk.errors import NonFiniteLossError
from ddgk.graphs.graph import Graph, describe
from ddgk.reading import Reader


@dataclass(frozen=True)
class Encoder:
    """A trained source.

    graph: as it was given. order: the canonical order of its nodes, which is the order of the rows
    and columns of `source`, so that the same graph numbered otherwise has the same encoder. seed:
    what the random starts of its pairs are drawn from.
    """

    graph: Graph
    order: NDArray[np.int64]
    seed: int
    source: Source


def train_encoders(
    graphs: Sequence[Graph], reader: Reader, training: EncoderTraining, engine: Engine, seed: int
) -> list[Encoder]:
    """Train an encoder for every graph (paper eq. 4).

    The start of each is drawn from a hash of the seed and what is read of the graph; neither its
    name nor its place nor the numbering of its nodes enters.
    """
    orders = [reader.canonical_order(graph) for graph in graphs]
    ordered = [graph.permuted(order) for graph, order in zip(graphs, orders, strict=True)]
    readings = [reader.read(graph, quotient=False) for graph in ordered]
    seeds = [start_seed(seed, reading.digest) for reading in readings]
    problems = [reading.problem for reading in readings]
    starts = [
        first_weights(problem.relation.shape, seed, training)
        for problem, seed in zip(problems, seeds, strict=True)
    ]
    trained = engine.train_encoders(problems, starts, training)
    encoders = []
    for place, weights in enumerate(trained):
        if not _finite(weights):
            raise NonFiniteLossError(
                f"the encoder of {describe(graphs[place].name, place)} diverged; "
                f"lower encoder_rate (it is {training.rate:g})"
            )
        source = Source(weights, reader.unit_distributions(ordered[place]))
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
