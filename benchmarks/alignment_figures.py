"""Draw the alignments that the README shows, from the defaults of `align`, and check them.

    python benchmarks/alignment_figures.py docs/figures

barbells.png: the paper's barbell and a shuffled copy, by structure alone (any of its 8
automorphisms will do), with node labels (each ring onto its ring), with node and edge labels (the
identity). karate_copy.png: the karate club and a renumbered copy. karate_rewired.png: the same with
10 % of the copy's edges rewired.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from alignment_molecules import rewired
from PIL import Image

import ddgk
from ddgk import plots
from ddgk.io import karate_club
from experiments.graphs.synthetic import barbell

RINGS = np.arange(10) // 5
LABELS = {
    "none": {},
    "nodes": {"node_labels": True},
    "nodes, edges": {"node_labels": True, "edge_labels": True},
}


def align_barbells() -> dict[str, ddgk.Alignment]:
    """Align barbells with shuffled copies, which are put back in order afterwards."""
    order = np.random.default_rng(0).permutation(10)
    found = {}
    for kind, labels in LABELS.items():
        target = barbell(**labels)
        copy = target.replace(name="copy", node_names=range(10, 20))
        found[kind] = ddgk.align(target, copy.permuted(order)).reordered(np.argsort(order))
    return found


def make_smaller(path: Path) -> None:
    """Keep a figure's most frequent colours, so that it is a third as large."""
    with Image.open(path) as image:
        fewer = image.convert("RGB").quantize(160)
    fewer.save(path, optimize=True)


def draw_barbells(folder: Path) -> None:
    pairs = align_barbells()
    without, nodes, edges = pairs.values()
    assert without.is_isomorphism
    assert nodes.is_isomorphism
    assert (RINGS[nodes.pairs[:, 0]] == RINGS[nodes.pairs[:, 1]]).all()
    assert (edges.pairs[:, 0] == edges.pairs[:, 1]).all()
    print("| barbell | isomorphism | attention in the own ring | matched with itself |")
    print("|---|---|---|---|")
    for name, found in pairs.items():
        inside = found.attention[RINGS[:, None] == RINGS].sum() / 10
        itself = (found.pairs[:, 0] == found.pairs[:, 1]).mean()
        print(f"| labels: {name} | {found.is_isomorphism} | {inside:.3f} | {itself:.1f} |")
    titles = ["No labels", "Node labels", "Node and edge labels"]
    path = folder / "barbells.png"
    plots.alignments(list(pairs.values()), layout="own", titles=titles, path=path)
    make_smaller(path)


def draw_karate(folder: Path) -> None:
    club = karate_club()
    order = np.random.default_rng(0).permutation(club.n_nodes)
    print(
        "\n| karate club onto | edges kept | isomorphism | nodes right, up to ties | confidence |"
    )
    print("|---|---|---|---|---|")
    for name, share in (("copy", 0.0), ("rewired", 0.1)):
        other = rewired(club, share, np.random.default_rng(0)) if share else club
        other = other.replace(name=f"{name}, renumbered")
        found = ddgk.align(club, other.permuted(order))
        # Node names came along when the copy was renumbered, so that they say what is right.
        tied = {node: set(orbit.nodes) for orbit in found.orbits for node in orbit.nodes}
        right = [s in tied.get(t, {t}) for t, s in found.matching.items()]
        kept = round(found.edge_correctness * club.n_edges)
        print(
            f"| {name} | {kept} of {club.n_edges} | {found.is_isomorphism} | "
            f"{sum(right)} of {len(right)} | {np.mean(list(found.confidence.values())):.2f} |"
        )
        path = folder / f"karate_{name}.png"
        plots.alignment(found, path=path)
        make_smaller(path)


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    place.mkdir(parents=True, exist_ok=True)
    draw_barbells(place)
    draw_karate(place)
