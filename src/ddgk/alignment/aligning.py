"""`align`: from two graphs to an Alignment, start by start until one is perfect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ddgk.alignment.checking import is_isomorphism
from ddgk.alignment.communities import Grouping, GroupsOfBoth, group_both
from ddgk.alignment.large import align_large
from ddgk.alignment.learning import Annealing, Learner, Start
from ddgk.alignment.orbits import colour_classes
from ddgk.alignment.profiles import Profiler, match_profiles, profile_affinity
from ddgk.alignment.reconstruction import divergence
from ddgk.alignment.result import Alignment, Restart, edge_correctness
from ddgk.alignment.views import Viewer, checked_relations
from ddgk.attributes import learn_families
from ddgk.embedding import progress
from ddgk.encoder import start_seed
from ddgk.engine import make_engine
from ddgk.engine.problem import EncoderTraining
from ddgk.engine.tabu import announce
from ddgk.errors import ParameterError
from ddgk.graphs import Graph, Policies
from ddgk.graphs.convert import as_graph
from ddgk.method import Method

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Result = TypeVar("Result")

# Shallow and quick, since it is enough to know one source by heart; larger where that fails.
LADDER = (
    EncoderTraining(dimension=8, width=32, depth=1, epochs=100, rate=0.1, scores="linear"),
    EncoderTraining(dimension=16, width=64, depth=1, epochs=200, rate=0.05, scores="linear"),
    EncoderTraining(dimension=32, width=128, depth=1, epochs=400, rate=0.03, scores="linear"),
)
RELATIONS = ("node_to_edges", "heat")
WAYS = ("attention", "neighbours", "profiles")
MOST_DENSE = 3000  # nodes; above, nothing may be as large as all pairs of nodes
PATIENCE = 2.0  # seconds after which a progress bar is shown
WAVE = 4  # starts that are run side by side, however many threads there are


class Orders(NamedTuple):
    """The canonical order of the nodes of both."""

    target: NDArray[np.int64]
    source: NDArray[np.int64]


class Pair(NamedTuple):
    """Two graphs, always in this order."""

    target: Graph
    source: Graph


def align(
    target: Any,
    source: Any,
    *,
    restarts: int = 8,
    relation: str | tuple[str, ...] = RELATIONS,
    labels: str | tuple[str, ...] = "auto",
    by: str = "attention",
    model: Profiler | None = None,
    groups: GroupsOfBoth | None = None,
    steps: int = 30,
    noise: float = 0.01,
    coefficients: float | Mapping[str, float] = 1.0,
    exhaustive: bool = False,
    policies: Policies | None = None,
    engine: str = "auto",
    random_state: int = 0,
    n_jobs: int = 1,
    verbose: bool = False,
) -> Alignment:
    """Find which node of the target corresponds to which node of the source.

    Trains an encoder of the source, cools the attention of the target onto what the encoder
    predicts down to a one-to-one matching, and improves that by exchanging partners. Several starts
    are tried, each with an encoder of its own; the one that reconstructs the target best is kept. A
    start whose matching is an isomorphism cannot be improved upon and ends the search.

    Where either graph has more than 3,000 nodes, no matrix between all nodes is built and no
    encoder trained: both graphs are refined together, and where that does not end in an
    isomorphism, neighbours vote on a short attention (`by="neighbours"`).

    Parameters
    ----------
    target, source : Graph, or a graph of a library that `ddgk.graphs.as_graph` knows
    restarts : int
        How many starts at most.
    relation : str or tuple of str
        What is reconstructed, of "node_to_edges", "heat", "closeness"; several at once.
    labels : "auto", "none" or tuple of str
        Which of node_labels, edge_labels, attributes steer the match; "auto": those both carry.
    by : {"attention", "neighbours", "profiles"}
        "neighbours" is what large graphs are matched by, on graphs of any size; of the parameters
        below only `model`, `coefficients`, `policies` and `random_state` count. "profiles" trains
        nothing for the pair: nodes that cost a fitted model's sources alike are matched.
    model : DDGK, optional
        A fitted model. For `by="profiles"` it is needed; otherwise its profiles are where the
        attention starts.
    groups : "communities" or pair of groups, optional
        Learn an attention between groups of nodes together with the one between nodes: groups of
        the target and of the source, as `Alignment.coarsen` takes them, or those that Louvain's
        method finds. A third of the starts leaves them out, since groups may mislead.
    steps : int
        Of the annealing.
    noise : float
        How unevenly attentions start. 0 is the equivariant start: nodes that nothing tells apart
        keep the same attention, and one start is all there is.
    coefficients : float or mapping
        Weight of the labels, for all or by name.
    exhaustive : bool
        Run all starts, also after one found an isomorphism: more automorphisms show in `orbits`.
    policies : Policies, optional
        For input that is not a simple graph.
    engine : str
        What trains the encoder.
    random_state : int
        Seed of encoders and starts.
    n_jobs : int
        Threads; results do not depend on it.
    verbose : bool
        Show a progress bar, if it takes more than two seconds.

    Returns
    -------
    Alignment

    Examples
    --------
    >>> import ddgk
    >>> path = ddgk.Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="abcd")
    >>> turned = path.permuted([2, 0, 3, 1])
    >>> found = ddgk.align(path, turned.replace(node_names="wxyz"))
    >>> found.matching, found.is_isomorphism
    ({0: 'x', 1: 'z', 2: 'w', 3: 'y'}, True)
    """
    _check(restarts, steps, noise, by, model)
    if groups is not None and (noise == 0 or by != "attention"):
        raise ParameterError("groups need by='attention' and noise above 0")
    kept = Policies() if policies is None else policies
    pair = Pair(as_graph(target, policies=kept), as_graph(source, policies=kept))
    method = Method(families=labels, coefficients=coefficients)
    families = learn_families(pair, method.families)
    weights = tuple(method.coefficient(family.name) for family in families)
    viewer = Viewer(checked_relations(relation), families, weights)
    if by == "neighbours" or max(graph.n_nodes for graph in pair) > MOST_DENSE:
        _check_large(pair, by, groups, noise)
        return align_large(*pair, viewer, model, random_state)
    if by == "profiles":
        assert model is not None
        mine, theirs = (model.node_profiles(graph) for graph in pair)
        return match_profiles(pair.target, pair.source, mine, theirs, viewer.family_names)
    orders = Orders(viewer.order(pair.target), viewer.order(pair.source))
    grouped = None if groups is None else group_both(pair.target, pair.source, groups)
    learner = Learner(
        viewer.view(pair.target, orders.target),
        viewer.view(pair.source, orders.source),
        viewer,
        Annealing(steps=steps, noise=noise),
        LADDER,
        make_engine(engine),
        colour_classes(pair.target, viewer.family_names)[orders.target] if noise == 0 else None,
        None if model is None else _affinity(model, pair, orders),
        None if grouped is None else _codes(grouped, orders),
    )
    announce()
    seed = start_seed(random_state, learner.source.digest)

    def run(place: int) -> tuple[Start, Restart]:
        start = learner.learn(place, start_seed(seed, str(place)))
        return start, _judge(start, pair, orders, viewer)

    most = restarts if noise > 0 else 1
    found: list[tuple[Start, Restart]] = []
    with progress("Aligning", most, "starts", verbose, patience=PATIENCE) as advance:
        for wave in _waves(most):
            found += _run_all(run, wave, n_jobs)
            advance(len(wave))
            if not exhaustive and any(restart.is_isomorphism for _, restart in found):
                break
    return replace(_best(pair, orders, found, learner), groups=grouped)


def _check(restarts: Any, steps: Any, noise: Any, by: str, model: Profiler | None) -> None:
    """Refuse what cannot be meant."""
    for name, value in (("restarts", restarts), ("steps", steps)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
    if not isinstance(noise, int | float) or not 0 <= noise < float("inf"):
        raise ParameterError(f"noise must be a number of at least 0, not {noise!r}")
    if by not in WAYS:
        raise ParameterError(f"by must be one of {', '.join(map(repr, WAYS))}, not {by!r}")
    if by == "profiles" and model is None:
        raise ParameterError(
            "by='profiles' matches the node profiles of a fitted model; give model="
        )


def _check_large(pair: Pair, by: str, groups: GroupsOfBoth | None, noise: float) -> None:
    """Refuse what takes a matrix between all nodes, where graphs are too large for one."""
    sizes = " and ".join(f"{graph.n_nodes:,}" for graph in pair)
    why = f"compares all nodes of both graphs, which here are {sizes} (at most {MOST_DENSE:,})"
    if by == "profiles":
        raise ParameterError(f"by='profiles' {why}; pass by='neighbours' with the same model")
    if groups is not None:
        raise ParameterError(f"groups= {why}; align without, and coarsen what is found")
    if noise == 0:
        raise ParameterError(f"the equivariant start, noise=0, {why}; leave noise as it is")


def _waves(restarts: int) -> Iterator[range]:
    """Cut starts into waves: the first alone, since it is often enough, then some at a time."""
    yield range(1)
    for first in range(1, restarts, WAVE):
        yield range(first, min(first + WAVE, restarts))


def _run_all(run: Callable[[int], Result], places: Sequence[int], n_jobs: int) -> list[Result]:
    """Run starts, in threads if there is more than one of both."""
    if n_jobs == 1 or len(places) == 1:
        return [run(place) for place in places]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(run, places))


def _affinity(model: Profiler, pair: Pair, orders: Orders) -> Array:
    """Return how alike the profiles of both graphs' nodes are, in canonical order."""
    return profile_affinity(
        model.node_profiles(pair.target)[orders.target],
        model.node_profiles(pair.source)[orders.source],
    )


