"""Pairs -> loss terms and divergences of global attention (paper eq. 9 and 10).

D'(T||S) is the loss of reconstructing target T through the encoder of source S; D subtracts a
baseline. Arrays have the axes (target, source, term, checkpoint).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ddgk.config import Config
from ddgk.encoder import Encoder, train_encoders
from ddgk.engine.arrays import EncodedGraph, Engine, Outcome, dense
from ddgk.errors import NonFiniteLossError
from ddgk.explanation import Explanation
from ddgk.graphs.graph import Graph, at_position, describe
from ddgk.targets import Encoding

Array = NDArray[np.float64]
Pair = tuple[int, int]


def loss_terms(attributes: Iterable[str]) -> list[str]:
    """Return the names of the summands of the training loss.

    >>> loss_terms(["node_labels"])
    ['edges', 'non_edges', 'node_labels.attention', 'node_labels.reverse']
    """
    parts = [f"{name}.{part}" for name in attributes for part in ("attention", "reverse")]
    return ["edges", "non_edges", *parts]


@dataclass(frozen=True)
class GlobalDivergences:
    """Divergences of targets from sources, by global attention.

    config: with ``attention="global"``. encoding: how graphs become arrays, as learned in `fit`.
    seed: for the encoders of targets, which symmetric divergences need.

    >>> from ddgk.engine import make_engine
    >>> config = Config.preset("paper").replace(checkpoints=(5,), encoder_epochs=5)
    >>> path, ring = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 1), (1, 2), (0, 2)])
    >>> scorer = GlobalDivergences(config, Encoding(), make_engine(), seed=0)
    >>> sources = scorer.encode_sources([ring])
    >>> scorer.divergences([path, ring], sources, scorer.baselines(sources)).shape
    (2, 1, 1, 1)
    """

    config: Config
    encoding: Encoding
    engine: Engine
    seed: int = 0

    @property
    def term_names(self) -> list[str]:
        """Return the names of the reported terms."""
        is_one = self.config.output != "terms"
        return [self.config.output] if is_one else loss_terms(self.encoding.attributes.names)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_terms, n_checkpoints)."""
        return len(self.term_names), len(self.config.checkpoints)

    def encode(self, graph: Graph) -> EncodedGraph:
        """Encode a target, on its quotient where the initialisation allows it."""
        return self.encoding.encode(graph, quotient=self.config.initialisation == "equivariant")

    def encode_sources(self, graphs: Sequence[Graph]) -> list[Encoder]:
        """Train an encoder for every graph."""
        return train_encoders(graphs, self.encoding, self.config, self.engine, self.seed)

    def train(
        self,
        graphs: Sequence[EncodedGraph],
        encoders: Sequence[Encoder],
        pairs: Sequence[Pair],
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of pairs (target, source), given by position."""
        arrays = [(graphs[t], encoders[s].source) for t, s in pairs]
        seeds = [encoders[s].seed for _, s in pairs]
        return self.engine.train_pairs(arrays, seeds, self.config, detail=detail)

    def losses(
        self, graphs: Sequence[EncodedGraph], encoders: Sequence[Encoder], pairs: Sequence[Pair]
    ) -> Array:
        """Return D' of pairs, (n_pairs, n_terms, n_checkpoints)."""
        found = np.empty((len(pairs), *self.shape))
        outcomes = self.train(graphs, encoders, pairs)
        for place, ((t, _), outcome) in enumerate(zip(pairs, outcomes, strict=True)):
            graph = graphs[t]
            entropies = (graph.entropies * graph.unit_weights).sum(axis=1)
            found[place] = self.reported(outcome.terms.T, entropies[:, None], graph)
        return found

    def reported(self, terms: Array, entropies: Array, graph: EncodedGraph) -> Array:
        """Turn an engine's terms, or shares of them, into the reported ones.

        terms: (n_engine_terms, ...); entropies: what is subtracted of the first two, as a sum over
        entries, (2, ...). Returns (n_terms, ...).
        """
        excess = terms.copy()
        excess[:2] -= entropies / graph.divisors(self.config.reduction)[0]
        if self.config.output == "terms":
            return excess
        if self.config.output == "edges":
            return excess[:1]
        total: Array = excess[0] + excess[1]
        for place, name in enumerate(self.encoding.attributes.names):
            parts = excess[2 + 2 * place] + excess[3 + 2 * place]
            total = total + self.config.coefficient(name) * parts
        return total[None]

    def baselines(self, encoders: Sequence[Encoder]) -> Array:
        """Return what is subtracted: D'(S||S) or 0, (n_encoders, n_terms, n_checkpoints)."""
        if self.config.baseline == "none":
            return np.zeros((len(encoders), *self.shape))
        graphs = [self.encode(encoder.graph) for encoder in encoders]
        return self.losses(graphs, encoders, [(i, i) for i in range(len(encoders))])

    def divergences(
        self,
        targets: Sequence[Graph],
        encoders: Sequence[Encoder],
        baselines: Array,
        positions: Sequence[int] | None = None,
    ) -> Array:
        """Return D of all targets from all sources, (n_targets, n_sources, n_terms, n_checkpoints).

        baselines: as `baselines` returned them. positions: those of the targets in the caller's
        list, for error messages.
        """
        grid = self._all_losses(targets, encoders, positions) - baselines
        if not self.config.symmetric:
            return grid
        own = self.encode_sources(targets)
        mirrored = self._all_losses([encoder.graph for encoder in encoders], own)
        return grid + (mirrored - self.baselines(own)).swapaxes(0, 1)

    def _all_losses(
        self,
        targets: Sequence[Graph],
        encoders: Sequence[Encoder],
        positions: Sequence[int] | None = None,
    ) -> Array:
        """Return D' of all targets from all sources; equal encoded graphs are trained once."""
        known = range(len(targets)) if positions is None else positions
        graphs = []
        for position, graph in zip(known, targets, strict=True):
            with at_position(position):
                graphs.append(self.encode(graph))
        first: dict[str, int] = {}
        shared = [first.setdefault(g.digest, place) for place, g in enumerate(graphs)]
        distinct = sorted(first.values())
        pairs = [(t, s) for t in distinct for s in range(len(encoders))]
        losses = self.losses(graphs, encoders, pairs)
        broken = ~np.isfinite(losses).reshape(len(pairs), -1).all(axis=1)
        if broken.any():
            t, s = pairs[int(np.argmax(broken))]
            raise NonFiniteLossError(
                f"target {describe(targets[t].name, known[t])} against source "
                f"{describe(encoders[s].graph.name, s)}: the loss became inf or nan; lower "
                f"learning_rate (it is {self.config.learning_rate:g})"
            )
        grid: Array = losses.reshape(len(distinct), len(encoders), *self.shape)
        return grid[np.searchsorted(distinct, shared)]

    def explain(self, target: Graph, encoder: Encoder) -> Explanation:
        """Train one pair and split its divergence into shares of nodes and entries.

        The share of a class is divided equally among its nodes.
        """
        found = self._explain_one_way(target, encoder)
        if not self.config.symmetric:
            return found
        (own,) = self.encode_sources([target])
        return replace(found, mirror=self._explain_one_way(encoder.graph, own))

    def _explain_one_way(self, target: Graph, encoder: Encoder) -> Explanation:
        graph = self.encode(target)
        (outcome,) = self.train([graph], [encoder], [(0, 0)], detail=True)
        terms = outcome.unit_terms.swapaxes(0, 1)
        by_class = self.reported(terms, graph.entropies[:, None, :], graph)
        attention = np.empty((target.n_nodes, encoder.graph.n_nodes))
        members = encoder.source.members
        attention[:, encoder.order] = _node_attention(graph, outcome.attention, members)
        return Explanation(
            target=target,
            source=encoder.graph,
            terms=tuple(self.term_names),
            checkpoints=self.config.checkpoints,
            nodes=_by_node(graph, by_class),
            entries=self._entry_terms(graph, outcome.costs),
            baseline=self.baselines([encoder])[0],
            attention=attention,
            matrix=self.encoding.target,
        )

    def _entry_terms(self, graph: EncodedGraph, costs: Array) -> Array:
        """Weigh the cost of every entry by B itself, less its entropy where it is soft."""
        edge, non_edge = costs[:, graph.unit_classes][:, :, graph.classes]
        matrix = dense(graph.full)
        terms = np.stack([_excess(matrix, edge), _excess(1 - matrix, non_edge)])
        return terms / graph.divisors(self.config.reduction)[0]


def _by_node(graph: EncodedGraph, terms: Array) -> Array:
    """Divide the terms of a unit of each class among the nodes, (..., n_units) -> (..., n_nodes).

    The members of a unit share its terms, so that sums over nodes and over units agree.
    """
    if graph.members is None:
        return np.asarray(terms[..., graph.classes])
    rows = terms.reshape(-1, terms.shape[-1])[:, graph.unit_classes]
    return np.asarray((graph.members.T @ rows.T).T).reshape(*terms.shape[:-1], -1)


def _node_attention(graph: EncodedGraph, attention: Array, source_members: Array | None) -> Array:
    """Return the attention of nodes to source nodes, (n_nodes, n_source_nodes).

    P_n = L P (members of the source) where units have attention.
    """
    found = attention
    if graph.spreads is not None:
        found = np.asarray(graph.spreads @ attention @ source_members)
    return np.asarray(found[graph.classes])


def _excess(share: Array, cost: Array) -> Array:
    """Return share * (cost + log share): what is paid above the entropy of a soft entry."""
    return share * (cost + np.log(np.where(share > 0, share, 1.0)))
