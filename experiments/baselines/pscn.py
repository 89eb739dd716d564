"""PSCN (Niepert et al. 2016), supervised: convolutions over ordered neighbourhoods of nodes.

k = 10 nodes per field, as many fields as graphs have nodes on average, nodes ordered by a canonical
colour refinement; Conv1d 16 (kernel and stride k), Conv1d 8 (kernel 10), dense 128, dropout .5,
RMSprop, 150 epochs, batches of 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ddgk import Graph
from experiments.baselines.networks import Integers, NetworkClassifier, import_torch

FIELD = 10  # k
KERNEL = 10
N_ROUNDS = 5


class PSCN(NetworkClassifier):
    """Patchy-SAN."""

    def prepare(self, graphs: Sequence[Graph]) -> None:
        """Set the number of fields: the mean number of nodes."""
        super().prepare(graphs)
        self.width_ = max(2, round(np.mean([graph.n_nodes for graph in graphs])))

    def encode(self, graphs: Sequence[Graph]) -> Integers:
        """Return the inputs that are 1, (n_graphs, width, k), numbered over the whole field."""
        n_inputs = self.inputs_.width
        found = np.full((len(graphs), self.width_, FIELD), FIELD * n_inputs, dtype=np.int64)
        first = np.arange(FIELD) * n_inputs
        for place, graph in enumerate(graphs):
            nodes = fields_of(graph, self.width_)
            inputs = np.where(nodes >= 0, self.inputs_.places(graph)[nodes], -1)
            found[place] = np.where(inputs >= 0, first + inputs, FIELD * n_inputs)
        return found

    def select(self, encoded: Any, chosen: Integers) -> tuple[Any, ...]:
        """Return the fields of a batch."""
        return (import_torch().as_tensor(encoded[chosen]),)

    def build(self, n_classes: int) -> Any:
        """Return the network.

        Its first layer is a Conv1d (16, kernel and stride k) of one-hot rows: a sum of weights.
        """
        nn = import_torch().nn
        n_inputs = FIELD * self.inputs_.width
        kernel = min(KERNEL, self.width_)

        class Network(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, width: int) -> None:
                super().__init__()
                self.fields = nn.EmbeddingBag(n_inputs + 1, 16, mode="sum", padding_idx=n_inputs)
                nn.init.uniform_(self.fields.weight, -(n_inputs**-0.5), n_inputs**-0.5)
                self.bias = nn.Parameter(import_torch().zeros(16))
                self.rows = nn.Sequential(
                    nn.ReLU(),
                    nn.Conv1d(16, 8, kernel),
                    nn.ReLU(),
                    nn.Flatten(),
                    nn.Linear(8 * (width - kernel + 1), 128),
                    nn.ReLU(),
                    nn.Dropout(0.5),
                    nn.Linear(128, n_classes),
                )

            def forward(self, fields: Any) -> Any:
                summed = self.fields(fields.flatten(0, 1)) + self.bias
                return self.rows(summed.unflatten(0, fields.shape[:2]).transpose(1, 2))

        return Network(self.width_)

    def optimiser(self, parameters: Any) -> Any:
        """Return RMSprop."""
        return import_torch().optim.RMSprop(parameters, lr=self.learning_rate, foreach=True)


def canonical_ranks(graph: Graph) -> list[int]:
    """Return the rank of every node by refined colours: by degree, label, then neighbourhoods.

    Ranks do not depend on the node order; equal colours have equal ranks.
    """
    neighbours = _neighbours(graph)
    labels = graph.node_labels or [None] * graph.n_nodes
    keys: list[Any] = [(-len(near), repr(x)) for near, x in zip(neighbours, labels, strict=True)]
    for _ in range(N_ROUNDS + 1):
        place = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        ranks = [place[key] for key in keys]
        keys = [
            (rank, tuple(sorted([ranks[u] for u in near])))
            for rank, near in zip(ranks, neighbours, strict=True)
        ]
    return ranks


def fields_of(graph: Graph, width: int) -> Integers:
    """Return the nodes of `width` receptive fields, -1 for none, (width, k).

    Roots are the first nodes by rank. A field is the root's neighbourhood, breadth first, nodes
    ordered by distance and rank, cut after k.
    """
    neighbours, ranks = _neighbours(graph), canonical_ranks(graph)
    found = np.full((width, FIELD), -1, dtype=np.int64)
    order = sorted(range(graph.n_nodes), key=ranks.__getitem__)
    for place, root in enumerate(order[:width]):
        field, layer, seen = [root], [root], {root}
        while layer and len(field) < FIELD:
            nearby = {v for u in layer for v in neighbours[u]} - seen
            layer = sorted(nearby, key=lambda node: (ranks[node], node))
            field += layer
            seen |= nearby
        found[place, : min(FIELD, len(field))] = field[:FIELD]
    return found


def _neighbours(graph: Graph) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(graph.n_nodes)]
    for u, v in graph.edges.tolist():
        found[u].append(v)
        found[v].append(u)
    return found


def make(_set_name: str, seed: int, n_jobs: int) -> PSCN:  # noqa: ARG001
    """Return the classifier."""
    return PSCN(epochs=150, batch=32, learning_rate=0.001, seed=seed)
