"""Single changes of the default embedding, each on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments import models
from experiments.classification import classify
from experiments.data import GraphSet
from experiments.methods import Method
from experiments.storage import Cache

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
    repeats: int = 10,
    seed: int = 0,
    n_jobs: int = 1,
    cache_in: Cache | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return a row for the default and for every change; `only` names some of them."""
    lines = {DEFAULT: ({}, {}), **changes}
    wanted = [title for title in lines if not only or title in (DEFAULT, *only)]
    rows = {
        title: classify(
            data,
            method_of(title, lines[title]),
            repeats=repeats,
            seed=seed,
            n_jobs=n_jobs,
            cache_in=cache_in,
            say=say,
        )
        for title in wanted
    }
    return {"set": data.name, "rows": rows}
