"""`align`: from two graphs to an Alignment; `align_many`: from many pairs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from ddgk.alignment.encoding import code_graphs, describe_nodes, make_network, shared_attributes
from ddgk.alignment.result import Alignment, is_isomorphism
from ddgk.alignment.search import Matching, share_attention
from ddgk.alignment.solving import AlignmentOptions, Budget, Solver
from ddgk.compiling import prepare
from ddgk.errors import ParameterError
from ddgk.graphs import Policies
from ddgk.graphs.convert import as_graph
from ddgk.symmetry import canonical_order

LABELS = ("soft", "strict", "ignore")
MOST_ENTRIES = 1_000_000  # of an attention that is returned dense


def align(
    target: Any,
    source: Any,
    *,
    labels: str = "soft",
    max_seconds: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    options: AlignmentOptions | None = None,
    policies: Policies | None = None,
    verbose: bool = False,
) -> Alignment:
    """Find which node of the target corresponds to which node of the source.

    Minimises the squared error of a quadratic assignment, with costs for labels [1]_:

        |A - P B P'|^2 + 2 c sum_i [labels of i and its partner differ]

    over one-to-one matchings P. If refinement of the two graphs finds an isomorphism, that is it.
    Otherwise belief propagation makes a soft matching: a pair is as likely as its neighbours can be
    matched one to one [2]_, [3]_ (for graphs up to some thousand nodes; graduated assignment [4]_
    on a few candidates a node above). It is rounded, and improved by simulated annealing. Restarts
    end as soon as a matching is proven best.

    Parameters
    ----------
    target, source : Graph, or a graph of a library that `ddgk.graphs.as_graph` knows
    labels : {"soft", "strict", "ignore"}
        Whether different labels cost, exclude a pair, or do not count. "strict" gives the largest
        common part found: matched nodes have equal labels, and keep an edge if both have any.
        Labels that only one of the graphs carries do not count.
    max_seconds : float, optional
        Return the best so far after this time, marked by `stopped_early`. Results are
        reproducible where it does not strike.
    random_state : int
        Seed of ties and restarts.
    n_jobs : int, optional
        Threads; results do not depend on it. Default 1; -1: one per core.
    options : AlignmentOptions, optional
        Costs and step budgets.
    policies : Policies, optional
        For input that is not a simple graph.
    verbose : bool
        Print a line on stderr every few seconds.

    Returns
    -------
    Alignment

    References
    ----------
    .. [1] Koopmans, Beckmann. Assignment problems and the location of economic activities. 1957.
    .. [2] Piccioli, Semerjian, Sicuro, Zdeborova. Aligning random graphs with a sub-tree similarity
       message-passing algorithm. 2022.
    .. [3] Vontobel. The Bethe permanent of a nonnegative matrix. 2013.
    .. [4] Gold, Rangarajan. A graduated assignment algorithm for graph matching. 1996.

    Examples
    --------
    >>> import ddgk
    >>> path = ddgk.Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="abcd")
    >>> turned = path.permuted([2, 0, 3, 1])
    >>> found = ddgk.align(path, turned.replace(node_names="wxyz"))
    >>> found.matching, found.is_isomorphism
    ({0: 'x', 1: 'z', 2: 'w', 3: 'y'}, True)
    >>> found
    Alignment(4 of 4 and 4 nodes matched, 3 of 3 edges kept, isomorphism)
    """
    _check(labels, max_seconds, random_state)
    n_jobs, options = _threads(n_jobs), options or AlignmentOptions()
    target, source = (as_graph(given, policies=policies) for given in (target, source))
    if target.directed != source.directed:
        raise ParameterError("one graph is directed and the other is not; give both alike")
    prepare("alignment")
    budget = Budget(max_seconds, verbose)
    used = shared_attributes((target, source), labels)
    shape = target.n_nodes, source.n_nodes
    if not all(shape):
        nothing = np.zeros((0, 2), dtype=np.int64)
        return Alignment(target, source, nothing, np.zeros(shape), np.zeros(0), used)
    codes = code_graphs((target, source), used)
    mine, theirs = (canonical_order(own.colours, own.arcs) for own in codes)
    exact = shape[0] == shape[1]
    exact = exact and is_isomorphism(target, source, np.stack([mine, theirs], axis=1), used)
    # In canonical order node 5 of one may be node 5 of the other: ties must not be read off.
    shuffle = np.random.Generator(np.random.PCG64(int(random_state))).permutation(source.n_nodes)
    theirs = theirs[shuffle]
    one, other = make_network(codes[0], mine), make_network(codes[1], theirs)
    if not exact:
        one, other = describe_nodes(one, other)
    solver = Solver(one, other, labels, options, budget, int(random_state), n_jobs)
    partners = np.argsort(shuffle) if exact else solver.solve()
    columns, values, sureness = share_attention(Matching(one, other, partners, solver.scoring))
    here, place = np.nonzero(values)
    entries = values[here, place], (mine[here], theirs[columns[here, place]])
    attention: Any = sparse.csr_array(entries, shape=shape)
    if shape[0] * shape[1] <= MOST_ENTRIES:
        attention = attention.toarray()
    matched = np.flatnonzero(partners >= 0)
    matched = matched[np.argsort(mine[matched])]
    pairs = np.stack([mine[matched], theirs[partners[matched]]], axis=1)
    how = options.label_cost, exact or solver.proven, budget.stopped, solver.n_restarts
    return Alignment(target, source, pairs, attention, sureness[matched], used, *how)


def align_many(
    pairs: Iterable[tuple[Any, Any]], *, n_jobs: int | None = None, **how: Any
) -> list[Alignment]:
    """Align many pairs of graphs, in threads; the other parameters are those of `align`.

    Parameters
    ----------
    pairs : iterable of pairs of graphs
        A target and a source each.
    n_jobs : int, optional
        Pairs aligned at the same time; results do not depend on it. Default 1; -1: one per core.

    Returns
    -------
    list of Alignment

    Examples
    --------
    >>> import ddgk
    >>> paths = [ddgk.Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in (3, 4, 5)]
    >>> [found.n_kept_edges for found in ddgk.align_many(zip(paths, paths[1:]))]
    [2, 3]
    """
    listed = list(pairs)
    threads = _threads(n_jobs)
    if threads == 1 or len(listed) < 2:
        return [align(target, source, **how) for target, source in listed]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda pair: align(*pair, **how), listed))


def _check(labels: str, max_seconds: Any, random_state: Any) -> None:
    """Validate arguments."""
    if labels not in LABELS:
        raise ParameterError(f"labels must be one of {str(LABELS)[1:-1]}, not {labels!r}")
    timed = isinstance(max_seconds, int | float) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (timed and max_seconds > 0):
        raise ParameterError(f"max_seconds must be a number above 0 or None, not {max_seconds!r}")
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 2**32:
        meant = "a whole number from 0 to 2**32 - 1"
        raise ParameterError(f"random_state must be {meant}, not {random_state!r}")


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or not (n_jobs == -1 or n_jobs > 0):
        raise ParameterError(f"n_jobs must be a number of threads, -1 or None, not {n_jobs!r}")
    return (os.cpu_count() or 1) if n_jobs == -1 else n_jobs
