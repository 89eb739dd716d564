"""The report of a comparison: in the terminal, and as tables and figures in a folder."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ddgk.errors import MissingExtraError
from ddgk.plain import csv_bytes, visible
from ddgk.tables import Table, text_table, write_table
from ddgk.traits import MISMATCH

if TYPE_CHECKING:
    from ddgk.comparison import Cluster, Comparison

Rows = Iterator[tuple[Any, ...]]

MAX_LISTED = 10
MAX_CSV = 2_000  # graphs whose whole matrix is written as text too
MAX_NAME = 10_000  # characters, in tables
BARS = "▁▂▃▄▅▆▇█"


def report(found: Comparison) -> Any:
    """Return what `rich` prints: the choice of clusters, a table of them, neighbours, outliers."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = [Text(f"{len(found.names):,} graphs", style="bold")]
    parts += [Text(note) for note in _mixtures(found)]
    parts += [Text(_choice(found)), _cluster_table(found), _neighbor_table(found)]
    listed = [
        f"{visible(found.names[place], 40)} ({found.outlier_scores[place]:.3g})"
        for place in found.outliers.tolist()
    ]
    parts.append(Text(f"outliers, with mean distance to neighbours: {_joined(listed)}"))
    return Group(*parts)


def _joined(texts: list[str]) -> str:
    more = len(texts) - MAX_LISTED
    ending = f" and {more:,} more" if more > 0 else ""
    return (", ".join(texts[:MAX_LISTED]) or "none") + ending


def _mixtures(found: Comparison) -> list[str]:
    """Say where graphs of different kinds are compared, and how to compare them alike."""
    n, notes = len(found.graphs), []
    directed = sum(graph.directed for graph in found.graphs)
    weighted = sum(graph.edge_weights is not None for graph in found.graphs)
    if 0 < directed < n:
        notes.append(
            f"{directed:,} are directed, the others count as directed both ways "
            "(--directed undirected ignores direction)"
        )
    if 0 < weighted < n:
        notes.append(
            f"{weighted:,} have edge weights, edges of the others count as weight 1 "
            "(--weights ignore compares structure alone)"
        )
    return notes


def _choice(found: Comparison) -> str:
    """Say how the number of clusters was chosen."""
    chosen, scores = found.n_clusters, found.silhouettes
    said = f"{chosen} cluster{'s' if chosen != 1 else ''}"
    if not scores:
        return f"{said}, as asked" if chosen > 1 else said
    tried, highest = sorted(scores), max(1e-9, *scores.values())
    bars = "".join(BARS[int(7 * max(0.0, scores[k]) / highest)] for k in tried)
    span = f"mean silhouette of {tried[0]} to {tried[-1]} clusters {bars}, highest {highest:.2f}"
    if chosen == 1:
        return f"{said}: no cut separates the graphs ({span})"
    most = ", the most that were tried; --clusters sets another number"
    weak = "; below 0.1 clusters blend into each other" if highest < 0.1 else ""
    return f"{said}: {span}{most if chosen == tried[-1] > 2 else ''}{weak}"


def _cluster_table(found: Comparison) -> Any:
    rows = [
        (own.label, f"{len(own.members):,}", visible(found.names[own.medoid], 28),
         "\n".join(_apart(own, 2)) or "-")
        for own in found.clusters[: 2 * MAX_LISTED]
    ]  # fmt: skip
    headings = ("cluster", "graphs", "medoid", "set apart by")
    return text_table(headings, rows, right=headings[:2], title="clusters")


def _apart(own: Cluster, n_traits: int) -> list[str]:
    """Return what sets a cluster apart, a line each."""
    said = [str(trait) for trait in own.traits[:n_traits]]
    said += [str(trait) for trait in own.divergences if trait.name.startswith(MISMATCH)][:1]
    if own.classes:
        counted = sorted(own.classes.items(), key=lambda item: (-item[1], str(item[0])))[:4]
        said.append("classes " + ", ".join(f"{visible(key, 16)}: {n}" for key, n in counted))
    return said


def _neighbor_table(found: Comparison) -> Any:
    """Tell the nearest graphs of each of a few graphs; of many, the closest pairs."""
    few = len(found.names) <= MAX_LISTED
    rows = []
    for place in range(len(found.names)) if few else _closest(found):
        near = [f"{visible(name, 32)} {apart:.3g}" for name, apart in found.nearest(place)]
        rows.append((visible(found.names[place], 32), ", ".join(near[: 3 if few else 1])))
    title = "nearest graphs" if few else "closest pairs"
    return text_table(("graph", "nearest, with distance"), rows, title=title)


