"""Which node of one graph corresponds to which of the other: one solver for all sizes."""

from ddgk.alignment.aligning import align, align_many
from ddgk.alignment.communities import GroupAlignment, Grouping, find_communities
from ddgk.alignment.result import Alignment, Orbit
from ddgk.alignment.solving import AlignmentOptions

__all__ = [
    "Alignment",
    "AlignmentOptions",
    "GroupAlignment",
    "Grouping",
    "Orbit",
    "align",
    "align_many",
    "find_communities",
]
