"""A supervised graph network (GIN) on the same folds: what classes are worth when they may teach.

Everything else here describes graphs without knowing classes and hands them to a machine. A network
learns from the classes themselves, so it is given a training part and returns an accuracy.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import learn_families
from ddgk.errors import MissingExtraError
from ddgk.graphs import Graph

Classes = NDArray[np.int64]
Positions = NDArray[np.int64]

WIDTH, DEPTH = 32, 4
BATCH, EPOCHS, RATE = 32, 100, 0.01
DEV_SHARE = 10  # one of so many training graphs says which epoch was best
MOST_DEGREES = 16  # where nodes carry no labels their degree is one, up to this
BUILDING = threading.Lock()  # torch draws first weights from one generator for the whole process


@dataclass(frozen=True)
class Network:
    """Graphs as a network reads them: one row of inputs a node, both directions of every edge."""

    inputs: Sequence[NDArray[np.float32]]
    arcs: Sequence[NDArray[np.int64]]

    @property
    def n_graphs(self) -> int:
        """How many graphs there are."""
        return len(self.inputs)

    def accuracy(self, classes: Classes, train: Positions, test: Positions, seed: int) -> float:
        """Learn from `train` and return the accuracy on `test`.

        A tenth of `train` is held out; of all epochs the one counts that was best there, and of
        equal ones the last.
        """
        torch = _torch()
        generator = np.random.default_rng([seed, *train[:2].tolist()])
        shuffled = generator.permutation(train)
        n_dev = max(1, len(train) // DEV_SHARE)
        dev, rest = shuffled[:n_dev], shuffled[n_dev:]
        model = _build(self.inputs[0].shape[1], int(classes.max()) + 1, seed)
        optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
        best, found = -1.0, 0.0
        for _ in range(EPOCHS):
            model.train()
            order = generator.permutation(rest)
            for first in range(0, len(order), BATCH):
                chosen = order[first : first + BATCH]
                if len(chosen) < 2:  # a batch of one has no spread to be normalised by
                    continue
                loss = torch.nn.functional.cross_entropy(
                    model(*self._batch(chosen)), torch.as_tensor(classes[chosen])
                )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            right = self._right(model, classes, dev)
            if right >= best:
                best, found = right, self._right(model, classes, test)
        return found

    def _batch(self, chosen: Positions) -> tuple[Any, Any, Any]:
        """Return inputs, arcs and the graph of each node, of several graphs side by side."""
        torch = _torch()
        sizes = [len(self.inputs[place]) for place in chosen]
        begins = np.cumsum([0, *sizes[:-1]])
        arcs = [self.arcs[place] + begin for place, begin in zip(chosen, begins, strict=True)]
        return (
            torch.as_tensor(np.concatenate([self.inputs[place] for place in chosen])),
            torch.as_tensor(np.concatenate(arcs, axis=1)),
            torch.as_tensor(np.repeat(np.arange(len(chosen)), sizes)),
        )

    def _right(self, model: Any, classes: Classes, places: Positions) -> float:
        model.eval()
        with _torch().no_grad():
            found = model(*self._batch(places)).argmax(dim=1).numpy()
        return float(np.mean(found == classes[places]))


def isomorphism_network(graphs: Sequence[Graph], seed: int) -> Network:
    """Read graphs for a graph isomorphism network (Xu et al. 2019): labels, or degrees."""
    del seed  # nothing is drawn yet
    _torch()
    families = [f for f in learn_families(graphs, "auto") if f.name == "node_labels"]
    inputs, arcs = [], []
    for graph in graphs:
        if families:
            rows = families[0].unit_distributions(graph, "error")
        else:
            degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
            rows = np.eye(MOST_DEGREES + 1)[np.minimum(degrees, MOST_DEGREES)]
        inputs.append(rows.astype(np.float32))
        arcs.append(np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.astype(np.int64))
    return Network(inputs, arcs)


def _build(n_inputs: int, n_classes: int, seed: int) -> Any:
    """Return a network with first weights that depend on the seed alone."""
    torch = _torch()
    from torch import nn
    from torch_geometric.nn import GIN, global_add_pool

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.nodes = GIN(n_inputs, WIDTH, DEPTH, norm="batch_norm")
            self.graph = nn.Linear(WIDTH, n_classes)

        def forward(self, inputs: Any, arcs: Any, graph_of: Any) -> Any:
            return self.graph(global_add_pool(self.nodes(inputs, arcs), graph_of))

    with BUILDING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Classifier()


def _torch() -> Any:
    try:
        import torch
        import torch_geometric  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "the supervised network needs torch and PyTorch Geometric: "
            "pip install 'ddgk[baselines,torch]'"
        ) from error
    return torch
