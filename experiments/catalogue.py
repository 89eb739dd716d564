"""The experiments next to the classification table. A new one is a module and an entry here.

The module `experiments.NAME` has

    measure(data, *, n_jobs, ...)   measures one set; without `data` where there are no sets
    table(contents)                 the section of the summary page, from what was measured
    draw(path, contents)            the figure, where `figures` is true

`measure` takes the options of the command by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

from experiments.data import SETS
from experiments.protocols import NESTED


def numbers(text: str) -> list[int]:
    """Read numbers with commas between them."""
    return [int(part) for part in text.split(",")]


SEED: dict[str, dict[str, Any]] = {"seed": {"type": int, "default": 0}}
SEEDS: dict[str, Any] = {"type": numbers, "metavar": "N,N,..."}
ONLY: dict[str, dict[str, Any]] = {"only": {"action": "append", "default": [], "metavar": "TITLE"}}
PRESET: dict[str, dict[str, Any]] = {"preset": {"default": "default"}}


@dataclass(frozen=True)
class Experiment:
    """What the command line, the table and the page know of an experiment."""

    title: str
    about: str
    protocol: str
    sets: Sequence[str] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: SEED)
    cached: bool = False  # whether `measure` takes `cache_in`
    figures: bool = False


EXPERIMENTS: dict[str, Experiment] = {
    "neighbours": Experiment(
        "Neighbours without classes",
        "Nearest neighbours and clusters without classes; molecules by a property.",
        "no classes used; the description's own distance; WL kernels with 4 rounds",
        ("MUTAG", "PTC_MR", "ENZYMES", "NCI1", "NCI109", "30-graphs", "ESOL", "ZINC"),
        SEED | ONLY,
    ),
    "clustering": Experiment(
        "Clustering (5.2)",
        "Cluster the paper's 30 graphs (5.2).",
        "structure alone, Ward's linkage, six clusters; every seed draws other graphs",
        options={"seeds": {**SEEDS, "default": list(range(10))}},
        figures=True,
    ),
    "attention": Experiment(
        "Attention (5.1)",
        "Align barbells and karate clubs with copies (5.1).",
        "shuffled copies",
        options=SEED | {"restarts": {"type": int, "default": 8}},
        figures=True,
    ),
    "fixed_size": Experiment(
        "Attention networks of fixed size (3.2, 4.5)",
        "Attention networks of fixed size beside the full matrix (3.2, 4.5).",
        "nested, three repeats; divergences of small graphs of the set from four others",
        ("DD",),
        SEED | {"n_graphs": {"type": int, "default": 60}},
    ),
    "sampling": Experiment(
        "Sources (5.4)",
        "Accuracy against the share of sources (5.4).",
        "nested, one repeat per seed; sources of the training part; divergences",
        ("MUTAG", "PTC_MR", "NCI1", "DD"),
        {"seeds": {**SEEDS, "default": list(range(5))}} | PRESET,
        figures=True,
    ),
    "ablation": Experiment(
        "Ablation",
        "Single changes of the default embedding.",
        NESTED,
        ("MUTAG", "PTC_MR", "NCI1"),
        SEED | ONLY | {"repeats": {"type": int}},
        cached=True,
    ),
    "classifiers": Experiment(
        "Ordinary classifiers on the columns",
        "Ordinary classifiers on the columns as they come.",
        "10 folds of nested, one repeat; columns as they come, nothing tuned",
        SETS,
        cached=True,
    ),
    "families": Experiment(
        "Kinds of networks",
        "Nearest neighbours among kinds of networks.",
        "structure alone, plain distances",
        options=SEED | {"n_nodes": {"type": int, "default": 20_000}},
    ),
    "regression": Experiment(
        "Solubility (ESOL)",
        "Solubility of ESOL's molecules.",
        "5 folds, repeated; embedding and regressor fitted on the training part",
        options=SEED | ONLY | {"repeats": {"type": int, "default": 3}},
    ),
    "invariance": Experiment(
        "Relabelling noise",
        "Relabelling noise of the presets.",
        "graphs drawn from each set, renumbered",
        ("MUTAG", "PTC_MR", "ENZYMES"),
        SEED | {"n_graphs": {"type": int, "default": 30}},
    ),
    "published": Experiment(
        "The paper's presets and protocols",
        "The paper's presets under the paper's protocols.",
        "nested, paper (one repeat), authors",
        ("MUTAG", "PTC_MR"),
    ),
    "tuning": Experiment(
        "Tuning",
        "Search the grid of hyper-parameters with Optuna.",
        "mean accuracy on five dev parts; a tenth held out",
        ("MUTAG",),
        SEED | PRESET | {"trials": {"type": int, "default": 50}, "seconds": {"type": float}},
        cached=True,
    ),
}


def module_of(name: str) -> ModuleType:
    """Import the module of an experiment."""
    return import_module(f"experiments.{name}")
