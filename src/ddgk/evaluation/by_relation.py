"""What each relation says of graphs, and what several say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddgk.datasets import Dataset
from ddgk.evaluation.ablation import difference_table, tabled
from ddgk.evaluation.classification import Row, Setting
from ddgk.evaluation.results import Results
from ddgk.relations import RELATIONS

DEFAULT = "node_to_edges"
COMBINATIONS = (
    (DEFAULT,),
    *((name,) for name in RELATIONS if name != DEFAULT),
    *((DEFAULT, name) for name in RELATIONS if name != DEFAULT),
    tuple(RELATIONS),
)


def settings_of(base: Setting) -> list[tuple[str, Setting]]:
    """Return the lines of the table: each relation, the default beside another, all together."""
    return [
        (", ".join(names), replace(base, preset="default", changes=(("relation", names),)))
        for names in COMBINATIONS
    ]


def summarise(
    lines: Sequence[tuple[str, Row]], dataset: Dataset, base: Setting, command: str
) -> Results:
    """Put lines into a table, each beside the first."""
    folds = len(lines[0][1].accuracies)
    title = f"Accuracy on {dataset.name} by relation, protocol {base.protocol}, {folds} folds"
    table = difference_table(title, lines[0][1], lines)
    return tabled("relations", [table], lines, dataset, base, command)
