"""The paper's classification experiment: an embedding beside baselines, on the same folds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ddgk.datasets import Dataset
from ddgk.embedding.progress import progress
from ddgk.errors import DatasetError, ParameterError
from ddgk.estimator import DDGK
from ddgk.evaluation.baselines import BASELINES, chosen
from ddgk.evaluation.baselines.quoted import quoted
from ddgk.evaluation.classifiers import CLASSIFIERS
from ddgk.evaluation.comparison import Difference, paired
from ddgk.evaluation.protocols import (
    N_FOLDS,
    authors_code_accuracies,
    checked_classes,
    nested_accuracies,
    paper_accuracies,
)
from ddgk.evaluation.representations import Columns, Learner, Representation, Union
from ddgk.evaluation.results import Results, Table
from ddgk.method import Method, preset_method
from ddgk.store import write_atomically
from ddgk.store.manifest import FORMAT

PROTOCOLS = ("nested", "paper", "authors-code")
MANY_GRAPHS = 1000
SUPERVISED = tuple(name for name, baseline in BASELINES.items() if baseline.supervised)


@dataclass(frozen=True)
class Setting:
    """Everything that decides the table, but for the graphs.

    repeats: None means 10, and 3 beyond a thousand graphs; baselines: names beside the trivial
    ones, which are always there; beside: names of baselines which the embedding is joined to;
    changes: parameters of the method that differ from the preset, as (name, value).
    """

    protocol: str = "nested"
    preset: str = "default"
    n_sources: int = 32
    repeats: int | None = None
    classifier: str = "svm"
    seed: int = 0
    baselines: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    changes: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        for name, known in (("protocol", PROTOCOLS), ("classifier", tuple(CLASSIFIERS))):
            if getattr(self, name) not in known:
                listed = ", ".join(map(repr, known))
                raise ParameterError(f"{name} must be one of {listed}, not {getattr(self, name)!r}")
        if self.protocol != "nested" and self.classifier != "svm":
            raise ParameterError(f"protocol {self.protocol!r} knows no classifier but 'svm'")
        chosen((*self.baselines, *self.beside))
        for name in SUPERVISED:
            if name in self.beside:
                raise ParameterError(f"{name!r} learns from classes; nothing can be beside it")
            if name in self.baselines and self.protocol != "nested":
                raise ParameterError(f"{name!r} is measured by protocol 'nested' only")
        _ = self.method  # refuses what it cannot be

    @property
    def method(self) -> Method:
        """Return what graphs are embedded with."""
        return preset_method(self.preset, dict(self.changes))

    def repeats_for(self, n_graphs: int) -> int:
        """Return how often graphs are dealt anew; the authors' code does it once."""
        if self.protocol == "authors-code":
            return 1
        return self.repeats or (3 if n_graphs > MANY_GRAPHS else 10)


@dataclass(frozen=True)
class Row:
    """A method's accuracies on all folds, and the seconds for describing and for classifying."""

    name: str
    title: str
    accuracies: tuple[float, ...]
    describing: float
    classifying: float

    @property
    def mean(self) -> Difference:
        """Return the mean accuracy in percent with its interval."""
        return scaled(paired(self.accuracies, np.zeros(len(self.accuracies))))


