"""Where a divergence comes from: the share of every node, edge and non-edge (paper eq. 3)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddgk.divergence import Scorer, sides_of
from ddgk.encoder import Encoder
from ddgk.errors import ParameterError
from ddgk.graphs.graph import Graph, describe
from ddgk.reading import Reading

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Explanation:
    """How one target's divergence from one source adds up.

    Attributes
    ----------
    target, source : Graph
    channels : tuple of str
    steps : tuple of int
    nodes : array of shape (n_channels, n_steps, n_target_nodes)
        Every node's share of D'; ``nodes.sum(-1) - baseline`` is the divergence.
    entries : array of shape (2, n_target_units, n_target_nodes), or None
        After the last step, what every entry of the relation adds to the structure loss: as an
        edge, and as a non-edge. Zero where an entry is the other. Units are nodes, edges
        ("edge_to_nodes") or walks ("neighborhood"). None where entries were sampled.
    baseline : array of shape (n_channels, n_steps)
        What eq. 10 subtracts.
    attention : array of shape (n_target_nodes, n_source_nodes)
        After the last step; rows sum to 1. Where units other than nodes attend, a node has the
        mean of theirs, and a node in none a row of zeros.
    relation : str
    mirror : Explanation or None
        For symmetric divergences, the other direction.
    """

    target: Graph
    source: Graph
    channels: tuple[str, ...]
    steps: tuple[int, ...]
    nodes: Array
    entries: Array | None
    baseline: Array
    attention: Array
    relation: str = "node_to_edges"
    mirror: Explanation | None = None

    @property
    def divergence(self) -> Array:
        """Return D, (n_channels, n_steps): what the embedding has for this pair."""
        own: Array = self.nodes.sum(-1) - self.baseline
        return own if self.mirror is None else own + self.mirror.divergence

    def by_node(self, channel: str | None = None) -> dict[Hashable, float]:
        """Return every node's share after the last step, of a channel or of all together."""
        chosen = self.nodes[:, -1] if channel is None else self.nodes[[self._place(channel)], -1]
        shares = chosen.sum(0)
        return {name: float(shares[i]) for i, name in enumerate(self.target.node_names)}

    @property
    def splits_edges(self) -> bool:
        """Say whether edges have shares: not where entries were sampled or units are walks."""
        return self.entries is not None and self.relation != "neighborhood"

    def by_edge(self) -> dict[tuple[Hashable, Hashable], float]:
        """Return the share of every target edge in the channel `edges`, both ways together."""
        if self.entries is None:
            raise ParameterError(
                f"{describe(self.target.name)}: entries of its {self.target.n_nodes} nodes were "
                "sampled, so edges have no shares of their own; raise sampled_above to have them"
            )
        edges, names = self.target.edges.tolist(), self.target.node_names
        shares = self.entries[0]
        if self.relation == "edge_to_nodes":
            by_edge = shares.sum(axis=1)
        elif self.relation == "neighborhood":
            raise ParameterError("walks have no shares of edges; explain another relation")
        else:
            both = shares + shares.T
            by_edge = np.array([both[u, v] for u, v in edges])
        return {(names[u], names[v]): float(by_edge[e]) for e, (u, v) in enumerate(edges)}

    def _place(self, channel: str) -> int:
        if channel not in self.channels:
            raise KeyError(f"no channel {channel!r}; there are {', '.join(self.channels)}")
        return self.channels.index(channel)


def explain(scorer: Scorer, target: Graph, encoder: Encoder) -> Explanation:
    """Train one pair and split its divergence into shares.

    What stands for a class is handed back to its nodes, which share it equally.
    """
    method = scorer.method
    if not method.symmetric:
        return _explain_one_way(scorer, target, encoder, _baseline(scorer, target, encoder))
    (own,) = scorer.encode([target])
    there = _explain_one_way(scorer, target, encoder, _baseline(scorer, target, encoder))
    back = _explain_one_way(scorer, encoder.graph, own, _baseline(scorer, encoder.graph, own))
    return Explanation(**{**vars(there), "mirror": back})


def profiles(scorer: Scorer, target: Graph, encoders: Sequence[Encoder]) -> Array:
    """Return what every node of a target costs against every source.

    Comparable between graphs, since the sources are the same and the size of the target does not
    count. Returns (n_nodes, n_sources, n_channels, n_steps).
    """
    if len(scorer.method.relations) > 1:
        sides = zip(scorer.parts, sides_of(encoders), strict=True)
        return np.concatenate([profiles(part, target, own) for part, own in sides], axis=2)
    reading = scorer.read(target)
    pairs = [(0, place) for place in range(len(encoders))]
    found = [
        _node_terms(scorer, reading, outcome.unit_terms)
        for outcome in scorer.train([reading], encoders, pairs, detail=True)
    ]
    # A share of a mean is small in a large graph; a share of a sum is not.
    summed = [scorer.method.reduction == "sum" or name.endswith(".sum") for name in scorer.channels]
    scale = np.where(summed, 1.0, float(target.n_nodes))[:, None]
    return scale * np.stack(found, axis=0).transpose(3, 0, 1, 2)


def _baseline(scorer: Scorer, target: Graph, encoder: Encoder) -> Array:
    if scorer.method.baseline == "target":
        found = scorer.self_losses(scorer.encode([target]))[0]
    else:
        found = scorer.baselines([encoder])[0]
    return np.asarray(found[scorer.places[:, : len(scorer.method.curve)]])


def _explain_one_way(
    scorer: Scorer, target: Graph, encoder: Encoder, baseline: Array
) -> Explanation:
    reading = scorer.read(target)
    (outcome,) = scorer.train([reading], [encoder], [(0, 0)], detail=True)
    assert outcome.attention is not None
    attention = np.empty((target.n_nodes, encoder.graph.n_nodes))
    members = encoder.source.members
    attention[:, encoder.order] = reading.node_attention(outcome.attention, members)
    return Explanation(
        target=target,
        source=encoder.graph,
        channels=tuple(scorer.channels),
        steps=scorer.method.curve,
        nodes=_node_terms(scorer, reading, outcome.unit_terms),
        entries=None if outcome.costs is None else _entry_terms(scorer, reading, outcome.costs),
        baseline=baseline,
        attention=attention,
        relation=scorer.reader.relation,
    )


def _node_terms(scorer: Scorer, reading: Reading, unit_terms: Array | None) -> Array:
    """Give every node the term of its class. Returns (n_channels, n_steps, n_nodes)."""
    assert unit_terms is not None
    by_class: Array = scorer.reported(
        unit_terms.swapaxes(0, 1), reading.entropies[:, None, :], reading
    )
    return reading.by_node(by_class)


def _entry_terms(scorer: Scorer, reading: Reading, costs: Array) -> Array:
    """Weigh the cost of every entry by the relation itself, less its entropy where it is soft."""
    edge, non_edge = costs[:, reading.units.classes][:, :, reading.partition.classes]
    relation = reading.relation.dense()
    terms = np.stack([_excess(relation, edge), _excess(1 - relation, non_edge)])
    return terms if scorer.method.reduction == "sum" else terms / scorer.counts(reading)[0]


def _excess(share: Array, cost: Array) -> Array:
    """Return share * (cost + log share): what is paid above the entropy of a soft entry."""
    return share * (cost + np.log(np.where(share > 0, share, 1.0)))
