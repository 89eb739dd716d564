"""Drawings and tables for notebooks as HTML, and positions of nodes for every drawing.

Names and labels come from files: they are shortened and escaped.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import shown
from ddgk.graphs.graph import Graph, natural_key

Array = NDArray[np.float64]

MOST_NODES = 150  # Larger graphs are not drawn.
MOST_EDGES = 1_000
MOST_ROWS = 10
WIDTH, HEIGHT, MARGIN = 300, 220, 14
# Above this many nodes a spectral layout is used, since stress needs all distances.
MOST_BY_STRESS = 300
ITERATIONS = 60  # of stress majorisation

UNLABELLED, UNMATCHED = "#5b8db8", "#dddddd"
# Okabe and Ito's colours, which keep apart for colour-blind readers too; black is left to text.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")

ORDERS = {"1": 1, "2": 2, "3": 3, "1.0": 1, "2.0": 2, "3.0": 3, "1.5": 4, "12": 4, "single": 1,
          "double": 2, "triple": 3, "aromatic": 4, "-": 1, "=": 2, "#": 3, ":": 4}  # fmt: skip
# Elements that occur in molecules; a graph with other labels is drawn as a graph.
ELEMENTS = {"H", "Li", "B", "C", "N", "O", "F", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "K", "Ca",
            "Ti", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ge", "As", "Se", "Br", "Ag", "Cd",
            "Sn", "Sb", "Te", "I", "Pt", "Au", "Hg", "Pb", "Bi"}  # fmt: skip


def draw(
    graph: Graph,
    colours: Sequence[str] | None = None,
    dashed: NDArray[np.bool_] | None = None,
    notes: Sequence[str] | None = None,
) -> str:
    """Return a drawing of a graph as SVG, or nothing where it is empty or too large.

    colours: of the nodes; default by label. dashed: which edges have dashed lines. notes: shown
    behind the name of a node where the pointer rests on it; default its label.
    """
    if not 0 < graph.n_nodes <= MOST_NODES or graph.n_edges > MOST_EDGES:
        return ""
    labels = graph.node_labels
    if colours is None:
        colours = [UNLABELLED] * graph.n_nodes
        if labels is not None:
            known = {label: place for place, label in enumerate(dict.fromkeys(labels))}
            colours = [PALETTE[known[label] % len(PALETTE)] for label in labels]
    if notes is None:
        notes = [""] * graph.n_nodes if labels is None else [f": {label}" for label in labels]
    middle = np.array([WIDTH, HEIGHT]) / 2
    places = lay_out(graph)
    # Both axes alike, as large as fits.
    places *= ((middle - MARGIN) / np.maximum(np.abs(places).max(axis=0), 1e-9)).min()
    places += middle
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
    head = "".join(f"<th>{_text(name)}</th>" for name in heading)
    cells = [
        "".join(f"<td>{_text(str(value), 120)}</td>" for value in row)
        for row in islice(rows, MOST_ROWS)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    more = f"<p>and {n_rows - MOST_ROWS:,} more</p>" if n_rows > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def page(heading: str, *parts: str) -> str:
    """Return a heading and parts below it, next to each other where the page is wide enough."""
    cells = "".join(f"<div>{part}</div>" for part in parts if part)
    row = f'<div style="display:flex;flex-wrap:wrap;gap:1em">{cells}</div>' if cells else ""
    return f"<div><p>{html.escape(heading)}</p>{row}</div>"


def frequent_values(values: Iterable[Hashable], most: int) -> tuple[list[Hashable], list[Hashable]]:
    """Return the most frequent values in natural order, and the others.

    >>> frequent_values(["a 10", "a 9", "b", "b", 10, 9], 5)
    ([9, 10, 'a 9', 'a 10', 'b'], [])
    """
    counts = Counter(values)
    ranked = sorted(counts, key=lambda value: (-counts[value], natural_key(value)))
    return sorted(ranked[:most], key=natural_key), ranked[most:]


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
    (x, y), (x2, y2), style = tail, head, f'stroke="#888"{dash}'
    if length < 1e-9:  # an edge from a node to itself
        y -= 1.5 * radius
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none" {style}/>'
    line = f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'
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


def lay_out(graph: Graph) -> Array:
    """Return positions of the nodes in [-1, 1] x [-1, 1], (n_nodes, 2).

    Stress majorisation: drawn distances approximate path lengths (Gansner, Koren and North, 2004).
    Components are placed in a row, the largest first. Molecules are drawn by rdkit where it is
    installed. The same graph in the same node order always gets the same positions.

    >>> lay_out(Graph(3, [(0, 1), (1, 2)]))[:, 0].round(3).tolist()
    [-1.0, 0.0, 1.0]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    molecule = _molecule_places(graph)
    if molecule is not None:
        return molecule
    n = graph.n_nodes
    u, v = graph.edges[graph.edges[:, 0] != graph.edges[:, 1]].T
    ends = (np.concatenate([u, v]), np.concatenate([v, u]))
    adjacency = coo_array((np.ones(2 * len(u)), ends), shape=(n, n)).tocsr()
    _, part_of = connected_components(adjacency, directed=False)
    members = np.split(np.argsort(part_of, kind="stable"), np.cumsum(np.bincount(part_of))[:-1])
    places, edge = np.zeros((n, 2)), 0.0
    for nodes in sorted(members, key=lambda part: (-len(part), part[0])):
        own = _lay_out_connected(adjacency[nodes][:, nodes])
        own[:, 0] += edge - own[:, 0].min()
        places[nodes] = own
        edge = float(own[:, 0].max()) + 0.6
    return fit(places)


