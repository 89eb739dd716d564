"""Source encoders: one small network per source graph, trained to predict its target matrix."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.config import Config
from ddgk.engine.arrays import Engine, Source
from ddgk.engine.initialisation import initial_weights
from ddgk.errors import NonFiniteLossError
from ddgk.graphs.graph import Graph, describe
from ddgk.targets import Encoding, refuse_large

LARGE = "an encoder learns all pairs of nodes; fit with smaller graphs as sources"


@dataclass(frozen=True)
class Encoder:
    """A trained source.

    Attributes
    ----------
    graph : Graph
        The source, as it was given.
    order : array of shape (n_nodes,)
        The canonical order of its nodes. The rows and columns of `source` are in this order, so a
        renumbered graph has a bitwise identical encoder.
    seed : int
        The seed of the random initialisation of its pairs.
    source : Source
        The weights and attributes that engines take.
    """

    graph: Graph
    order: NDArray[np.int64]
    seed: int
    source: Source

    def __repr__(self) -> str:
        dimension = self.source.weights.table.shape[1]
        return f"Encoder({describe(self.graph.name)}, {self.graph.n_nodes} nodes, d={dimension})"


def train_encoders(
    graphs: Sequence[Graph], encoding: Encoding, config: Config, engine: Engine, seed: int
) -> list[Encoder]:
    """Train an encoder for every graph (paper eq. 4).

    The initial weights are drawn from a hash of the seed and the encoded graph: its name, its
    position and its node order do not matter.

    Parameters
    ----------
    graphs : sequence of Graph
        The sources; at most `ddgk.targets.MAX_NODES` nodes each.
    encoding : Encoding
    config : Config
    engine : Engine
    seed : int

    Returns
    -------
    list of Encoder

    Examples
    --------
    >>> from ddgk.engine import make_engine
    >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> train_encoders([ring], Encoding(), Config(encoder_epochs=5), make_engine(), 0)
    [Encoder(graph, 4 nodes, d=4)]
    """
    for place, graph in enumerate(graphs):
        refuse_large(graph, LARGE, place)
    training = config.encoder_training
    orders = [encoding.canonical_order(graph) for graph in graphs]
    ordered = [graph.permuted(order) for graph, order in zip(graphs, orders, strict=True)]
    encoded = [encoding.encode(graph, quotient=False) for graph in ordered]
    seeds = [content_seed(seed, one.digest) for one in encoded]
    initial = [
        initial_weights((one.n_attending, one.matrix.shape[1]), own, training)
        for one, own in zip(encoded, seeds, strict=True)
    ]
    encoders = []
    for place, weights in enumerate(engine.train_encoders(encoded, initial, training, seeds)):
        if not all(np.isfinite(array).all() for array in weights.arrays()):
            raise NonFiniteLossError(
                f"the encoder of {describe(graphs[place].name, place)} diverged; lower "
                f"encoder_learning_rate (it is {training.learning_rate:g})"
            )
        rows, members = encoding.source_rows(ordered[place])
        values, known = tuple(r.values for r in rows), tuple(r.known for r in rows)
        source = Source(weights, values, members, known)
        encoders.append(Encoder(graphs[place], orders[place], seeds[place], source))
    return encoders


def content_seed(seed: int, content: str) -> int:
    """Hash a seed and a content digest to 64 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{content}".encode()).digest()[:8], "big")
