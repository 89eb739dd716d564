"""The report of a comparison in the terminal."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

from ddgk.plain import visible

if TYPE_CHECKING:
    from ddgk.comparison import Cluster, Comparison

MAX_LISTED = 10
BAR = 24  # characters of the longest bar


def report(comparison: Comparison) -> Any:
    """Return what `rich` prints: the choice of clusters, a table of them, neighbours, outliers."""
    from rich.console import Group
    from rich.text import Text

    n = len(comparison.names)
    parts: list[Any] = [
        Text(f"{n:,} graphs, {comparison.embedding.shape[1]} columns", style="bold"),
        Text(_choice(comparison)),
        _cluster_table(comparison),
        _neighbor_table(comparison),
    ]
    if len(comparison.outliers):
        listed = ", ".join(
            f"{visible(comparison.names[place], 40)} ({comparison.outlier_scores[place]:.3g})"
            for place in comparison.outliers[:MAX_LISTED].tolist()
        )
        more = len(comparison.outliers) - MAX_LISTED
        parts.append(Text(f"outliers: {listed}" + (f" and {more} more" if more > 0 else "")))
    else:
        parts.append(Text("outliers: none"))
    return Group(*parts)


def plain_report(comparison: Comparison) -> str:
    """Return the report as text without colours."""
    from rich.console import Console

    text = StringIO()
    Console(file=text, width=100, color_system=None, highlight=False).print(report(comparison))
    return text.getvalue()


def _choice(comparison: Comparison) -> str:
    """Say how the number of clusters was chosen, with a bar for every silhouette."""
    chosen, scores = comparison.n_clusters, comparison.silhouettes
    if not scores:
        return f"{chosen} clusters, as asked ({comparison.linkage} linkage)"
    best = max(scores, key=lambda k: scores[k])
    why = "largest mean silhouette" if chosen == best else "no number has a clear silhouette"
    lines = [f"{chosen} clusters: {why} ({comparison.linkage} linkage)"]
    shown = sorted(scores)[:MAX_LISTED]
    shown += [k for k in (best, chosen) if k in scores and k not in shown]
    for k in dict.fromkeys(shown):
        bar = "█" * max(0, round(BAR * scores[k] / max(max(scores.values()), 1e-9)))
        mark = " ←" if k == chosen else ""
        lines.append(f"  {k:>3}  {scores[k]:6.3f}  {bar}{mark}")
    return "\n".join(lines)


def _cluster_table(comparison: Comparison) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="clusters", title_justify="left")
    for heading in ("cluster", "graphs", "medoid", "set apart by"):
        table.add_column(heading, justify="right" if heading in ("cluster", "graphs") else "left")
    for own in comparison.clusters[:MAX_CLUSTERS_SHOWN]:
        table.add_row(
            str(own.label),
            f"{len(own.members):,}",
            Text(visible(comparison.names[own.medoid], 32)),
            Text(_apart(own)),
        )
    return table


MAX_CLUSTERS_SHOWN = 20


def _apart(own: Cluster) -> str:
    said = [str(trait) for trait in own.traits[:3]]
    if own.classes:
        counted = sorted(own.classes.items(), key=lambda item: (-item[1], str(item[0])))[:4]
        said.append("classes " + ", ".join(f"{visible(key, 16)}: {n}" for key, n in counted))
    return "; ".join(said) or "-"


def _neighbor_table(comparison: Comparison) -> Any:
    from rich.table import Table
    from rich.text import Text

    n = len(comparison.names)
    table = Table(title="nearest graphs", title_justify="left")
    table.add_column("graph")
    table.add_column("nearest, with distance")
    for place in range(min(n, MAX_LISTED)):
        near = ", ".join(
            f"{visible(name, 24)} {apart:.3g}" for name, apart in comparison.nearest(place)[:3]
        )
        table.add_row(Text(visible(comparison.names[place], 32)), Text(near))
    if n > MAX_LISTED:
        table.caption = f"and {n - MAX_LISTED:,} more in neighbors.csv"
    return table
