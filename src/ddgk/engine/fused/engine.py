"""The fast engine for CPUs: every pair is trained in one call that stays in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ddgk.engine.fused.compiling import announce
from ddgk.engine.fused.groups import Call, plan_groups
from ddgk.engine.fused.pairs import train_group
from ddgk.engine.fused.sources import train_encoder, train_network
from ddgk.engine.hiding import drawing_seeds
from ddgk.engine.problem import EncoderTraining, Outcome, PairTraining, Problem, Source, Weights

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class FusedEngine:
    """Train encoders and pairs on CPU cores.

    precision: "float32" or "float64". threads: how many groups of pairs run at once; it changes
    nothing but the time.
    """

    precision: str = "float32"
    threads: int = 1

    def train_encoders(
        self,
        problems: Sequence[Problem],
        starts: Sequence[Weights],
        training: EncoderTraining,
        seeds: Sequence[int] = (),
    ) -> list[Weights]:
        """Train encoders by full-batch Adam on the mean binary cross-entropy (paper eq. 4)."""
        announce(train_network, train_group)
        precision = np.dtype(self.precision)
        tasks = list(zip(problems, starts, drawing_seeds(seeds, problems, training), strict=True))
        return self._all(lambda task: train_encoder(*task, training, precision), tasks)

    def score_pairs(
        self,
        pairs: Sequence[tuple[Problem, Source]],
        seeds: Sequence[int],
        training: PairTraining,
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of every pair by full-batch Adam."""
        announce(train_network, train_group)
        call = Call(pairs, seeds, training, detail, np.dtype(self.precision))
        groups = plan_groups(pairs, training.size)
        outcomes: dict[int, Outcome] = {}
        for group, found in zip(groups, self._all(call.score, groups), strict=True):
            outcomes.update(zip(group.positions, found, strict=True))
        return [outcomes[place] for place in range(len(pairs))]

    def _all(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        if self.threads == 1:
            return [work(task) for task in tasks]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, tasks))