def classify(
    dataset: Dataset,
    setting: Setting,
    *,
    folder: Path | None = None,
    n_jobs: int = 1,
    verbose: bool = False,
    only: Sequence[str] | None = None,
) -> list[Row]:
    """Measure the embedding, then what it is compared with; rows in the order of the table.

    folder: keeps the embedding tile by tile and every finished row, so that the same call goes on
    where it was stopped. only: the names of the rows, where not all are wanted.
    """
    if dataset.classes is None:
        raise DatasetError(f"{dataset.name} has no classes, so nothing can be classified")
    checked_classes(dataset.classes, len(dataset.graphs))
    known: dict[str, tuple[Representation | Learner, float]] = {}

    def described(name: str) -> tuple[Representation | Learner, float]:
        """Describe the graphs once, though several rows may ask."""
        if name not in known:
            began = perf_counter()
            if name == "ddgk":
                found: Representation | Learner = embed(dataset, setting, folder, n_jobs, verbose)
            else:
                found = BASELINES[name].describe(dataset.graphs, setting.seed)
            known[name] = found, perf_counter() - began
        return known[name]

    def measure(name: str) -> Row:
        parts = [described(part) for part in name.split("+")]
        together = [part for part, _ in parts if not isinstance(part, Learner)]
        representation = parts[0][0] if len(parts) == 1 else Union(together)
        began = perf_counter()
        accuracies = _accuracies(representation, dataset, setting, name, n_jobs, verbose)
        ended = perf_counter()
        return Row(
            name, _title(name, setting), accuracies, sum(took for _, took in parts), ended - began
        )

    return [
        _kept(folder, _key(name, dataset, setting), partial(measure, name))
        for name in (row_names(setting) if only is None else only)
    ]


def row_names(setting: Setting) -> list[str]:
    """Name the rows: the embedding, the baselines, the embedding joined to some of them."""
    wanted = chosen((*setting.baselines, *setting.beside))
    if setting.protocol != "nested":
        wanted = [name for name in wanted if name not in SUPERVISED]
    beside = {*BASELINES} - {*SUPERVISED} if "all" in setting.beside else {*setting.beside}
    return ["ddgk", *wanted, *(f"ddgk+{name}" for name in wanted if name in beside)]


