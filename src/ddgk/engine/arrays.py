"""What an engine takes and returns: arrays and a `Config`, no graphs.

Axes are always in the order (target, source) and (units, nodes). On a quotient, a row or column
represents `unit_weights` or `node_weights` many units or nodes that train identically.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.config import Config

EPSILON = 1e-8  # Adam's
Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class AttributeArrays:
    """One attribute of a target.

    units: Q_u, (n_units, k); neighbours: Q_s, (n_units, k); nodes: C, (n_nodes, k). Rows are label
    distributions (or counts), or standardised real values, NaN where one is missing. name: for the
    coefficient in the training loss.
    """

    units: Array
    neighbours: Array
    nodes: Array
    is_real: bool = False
    name: str = ""


@dataclass(frozen=True)
class EncodedGraph:
    """A graph as arrays: what is reconstructed, and how rows map back to nodes.

    matrix: the target matrix B, (n_units, n_nodes), entries in [0, 1], CSR or dense.
    unit_weights, node_weights: how many units or nodes each row or column represents.
    attributes: one `AttributeArrays` per attribute.
    spreads: L, (n_nodes, n_units): units have attention, and a node averages theirs.
    gathers: K, (n_units, n_nodes): nodes have attention, and a unit averages theirs. Both are None
    where unit i is node i.
    classes, unit_classes: the column of every node and the row of every unit of the graph.
    entropies: loss of a perfect prediction of each row, as edges and as non-edges, (2, n_units).
    full: B by node, in the given node order. members: which nodes each unit consists of, in the
    same order; None where unit i is node i. The last five are not read by engines.
    """

    matrix: Any
    unit_weights: Array
    node_weights: Array
    attributes: tuple[AttributeArrays, ...] = ()
    spreads: Any = None
    gathers: Any = None
    classes: Any = None
    unit_classes: Any = None
    entropies: Any = None
    full: Any = None
    members: Any = None

    @property
    def n_attending(self) -> int:
        """Return the number of rows of A."""
        return len(self.unit_weights if self.gathers is None else self.node_weights)

    def divisors(self, reduction: str) -> tuple[float, float]:
        """Return what the structure loss and the attribute losses are divided by."""
        if reduction == "sum":
            return 1.0, 1.0
        count = float(self.unit_weights.sum())
        return count * float(self.node_weights.sum()), count

    def dense_matrix(self) -> Array:
        """Return B as a dense array."""
        return dense(self.matrix)

    @cached_property
    def digest(self) -> str:
        """Hash of all numbers an engine reads: equal digests have equal results."""
        content = hashlib.sha256()
        arrays = [*_parts(self.matrix), self.unit_weights, self.node_weights]
        for attribute in self.attributes:
            parts = (attribute.units, attribute.neighbours, attribute.nodes)
            missing = [np.isnan(part) for part in parts]
            arrays += [np.where(m, 0.0, part) for m, part in zip(missing, parts, strict=True)]
            arrays += [1.0 - m for m in missing] if attribute.is_real else []
        for join in (self.spreads, self.gathers):
            arrays += [] if join is None else _parts(join)
        for array in arrays:
            content.update(f"{array.dtype}{array.shape}".encode())
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()


@dataclass(frozen=True)
class EncoderWeights:
    """The parameters of one encoder.

    table: E, (n_units, d); hidden: ((W_1, b_1), ...), W_1 (d, h), the others (h, h);
    output: (W_o, b_o), W_o (h, n_nodes).
    """

    table: Array
    hidden: tuple[tuple[Array, Array], ...]
    output: tuple[Array, Array]

    def arrays(self) -> list[Array]:
        """List all arrays: table, hidden layers, output."""
        return [self.table, *(part for layer in self.hidden for part in layer), *self.output]


@dataclass(frozen=True)
class Source:
    """A frozen encoder, and what target units attend to: the rows of its table.

    attributes: Q_u of these rows, (n_rows, k), one array per attribute; a missing value is NaN.
    members: which nodes a row consists of, (n_rows, n_nodes), rows sum to 1; None where rows are
    nodes.
    """

    weights: EncoderWeights
    attributes: tuple[Array, ...] = ()
    members: Array | None = None


@dataclass(frozen=True)
class Outcome:
    """What one pair learned; the last three only where detail was requested.

    terms: (n_checkpoints, n_terms), n_terms = 2 + 2 per attribute: edges, non_edges, then attention
    and reverse of each attribute, without coefficients.
    unit_terms: (n_checkpoints, n_terms, n_units); weighted by the unit weights they sum to terms.
    attention: P, (rows of A, n_source_units).
    costs: (2, n_units, n_nodes), the loss of an edge and of a non-edge at each entry, at the last
    checkpoint.
    """

    terms: Array
    unit_terms: Any = None
    attention: Any = None
    costs: Any = None


class Engine(Protocol):
    """What every engine does. Results do not depend on the other items of a call."""

    def train_encoders(
        self,
        graphs: Sequence[EncodedGraph],
        initial: Sequence[EncoderWeights],
        config: Config,
        seeds: Sequence[int],
    ) -> list[EncoderWeights]:
        """Train one encoder per graph; hidden entries are drawn from the seeds."""
        ...

    def train_pairs(
        self,
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        config: Config,
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of every pair (target, source)."""
        ...


def pair_shape(graph: EncodedGraph, source: Source) -> tuple[int, int, int, int]:
    """Return target units and nodes, source units and nodes."""
    n_units, n_nodes = graph.matrix.shape
    return n_units, n_nodes, len(source.weights.table), len(source.weights.output[1])


def dense(matrix: Any) -> Array:
    """Return a sparse or dense matrix as a dense array."""
    found: Array = matrix.toarray() if sparse.issparse(matrix) else matrix
    return found


def _parts(matrix: Any) -> tuple[NDArray[Any], ...]:
    if not sparse.issparse(matrix):
        return (matrix,)
    return matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
