"""What each step away from the paper brings: a ladder from its preset to the default one.

The machine that classifies is the same on every rung (the default's), so that only the embedding
differs; `classification` with `--preset paper --protocol paper` has the paper's own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ddgk.datasets import Dataset
from ddgk.evaluation.classification import Row, Setting, classify, scaled
from ddgk.evaluation.comparison import paired
from ddgk.evaluation.results import Results, Table
from ddgk.method import CURVE, N_IMAGES, N_REGIONS


@dataclass(frozen=True)
class Step:
    """A line of the table: its name, and how its setting differs from the one it starts from."""

    name: str
    changes: dict[str, Any]


# Cumulative: each rung keeps what those before it changed. The last is the default preset.
LADDER = (
    Step("the paper", {}),
    Step("labels in channels, not edges alone", {"output": "channels"}),
    Step("labels smoothed, pooled around a node", {"smoothing": 0.01, "surroundings": "pooled"}),
    Step("an equivariant start", {"start": "equivariant"}),
    Step("means beside sums", {"reduction": "both"}),
    Step("few fast steps", {"curve": CURVE[-1:], "rate": 0.15}),
    Step("a tied reverse attention", {"reverse": "tied"}),
    Step("the curve of the loss", {"curve": CURVE}),
    Step("by region of the source", {"regions": N_REGIONS}),
    Step("images in place of that: the default", {"images": N_IMAGES}),
)
# Each on its own, from the default preset.
ALTERNATIVES = (
    Step("tanh scores", {"scores": "tanh"}),
    Step("a random start", {"start": "glorot"}),
    Step("a free reverse attention", {"reverse": "free"}),
    Step("one number in place of channels", {"output": "total"}),
    Step("labels not smoothed", {"smoothing": 0.0}),
    Step("no labels", {"families": "none"}),
    Step("no baseline (eq. 10)", {"baseline": "none"}),
    Step("the target's own baseline (eq. 10)", {"baseline": "target"}),
    Step("sums only", {"reduction": "sum"}),
    Step("the last step only", {"curve": CURVE[-1:]}),
    Step("images at the end only", {"images": 1}),
    Step("8 regions", {"regions": 8}),
    Step("attention of size 16", {"attention_size": 16}),
)
SOURCES = (4, 8, 16, 64)


def settings_of(base: Setting) -> list[tuple[str, Setting]]:
    """Return the lines of the table: the ladder, single changes, numbers of sources."""
    lines: list[tuple[str, Setting]] = []
    changed: dict[str, Any] = {}
    for step in LADDER:
        changed |= step.changes
        given = tuple(changed.items())
        lines.append((step.name, replace(base, preset="paper", changes=given)))
    for step in ALTERNATIVES:
        given = tuple(step.changes.items())
        lines.append((step.name, replace(base, preset="default", changes=given)))
    counts = [replace(base, preset="default", n_sources=count) for count in SOURCES]
    return lines + [(f"{setting.n_sources} sources", setting) for setting in counts]


def measure(
    dataset: Dataset,
    lines: Sequence[tuple[str, Setting]],
    *,
    folder: Path | None = None,
    n_jobs: int = 1,
    verbose: bool = False,
) -> list[tuple[str, Row]]:
    """Measure every line of a table on the same folds. folder: keeps what is finished."""
    return [
        (
            name,
            classify(
                dataset, setting, folder=folder, n_jobs=n_jobs, verbose=verbose, only=("ddgk",)
            )[0],
        )
        for name, setting in lines
    ]


def summarise(
    lines: Sequence[tuple[str, Row]], dataset: Dataset, base: Setting, command: str
) -> Results:
    """Put lines into tables: the ladder, then what differs from the default in one thing."""
    rung = len(LADDER) - 1
    default = lines[rung][1]
    ladder = Table(
        f"From the paper to the default on {dataset.name}: accuracy in percent, "
        f"protocol {base.protocol}, {len(default.accuracies)} folds",
        ("step, on top of those above", "accuracy", "± over folds", "the step brings (95 %)"),
        tuple(
            _cells(name, row, lines[place - 1][1] if place else None)
            for place, (name, row) in enumerate(lines[: rung + 1])
        ),
    )
    changed = difference_table("The default with one thing changed", default, lines[rung + 1 :])
    return tabled("ablation", [ladder, changed], lines, dataset, base, command)


def difference_table(title: str, default: Row, lines: Sequence[tuple[str, Row]]) -> Table:
    """Put lines into a table of how far each is from the default."""
    return Table(
        title,
        ("change", "accuracy", "± over folds", "differs from the default by (95 %)"),
        tuple(_cells(name, row, default) for name, row in lines),
    )


def tabled(
    experiment: str,
    tables: list[Table],
    lines: Sequence[tuple[str, Row]],
    dataset: Dataset,
    base: Setting,
    command: str,
) -> Results:
    """Return tables with the configuration they have in common, and how long each line took."""
    times = Table(
        "Seconds (they differ from run to run)",
        ("line", "describing", "classifying"),
        tuple((name, f"{row.describing:.1f}", f"{row.classifying:.1f}") for name, row in lines),
    )
    configuration = {
        "dataset": dataset.name,
        "graphs": len(dataset.graphs),
        "fingerprint": dataset.fingerprint,
        "protocol": base.protocol,
        "n_sources": base.n_sources,
        "repeats": base.repeats_for(len(dataset.graphs)),
        "seed": base.seed,
    }
    measured = json.loads(json.dumps({name: asdict(row) for name, row in lines}))
    return Results(experiment, command, configuration, tables, measured, [times])


def _cells(name: str, row: Row, other: Row | None) -> tuple[str, ...]:
    cells = (name, f"{row.mean.mean:.1f}", f"{100 * np.std(row.accuracies):.1f}")
    if other is None:
        return (*cells, "")
    ahead = scaled(paired(row.accuracies, other.accuracies))
    return (*cells, f"{ahead.mean:+.1f} ({ahead.low:+.1f} to {ahead.high:+.1f})")