def embed(
    dataset: Dataset, setting: Setting, folder: Path | None, n_jobs: int, verbose: bool
) -> Columns:
    """Embed all graphs once, and remember which graph is the source behind each column."""
    model = DDGK(
        n_sources=setting.n_sources,
        preset=setting.preset,
        random_state=setting.seed,
        n_jobs=n_jobs,
        verbose=verbose,
        **dict(setting.changes),
    )
    kept = _key("ddgk", dataset, setting, embedding=True)
    values = model.fit_transform(dataset.graphs, run=None if folder is None else folder / kept)
    behind = np.asarray(model.source_indices_)
    return Columns(values, np.repeat(behind, values.shape[1] // len(behind)), absolute=True)


def summarise(rows: Sequence[Row], dataset: Dataset, setting: Setting, command: str) -> Results:
    """Put rows into tables, with everything that decided them."""
    ours = rows[0]
    by_name = {row.name: row for row in rows}
    accuracy = Table(
        f"Accuracy on {dataset.name} in percent, protocol {setting.protocol}, "
        f"{len(ours.accuracies)} folds",
        ("method", "accuracy", "± over folds", "95 % interval", "DDGK is ahead by (95 %)"),
        tuple(_accuracy_cells(row, _rival(row, by_name)) for row in rows),
    )
    times = Table(
        "Seconds (they differ from run to run)",
        ("method", "describing", "classifying"),
        tuple((r.title, f"{r.describing:.1f}", f"{r.classifying:.1f}") for r in rows),
    )
    others = quoted(dataset.name)
    published = Table(
        "Published by others, under other protocols, and not measured here",
        ("method", "accuracy"),
        tuple((row.title, f"{row.accuracy:.2f}") for row in others),
    )
    configuration = {
        "dataset": dataset.name,
        "graphs": len(dataset.graphs),
        "fingerprint": dataset.fingerprint,
        **asdict(setting),
        "changes": dict(setting.changes),
        "repeats": setting.repeats_for(len(dataset.graphs)),
        "method": setting.method.as_json(),
    }
    return Results(
        "classification",
        command,
        json.loads(json.dumps(configuration)),
        [accuracy, published] if others else [accuracy],
        {"rows": [json.loads(json.dumps(asdict(row))) for row in rows]},
        [times],
    )


def scaled(found: Difference) -> Difference:
    """Return shares as percent."""
    return Difference(*(100 * value for value in found))


def _accuracies(
    representation: Representation | Learner,
    dataset: Dataset,
    setting: Setting,
    name: str,
    n_jobs: int,
    verbose: bool,
) -> tuple[float, ...]:
    classes = np.asarray(dataset.classes)
    repeats = setting.repeats_for(len(classes))
    with progress(f"Classifying by {name}", repeats * N_FOLDS, "folds", verbose) as advance:
        if isinstance(representation, Learner) or setting.protocol == "nested":
            found = nested_accuracies(
                representation,
                classes,
                repeats=repeats,
                seed=setting.seed,
                classifier=setting.classifier,
                n_jobs=n_jobs,
                progress=advance,
            )
        elif setting.protocol == "paper":
            found = paper_accuracies(
                [representation],
                classes,
                repeats=repeats,
                seed=setting.seed,
                n_jobs=n_jobs,
                progress=advance,
            )
        else:
            found = authors_code_accuracies(
                representation, classes, seed=setting.seed, progress=advance
            )
    return tuple(found.tolist())


def _title(name: str, setting: Setting) -> str:
    changes = "".join(f", {name} {value}" for name, value in setting.changes)
    ours = f"DDGK, preset {setting.preset}{changes}"
    return " beside ".join(
        ours if part == "ddgk" else BASELINES[part].title for part in name.split("+")
    )


def _rival(row: Row, rows: dict[str, Row]) -> tuple[Row, Row] | None:
    """Return which two rows are compared: a joined one with the baseline it was joined to."""
    if row.name == "ddgk":
        return None
    joined = row.name.removeprefix("ddgk+")
    return (row, rows[joined]) if joined != row.name else (rows["ddgk"], row)


def _accuracy_cells(row: Row, compared: tuple[Row, Row] | None) -> tuple[str, ...]:
    mean = row.mean
    cells = (
        row.title,
        f"{mean.mean:.1f}",
        f"{100 * np.std(row.accuracies):.1f}",
        f"{mean.low:.1f} to {mean.high:.1f}",
    )
    if compared is None:
        return (*cells, "")
    ahead = scaled(paired(compared[0].accuracies, compared[1].accuracies))
    what = "joined: " if row.name.startswith("ddgk+") else ""
    return (*cells, f"{what}{ahead.mean:+.1f} ({ahead.low:+.1f} to {ahead.high:+.1f})")


def _key(name: str, dataset: Dataset, setting: Setting, *, embedding: bool = False) -> str:
    """Return a name for a row's file, or an embedding's folder, that nothing else has."""
    about: dict[str, Any] = {"name": name, "graphs": dataset.fingerprint, "seed": setting.seed}
    if "ddgk" in name.split("+"):
        about["format"], about["sources"] = FORMAT, setting.n_sources
        about["method"] = setting.method.as_json()
    if not embedding:
        about["repeats"] = setting.repeats_for(len(dataset.graphs))
        about["protocol"], about["classifier"] = setting.protocol, setting.classifier
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    return f"{'embedding' if embedding else name}-{digest}"


def _kept(folder: Path | None, key: str, measure: Callable[[], Row]) -> Row:
    """Read a row that is finished, or measure and keep it; a damaged file is measured again."""
    if folder is None:
        return measure()
    path = folder / "rows" / f"{key}.json"
    if path.is_file():
        try:
            content = json.loads(path.read_bytes())
            accuracies = tuple(float(share) for share in content["accuracies"])
            if all(0 <= share <= 1 for share in accuracies) and len(accuracies) >= N_FOLDS:
                given = {field.name: content[field.name] for field in fields(Row)}
                return Row(**(given | {"accuracies": accuracies}))
        except (LookupError, TypeError, ValueError, RecursionError):
            pass
    row = measure()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(asdict(row)) + "\n").encode())
    return row
