"""Which node of one graph corresponds to which of the other: the attention of one pair.

The reverse attention is tied to the attention (a free one can decode any graph from any features,
so it aligns nothing), starts are random, and the start that reconstructs best is kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import learn_families
from ddgk.divergence import Scorer, refuse_non_finite
from ddgk.encoder import start_seed
from ddgk.engine import make_engine
from ddgk.errors import ParameterError
from ddgk.graphs import Graph, Policies
from ddgk.graphs.convert import as_graph
from ddgk.graphs.graph import describe
from ddgk.method import Method
from ddgk.reading import Reader

ALIGNING = Method(
    relation="closeness",
    start="glorot",
    rate=0.1,
    curve=(300,),
    reduction="mean",
    output="total",
    baseline="none",
)


@dataclass(frozen=True)
class Alignment:
    """How a target's nodes correspond to a source's.

    Attributes
    ----------
    target, source : Graph
    attention : array of shape (n_target_nodes, n_source_nodes)
        Where each target node attends; rows sum to 1.
    loss : float
        How badly the attention reconstructs the target. Of structure alone 0 is perfect; labels
        add the entropy of what surrounds the nodes, which no alignment can lower.
    losses : array of shape (n_restarts,)
        Of every start; `loss` is the least.
    families : tuple of str
        Which labels and attributes steered the match.
    """

    target: Graph
    source: Graph
    attention: NDArray[np.float64]
    loss: float
    losses: NDArray[np.float64]
    families: tuple[str, ...] = ()

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Match nodes one to one, so that the attention they pay each other adds up to the most.

        Returns (n_matched, 2): target node, source node. The smaller graph is matched whole.
        """
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(self.attention, maximize=True)
        return np.stack([rows, columns], axis=1).astype(np.int64)

    @property
    def matching(self) -> dict[Hashable, Hashable]:
        """Return {target node: source node} in the caller's names; unmatched nodes are left out."""
        there, here = self.target.node_names, self.source.node_names
        return {there[t]: here[s] for t, s in self.pairs.tolist()}

    @property
    def confidence(self) -> dict[Hashable, float]:
        """Return how much of its attention each matched target node pays to its partner."""
        names = self.target.node_names
        return {names[t]: float(self.attention[t, s]) for t, s in self.pairs.tolist()}

    @property
    def edge_correctness(self) -> float:
        """Return the share of the target's edges that the matching maps onto source edges."""
        if self.target.n_edges == 0:
            return 1.0
        return len(self._kept_edges()) / self.target.n_edges

    @property
    def is_isomorphism(self) -> bool:
        """Check edge by edge whether the matching keeps all edges and non-edges.

        Labels and attributes are checked too, where they steered the match.
        """
        target, source = self.target, self.source
        if (target.n_nodes, target.n_edges) != (source.n_nodes, source.n_edges):
            return False
        kept = self._kept_edges()
        return len(kept) == target.n_edges and all(
            _carry_alike(family, target, source, self.pairs.tolist(), kept)
            for family in self.families
        )

    def _kept_edges(self) -> list[tuple[int, int]]:
        """Return (target edge, source edge) for every edge that the matching keeps."""
        place = dict(self.pairs.tolist())
        known = {(u, v): i for i, (u, v) in enumerate(self.source.edges.tolist())}
        kept = []
        for i, (u, v) in enumerate(self.target.edges.tolist()):
            if u in place and v in place:
                image = (min(place[u], place[v]), max(place[u], place[v]))
                if image in known:
                    kept.append((i, known[image]))
        return kept

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values, node names as text where they are not plain."""
        plain = (str, int, float, bool, type(None))

        def named(name: Hashable) -> Any:
            return name if isinstance(name, plain) else str(name)

        confidence = self.confidence
        return {
            "target": self.target.name,
            "source": self.source.name,
            "loss": self.loss,
            "edge_correctness": self.edge_correctness,
            "is_isomorphism": self.is_isomorphism,
            "matching": [
                {"target": named(t), "source": named(s), "confidence": confidence[t]}
                for t, s in self.matching.items()
            ],
            "attention": self.attention.tolist(),
        }


def align(
    target: Any,
    source: Any,
    *,
    restarts: int = 16,
    relation: str = "closeness",
    families: str | tuple[str, ...] = "auto",
    steps: int = 300,
    rate: float = 0.1,
    coefficients: Any = 1.0,
    policies: Policies | None = None,
    engine: str = "auto",
    random_state: int = 0,
    n_jobs: int = 1,
) -> Alignment:
    """Find which node of the target corresponds to which node of the source.

    Trains an encoder of the source and, from several random starts, the attention of the target
    onto it; keeps the start that reconstructs the target best.

    Parameters
    ----------
    target, source : Graph, or a graph of a library that `ddgk.graphs.as_graph` knows
    restarts : int
        Random starts.
    relation : {"closeness", "node_to_edges"}
        What is reconstructed; closeness says more about where a node stands.
    families : "auto", "none" or tuple of str
        Which labels and attributes steer the match; "auto": those both graphs carry.
    steps, rate : int, float
        Adam steps of every start, and their rate.
    coefficients : float or mapping
        Weight of the families in the loss.
    policies : Policies, optional
        For input that is not a simple graph.
    engine : str
    random_state : int
        Seed of the encoder and of the starts.
    n_jobs : int
        Threads.

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import ddgk
    >>> path = ddgk.Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="abcd")
    >>> turned = path.permuted([2, 0, 3, 1])
    >>> found = ddgk.align(path, turned.replace(node_names="wxyz"), restarts=4)
    >>> found.matching, found.is_isomorphism
    ({0: 'x', 1: 'z', 2: 'w', 3: 'y'}, True)
    """
    if not isinstance(restarts, int) or restarts < 1:
        raise ParameterError(f"restarts must be a whole number of at least 1, not {restarts!r}")
    kept = Policies() if policies is None else policies
    pair = [as_graph(target, policies=kept), as_graph(source, policies=kept)]
    method = ALIGNING.changed(
        relation=relation,
        families=families,
        curve=(steps,),
        rate=rate,
        coefficients=coefficients,
    )
    reader = Reader(relation, learn_families(pair, method.families))
    scorer = Scorer(method, reader, make_engine(engine, threads=n_jobs), random_state)
    (encoder,) = scorer.encode([pair[1]])
    reading = scorer.read(pair[0])
    outcomes = scorer.train(
        [reading],
        [encoder],
        [(0, 0)] * restarts,
        detail=True,
        seeds=[start_seed(encoder.seed, str(restart)) for restart in range(restarts)],
    )
    entropies = (reading.entropies @ reading.problem.unit_weights)[:, None]
    losses = np.array([scorer.reported(o.channels.T, entropies, reading)[0, -1] for o in outcomes])
    target_name = describe(pair[0].name)
    refuse_non_finite(losses, [(0, 0)] * restarts, [target_name], [encoder], rate)
    best = int(np.argmin(losses))
    learned = outcomes[best].attention
    assert learned is not None
    attention = np.empty_like(learned)
    attention[:, encoder.order] = learned
    return Alignment(pair[0], pair[1], attention, float(losses[best]), losses, reader.family_names)


def _carry_alike(
    family: str, target: Graph, source: Graph, nodes: list[list[int]], edges: list[tuple[int, int]]
) -> bool:
    """Compare what matched nodes, or matched edges, carry in a family."""
    mine, theirs = (
        {
            "node_labels": graph.node_labels,
            "edge_labels": graph.edge_labels,
            "attributes": None if graph.node_attributes is None else graph.node_attributes.tolist(),
        }[family]
        for graph in (target, source)
    )
    assert mine is not None
    assert theirs is not None
    return all(mine[t] == theirs[s] for t, s in (edges if family == "edge_labels" else nodes))
