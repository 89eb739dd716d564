"""How many numbers are held for a pair: attention of fixed size beside whole matrices.

    python benchmarks/attention_size.py DD --sources 8 --size 16

Parameters and Adam's two sums of each, over all pairs of a set's graphs with its random sources,
for a tied and for a free reverse attention from an equivariant start, where factors of the source's
side are held but do not train. `ddgk experiment classification DD --change
attention_size=16` has the accuracy.
"""

from __future__ import annotations

import argparse

import numpy as np

from ddgk.datasets import load
from ddgk.sources import choose_random

PER_PARAMETER = 3  # itself, and Adam's mean and square


def count_numbers(
    targets: np.ndarray, sources: np.ndarray, size: int, reverse: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many numbers are held for every pair: whole matrices, and factors of a size.

    tied: A, (n_t, n_s); free: also R, (n_s, n_t), and r, (n_t). Factors: size n_t each that train,
    and size n_s that do not.
    """
    t, s = targets[:, None], sources[None, :]
    matrices = 1 if reverse == "tied" else 2
    bias = np.zeros_like(t * s) if reverse == "tied" else t + 0 * s
    whole = PER_PARAMETER * (matrices * t * s + bias)
    fixed = PER_PARAMETER * (matrices * size * t + bias) + matrices * size * s
    return whole, fixed


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--size", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    graphs = load(given.dataset).graphs
    sizes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
    sources = sizes[choose_random(len(graphs), given.sources, given.seed)]
    for reverse in ("tied", "free"):
        whole, fixed = count_numbers(sizes, sources, given.size, reverse)
        print(
            f"{reverse}: {whole.mean():.0f} numbers a pair, {fixed.mean():.0f} with size "
            f"{given.size}: {whole.sum() / fixed.sum():.1f} times fewer; "
            f"the median pair {np.median(whole / fixed):.1f}"
        )


if __name__ == "__main__":
    main()
