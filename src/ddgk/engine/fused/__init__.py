"""The fused engine for CPUs: small kernels on eight numbers at a time, compiled by Numba.

Every group of pairs is trained in one call that stays in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from ddgk.config import Config
from ddgk.engine.arrays import EncodedGraph, EncoderWeights, Outcome, Source
from ddgk.errors import ParameterError

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class FusedEngine:
    """Train encoders and pairs on CPU cores.

    Parameters
    ----------
    threads : int
        Number of groups of pairs that run at once; results do not depend on it.
    """

    threads: int = 1

    def train_encoders(
        self,
        graphs: Sequence[EncodedGraph],
        initial: Sequence[EncoderWeights],
        config: Config,
        seeds: Sequence[int],  # noqa: ARG002
    ) -> list[EncoderWeights]:
        """Train encoders by full-batch Adam on the mean binary cross-entropy (paper eq. 4)."""
        from ddgk.compiling import prepare
        from ddgk.engine.fused.encoders import train_encoder

        regularised = config.encoder_edge_dropout or config.encoder_weight_decay
        if regularised or any(graph.gathers is not None for graph in graphs):
            raise ParameterError(
                "the fused engine trains encoders without regularisation, one unit per node or "
                'edge; pass engine="torch"'
            )
        prepare("encoders")
        tasks = list(zip(graphs, initial, strict=True))
        return self._all(lambda task: train_encoder(*task, config), tasks)

    def train_pairs(
        self,
        pairs: Sequence[tuple[EncodedGraph, Source]],
        seeds: Sequence[int],
        config: Config,
        *,
        detail: bool = False,
    ) -> list[Outcome]:
        """Train the attention of every pair by full-batch Adam."""
        from ddgk.compiling import prepare
        from ddgk.engine.fused.packing import Call, plan_groups

        joined = any(g.gathers is not None or g.spreads is not None for g, _ in pairs)
        values = any(a.is_real for g, _ in pairs[:1] for a in g.attributes)
        if config.reverse == "tied" or config.attention_layers or joined or values:
            raise ParameterError(
                "the fused engine trains full matrices of attention and of free reverse attention "
                "between nodes with labels; tied reverse attention, hidden layers, windows, other "
                'units and real attributes need engine="torch"'
            )
        prepare("pairs")
        call = Call(pairs, seeds, config, detail)
        groups = plan_groups(pairs)
        outcomes: dict[int, Outcome] = {}
        for group, found in zip(groups, self._all(call.train, groups), strict=True):
            outcomes.update(zip(group.positions, found, strict=True))
        return [outcomes[place] for place in range(len(pairs))]

    def _all(self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> list[Result]:
        if self.threads == 1:
            return [work(task) for task in tasks]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, tasks))
