"""The M x N grid: in memory, or in a run folder that survives."""

from __future__ import annotations

from ddgk.embedding.grid import embed
from ddgk.embedding.progress import progress

__all__ = ["embed", "progress"]
