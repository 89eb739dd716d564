"""The paper's section 5.4: how few sources will do, drawn at random or chosen.

Graphs are embedded once against all sources; a smaller set of sources is a selection of columns.
Within a fold sources, and the pilots by which they are chosen, are graphs of the training part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.datasets import Dataset
from ddgk.engine import make_engine
from ddgk.errors import DatasetError, ParameterError, RunError
from ddgk.estimator import DDGK
from ddgk.evaluation.comparison import Difference, paired
from ddgk.evaluation.parts import Parts
from ddgk.evaluation.protocols import N_FOLDS, checked_classes, ignore, nested_accuracies
from ddgk.evaluation.representations import Columns, Kernel, Positions
from ddgk.evaluation.results import Results, Table
from ddgk.graphs.graph import Graph
from ddgk.method import Method
from ddgk.sources import BY_DIVERGENCE, CHOICES, cheap_divergences, choose_by_size

Array = NDArray[np.float64]

SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
N_PILOTS = 10  # a tenth of which is tested, and not used, in a fold


@dataclass(frozen=True)
class Setting:
    """Everything that decides the table, but for the graphs."""

    preset: str = "default"
    n_sources: int = 200
    shares: tuple[float, ...] = SHARES
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    classifier: str = "svm"

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ParameterError("there must be a seed at least")
        if not self.shares or any(not 0 < share <= 1 for share in self.shares):
            raise ParameterError(f"shares must lie above 0 and up to 1, not {self.shares!r}")
        if list(self.shares) != sorted(set(self.shares)) or self.shares[-1] != 1:
            raise ParameterError(f"shares must ascend to 1, all sources, not {self.shares!r}")

    @property
    def n_folds(self) -> int:
        """Return how many folds are measured: with all sources there is nothing to choose."""
        return len(self.seeds) * N_FOLDS * (len(CHOICES) * (len(self.shares) - 1) + 1)


@dataclass(frozen=True)
class Embedded:
    """Graphs against all sources.

    grid: (n_graphs, n_sources, n_columns); sources: positions among the graphs, (n_sources,).
    """

    graphs: Sequence[Graph]
    classes: NDArray[np.int64]
    grid: Array
    sources: Positions
    method: Method

    def pilots(self, seed: int) -> tuple[Positions, Array]:
        """Draw pilots; return them and cheap divergences, (n_graphs, n_pilots, n_cheap)."""
        drawn = np.random.default_rng(seed).permutation(len(self.graphs))[:N_PILOTS]
        engine = make_engine(precision=self.method.precision)
        rows = cheap_divergences(
            self.graphs, drawn.tolist(), method=self.method, engine=engine, seed=seed
        )
        return drawn, rows.reshape(len(rows), len(drawn), -1)


@dataclass(frozen=True)
class Sampled:
    """Graphs seen through a share of the sources, for the protocols to classify."""

    embedded: Embedded
    pilots: Positions
    pilot_grid: Array
    how: str
    share: float
    seed: int

    @property
    def n_graphs(self) -> int:
        """How many graphs are described."""
        return len(self.embedded.grid)

    def kernels(self, train: Positions) -> list[Kernel]:
        """Return radial kernels of several widths."""
        return self._columns(train).kernels(train)

    def columns(self, train: Positions) -> Array:
        """Return the columns of the chosen sources, standardised by the training part."""
        return self._columns(train).columns(train)

    def squared_distances(self, train: Positions) -> Array:
        """Return the mean over columns of the squared differences."""
        return self._columns(train).squared_distances(train)

    def choose(self, train: Positions) -> Positions:
        """Choose among the sources that the training part knows; positions in `sources`."""
        sources = self.embedded.sources
        candidates = np.flatnonzero(np.isin(sources, train))
        if not len(candidates):
            raise ParameterError(
                "no source is in the training part of a fold; embed against more sources"
            )
        count = max(1, round(self.share * len(candidates)))
        if count >= len(candidates):
            return candidates
        if self.how == "random":
            # One order for all folds and shares: of two sets the smaller lies in the larger.
            order = np.random.default_rng(self.seed).permutation(len(sources))
            return np.sort(order[np.isin(order, candidates)][:count])
        behind = sources[candidates]
        if self.how == "sizes":
            graphs = [self.embedded.graphs[place] for place in behind]
            return np.sort(candidates[choose_by_size(graphs, count, self.seed)])
        known = np.flatnonzero(np.isin(self.pilots, train))
        rows = self.pilot_grid[np.ix_(behind, known)].reshape(len(behind), -1)
        return np.sort(candidates[BY_DIVERGENCE[self.how](rows, count)])

    def _columns(self, train: Positions) -> Columns:
        kept = self.embedded.grid[:, self.choose(train)]
        return Columns(kept.reshape(self.n_graphs, -1), absolute=True)


@dataclass(frozen=True)
class Sampling:
    """Accuracies by choice, share, seed and fold.

    accuracies: (n_choices, n_shares, n_seeds, n_folds); the last share is all sources.
    """

    choices: tuple[str, ...]
    shares: tuple[float, ...]
    accuracies: Array

    @cached_property
    def by_seed(self) -> Array:
        """Return mean accuracies, (n_choices, n_shares, n_seeds)."""
        means: Array = self.accuracies.mean(axis=-1)
        return means

    def of_full(self, how: str, share: float) -> float:
        """Return the accuracy with a share of the sources, divided by that with all."""
        own = self.by_seed[self.choices.index(how)].mean(axis=-1)
        return float(own[self.shares.index(share)] / own[-1])

    def ahead_of_random(self, how: str, share: float) -> Difference:
        """Return how far a choice is ahead of random sources, on the same folds."""
        place = self.shares.index(share)
        mine, drawn = (
            self.accuracies[self.choices.index(name), place].ravel() for name in (how, "random")
        )
        return paired(mine, drawn)


def embed_all(
    dataset: Dataset,
    setting: Setting,
    *,
    folder: Path | None = None,
    n_jobs: int = 1,
    verbose: bool = False,
) -> Embedded:
    """Embed all graphs against all sources; the folder keeps it tile by tile."""
    if dataset.classes is None:
        raise DatasetError(f"{dataset.name} has no classes, so nothing can be classified")
    classes = checked_classes(dataset.classes, len(dataset.graphs))
    model = DDGK(
        n_sources=setting.n_sources,
        preset=setting.preset,
        random_state=0,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    run = None if folder is None else folder / "embedding"
    rows = model.fit_transform(dataset.graphs, run=run)
    grid = rows.reshape(len(rows), len(model.sources_), -1)
    assert model.source_indices_ is not None  # they were chosen among the graphs
    return Embedded(dataset.graphs, classes, grid, model.source_indices_, model.method_)


def measure_sampling(
    embedded: Embedded,
    setting: Setting,
    *,
    folder: Path | None = None,
    n_jobs: int = 1,
    progress: Callable[[int], None] = ignore,
) -> Sampling:
    """Measure nested accuracy, one repeat per seed, for every choice and share of sources.

    folder: keeps every seed that is finished.
    """
    about = {**asdict(setting), "n_graphs": len(embedded.graphs), "n_pilots": N_PILOTS}
    del about["seeds"]  # a seed's accuracies do not depend on the others
    parts = Parts(None if folder is None else folder / "accuracies", about)
    shape = (len(CHOICES), len(setting.shares), N_FOLDS)
    found = []
    for seed in setting.seeds:
        measure = partial(_measure_seed, embedded, setting, seed, n_jobs, progress)
        kept = parts.get(f"seed-{seed}", measure)
        accuracies = np.array(kept, dtype=np.float64)
        if accuracies.shape != shape or not ((accuracies >= 0) & (accuracies <= 1)).all():
            raise RunError(f"the accuracies of seed {seed} in {folder} are damaged; delete them")
        found.append(accuracies)
    return Sampling(CHOICES, setting.shares, np.stack(found, axis=2))


def _measure_seed(
    embedded: Embedded,
    setting: Setting,
    seed: int,
    n_jobs: int,
    progress: Callable[[int], None],
) -> list[Any]:
    """Return accuracies by choice, share and fold, as JSON has them."""
    pilots = embedded.pilots(seed)
    found = np.empty((len(CHOICES), len(setting.shares), N_FOLDS))
    for j, share in enumerate(setting.shares):
        for i, how in enumerate(CHOICES):
            if share == 1 and i > 0:
                found[i, j] = found[0, j]
                continue
            found[i, j] = nested_accuracies(
                Sampled(embedded, *pilots, how, share, seed),
                embedded.classes,
                repeats=1,
                seed=seed,
                classifier=setting.classifier,
                n_jobs=n_jobs,
                progress=progress,
            )
    return found.tolist()


def summarise(
    found: Sampling,
    dataset: Dataset,
    setting: Setting,
    command: str,
    method: Method,
    seconds: tuple[float, float],
) -> Results:
    """Put accuracies into tables; seconds: for embedding and for classifying."""
    rows = [_cells(found, how, share) for share in found.shares for how in found.choices]
    rows = rows[: len(rows) - len(found.choices) + 1]  # all sources are all sources
    table = Table(
        f"Accuracy on {dataset.name} in percent against the share of sources, protocol nested, "
        f"{len(setting.seeds)} seeds",
        (
            "share",
            "sources",
            "accuracy",
            "± over seeds",
            "of all sources",
            "ahead of random (95 %)",
        ),
        tuple(rows),
    )
    times = Table(
        "Seconds (they differ from run to run; a run that went on says what was left)",
        ("embedding", "classifying"),
        (tuple(f"{value:.1f}" for value in seconds),),
    )
    configuration = {
        "dataset": dataset.name,
        "graphs": len(dataset.graphs),
        "fingerprint": dataset.fingerprint,
        **asdict(setting),
        "n_sources": min(setting.n_sources, len(dataset.graphs)),
        "protocol": "nested",
        "n_pilots": N_PILOTS,
        **{f"method.{name}": value for name, value in method.as_json().items()},
    }
    measured = {
        "choices": list(found.choices),
        "accuracies": found.accuracies.tolist(),
    }
    return Results("sampling", command, configuration, [table], measured, [times])


def _cells(found: Sampling, how: str, share: float) -> tuple[str, ...]:
    seeds = 100 * found.by_seed[found.choices.index(how), found.shares.index(share)]
    ahead = ""
    if how != "random":
        mean, low, high = (100 * value for value in found.ahead_of_random(how, share))
        ahead = f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"
    return (
        f"{share:.0%}",
        how if share < 1 else "all",
        f"{seeds.mean():.1f}",
        f"{seeds.std():.1f}",
        f"{found.of_full(how, share):.1%}",
        ahead,
    )