def fit(places: Array) -> Array:
    """Centre places and scale both axes alike, so that the longer one spans [-1, 1]."""
    low, high = places.min(axis=0), places.max(axis=0)
    reach = float((high - low).max()) / 2
    fitted: Array = (places - (low + high) / 2) / (reach if reach > 0 else 1.0)
    return fitted


def _lay_out_connected(adjacency: Any) -> Array:
    """Return positions of one component, with about one unit between neighbours."""
    n = adjacency.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    places = _by_stress(adjacency) if n <= MOST_BY_STRESS else _by_spectrum(adjacency)
    u, v = adjacency.nonzero()
    length = float(np.linalg.norm(places[u] - places[v], axis=1).mean())
    return _lie_down(places / max(length, 1e-9))


def _by_stress(adjacency: Any) -> Array:
    """Minimise sum_ij (|x_i - x_j| - d_ij)^2 / d_ij^2, d the path lengths."""
    from scipy.sparse.csgraph import shortest_path

    wanted = shortest_path(adjacency, unweighted=True, directed=False)
    n = len(wanted)
    weights = 1 / np.where(wanted > 0, wanted, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.inv(laplacian + 1.0 / n)
    # Classical scaling, and a small fixed deviation where it is degenerate.
    centred = wanted**2 - (wanted**2).mean(axis=0)
    centred = -(centred - centred.mean(axis=1, keepdims=True)) / 2
    values, directions = np.linalg.eigh(centred)
    places: Array = directions[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    if values[-2] > 1e-9:
        places = places + 0.01 * np.cos(np.arange(2 * n).reshape(n, 2) * 2.4)
    for _ in range(ITERATIONS):
        apart = places[:, None] - places[None]
        lengths = np.sqrt((apart**2).sum(axis=2))
        np.fill_diagonal(lengths, 1.0)
        ratio = -weights * wanted / np.maximum(lengths, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        places = inverse @ (ratio @ places)
        places -= places.mean(axis=0)
    return places


def _by_spectrum(adjacency: Any) -> Array:
    """Return the second and third eigenvector of the normalised adjacency matrix."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    degrees = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)
    scale = diags_array(1 / np.sqrt(degrees))
    begin = np.cos(np.arange(adjacency.shape[0]) * 2.4)
    _, directions = eigsh(scale @ adjacency @ scale, k=3, which="LA", v0=begin, maxiter=2000)
    places: Array = directions[:, 1::-1] / np.sqrt(degrees)[:, None]
    spread: Array = np.sign(places) * np.abs(places) ** 0.5  # eigenvectors concentrate near 0
    return spread


def _lie_down(places: Array) -> Array:
    """Rotate so that the longer axis is horizontal and the first node is on the left."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned: Array = centred @ axes.T
    turned *= np.where(turned[0] > 0, -1.0, 1.0)
    return turned


def bond_orders(graph: Graph) -> list[int] | None:
    """Return the order of every bond if the labels are those of a molecule, else None.

    >>> bond_orders(Graph(2, [(0, 1)], node_labels="CO", edge_labels=["="]))
    [2]
    """
    if graph.node_labels is None or graph.edge_labels is None:
        return None
    if not all(_element(label) in ELEMENTS for label in graph.node_labels):
        return None
    orders = [ORDERS.get(str(label).lower()) for label in graph.edge_labels]
    return None if None in orders else [order for order in orders if order is not None]


def _element(label: Hashable) -> str:
    text = str(label[0] if isinstance(label, tuple) and label else label).rstrip("+-0123456789")
    return text[:1].upper() + text[1:2].lower() if text.isalpha() and len(text) <= 2 else ""


def _molecule_places(graph: Graph) -> Array | None:
    """Return the coordinates rdkit gives a molecule; None for others, and where it fails."""
    orders = bond_orders(graph)
    if not orders or find_spec("rdkit") is None:
        return None
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDepictor

    kinds = {1: Chem.BondType.SINGLE, 2: Chem.BondType.DOUBLE, 3: Chem.BondType.TRIPLE,
             4: Chem.BondType.AROMATIC}  # fmt: skip
    try:
        with rdBase.BlockLogs():
            molecule = Chem.RWMol()
            for label in graph.node_labels or ():
                molecule.AddAtom(Chem.Atom(_element(label)))
            for (u, v), order in zip(graph.edges.tolist(), orders, strict=True):
                molecule.AddBond(u, v, kinds[order])
            molecule.UpdatePropertyCache(strict=False)
            Chem.FastFindRings(molecule)
            rdDepictor.Compute2DCoords(molecule)
            places = np.asarray(molecule.GetConformer().GetPositions())[:, :2]
    except (RuntimeError, ValueError):
        return None
    return fit(places) if np.isfinite(places).all() else None
