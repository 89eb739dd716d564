"""Which node of one graph corresponds to which of the other: the attention of one pair."""

from ddgk.alignment.aligning import align
from ddgk.alignment.communities import GroupAlignment, Grouping, find_communities
from ddgk.alignment.orbits import Orbit
from ddgk.alignment.result import Alignment, Restart

__all__ = [
    "Alignment",
    "GroupAlignment",
    "Grouping",
    "Orbit",
    "Restart",
    "align",
    "find_communities",
]
