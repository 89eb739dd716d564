"""What an engine is given and what it returns: arrays and settings, no graphs.

Axes are always in the order (target, source), (units, nodes). On a quotient, a row or column stands
for `weights` many units or nodes that move alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

EPSILON = 1e-8  # Adam's
SMALL = 6000  # nodes, up to which it hardly slows anything down
Array = NDArray[np.float64]
Scores = Literal["linear", "tanh"]
Reverse = Literal["free", "tied"]
Start = Literal["equivariant", "glorot"]
Reduction = Literal["mean", "sum"]


@dataclass(frozen=True)
class FamilyArrays:
    """One attribute family of a target.

    units: Q_u, (n_units, k); surroundings: Q_s, (n_units, k); nodes: C, (n_nodes, k).
    """

    units: Array
    surroundings: Array
    nodes: Array


@dataclass(frozen=True)
class Problem:
    """A graph to be reconstructed.

    relation: B, (n_units, n_nodes), entries in [0, 1]; a sparse or an ordinary array.
    unit_weights: (n_units,); node_weights: (n_nodes,): how many each row and column stands for.
    What attends has a row of A. Where units are nodes, these are the same rows for both; else
    spreads: L, (n_nodes, n_units), units attend and a node has the mean of some of their rows;
    gathers: K, (n_units, n_nodes), nodes attend and a unit has the mean of some of their rows.
    samples: how many of a unit's entries are looked at in each step besides those of its edges;
    0: all of them. Only where units are nodes, all weights 1 and B sparse.
    """

    relation: Any
    unit_weights: Array
    node_weights: Array
    families: tuple[FamilyArrays, ...] = ()
    spreads: Any = None
    gathers: Any = None
    samples: int = 0

    @property
    def epsilon(self) -> float:
        """What Adam adds to the size of a gradient.

        A mean over n^2 entries has gradients of the order of 1 / n^2, so that the usual constant
        would bring the training of a large target to a halt; there it shrinks with them.
        """
        n_nodes = len(self.node_weights)
        return EPSILON * min(1.0, (SMALL / n_nodes) ** 2) if self.samples else EPSILON

    @property
    def attending_weights(self) -> Array:
        """How many each row of A stands for."""
        return self.unit_weights if self.gathers is None else self.node_weights

    def dense_relation(self) -> Array:
        """Return B as an ordinary array."""
        dense: Array = self.relation.toarray() if sparse.issparse(self.relation) else self.relation
        return dense


@dataclass(frozen=True)
class Weights:
    """The parameters of one encoder.

    table: E, (n_units, d); hidden: ((W_1, b_1), ...), W_1 (d, h), the others (h, h);
    output: (W_o, b_o), W_o (h, n_nodes).
    """

    table: Array
    hidden: tuple[tuple[Array, Array], ...]
    output: tuple[Array, Array]


@dataclass(frozen=True)
class Source:
    """A frozen encoder, and what is attended to: the rows of its table.

    families: what these carry, Q_u, (n_rows, k), one per family. members: which nodes they are
    made of, (n_rows, n_nodes), rows sum to 1; None where they are the nodes. regions: which of
    `n_regions` each row belongs to, (n_rows,); None where images are not asked for.
    """

    weights: Weights
    families: tuple[Array, ...] = ()
    members: Array | None = None
    regions: NDArray[np.int64] | None = None
    n_regions: int = 0


@dataclass(frozen=True)
class EncoderTraining:
    """How an encoder is built and trained: d, h, L, tau, alpha.

    drop: the share of nonzero entries hidden in an epoch. decay: of the weights, per unit of the
    rate. patience: for how many epochs the loss held out may not improve; 0: nothing is held out.
    """

    dimension: int
    width: int
    depth: int
    epochs: int
    rate: float
    scores: Scores
    drop: float = 0.0
    decay: float = 0.0
    patience: int = 0

    @property
    def hides(self) -> bool:
        """Say whether some entries do not train."""
        return self.drop > 0 or self.patience > 0


@dataclass(frozen=True)
class PairTraining:
    """How the attention of a pair is trained and what is reported.

    report: the numbers of steps after which channels are reported, the last of which ends the
    training. window: how many of the latest losses each report averages. coefficients: c_f, one per
    family. smoothing: e, or 0 to clamp inferred distributions at 1e-12 instead. size: q, A = U V
    and R = (U_r V_r)^T with so many columns of U; 0: matrices A and R of their own. images: the
    numbers of steps after which attention to regions of the source is reported.
    """

    scores: Scores
    reverse: Reverse
    start: Start
    rate: float
    report: tuple[int, ...]
    window: int = 1
    coefficients: tuple[float, ...] = ()
    smoothing: float = 0.01
    reduction: Reduction = "mean"
    size: int = 0
    images: tuple[int, ...] = ()

    @property
    def trains_sources(self) -> bool:
        """Say whether factors of the source's side train: where they are random.

        They belong to all nodes of the target at once, so that what one node learns would move
        all others too.
        """
        return self.start == "glorot"

    @property
    def recorded(self) -> tuple[int, ...]:
        """Return every step whose losses are needed for a report."""
        wanted = {s - back for s in self.report for back in range(self.window)}
        return tuple(sorted(step for step in wanted if step >= 0))


@dataclass(frozen=True)
class Outcome:
    """What was learned of one pair; the last three only where detail was asked for.

    regional: attention to regions, (n_images, rows that attend, n_regions), sums of columns of P.

    channels: (n_report, n_channels), n_channels = 2 + 2 per family: edges, non_edges, then
    attention and reverse of each family, unweighted.
    shares: (n_channels, n_source_units), the last report by where its units attend, sum_i w_i P_ij
    term_i; over the source units they add up to it.
    unit_terms: (n_report, n_channels, n_units), a unit's share; weighted by the unit weights they
    add up to the channels.
    attention: P, (rows that attend, n_source_units).
    costs: (2, n_units, n_nodes), what an edge and a non-edge would cost there, at the last report;
    None where entries were sampled.
    """

    channels: Array
    shares: Array
    regional: Array
    unit_terms: Array | None = None
    attention: Array | None = None
    costs: Array | None = None


class Engine(Protocol):
    """What every engine does. Results never depend on what else is in a call."""

    def train_encoders(
        self,
        problems: Sequence[Problem],
        starts: Sequence[Weights],
        training: EncoderTraining,
        seeds: Sequence[int] = (),
    ) -> list[Weights]:
        """Train one encoder per problem, each from its start.

        seeds: what is hidden from each is drawn from; needed only where the training hides any.
        """
        ...

    def score_pairs(
        self,
        pairs: Sequence[tuple[Problem, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of every pair.

        seeds: what random starts, factors of the source's side, and samples are drawn from.
        """
        ...
