"""Families of big graphs: whether the nearest neighbour of a graph is of its own kind.

Five random generators make graphs of about the same numbers of nodes and edges. Pieces of them are
embedded against small graphs of the same kinds, none of which is among them, by structure alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.datasets import karate_club, load_network
from ddgk.datasets.generators import FEWEST_NODES, degrees_of, generators, thinned
from ddgk.embedding.progress import progress
from ddgk.errors import DatasetNotFoundError, ParameterError, RunError
from ddgk.estimator import DDGK
from ddgk.evaluation.baselines.heat_traces import heat_traces
from ddgk.evaluation.clustering import describe_by_counts, describe_by_degrees
from ddgk.evaluation.parts import Parts
from ddgk.evaluation.results import Results, Table
from ddgk.graphs import Graph
from ddgk.kernel import Statistics, distances
from ddgk.method import preset_method
from ddgk.pieces import sample_pieces

Array = NDArray[np.float64]
Advance = Callable[[int], None]

NETWORK = "celegansneural"
N_FAMILIES = 5
SIZES = (0.9, 1.1)  # of what was asked for
SOURCE_SIZES = (100, 200)
# Some generators always give the same number of edges a node, which would give them away.
MEAN_DEGREES = (9.0, 9.4)
MOST_LISTED = 3
SMALLEST = 1e-9

METHOD: dict[str, Any] = {"families": "none", "images": 0}
# Of whole graphs: sums, which are put into proportion to what grows with a graph afterwards.
SUMMED: dict[str, Any] = {"reduction": "sum", "baseline": "none"}

WAYS = {
    "ddgk": "DDGK, mean of pieces",
    "whole": "DDGK, whole graphs",
    "netlsd": "NetLSD",
    "degrees": "degrees, distribution",
    "counts": "(n, m)",
}


@dataclass(frozen=True)
class Setting:
    """Everything that decides the table, but for the network whose degrees are drawn from.

    n_pieces, piece_nodes: how many pieces of a graph are embedded, and how large they are. whole:
    embed whole graphs too, which takes many times as long.
    """

    n_nodes: int = 20_000
    n_graphs: int = 10
    n_sources: int = 10
    seed: int = 0
    n_pieces: int = 64
    piece_nodes: int = 100
    whole: bool = False

    def __post_init__(self) -> None:
        least = int(np.ceil(FEWEST_NODES / SIZES[0]))
        if self.n_nodes < least:
            raise ParameterError(f"n_nodes must be at least {least}, not {self.n_nodes!r}")
        if self.n_graphs < 2:
            raise ParameterError(f"a family needs two graphs at least, not {self.n_graphs!r}")
        for name, least in (("n_sources", 1), ("n_pieces", 1), ("piece_nodes", 2)):
            if getattr(self, name) < least:
                raise ParameterError(f"{name} must be at least {least}, not {getattr(self, name)}")


@dataclass(frozen=True)
class Universe:
    """Graphs, what they are known to be, the small graphs they are embedded against.

    network: the one whose degrees the configuration model draws from.
    """

    graphs: list[Graph]
    families: list[str]
    sources: list[Graph]
    network: str


@dataclass(frozen=True)
class Found:
    """What one way of describing graphs says.

    columns: (n_graphs, n_columns); nearest: the position of the graph nearest
    to each, (n_graphs,); seconds: what describing took.
    """

    columns: Array
    nearest: NDArray[np.int64]
    seconds: float

    def right(self, families: Sequence[str], family: str | None = None) -> float:
        """Return the share of graphs, all or those of a family, whose nearest is of their own."""
        own = [families[near] == name for near, name in self._pairs(families, family)]
        return sum(own) / len(own)

    def confusions(self, families: Sequence[str]) -> dict[tuple[str, str], int]:
        """Count, for a family and another, the graphs of the one whose nearest is of the other."""
        taken = Counter((name, families[near]) for near, name in self._pairs(families, None))
        return {pair: count for pair, count in taken.items() if pair[0] != pair[1]}

    def _pairs(self, families: Sequence[str], family: str | None) -> list[tuple[int, str]]:
        pairs = zip(self.nearest.tolist(), families, strict=True)
        return [(near, name) for near, name in pairs if family in (None, name)]


def real_degrees() -> tuple[str, NDArray[np.int64]]:
    """Return the degrees of C. elegans' neurons, or of the karate club where they are not here."""
    try:
        network = load_network(NETWORK)
    except DatasetNotFoundError:
        network = karate_club()
    return str(network.name), degrees_of(network)


