"""The aligners that ddgk is measured against, behind one call each; POT and pygmtools needed.

A peer may get what we get: as many starts as we run at most, the first as the library starts by
itself, the others random; a start that is an isomorphism ends the search, else the one its own
objective likes best is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import ddgk
from ddgk.alignment.checking import is_isomorphism
from ddgk.relations import node_to_edges, step_distances

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]
Peer = Callable[[ddgk.Graph, ddgk.Graph, int, bool, int], Pairs | None]

LARGEST_AFFINITY = 60**2  # rows of pygmtools' dense affinity matrix; beyond it takes gigabytes


def adjacency(graph: ddgk.Graph) -> Array:
    return node_to_edges(graph).dense()


def shortest_paths(graph: ddgk.Graph) -> Array:
    """Return distances; what cannot be reached is one step farther than anything else."""
    steps = step_distances(graph)
    finite = np.isfinite(steps)
    return np.where(finite, steps, steps[finite].max() + 1)


def gromov_wasserstein(cost: Callable[[ddgk.Graph], Array]) -> Peer:
    """POT: Gromov-Wasserstein, fused with label mismatches where labels are to be used."""

    def run(target, source, starts, labelled, seed):
        import ot

        costs = cost(target), cost(source)
        shares = [np.full(len(matrix), 1 / len(matrix)) for matrix in costs]
        unlike = label_mismatch(target, source) if labelled else None

        def one(first: Array | None) -> tuple[Array, float]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if unlike is None:
                    plan, log = ot.gromov_wasserstein(*costs, *shares, G0=first, log=True)
                    return plan, float(log["gw_dist"])
                plan, log = ot.gromov.fused_gromov_wasserstein(
                    unlike, *costs, *shares, G0=first, alpha=0.5, log=True
                )
                return plan, float(log["fgw_dist"])

        def first_plans() -> Iterator[Array | None]:
            yield None
            rng = np.random.default_rng(seed)
            while True:
                yield scaled(rng.random((len(shares[0]), len(shares[1]))), *shares)

        return best_of(one, first_plans(), starts, target, source, labelled, sign=1)

    return run


def affinity_matching(solver: str) -> Peer:
    """pygmtools: RRWM or IPFP on the affinity that counts kept edges (and alike labels)."""

    def run(target, source, starts, labelled, seed):
        import pygmtools

        pygmtools.set_backend("numpy")
        if target.n_nodes * source.n_nodes > LARGEST_AFFINITY:
            return None
        affinity = np.kron(adjacency(source), adjacency(target))
        if labelled:
            alike = 1 - label_mismatch(target, source)
            affinity[np.diag_indices_from(affinity)] = alike.T.ravel()
        shape = target.n_nodes, source.n_nodes

        def one(first: Array | None) -> tuple[Array, float]:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = getattr(pygmtools, solver)(
                    affinity, *shape, x0=None if first is None else first[None]
                )
            soft = np.nan_to_num(np.asarray(found))
            rows, columns = linear_sum_assignment(soft, maximize=True)
            hard = np.zeros(shape)
            hard[rows, columns] = 1
            vector = hard.T.ravel()
            return soft, float(vector @ affinity @ vector)

        def first_guesses() -> Iterator[Array | None]:
            yield None
            rng = np.random.default_rng(seed)
            while True:
                yield scaled(rng.random(shape), np.ones(shape[0]), np.ones(shape[1]))

        return best_of(one, first_guesses(), starts, target, source, labelled, sign=-1)

    return run


def best_of(one, firsts, starts, target, source, labelled, sign) -> Pairs:
    """Run starts until one is an isomorphism; keep it, or what the objective likes best."""
    families = ("node_labels",) if labelled else ()
    kept, least = None, np.inf
    for _, first in zip(range(starts), firsts, strict=False):
        soft, value = one(first)
        rows, columns = linear_sum_assignment(soft, maximize=True)
        pairs = np.stack([rows, columns], axis=1)
        if is_isomorphism(target, source, pairs, families):
            return pairs
        if kept is None or sign * value < least:
            kept, least = pairs, sign * value
    assert kept is not None
    return kept


def label_mismatch(target: ddgk.Graph, source: ddgk.Graph) -> Array:
    assert target.node_labels is not None
    assert source.node_labels is not None
    return np.array([[float(a != b) for b in source.node_labels] for a in target.node_labels])


def scaled(values: Array, rows: Array, columns: Array) -> Array:
    """Scale positive numbers to those row sums and column sums (Sinkhorn)."""
    for _ in range(50):
        values = values * (columns / values.sum(axis=0))
        values = values * (rows / values.sum(axis=1))[:, None]
    return values


PEERS: dict[str, Peer] = {
    "POT GW, adjacency": gromov_wasserstein(adjacency),
    "POT GW, shortest paths": gromov_wasserstein(shortest_paths),
    "pygmtools RRWM": affinity_matching("rrwm"),
    "pygmtools IPFP": affinity_matching("ipfp"),
}