def _codes(groupings: tuple[Grouping, Grouping], orders: Orders) -> tuple[Integers, Integers]:
    """Return the groups of both graphs' nodes, in canonical order."""
    mine, theirs = groupings
    return mine.codes[orders.target], theirs.codes[orders.source]


def _judge(start: Start, pair: Pair, orders: Orders, viewer: Viewer) -> Restart:
    """Say what a start is worth, on the graphs themselves and in their node order."""
    pairs = np.stack([orders.target[start.pairs[:, 0]], orders.source[start.pairs[:, 1]]], axis=1)
    pairs = pairs[np.argsort(pairs[:, 0])]
    return Restart(
        pairs,
        start.loss,
        edge_correctness(pair.target, pair.source, pairs),
        is_isomorphism(pair.target, pair.source, pairs, viewer.family_names),
    )


def _best(
    pair: Pair, orders: Orders, found: list[tuple[Start, Restart]], learner: Learner
) -> Alignment:
    """Keep the first isomorphism, else the least loss; and say it in the callers' node order."""

    def worth(place: int) -> tuple[bool, float, int]:
        restart = found[place][1]
        return not restart.is_isomorphism, restart.loss, place

    start, restart = found[min(range(len(found)), key=worth)]
    attention = np.empty_like(start.attention)
    attention[np.ix_(orders.target, orders.source)] = start.attention
    settled = start.attention.copy()  # nodes without a partner keep their attention
    settled[start.pairs[:, 0]] = 0.0
    settled[start.pairs[:, 0], start.pairs[:, 1]] = 1.0
    coefficients = learner.viewer.coefficients
    return Alignment(
        pair.target,
        pair.source,
        attention,
        restart.loss,
        np.array([other.loss for _, other in found]),
        learner.viewer.family_names,
        divergence(learner.target, learner.source, start.scores, settled, coefficients),
        tuple(other for _, other in found),
        restart.pairs,
        start.sureness[np.argsort(orders.target[start.pairs[:, 0]])],
    )
