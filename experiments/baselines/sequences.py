"""S2S-N2N-PP (Taheri, Gimpel and Berger-Wolf 2018): LSTM encodings of node sequences.

A sequence-to-sequence LSTM reads sequences of nodes (random walks, breadth-first orders, shortest
paths) and predicts, node by node, the next one. A graph is the mean of its sequences' encodings.
Trained once per data set, without classes.

The publication gives no layer sizes that we know of. Ours: tokens are node labels with degrees (at
most 8), embeddings of 64, one LSTM layer of 128 each for encoder and decoder, sequences of up to 10
nodes from up to 100 nodes per graph, 5 epochs of Adam at .001, batches of up to 256 sequences of
the same length.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk import Graph
from experiments.baselines.networks import import_torch
from experiments.baselines.node2vec import walks_of

LENGTH, MAX_ROOTS, MAX_DEGREE = 10, 100, 8
WIDTH, HIDDEN = 64, 128
EPOCHS, BATCH, LEARNING_RATE = 5, 256, 0.001
PAD = 0

Integers = NDArray[np.int64]


def encodings(graphs: Sequence[Graph], seed: int) -> NDArray[np.float64]:
    """Return the mean encoding of every graph's sequences, (n_graphs, 128)."""
    torch = import_torch()
    sequences, graph_of, n_tokens = all_sequences(graphs, seed)
    generator = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(n_tokens)
        optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
        for _ in range(EPOCHS):
            for _, batch in batches(sequences, generator):
                loss = model.loss(torch.as_tensor(batch))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    sums = np.zeros((len(graphs), HIDDEN))
    with torch.no_grad():
        for places, batch in batches(sequences, generator):
            np.add.at(sums, graph_of[places], model.encode(torch.as_tensor(batch)).numpy())
    return sums / np.bincount(graph_of, minlength=len(graphs))[:, None]


def batches(
    sequences: Integers, generator: np.random.Generator
) -> Iterator[tuple[Integers, Integers]]:
    """Yield positions of sequences of one length, and these without padding, in random order."""
    lengths = (sequences != PAD).sum(axis=1)
    parts = []
    for length in np.unique(lengths):
        places = generator.permutation(np.flatnonzero(lengths == length))
        parts += [places[first : first + BATCH] for first in range(0, len(places), BATCH)]
    for part in generator.permutation(len(parts)):
        places = parts[part]
        yield places, sequences[places, : lengths[places[0]]]


def build(n_tokens: int) -> Any:
    """Return the encoder-decoder; tokens are 1 .. n_tokens, and 0 is before the first."""
    torch = import_torch()
    nn = torch.nn

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(n_tokens + 1, WIDTH, padding_idx=PAD)
            self.encoder = nn.LSTM(WIDTH, HIDDEN, batch_first=True)
            self.decoder = nn.LSTM(WIDTH, HIDDEN, batch_first=True)
            self.scores = nn.Linear(HIDDEN, n_tokens + 1)

        def encode(self, batch: Any) -> Any:
            return self.encoder(self.tokens(batch))[1][0][0]

        def loss(self, batch: Any) -> Any:
            """Cross-entropy of each next token, given the tokens before it and the encoding."""
            state = self.encoder(self.tokens(batch))[1]
            shifted = torch.cat([torch.zeros_like(batch[:, :1]), batch[:, :-1]], dim=1)
            hidden, _ = self.decoder(self.tokens(shifted), state)
            return nn.functional.cross_entropy(self.scores(hidden).flatten(0, 1), batch.flatten())

    return Model()


def all_sequences(graphs: Sequence[Graph], seed: int) -> tuple[Integers, Integers, int]:
    """Return token sequences (n_sequences, length), the graph of each, and the number of tokens."""
    names: dict[Hashable, int] = {}
    rows, owners = [], []
    for place, graph in enumerate(graphs):
        degrees = np.minimum(np.bincount(graph.edges.ravel(), minlength=graph.n_nodes), MAX_DEGREE)
        labels = graph.node_labels or [None] * graph.n_nodes
        kinds = zip(labels, degrees.tolist(), strict=True)
        tokens = np.array([PAD, *(names.setdefault(kind, len(names) + 1) for kind in kinds)])
        nodes = node_sequences(graph, [seed, place])
        rows.append(tokens[nodes + 1])
        owners.append(np.full(len(nodes), place))
    return np.concatenate(rows), np.concatenate(owners), len(names)


def node_sequences(graph: Graph, seed: list[int]) -> Integers:
    """Return a walk, a breadth-first order and a shortest path from every root; -1 pads."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = graph.n_nodes
    generator = np.random.default_rng(seed)
    roots = np.sort(generator.permutation(n)[:MAX_ROOTS])
    ends = (graph.edges[:, 0], graph.edges[:, 1])
    adjacency = csr_array((np.ones(graph.n_edges), ends), shape=(n, n))
    found = np.full((3, len(roots), LENGTH), -1, dtype=np.int64)
    found[0] = walks_of(graph, seed, 1, LENGTH)[roots]
    for place, root in enumerate(roots.tolist()):
        order, previous = breadth_first_order(adjacency, root, directed=False)
        found[1, place, : min(LENGTH, len(order))] = order[:LENGTH]
        path = [int(order[generator.integers(len(order))])]
        while path[-1] != root:
            path.append(int(previous[path[-1]]))
        found[2, place, : min(LENGTH, len(path))] = path[::-1][:LENGTH]
    return found.reshape(-1, LENGTH)