def make_universe(setting: Setting, advance: Advance = lambda _: None) -> Universe:
    """Draw graphs and sources; every one has a seed of its own, so that more change none."""
    network, degrees = real_degrees()
    kinds = generators(degrees)
    graphs, families = [], []
    low, high = (round(share * setting.n_nodes) for share in SIZES)
    for place, (family, make) in enumerate(kinds.items()):
        for number in range(setting.n_graphs):
            generator = np.random.default_rng([setting.seed, 0, place, number])
            size, seed = (int(generator.integers(*ends)) for ends in ((low, high + 1), (2**31,)))
            n_edges = round(size * generator.uniform(*MEAN_DEGREES) / 2)
            graphs.append(thinned(make(size, seed), n_edges, seed))
            families.append(family)
            advance(1)
    sources = []
    for number in range(setting.n_sources):
        place = number % len(kinds)
        generator = np.random.default_rng([setting.seed, 1, place, number])
        size = int(generator.integers(SOURCE_SIZES[0], SOURCE_SIZES[1] + 1))
        sources.append([*kinds.values()][place](size, int(generator.integers(2**31))))
    return Universe(graphs, families, sources, network)


def describe_by_pieces(
    universe: Universe,
    setting: Setting,
    *,
    folder: Path | None = None,
    n_jobs: int = 1,
    verbose: bool = False,
) -> Array:
    """Return the mean embedding of pieces of every graph, (n_graphs, n_columns)."""
    model = DDGK(
        sources=universe.sources,
        random_state=setting.seed,
        n_jobs=n_jobs,
        verbose=verbose,
        **METHOD,
    )
    pieces = [
        piece
        for place, graph in enumerate(universe.graphs)
        for piece in sample_pieces(
            graph, setting.n_pieces, setting.piece_nodes, seed=setting.seed + place
        )
    ]
    model.fit(universe.sources, run=folder)
    rows = np.asarray(model.transform(pieces, run=folder))
    means: Array = rows.reshape(len(universe.graphs), setting.n_pieces, -1).mean(axis=1)
    return means


def describe_whole(
    universe: Universe,
    seed: int,
    *,
    folder: Path | None = None,
    n_jobs: int = 1,
    verbose: bool = False,
) -> Array:
    """Return divergences from every source that do not grow with a graph, (n_graphs, n_columns).

    A node has about as many edges in a large graph as in a small one, but as many more non-edges as
    there are nodes: so edges are counted by node, and non-edges by pair of nodes.
    """
    model = DDGK(
        sources=universe.sources,
        random_state=seed,
        n_jobs=n_jobs,
        verbose=verbose,
        **METHOD,
        **SUMMED,
    )
    model.fit(universe.graphs, run=folder)
    rows = np.asarray(model.transform(universe.graphs, run=folder))
    grid = model.by_channel(rows)
    n_nodes = np.array([graph.n_nodes for graph in universe.graphs], dtype=np.float64)
    by = {"edges": n_nodes, "non_edges": n_nodes**2}
    counts = np.stack([by[channel] for channel in model.channels_], axis=1)
    scaled: Array = (grid / counts[:, None, :, None]).reshape(len(rows), -1)
    return scaled


def without_counts(columns: Array, graphs: Sequence[Graph]) -> Array:
    """Return standardised columns less what numbers of nodes and edges foretell of them.

    That is their least-squares fit on the logarithms of both: every loss grows with the edges a
    node has, and so do all columns together. Returns the same shape, (n_graphs, n_columns).
    """
    counts = np.log([[graph.n_nodes, graph.n_edges] for graph in graphs])
    known = np.column_stack([np.ones(len(graphs)), counts])
    values = Statistics.of(columns).standardise(columns)
    left: Array = values - known @ np.linalg.lstsq(known, values, rcond=None)[0]
    left[:, left.std(axis=0) < SMALLEST] = 0.0  # rounding, which must not be made large
    return left


def nearest(columns: ArrayLike) -> NDArray[np.int64]:
    """Return the nearest other row of each, by standardised columns, (n_rows,)."""
    apart = distances(Statistics.of(columns).standardise(columns))
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart.argmin(axis=1))


def compare(
    universe: Universe,
    setting: Setting,
    *,
    folder: Path | None = None,
    n_jobs: int = 1,
    verbose: bool = False,
) -> dict[str, Found]:
    """Describe graphs in every way and find their nearest neighbours.

    folder: keeps the columns of what is finished.
    """
    parts = Parts(folder, {"experiment": "families", **configuration(universe, setting)})
    how: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}

    def inside(name: str) -> Path | None:
        return None if folder is None else folder / name

    ways: dict[str, Callable[[], Array]] = {
        "ddgk": lambda: describe_by_pieces(universe, setting, folder=inside("pieces"), **how),
        "whole": lambda: describe_whole(universe, setting.seed, folder=inside("embedding"), **how),
        "netlsd": lambda: _describe_by_heat(universe.graphs, setting.seed, verbose),
        "degrees": lambda: describe_by_degrees(universe.graphs),
        "counts": lambda: describe_by_counts(universe.graphs, logarithms=False),
    }
    if not setting.whole:
        del ways["whole"]
    found = {}
    for way, describe in ways.items():
        kept = parts.get(way, partial(_timed, describe))
        columns, seconds = _restored(kept, len(universe.graphs))
        if way == "whole":
            columns = without_counts(columns, universe.graphs)
        found[way] = Found(columns, nearest(columns), seconds)
    return found


