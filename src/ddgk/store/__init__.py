"""Model files and run folders."""

from __future__ import annotations

from ddgk.store.files import write_atomically
from ddgk.store.graphs import graphs_from_tensors, graphs_to_tensors
from ddgk.store.run import Run, open_run
from ddgk.store.sealed import load_model, save_parts

__all__ = [
    "Run",
    "graphs_from_tensors",
    "graphs_to_tensors",
    "load_model",
    "open_run",
    "save_parts",
    "write_atomically",
]
