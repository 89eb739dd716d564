"""Aligning graphs too large for anything square: refined side by side, then by neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ddgk.alignment.checking import induced_edges, is_isomorphism, kept_edges
from ddgk.alignment.neighbours import Cooling, describe_nodes, match_by_neighbours, standardised
from ddgk.alignment.profiles import Profiler
from ddgk.alignment.result import Alignment, Restart, edge_correctness
from ddgk.alignment.views import Viewer
from ddgk.encoder import start_seed
from ddgk.engine.pairing import pair_up
from ddgk.engine.starts import uniform
from ddgk.engine.voting import Carried, Rows, weigh
from ddgk.graphs.graph import Graph
from ddgk.refinement import Network, make_network, ordered

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

ORDER = (1 << 34) + 1  # a stream of random numbers that nothing else draws from
LEAST = 1e-6  # attention below is nothing
OTHER = 2.0  # what a node of another label costs, in votes, beside its coefficient


class Sides(NamedTuple):
    """Both graphs in one network, renumbered: the target in canonical order, then the source.

    target, source: which node stands there. colours: (n_target + n_source,).
    """

    network: Network
    colours: Integers
    target: Integers
    source: Integers


def align_large(
    target: Graph, source: Graph, viewer: Viewer, model: Profiler | None, random_state: int
) -> Alignment:
    """Match nodes without a matrix between all nodes of anything.

    Where refinement of both together finds an isomorphism, that is it. Else a short attention is
    cooled down by votes of neighbours; nodes that nothing speaks for are left without a partner.
    """
    sides = set_side_by_side(target, source, viewer, random_state)
    n_target = target.n_nodes
    partners, equal = pair_up(sides.colours, sides.network, n_target)
    pairs = _in_names_of_callers(sides, partners)
    exact = equal and is_isomorphism(target, source, pairs, viewer.family_names)
    cooling = Cooling()
    carried = Carried(
        sides.colours,
        np.zeros((len(sides.colours), 1)),
        OTHER * max(viewer.coefficients, default=1.0),
    )
    if not exact:
        carried = carried._replace(features=_features(target, source, sides, model))
        fixed = partners if not equal else np.full(n_target, -1, dtype=np.int64)
        partners = match_by_neighbours(
            sides.network, n_target, carried, fixed, cooling, start_seed(random_state, "ties")
        )
        pairs = _in_names_of_callers(sides, partners)
    rows, sureness = weigh(
        sides.network, n_target, partners, carried, cooling.sureness, cooling.width
    )
    sureness = _share_of_the_lonely(sides, sureness, n_target)
    loss = _loss(target, source, pairs)
    restart = Restart(
        pairs,
        loss,
        edge_correctness(target, source, pairs),
        is_isomorphism(target, source, pairs, viewer.family_names),
    )
    place = np.argsort(sides.target)  # where each of the caller's nodes stands
    return Alignment(
        target,
        source,
        _as_matrix(sides, rows),
        loss,
        np.array([loss]),
        viewer.family_names,
        restarts=(restart,),
        matched=pairs,
        sureness=sureness[place[pairs[:, 0]]],
    )


def set_side_by_side(target: Graph, source: Graph, viewer: Viewer, random_state: int) -> Sides:
    """Put both graphs into one network.

    The numbering of neither counts: nodes stand in canonical order. In that order node 5 of one may
    be node 5 of the other, so the source is shuffled, and ties cannot be read off.
    """
    union = _union(target, source)
    colours, tails, heads, codes = viewer.codes(union)
    n_target = target.n_nodes
    mine = tails < n_target
    orders = []
    for own, first, n_nodes in ((mine, 0, n_target), (~mine, n_target, source.n_nodes)):
        network = make_network(n_nodes, tails[own] - first, heads[own] - first, codes[own])
        orders.append(ordered(colours[first : first + n_nodes], network))
    shuffled = np.argsort(uniform(random_state, ORDER, 1, source.n_nodes)[0], kind="stable")
    orders[1] = orders[1][shuffled]
    standing = np.concatenate([orders[0], n_target + orders[1]])
    place = np.empty(len(standing), dtype=np.int64)
    place[standing] = np.arange(len(standing))
    network = make_network(len(standing), place[tails], place[heads], codes)
    return Sides(network, colours[standing], orders[0], orders[1])


def _union(target: Graph, source: Graph) -> Graph:
    """Return both graphs as one, the target's nodes and edges first."""

    def both(name: str) -> Any:
        mine, theirs = getattr(target, name), getattr(source, name)
        if mine is None or theirs is None:
            return None
        return mine + theirs if isinstance(mine, tuple) else np.concatenate([mine, theirs])

    edge_labels = both("edge_labels")
    if edge_labels is None and 0 in (target.n_edges, source.n_edges):
        edge_labels = target.edge_labels or source.edge_labels
    return Graph.from_checked(
        target.n_nodes + source.n_nodes,
        np.concatenate([target.edges, source.edges + target.n_nodes]),
        node_labels=both("node_labels"),
        edge_labels=edge_labels,
        node_attributes=both("node_attributes"),
        edge_weights=both("edge_weights"),
    )


def _features(target: Graph, source: Graph, sides: Sides, model: Profiler | None) -> Array:
    """Describe all nodes, by a model's profiles where there is one."""
    if model is None:
        return describe_nodes(sides.network, sides.colours)
    mine, theirs = model.node_profiles(target), model.node_profiles(source)
    return standardised(np.concatenate([mine[sides.target], theirs[sides.source]]))


def _in_names_of_callers(sides: Sides, partners: Integers) -> Integers:
    """Return the matching in the node order of the graphs, (n_matched, 2)."""
    matched = np.flatnonzero(partners >= 0)
    pairs = np.stack([sides.target[matched], sides.source[partners[matched]]], axis=1)
    return np.asarray(pairs[np.argsort(pairs[:, 0])], dtype=np.int64)


def _share_of_the_lonely(sides: Sides, sureness: Array, n_target: int) -> Array:
    """Let nodes without neighbours be as sure as there are others of their colour."""
    lonely = np.diff(sides.network.starts) == 0
    mine, theirs = sides.colours[:n_target], sides.colours[n_target:][lonely[n_target:]]
    ascending = np.sort(theirs)
    alike = np.searchsorted(ascending, mine, "right") - np.searchsorted(ascending, mine, "left")
    return np.where(lonely[:n_target] & (alike > 0), 1.0 / np.maximum(alike, 1), sureness)


def _as_matrix(sides: Sides, rows: Rows) -> Any:
    """Return the attention in the node order of the graphs, as a sparse array."""
    here, place = np.nonzero((rows.columns >= 0) & (rows.values > LEAST))
    columns = sides.source[rows.columns[here, place]]
    shape = (len(sides.target), len(sides.source))
    entries = (rows.values[here, place], (sides.target[here], columns))
    return sparse.csr_array(sparse.coo_array(entries, shape))


def _loss(target: Graph, source: Graph, pairs: Integers) -> float:
    """Return the mean squared error between the target's adjacency and that of its partners."""
    kept = len(kept_edges(target, source, pairs))
    lost = target.n_edges - kept
    gained = induced_edges(source, pairs[:, 1]) - kept
    return 2.0 * (lost + gained) / target.n_nodes**2
