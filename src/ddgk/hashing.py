"""Hashing of 64-bit words, for refinement and for stateless random initialisation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scramble(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Map 64-bit words one to one onto words that look unrelated (the finaliser of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