def _describe_by_heat(graphs: Sequence[Graph], seed: int, verbose: bool) -> Array:
    with progress("NetLSD", len(graphs), "graphs", verbose, patience=2.0) as advance:
        return heat_traces(graphs, seed, advance).values


def _timed(describe: Callable[[], Array]) -> dict[str, Any]:
    began = time.perf_counter()
    columns = describe()
    return {"columns": columns.tolist(), "seconds": time.perf_counter() - began}


def _restored(kept: Any, n_graphs: int) -> tuple[Array, float]:
    """Undo what JSON made of columns; nothing in it is trusted."""
    try:
        columns, seconds = np.array(kept["columns"], dtype=np.float64), float(kept["seconds"])
    except (LookupError, TypeError, ValueError) as error:
        raise RunError(f"a part of this run is damaged: {type(error).__name__}") from error
    if columns.ndim != 2 or len(columns) != n_graphs or not np.isfinite(columns).all():
        raise RunError(f"a part of this run is damaged: its columns have shape {columns.shape}")
    return columns, seconds


def configuration(universe: Universe, setting: Setting) -> dict[str, Any]:
    """Return everything that decides the tables."""
    return {
        **asdict(setting),
        "degrees_of": universe.network,
        "sizes": list(SIZES),
        "source_sizes": list(SOURCE_SIZES),
        "mean_degrees": list(MEAN_DEGREES),
        **{
            f"method.{name}": value
            for name, value in preset_method("default", METHOD).as_json().items()
        },
    }


def summarise(
    found: dict[str, Found], universe: Universe, setting: Setting, command: str, making: float
) -> Results:
    """Put nearest neighbours into tables; making: the seconds that the graphs took."""
    families = universe.families
    kinds = list(dict.fromkeys(families))
    right = Table(
        f"Graphs whose nearest neighbour is of their own family, of {len(families)}; "
        f"{(setting.n_graphs - 1) / (len(families) - 1):.0%} by chance",
        ("by", "all", *kinds),
        tuple(
            (WAYS[way], *(f"{one.right(families, kind):.0%}" for kind in (None, *kinds)))
            for way, one in found.items()
        ),
    )
    mistakes = Table(
        "Which families are taken for which",
        ("by", "graphs", "mistakes"),
        tuple(
            (WAYS[way], str(sum(taken.values())), _listed(taken))
            for way, taken in ((way, one.confusions(families)) for way, one in found.items())
        ),
    )
    graphs = Table(
        f"The graphs (configuration model: degrees drawn from {universe.network})",
        ("family", "graphs", "nodes", "edges", "mean degree"),
        tuple(_sizes(kind, universe) for kind in kinds),
    )
    times = Table(
        "Seconds (they differ from run to run; a run that went on says what was left)",
        ("making graphs", *(WAYS[way] for way in found)),
        ((f"{making:.1f}", *(f"{one.seconds:.1f}" for one in found.values())),),
    )
    return Results(
        "families",
        command,
        {"dataset": f"{len(families)} graphs", **configuration(universe, setting)},
        [right, mistakes, graphs],
        {
            "names": [graph.name for graph in universe.graphs],
            "families": families,
            "confusions": {
                way: [[*pair, count] for pair, count in sorted(one.confusions(families).items())]
                for way, one in found.items()
            },
            "nearest": {way: one.nearest.tolist() for way, one in found.items()},
            "seconds": {way: one.seconds for way, one in found.items()},
        },
        [times],
    )


def _listed(confusions: dict[tuple[str, str], int]) -> str:
    """Name the most frequent ones."""
    ordered = sorted(confusions.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{own} for {other} {count}" for (own, other), count in ordered[:MOST_LISTED]]
    left = sum(count for _, count in ordered[MOST_LISTED:])
    return ", ".join([*named, f"others {left}"] if left else named)


def _sizes(kind: str, universe: Universe) -> tuple[str, ...]:
    pairs = zip(universe.graphs, universe.families, strict=True)
    own = [graph for graph, family in pairs if family == kind]
    degrees = [2 * graph.n_edges / graph.n_nodes for graph in own]
    counts = [[graph.n_nodes for graph in own], [graph.n_edges for graph in own]]
    return (
        kind,
        str(len(own)),
        *(f"{min(values)} to {max(values)}" for values in counts),
        f"{min(degrees):.2f} to {max(degrees):.2f}",
    )
