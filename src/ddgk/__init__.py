"""How similar are these graphs, and which node of one corresponds to which of the other.

The public names; each is imported when it is first used, so that ``import ddgk`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddgk import datasets, errors, graphs, kernels, plots
    from ddgk.alignment import Alignment, GroupAlignment, align
    from ddgk.config import Config
    from ddgk.estimator import DDGK
    from ddgk.explanation import Explanation
    from ddgk.graphs import Graph, Policies
    from ddgk.similarity import SimilarityExplanation
    from ddgk.store import Run, open_run

__version__ = "0.2.0"
__all__ = [
    "DDGK",
    "Alignment",
    "Config",
    "Explanation",
    "Graph",
    "GroupAlignment",
    "Policies",
    "Run",
    "SimilarityExplanation",
    "align",
    "datasets",
    "errors",
    "graphs",
    "kernels",
    "open_run",
    "plots",
]

_HOME = {
    "DDGK": "ddgk.estimator",
    "Alignment": "ddgk.alignment",
    "Config": "ddgk.config",
    "Explanation": "ddgk.explanation",
    "Graph": "ddgk.graphs",
    "GroupAlignment": "ddgk.alignment",
    "Policies": "ddgk.graphs",
    "Run": "ddgk.store",
    "SimilarityExplanation": "ddgk.similarity",
    "align": "ddgk.alignment",
    "open_run": "ddgk.store",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"ddgk.{name}")
    raise AttributeError(f"module 'ddgk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
