"""Single changes of the default embedding, each on the same folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import models
from experiments.classification import classify
from experiments.data import GraphSet
from experiments.methods import Method
from experiments.protocols import default_repeats
from experiments.statistics import interval, lead, markdown
from experiments.storage import Cache, say

DEFAULT = "default"


class _Changed(Method):
    """The default embedding with parameters changed, as a row."""

    change: models.Change = ({}, {})

    def function(self) -> Any:
        """Return the function that makes the estimator."""
        parameters, changes = self.change

        def make(_set_name: str, seed: int, n_jobs: int) -> Any:
            return models.make(seed, n_jobs=n_jobs, changes=changes, **parameters)

        return make


def method_of(title: str, change: models.Change) -> Method:
    """Return a row of the table."""
    found = _Changed(
        title, "transformer", f"ablation:{title}", standardise="attention" in change[1]
    )
    object.__setattr__(found, "change", change)
    return found


def measure(
    data: GraphSet,
    *,
    changes: Mapping[str, models.Change] = models.CHANGES,
    only: Sequence[str] = (),
    repeats: int | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    cache_in: Cache | None = None,
) -> dict[str, Any]:
    """Return a row for the default and for every change; `only` names some of them."""
    lines = {DEFAULT: ({}, {}), **changes}
    wanted = [title for title in lines if not only or title in (DEFAULT, *only)]
    rows = {
        title: classify(
            data,
            method_of(title, lines[title]),
            repeats=repeats or default_repeats(len(data.graphs)),
            seed=seed,
            n_jobs=n_jobs,
            cache_in=cache_in,
            say=say,
        )
        for title in wanted
    }
    return {"set": data.name, "rows": rows}


def table(contents: Sequence[dict[str, Any]]) -> str:
    """Return the difference of every change to the default, a column per set."""
    titles = dict.fromkeys(title for one in contents for title in one["rows"])
    lines = []
    for title in titles:
        cells = []
        for one in contents:
            row = one["rows"].get(title)
            if row is None:
                cells.append("")
            elif title == "default":
                cells.append(interval(row["accuracies"]).percent())
            else:
                cells.append(lead(row["accuracies"], one["rows"]["default"]["accuracies"]))
        lines.append([title, *cells])
    return markdown(["change", *(one["set"] for one in contents)], lines)
