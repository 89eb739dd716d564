"""What the supervised networks share: node inputs, batches, the training loop."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ddgk import Graph

MAX_DEGREE = 16  # without labels, a node's input is its degree, at most this
Integers = NDArray[np.int64]


def import_torch() -> Any:
    """Import torch, or say how to install it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("this row needs torch: pip install torch") from error
    torch.set_num_threads(1)  # sums round differently on several threads
    return torch


def import_geometric() -> Any:
    """Import the layers of PyTorch Geometric, or say how to install it."""
    try:
        with warnings.catch_warnings():
            # Its import calls parts of torch that newer versions deprecate.
            warnings.simplefilter("ignore", DeprecationWarning)
            import torch_geometric.nn
    except ImportError as error:
        raise ImportError(
            "this row needs PyTorch Geometric: pip install torch_geometric"
        ) from error
    return torch_geometric.nn


class NodeInputs:
    """One-hot node labels; degrees where there are no labels. Unseen labels give a row of 0."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        seen = {label for graph in graphs for label in graph.node_labels or ()}
        self.place = {label: i for i, label in enumerate(sorted(seen, key=repr))}
        self.width = len(self.place) or MAX_DEGREE + 1

    def places(self, graph: Graph) -> Integers:
        """Return the input of every node that is 1, (n_nodes,); -1 for none."""
        if not self.place:
            degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
            return np.minimum(degrees, MAX_DEGREE)
        labels = graph.node_labels or [None] * graph.n_nodes
        return np.array([self.place.get(label, -1) for label in labels], dtype=np.int64)

    def of(self, graph: Graph) -> NDArray[np.float32]:
        """Return (n_nodes, width)."""
        rows = np.zeros((graph.n_nodes, self.width), dtype=np.float32)
        places = self.places(graph)
        rows[places >= 0, places[places >= 0]] = 1.0
        return rows


def flat_batch(inputs: Sequence[Any], arcs: Sequence[Any], chosen: Integers) -> tuple[Any, ...]:
    """Return node inputs, arcs (2, n_arcs) and the graph of each node, of several graphs."""
    torch = import_torch()
    sizes = [len(inputs[i]) for i in chosen]
    begins = np.cumsum([0, *sizes[:-1]])
    shifted = [arcs[i] + begin for i, begin in zip(chosen, begins, strict=True)]
    return (
        torch.as_tensor(np.concatenate([inputs[i] for i in chosen])),
        torch.as_tensor(np.concatenate(shifted, axis=1)),
        torch.as_tensor(np.repeat(np.arange(len(chosen)), sizes)),
    )


def arcs_of(graph: Graph) -> Integers:
    """Return both directions of every edge, (2, 2 n_edges)."""
    return np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.astype(np.int64)


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """A graph classifier trained by gradient descent; subclasses say how.

    dev_share: share of the training graphs that selects the best epoch; 0: the last epoch.
    """

    dev_share = 0.0

    def __init__(
        self, epochs: int = 100, batch: int = 32, learning_rate: float = 0.01, seed: int = 0
    ) -> None:
        self.epochs, self.batch = epochs, batch
        self.learning_rate, self.seed = learning_rate, seed

    def prepare(self, graphs: Sequence[Graph]) -> None:
        """Learn from the training graphs, without classes, what the network needs to know."""
        self.inputs_ = NodeInputs(graphs)

    def encode(self, graphs: Sequence[Graph]) -> Any:
        """Return graphs in the form that `select` takes."""
        return [self.inputs_.of(graph) for graph in graphs], [arcs_of(graph) for graph in graphs]

    def select(self, encoded: Any, chosen: Integers) -> tuple[Any, ...]:
        """Return the network's arguments for a batch."""
        return flat_batch(*encoded, chosen)

    def build(self, n_classes: int) -> Any:
        """Return the network, untrained."""
        raise NotImplementedError

    def optimiser(self, parameters: Any) -> Any:
        """Return the optimiser."""
        return import_torch().optim.Adam(parameters, lr=self.learning_rate, fused=True)

    def fit(self, X: Sequence[Graph], y: Any) -> Self:  # noqa: N803
        """Train on graphs and classes."""
        torch = import_torch()
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.prepare(X)
        encoded = self.encode(X)
        generator = np.random.default_rng(self.seed)
        shuffled = generator.permutation(len(X))
        n_dev = round(self.dev_share * len(X))
        dev, rest = shuffled[:n_dev], shuffled[n_dev:]
        best = -1.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.network_ = self.build(len(self.classes_))
            optimiser = self.optimiser(self.network_.parameters())
            for _ in range(self.epochs):
                self._train_epoch(encoded, numbers, generator.permutation(rest), optimiser)
                if n_dev:
                    right = float(np.mean(self._numbers(encoded, dev) == numbers[dev]))
                    if right >= best:
                        best = right
                        state = self.network_.state_dict()
                        kept = {name: value.clone() for name, value in state.items()}
            if n_dev:
                self.network_.load_state_dict(kept)
        return self

    def predict(self, X: Sequence[Graph]) -> Any:  # noqa: N803
        """Return the classes of graphs."""
        return self.classes_[self._numbers(self.encode(X), np.arange(len(X)))]

    def _train_epoch(
        self, encoded: Any, numbers: Integers, order: Integers, optimiser: Any
    ) -> None:
        torch = import_torch()
        self.network_.train()
        for first in range(0, len(order), self.batch):
            chosen = order[first : first + self.batch]
            if len(chosen) < 2:  # batch normalisation needs two
                continue
            scores = self.network_(*self.select(encoded, chosen))
            loss = torch.nn.functional.cross_entropy(scores, torch.as_tensor(numbers[chosen]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def _numbers(self, encoded: Any, chosen: Integers) -> Integers:
        self.network_.eval()
        found = []
        with import_torch().no_grad():
            for first in range(0, len(chosen), 256):
                batch = chosen[first : first + 256]
                found.append(self.network_(*self.select(encoded, batch)).argmax(dim=1).numpy())
        return np.concatenate(found)
