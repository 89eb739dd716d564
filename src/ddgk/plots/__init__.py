"""Figures of what was found; matplotlib is imported nowhere else, and only when one is drawn.

Every function returns a `matplotlib.figure.Figure`, touches no global state and needs no screen.
"""

from ddgk.plots.attention import CHOICES, alignment, alignments
from ddgk.plots.bands import bands
from ddgk.plots.comparison import comparison
from ddgk.plots.projection import projections
from ddgk.plots.relations import relations
from ddgk.plots.scene import MOST_NODES
from ddgk.plots.shares import explanation
from ddgk.plots.tree import clusters

__all__ = [
    "CHOICES",
    "MOST_NODES",
    "alignment",
    "alignments",
    "bands",
    "clusters",
    "comparison",
    "explanation",
    "projections",
    "relations",
]
