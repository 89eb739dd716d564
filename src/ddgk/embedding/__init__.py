"""Rows of many graphs: tiles, workers, progress, and runs that can be resumed."""

from __future__ import annotations

from ddgk.embedding.progress import progress
from ddgk.embedding.runs import RunStopped, embed_into, stored_settings, train_into
from ddgk.embedding.tiles import Embedder, embed_graphs

__all__ = [
    "Embedder",
    "RunStopped",
    "embed_graphs",
    "embed_into",
    "progress",
    "stored_settings",
    "train_into",
]
