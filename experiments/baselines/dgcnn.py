"""DGCNN (Zhang et al. 2018), supervised: graph convolutions, sort pooling, 1-D convolutions.

Settings of the authors' script: widths 32, 32, 32, 1 with tanh, propagation D^-1 (A + I), k at the
.6 quantile of training sizes (at least 10), Conv1d 16, max pool 2, Conv1d 32 of kernel 5, dense
128, dropout .5, batches of 50; epochs and learning rate by data set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ddgk import Graph
from experiments.baselines.networks import NetworkClassifier, import_torch

WIDTHS = (32, 32, 32, 1)
QUANTILE, LEAST_K = 0.6, 10
EPOCHS = {"MUTAG": 300, "ENZYMES": 500, "PROTEINS": 100, "IMDB-BINARY": 300}  # others 200
LEARNING_RATES = {"DD": 1e-5, "PROTEINS": 1e-5}  # others 1e-4


class DGCNN(NetworkClassifier):
    """Deep graph convolutional network."""

    def prepare(self, graphs: Sequence[Graph]) -> None:
        """Set k, the number of nodes that sort pooling keeps."""
        super().prepare(graphs)
        sizes = sorted(graph.n_nodes for graph in graphs)
        self.k_ = max(LEAST_K, sizes[math.ceil(QUANTILE * len(sizes)) - 1])

    def build(self, n_classes: int) -> Any:
        """Return the network."""
        torch = import_torch()
        nn, k = torch.nn, self.k_

        class Network(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, n_inputs: int) -> None:
                super().__init__()
                widths = (n_inputs, *WIDTHS)
                self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
                # Their Conv1d of kernel and stride 97: the same linear map of every kept node.
                self.nodes = nn.Sequential(nn.Linear(sum(WIDTHS), 16), nn.ReLU())
                self.rows = nn.Sequential(
                    nn.MaxPool1d(2),
                    nn.Conv1d(16, 32, 5),
                    nn.ReLU(),
                    nn.Flatten(),
                    nn.Linear(32 * (k // 2 - 4), 128),
                    nn.ReLU(),
                    nn.Dropout(0.5),
                    nn.Linear(128, n_classes),
                )

            def forward(self, inputs: Any, arcs: Any, graph_of: Any) -> Any:
                source, target = arcs
                ones = torch.ones(len(source))
                degrees = torch.ones(len(inputs)).index_add(0, target, ones)[:, None]
                states, current = [], inputs
                for layer in self.layers:
                    mapped = current @ layer.weight.T
                    summed = mapped.index_add(0, target, mapped.index_select(0, source))
                    current = torch.tanh((summed + layer.bias) / degrees)  # D^-1 (A + I) X W
                    states.append(current)
                pooled = sort_pool(torch.cat(states, dim=1), graph_of, k)
                return self.rows(self.nodes(pooled).transpose(1, 2))

        return Network(self.inputs_.width)


def sort_pool(states: Any, graph_of: Any, k: int) -> Any:
    """Return the k nodes of the highest last state of every graph, (n_graphs, k, width).

    Rows of 0 follow where a graph has fewer nodes.
    """
    order = states[:, -1].argsort(descending=True, stable=True)
    order = order[graph_of[order].argsort(stable=True)]
    sizes = graph_of.bincount()
    place = import_torch().arange(len(states)) - (sizes.cumsum(0) - sizes)[graph_of]
    kept = place < k
    pooled = states.new_zeros(len(sizes) * k, states.shape[1])
    pooled = pooled.index_copy(0, graph_of[kept] * k + place[kept], states[order[kept]])
    return pooled.unflatten(0, (len(sizes), k))


def make(set_name: str, seed: int, n_jobs: int) -> DGCNN:  # noqa: ARG001
    """Return the classifier with the authors' settings for a data set."""
    return DGCNN(
        epochs=EPOCHS.get(set_name, 200),
        batch=50,
        learning_rate=LEARNING_RATES.get(set_name, 1e-4),
        seed=seed,
    )
