"""Static figures: alignments, explanations, clusters.

Every function returns a `matplotlib.figure.Figure`, changes no global state and needs no screen.
matplotlib is imported nowhere else, and only when a figure is drawn.
"""

from ddgk.plots.attention import CHOICES, alignment, alignments
from ddgk.plots.scene import MOST_NODES
from ddgk.plots.shares import explanation
from ddgk.plots.tree import clusters

__all__ = [
    "CHOICES",
    "MOST_NODES",
    "alignment",
    "alignments",
    "clusters",
    "explanation",
]
