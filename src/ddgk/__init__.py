"""How similar are these graphs, and which node of one corresponds to which of the other.

The public names; each is imported when it is first used, so that ``import ddgk`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddgk import datasets, errors, graphs, kernel, plots
    from ddgk.alignment import Alignment, AlignmentOptions, GroupAlignment, align, align_many
    from ddgk.estimator import DDGK
    from ddgk.explanation import Explanation
    from ddgk.graphs import Graph, Policies
    from ddgk.method import PRESETS, Method
    from ddgk.store.run import Run, open_run

__version__ = "0.1.0"
__all__ = [
    "DDGK",
    "PRESETS",
    "Alignment",
    "AlignmentOptions",
    "Explanation",
    "Graph",
    "GroupAlignment",
    "Method",
    "Policies",
    "Run",
    "align",
    "align_many",
    "datasets",
    "errors",
    "graphs",
    "kernel",
    "open_run",
    "plots",
]

_HOME = {
    "DDGK": "ddgk.estimator",
    "PRESETS": "ddgk.method",
    "Alignment": "ddgk.alignment",
    "AlignmentOptions": "ddgk.alignment",
    "Explanation": "ddgk.explanation",
    "Graph": "ddgk.graphs",
    "GroupAlignment": "ddgk.alignment",
    "Method": "ddgk.method",
    "Policies": "ddgk.graphs",
    "Run": "ddgk.store.run",
    "align": "ddgk.alignment",
    "align_many": "ddgk.alignment",
    "open_run": "ddgk.store.run",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"ddgk.{name}")
    raise AttributeError(f"module 'ddgk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
