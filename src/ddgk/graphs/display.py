"""Drawings and tables for notebooks, as HTML that needs no other library.

Names and labels come from files: they are shortened and escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import shown
from ddgk.graphs.graph import Graph
from ddgk.graphs.layout import lay_out

MOST_NODES = 150  # Larger graphs are not drawn.
MOST_EDGES = 1_000
MOST_ROWS = 10
WIDTH, HEIGHT, MARGIN = 300, 220, 14

PLAIN, UNMATCHED = "#5b8db8", "#dddddd"
# Okabe and Ito's colours.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")


def draw(
    graph: Graph,
    colours: Sequence[str] | None = None,
    dashed: NDArray[np.bool_] | None = None,
    notes: Sequence[str] | None = None,
) -> str:
    """Return a drawing of a graph as SVG, or nothing where it is too large.

    Parameters
    ----------
    graph : Graph
    colours : sequence of str, optional
        Of the nodes. Default: by label.
    dashed : array of shape (n_edges,), optional
        Which edges have dashed lines.
    notes : sequence of str, optional
        Shown behind the name of a node where the pointer rests on it. Default: its label.

    Examples
    --------
    >>> draw(Graph(3, [(0, 1), (1, 2)])).count("<circle")
    3
    """
    if graph.n_nodes > MOST_NODES or graph.n_edges > MOST_EDGES:
        return ""
    labels = graph.node_labels
    if colours is None:
        colours = [PLAIN] * graph.n_nodes
        if labels is not None:
            known = {label: place for place, label in enumerate(dict.fromkeys(labels))}
            colours = [PALETTE[known[label] % len(PALETTE)] for label in labels]
    if notes is None:
        notes = [""] * graph.n_nodes if labels is None else [f": {label}" for label in labels]
    scale = np.array([WIDTH / 2 - MARGIN, HEIGHT / 2 - MARGIN])
    places = lay_out(graph)
    # Both axes alike, as large as fits.
    places = places * (scale / np.maximum(np.abs(places).max(axis=0), 1e-9)).min()
    places += np.array([WIDTH / 2, HEIGHT / 2])
    radius = float(np.clip(40 / np.sqrt(graph.n_nodes), 3, 8))
    parts = []
    for place, (tail, head) in enumerate(graph.edges.tolist()):
        dash = ' stroke-dasharray="3 3"' if dashed is not None and dashed[place] else ""
        parts.append(_line(places[tail], places[head], radius, dash, graph.directed))
    for name, (x, y), colour, note in zip(graph.node_names, places, colours, notes, strict=True):
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" stroke="#444">'
            f"<title>{_text(f'{name}{note}')}</title></circle>"
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(parts)}</svg>'
    )


def table(heading: Sequence[str], rows: Iterable[Sequence[object]], n_rows: int) -> str:
    """Return the first rows as a table, and a line that says how many are left out."""
    cells = []
    for row, _ in zip(rows, range(MOST_ROWS), strict=False):
        cells.append("".join(f"<td>{_text(str(value), 120)}</td>" for value in row))
    head = "".join(f"<th>{_text(name)}</th>" for name in heading)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    more = f"<p>and {n_rows - MOST_ROWS:,} more</p>" if n_rows > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def page(heading: str, *parts: str) -> str:
    """Return a heading and parts below it, next to each other where the page is wide enough."""
    cells = "".join(f"<div>{part}</div>" for part in parts if part)
    row = f'<div style="display:flex;flex-wrap:wrap;gap:1em">{cells}</div>' if cells else ""
    return f"<div><p>{html.escape(heading)}</p>{row}</div>"


def shade(shares: NDArray[np.float64]) -> list[str]:
    """Return colours of numbers: white for 0, red for the largest, blue for negative ones."""
    most = float(np.abs(shares).max(initial=0.0)) or 1.0
    colours = []
    for share in (shares / most).tolist():
        rest = round(255 * (1 - abs(share)))
        red, green, blue = (220, rest, rest) if share >= 0 else (rest, rest, 220)
        colours.append(f"rgb({max(red, rest)},{green},{max(blue, rest)})")
    return colours


def _line(
    tail: NDArray[np.float64], head: NDArray[np.float64], radius: float, dash: str, arrow: bool
) -> str:
    length = float(np.linalg.norm(head - tail))
    if length < 1e-9:  # an edge from a node to itself
        return (
            f'<circle cx="{tail[0]:.1f}" cy="{tail[1] - 1.5 * radius:.1f}" '
            f'r="{radius:.1f}" fill="none" stroke="#888"{dash}/>'
        )
    line = (
        f'<line x1="{tail[0]:.1f}" y1="{tail[1]:.1f}" x2="{head[0]:.1f}" y2="{head[1]:.1f}" '
        f'stroke="#888"{dash}/>'
    )
    if not arrow:
        return line
    along = (head - tail) / length
    across = np.array([-along[1], along[0]])
    tip = head - radius * along
    corners = (tip, tip - 6 * along + 3 * across, tip - 6 * along - 3 * across)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'{line}<polygon points="{points}" fill="#888"/>'


def _text(text: str, most: int = 40) -> str:
    return html.escape(shown(text, most))
