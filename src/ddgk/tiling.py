"""How the grid of targets x sources is cut into tiles: of like sizes, each worth a few seconds.

Rows are planned in the order of their sizes, so that a tile holds pairs of like size. A tile is a
chunk of the stored grid, so all tiles have one shape: `TileShape`. Targets come in batches; each
begins with a new row of tiles, so that adding some later touches none that is finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

LANES = 8  # targets of one source that engines train side by side
MOST_ROWS = 1024
WANTED_SECONDS = 3.0  # of a tile: long against the few hundredths it takes to store one
WANTED_TILES = 32  # so that workers end at about the same time
SHORTEST_SECONDS = 0.5  # below which storing a tile would be felt
LONGEST_SECONDS = 30.0  # of the dearest one: what a power cut or an impatient user may cost

# Seconds of a pair at 60 steps on one core, measured: alone, per target node, per pair of target
# nodes, per target and source node. Only their proportions matter beyond the size of tiles.
STEPS = 60
ALONE, PER_NODE, PER_SQUARE, PER_PRODUCT = 5e-5, 1.2e-5, 1.4e-7, 3e-7
READING = 8e-4  # of a target, once in each tile


@dataclass(frozen=True)
class TileShape:
    """How many targets and sources make a tile."""

    targets: int
    sources: int


@dataclass(frozen=True)
class Tile:
    """One tile: rows [first, first + n_targets) of the grid, sources [left, left + n_sources)."""

    number: int
    block: int
    column: int
    first: int
    n_targets: int
    left: int
    n_sources: int

    @property
    def n_pairs(self) -> int:
        """How many pairs it holds."""
        return self.n_targets * self.n_sources

    @property
    def sources(self) -> slice:
        """Return which sources it is about."""
        return slice(self.left, self.left + self.n_sources)


@dataclass(frozen=True)
class Plan:
    """All tiles of a grid; batches: how many rows each batch of targets has."""

    shape: TileShape
    n_sources: int
    batches: tuple[int, ...]

    @cached_property
    def block_counts(self) -> tuple[int, ...]:
        """How many targets each row of tiles holds; the last of a batch may be short."""
        return tuple(
            min(self.shape.targets, n_rows - first)
            for n_rows in self.batches
            for first in range(0, n_rows, self.shape.targets)
        )

    @property
    def n_rows(self) -> int:
        """How many rows the grid has, those included that fill up a batch."""
        return len(self.block_counts) * self.shape.targets

    @property
    def n_columns(self) -> int:
        """How many tiles lie side by side."""
        return -(-self.n_sources // self.shape.sources)

    @property
    def n_tiles(self) -> int:
        """How many tiles there are."""
        return len(self.block_counts) * self.n_columns

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return sum(self.batches) * self.n_sources

    def first_block(self, batch: int) -> int:
        """Return with which row of tiles a batch begins."""
        return sum(-(-n_rows // self.shape.targets) for n_rows in self.batches[:batch])

    def tile(self, number: int) -> Tile:
        """Return a tile by its number; tiles are counted along the sources first."""
        block, column = divmod(number, self.n_columns)
        left = column * self.shape.sources
        return Tile(
            number,
            block,
            column,
            block * self.shape.targets,
            self.block_counts[block],
            left,
            min(self.shape.sources, self.n_sources - left),
        )

    def tiles(self) -> list[Tile]:
        """List all tiles."""
        return [self.tile(number) for number in range(self.n_tiles)]

    def seconds(
        self, target_sizes: Sequence[ArrayLike], source_sizes: ArrayLike, n_steps: int
    ) -> NDArray[np.float64]:
        """Estimate what every tile takes, (n_tiles,); target_sizes: nodes, one list a block."""
        sources = np.asarray(source_sizes, dtype=np.float64)
        parts = np.split(sources, range(self.shape.sources, len(sources), self.shape.sources))
        found = [
            estimate_seconds(targets, part, n_steps).sum()
            for targets in target_sizes
            for part in parts
        ]
        return np.asarray(found, dtype=np.float64)


def estimate_seconds(
    target_sizes: ArrayLike, source_sizes: ArrayLike, n_steps: int
) -> NDArray[np.float64]:
    """Estimate what the rows of a tile take, from numbers of nodes, (n_targets,)."""
    t = np.asarray(target_sizes, dtype=np.float64)
    s = np.asarray(source_sizes, dtype=np.float64)
    pairs = (ALONE + PER_NODE * t + PER_SQUARE * t**2) * len(s) + PER_PRODUCT * t * s.sum()
    return np.asarray(READING + pairs * max(1, n_steps) / STEPS)


def choose_shape(
    target_sizes: ArrayLike, source_sizes: ArrayLike, n_steps: int, *, whole_rows: bool
) -> TileShape:
    """Choose how large tiles are, from the nodes of some targets and of all sources.

    whole_rows: keep all sources in a tile, since targets need encoders of their own there.

    >>> choose_shape([20] * 100, [20] * 16, 60, whole_rows=False)
    TileShape(targets=56, sources=16)
    >>> choose_shape([3000] * 9, [20] * 16, 60, whole_rows=False)
    TileShape(targets=8, sources=2)
    """
    rows = estimate_seconds(target_sizes, source_sizes, n_steps)
    n_sources = len(np.asarray(source_sizes))
    seconds = min(WANTED_SECONDS, max(SHORTEST_SECONDS, rows.sum() / WANTED_TILES))
    wanted = min(seconds / rows.mean(), LONGEST_SECONDS / rows.max())
    n_targets = LANES * int(min(MOST_ROWS, max(LANES, wanted)) // LANES)
    share = LONGEST_SECONDS / (n_targets * rows.max())
    if share >= 1 or whole_rows:
        return TileShape(n_targets, n_sources)
    return TileShape(n_targets, max(1, int(share * n_sources)))


def cut_rows(sizes: Sequence[int], limit: int) -> list[slice]:
    """Cut rows into pieces whose sizes add up to a limit or less; at least one row each.

    >>> cut_rows([1, 1, 5, 9], 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    pieces, first, held = [], 0, 0
    for place, size in enumerate(sizes):
        if place > first and held + size > limit:
            pieces.append(slice(first, place))
            first, held = place, 0
        held += size
    return [*pieces, slice(first, len(sizes))] if sizes else []
