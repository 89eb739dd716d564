"""How similar are these graphs, and which node of one corresponds to which of the other.

The public names. Each is imported when it is first used, so that ``import ddgk`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ddgk import errors, graphs, io, kernels, plots
    from ddgk.alignment import Alignment, AlignmentOptions, GroupAlignment, align, align_many
    from ddgk.comparison import Comparison, compare
    from ddgk.config import Config
    from ddgk.estimator import DDGK
    from ddgk.explanation import Explanation
    from ddgk.graphs import Graph, Policies
    from ddgk.search import GraphIndex
    from ddgk.similarity import SimilarityExplanation
    from ddgk.store import Run, open_run

__version__ = "0.2.0"

_HOME = {
    "DDGK": "ddgk.estimator",
    "Alignment": "ddgk.alignment",
    "AlignmentOptions": "ddgk.alignment",
    "Comparison": "ddgk.comparison",
    "Config": "ddgk.config",
    "Explanation": "ddgk.explanation",
    "Graph": "ddgk.graphs",
    "GraphIndex": "ddgk.search",
    "GroupAlignment": "ddgk.alignment",
    "Policies": "ddgk.graphs",
    "Run": "ddgk.store",
    "SimilarityExplanation": "ddgk.similarity",
    "align": "ddgk.alignment",
    "align_many": "ddgk.alignment",
    "compare": "ddgk.comparison",
    "open_run": "ddgk.store",
}
__all__ = [
    "DDGK",
    "Alignment",
    "AlignmentOptions",
    "Comparison",
    "Config",
    "Explanation",
    "Graph",
    "GraphIndex",
    "GroupAlignment",
    "Policies",
    "Run",
    "SimilarityExplanation",
    "align",
    "align_many",
    "compare",
    "errors",
    "graphs",
    "io",
    "kernels",
    "open_run",
    "plots",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"ddgk.{name}")
    raise AttributeError(f"module 'ddgk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
