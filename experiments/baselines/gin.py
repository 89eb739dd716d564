"""GIN (Xu et al. 2019), supervised: 4 layers of 32, the best of 100 epochs by a tenth held out."""

from __future__ import annotations

from typing import Any

from experiments.baselines.networks import NetworkClassifier, import_geometric, import_torch

WIDTH, DEPTH = 32, 4


class GIN(NetworkClassifier):
    """A graph isomorphism network with sum pooling."""

    dev_share = 0.1

    def build(self, n_classes: int) -> Any:
        """Return the network."""
        nn = import_torch().nn
        geometric = import_geometric()

        class Network(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, n_inputs: int) -> None:
                super().__init__()
                self.nodes = geometric.GIN(n_inputs, WIDTH, DEPTH, norm="batch_norm")
                self.graph = nn.Linear(WIDTH, n_classes)

            def forward(self, inputs: Any, arcs: Any, graph_of: Any) -> Any:
                return self.graph(geometric.global_add_pool(self.nodes(inputs, arcs), graph_of))

        return Network(self.inputs_.width)


def make(_set_name: str, seed: int, n_jobs: int) -> GIN:  # noqa: ARG001
    """Return the classifier."""
    return GIN(epochs=100, batch=32, learning_rate=0.01, seed=seed)
