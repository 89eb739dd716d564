"""The kernels of the aligner against sums that are written out, and against trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ddgk.engine.annealing import (
    anneal,
    exchange_costs,
    exchange_partners,
    expected_costs,
    matching_loss,
    split_costs,
)
from ddgk.engine.ordering import order_nodes
from ddgk.engine.tabu import search_beyond

WEIGHTS = np.array([1.0, 0.5])
SIZES = [(4, 4), (3, 5), (1, 1), (1, 3), (6, 6)]


def stacks(n, m, seed=0):
    """Random symmetric relations of both sides, and random unary costs."""
    rng = np.random.default_rng(seed)
    target, source = rng.random((2, n, n)), rng.random((2, m, m))
    return rng.random((n, m)), target + target.swapaxes(1, 2), source + source.swapaxes(1, 2)


def written_out(unary, target, source, partners):
    """The loss of a matching, entry by entry."""
    n = len(partners)
    total = sum(unary[i, partners[i]] for i in range(n))
    for i, k, r in itertools.product(range(n), range(n), range(2)):
        gap = target[r, i, k] - source[r, partners[i], partners[k]]
        total += WEIGHTS[r] * gap**2
    return total


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_loss_of_a_matching_is_the_sum_over_entries(n, m):
    unary, target, source = stacks(n, m)
    costs = split_costs(unary, target, source, WEIGHTS)
    partners = np.random.default_rng(1).permutation(m)[:n].astype(np.int64)
    expected = written_out(unary, target, source, partners)
    assert matching_loss(costs, partners) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_gradient_is_that_of_the_expected_loss(n, m):
    unary, target, source = stacks(n, m)
    costs = split_costs(unary, target, source, WEIGHTS)
    attention = np.random.default_rng(2).random((n, m))
    found, half, whole = (np.empty((n, m)) for _ in range(3))
    expected_costs(costs, attention, found, half, whole)
    expected = costs.unary.copy()
    for i, j, k, other in itertools.product(range(n), range(m), range(n), range(m)):
        for r, weight in enumerate(WEIGHTS):
            here = 0.0 if i == k else target[r, i, k]
            there = 0.0 if j == other else source[r, j, other]
            expected[i, j] += 2 * attention[k, other] * weight * (here - there) ** 2
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_what_an_exchange_costs_is_the_difference_of_losses(n, m):
    costs = split_costs(*stacks(n, m), WEIGHTS)
    partners = np.random.default_rng(3).permutation(m)[:n].astype(np.int64)
    found = exchange_costs(costs, partners)
    for i, j in itertools.product(range(n), range(m)):
        moved = partners.copy()
        moved[partners == j] = partners[i]
        moved[i] = j
        gap = matching_loss(costs, moved) - matching_loss(costs, partners)
        assert found[i, j] == pytest.approx(gap, abs=1e-9)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_searches_never_make_it_worse_and_end_in_a_valley(n, m):
    for seed in range(5):
        costs = split_costs(*stacks(n, m, seed), WEIGHTS)
        start = np.random.default_rng(seed).permutation(m)[:n].astype(np.int64)
        near = start.copy()
        exchange_partners(costs, near, 100, 1e-9)
        far = search_beyond(costs, near, 200, seed)
        for partners in (near, far):
            assert len(set(partners.tolist())) == n
        losses = [matching_loss(costs, partners) for partners in (start, near, far)]
        assert losses == sorted(losses, reverse=True)
        assert exchange_costs(costs, near).min() >= -1e-9
        every = [np.array(p, dtype=np.int64) for p in itertools.permutations(range(m), n)]
        assert losses[-1] == pytest.approx(min(matching_loss(costs, p) for p in every))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_annealing_keeps_rows_and_columns(n, m):
    costs = split_costs(*stacks(n, m), WEIGHTS)
    attention = np.full((n, m), 1 / m)
    anneal(costs, attention, np.geomspace(0.05, 10, 20), 30)
    np.testing.assert_allclose(attention.sum(axis=1), 1)
    assert (attention >= 0).all()
    assert (attention.sum(axis=0) <= 1 + 1e-3).all()


def test_the_order_of_nodes_knows_no_numbering():
    """A path with a branch has no symmetry: every node has its place, however it is numbered."""
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (2, 6), (6, 7), (7, 8), (8, 9)])
    rng = np.random.default_rng(0)

    def order(numbers):
        tails, heads = np.concatenate([numbers[edges], numbers[edges][:, ::-1]]).T
        zeros = np.zeros(len(tails), dtype=np.int64)
        return order_nodes(np.zeros(10, dtype=np.int64), tails, heads, zeros)

    first = order(np.arange(10))
    for _ in range(5):
        numbers = rng.permutation(10)
        assert order(numbers).tolist() == numbers[first].tolist()


def test_the_order_of_symmetric_graphs_leads_to_the_same_matrices():
    import networkx as nx

    for graph in (nx.petersen_graph(), nx.cycle_graph(12), nx.complete_graph(7), nx.star_graph(6)):
        matrix = nx.to_numpy_array(graph)
        seen = set()
        for seed in range(5):
            numbers = np.random.default_rng(seed).permutation(len(matrix))
            shuffled = matrix[numbers][:, numbers]
            tails, heads = np.nonzero(shuffled)
            zeros = np.zeros(len(tails), dtype=np.int64)
            order = order_nodes(np.zeros(len(matrix), dtype=np.int64), tails, heads, zeros)
            assert sorted(order.tolist()) == list(range(len(matrix)))
            seen.add(shuffled[order][:, order].tobytes())
        assert len(seen) == 1
