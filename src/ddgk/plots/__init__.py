"""Static figures: alignments, clusters.

Every function returns a `matplotlib.figure.Figure`, changes no global state and needs no screen.
matplotlib is imported nowhere else, and only when a figure is drawn.
"""

from ddgk.plots.attention import alignment, alignments
from ddgk.plots.tree import clusters

__all__ = [
    "alignment",
    "alignments",
    "clusters",
]