def _closest(found: Comparison) -> list[int]:
    """Return graphs whose nearest one is closest, each pair once."""
    # Of the first ones at least every second is another pair.
    order = np.argsort(found.neighbor_distances[:, 0], kind="stable")[: 2 * MAX_LISTED]
    pairs = np.sort(np.stack([order, found.neighbors[order, 0]]), axis=0)
    first = np.sort(np.unique(pairs, axis=1, return_index=True)[1])
    return list(order[first[:MAX_LISTED]].tolist())


def write_files(found: Comparison, folder: Path) -> list[Path]:
    """Write tables, the report and figures; return the files."""
    from rich.console import Console

    from ddgk.store.files import write_atomically

    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    Console(file=text, width=100, color_system=None, highlight=False).print(report(found))
    contents = {
        "neighbors.csv": _csv("graph,rank,neighbor,distance", _neighbor_rows(found)),
        "clusters.csv": _csv(
            "position,graph,cluster,medoid,outlier_score,outlier", _cluster_rows(found)
        ),
        "traits.csv": _csv(
            "cluster,statistic,mean_inside,mean_outside,standardised_difference",
            ((own.label, *t) for own in found.clusters for t in (*own.traits, *own.divergences)),
        ),
        "report.txt": text.getvalue().encode(),
        "summary.json": (json.dumps(_summary(found), indent=1) + "\n").encode(),
    }
    for name, content in contents.items():
        write_atomically(folder / name, content)
    written = [folder / name for name in contents]
    return [*written, *_write_distances(found, folder), *_draw(found, folder / "clusters.svg")]


def _write_distances(found: Comparison, folder: Path) -> list[Path]:
    """Write the matrix of distances, if there is one."""
    if found.distances is None:
        return []
    names = [visible(name, MAX_NAME) for name in found.names]
    numbers = list(map(str, range(len(names))))  # names of columns in .parquet must not repeat
    tables = {".npz": Table(found.distances, names, names, what="distances")}
    if len(names) <= MAX_CSV:
        tables[".csv"] = tables[".npz"]
    if find_spec("pyarrow") is not None:
        tables[".parquet"] = Table(found.distances, names, numbers)
    for suffix, table in tables.items():
        write_table(folder / f"distances{suffix}", table)
    return [folder / f"distances{suffix}" for suffix in tables]


def _csv(heading: str, rows: Iterable[Sequence[Any]]) -> bytes:
    """Return rows as CSV; hidden characters of names are written as escapes."""
    return csv_bytes(
        (visible(v, MAX_NAME) if isinstance(v, str) else v for v in row)
        for row in (heading.split(","), *rows)
    )


def _draw(found: Comparison, path: Path) -> list[Path]:
    """Draw the tree; above 5,000 graphs its leaves are groups of graphs."""
    from ddgk import plots

    if len(found.leaf_distances) < 2:
        return []
    first, sizes = np.unique(found.leaves, return_index=True, return_counts=True)[1:]
    names = [
        found.names[graph] if size == 1 else f"{found.names[graph]} and {size - 1} more"
        for graph, size in zip(first.tolist(), sizes.tolist(), strict=True)
    ]
    clusters = [f"cluster {label}" for label in found.labels[first]]
    title = f"Distances between {len(found.names):,} graphs, Ward's tree"
    try:
        plots.clusters(
            found.leaf_distances, names, clusters, tree=found.tree, title=title, path=path
        )
    except MissingExtraError:
        return []
    return [path]


def _neighbor_rows(found: Comparison) -> Rows:
    for place, name in enumerate(found.names):
        for rank, (other, apart) in enumerate(found.nearest(place), 1):
            yield name, rank, other, apart


def _cluster_rows(found: Comparison) -> Rows:
    medoids, outliers = {own.medoid for own in found.clusters}, set(found.outliers.tolist())
    columns = zip(found.names, found.labels.tolist(), found.outlier_scores.tolist(), strict=True)
    for place, (name, label, score) in enumerate(columns):
        yield place, name, label, int(place in medoids), score, int(place in outliers)


def _summary(found: Comparison) -> dict[str, Any]:
    return {
        "n_graphs": len(found.names),
        "n_columns": int(found.embedding.shape[1]),
        "n_clusters": found.n_clusters,
        "silhouettes": {str(k): score for k, score in found.silhouettes.items()},
        "clusters": [
            {
                "cluster": own.label,
                "n_graphs": len(own.members),
                "medoid": own.medoid,
                "medoid_name": found.names[own.medoid],
                "classes": {visible(key): count for key, count in own.classes.items()},
                "set_apart_by": _apart(own, 3),
            }
            for own in found.clusters
        ],
        "outliers": [
            {"graph": found.names[place], "score": float(found.outlier_scores[place])}
            for place in found.outliers.tolist()
        ],
    }
