"""Which entries of a large relation are looked at: its own, the diagonal, and some of the rest.

A node i meets the nodes (i + b) mod n for a few shifts b that all nodes share, others in every
step. So every row and every column has equally many samples, no entry comes twice in a step, and
the nodes that eight neighbours in memory meet are neighbours too. Nodes must come in an order that
says nothing about them.

    sum_j f(i, j)  is estimated by  f(i, i) + sum over edges + sum_b w_b f(i, i + b),

where an edge that a shift meets too is left out there. With as many samples as nodes it is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.engine.starts import SHIFTS, uniform

RUN = 8  # shifts come in runs of so many, one after the other


@dataclass(frozen=True)
class Shifts:
    """Runs of shifts: starts[step, r], starts[step, r] + 1, ..., lengths[r] of them.

    starts: (n_steps, n_runs); lengths: (n_runs,); weights: (n_runs,), how many shifts each one of a
    run stands for.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def n_samples(self) -> int:
        """How many entries of a row are sampled in a step."""
        return int(self.lengths.sum())

    def listed(self, step: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the shifts of a step and what each stands for, (n_samples,) each."""
        begins = np.cumsum(self.lengths) - self.lengths
        within = np.arange(self.n_samples) - np.repeat(begins, self.lengths)
        return np.repeat(self.starts[step], self.lengths) + within, self.by_sample()

    def by_sample(self) -> NDArray[np.float64]:
        """Return how many shifts each sample stands for, (n_samples,)."""
        return np.repeat(self.weights, self.lengths)


def draw_shifts(seed: int, n_nodes: int, samples: int, n_steps: int) -> Shifts:
    """Draw a run of shifts from each of as many strata of 1 ... n - 1 as make up the samples.

    A stateless hash of (seed, step, run) decides where in its stratum a run begins.

    >>> draw_shifts(0, 10, 100, 1).listed(0)[0].tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> draw_shifts(0, 1, 100, 1).listed(0)[0].tolist()  # a node alone meets nobody
    []
    """
    n_shifts, n_runs = n_nodes - 1, -(-samples // RUN)
    if n_runs * RUN >= n_shifts:
        firsts = np.arange(0, n_shifts, RUN)
        lengths = np.minimum(RUN, n_shifts - firsts)
        return Shifts(np.tile(1 + firsts, (n_steps, 1)), lengths, np.ones(len(firsts)))
    ends = np.arange(n_runs + 1) * n_shifts // n_runs
    sizes = np.diff(ends)
    drawn = uniform(seed, SHIFTS, n_steps, n_runs)
    starts = 1 + ends[:-1] + (drawn * (sizes - RUN + 1)).astype(np.int64)
    return Shifts(starts, np.full(n_runs, RUN), sizes / RUN)


def kept_entries(relation: Any) -> Any:
    """Return what is looked at in every step: the entries of B, and the diagonal, as CSR.

    An entry of the diagonal is stored even where it is 0.
    """
    n_nodes = relation.shape[0]
    rows = np.repeat(np.arange(n_nodes), np.diff(relation.indptr))
    off = rows != relation.indices
    tails = np.concatenate([np.arange(n_nodes), rows[off]])
    heads = np.concatenate([np.arange(n_nodes), relation.indices[off]])
    values = np.concatenate([relation.diagonal(), relation.data[off]])
    order = np.argsort(tails, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n_nodes))])
    return sparse.csr_array((values[order], heads[order], starts), relation.shape)
