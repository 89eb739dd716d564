"""Drawings of graphs as plain numbers, which the page turns into SVG."""

from __future__ import annotations

from collections.abc import Hashable
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.graphs import Graph
from ddgk.graphs.display import lay_out
from ddgk.plain import visible

MAX_NODES = 1_000  # above, the page tells the size in place of a drawing
MAX_EDGES = 5_000
SCALE = 500  # coordinates are whole numbers from -500 to 500

ORDERS = {"1": 1, "2": 2, "3": 3, "1.0": 1, "2.0": 2, "3.0": 3, "1.5": 4, "12": 4, "single": 1,
          "double": 2, "triple": 3, "aromatic": 4, "-": 1, "=": 2, "#": 3, ":": 4}  # fmt: skip
# Elements that occur in molecules; a graph with other labels is drawn as a graph.
ELEMENTS = {"H", "Li", "B", "C", "N", "O", "F", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "K", "Ca",
            "Ti", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ge", "As", "Se", "Br", "Ag", "Cd",
            "Sn", "Sb", "Te", "I", "Pt", "Au", "Hg", "Pb", "Bi"}  # fmt: skip


def drawing_values(graph: Graph) -> dict[str, Any]:
    """Return a drawing of a graph.

    Returns
    -------
    dict
        "n", "m": numbers of nodes and edges. Unless it is too large: "p": coordinates, x and y of
        each node in turn; "e": ends of each edge in turn; "l": node labels as text, "t": node names
        as text, "o": bond orders (4 is aromatic) where it is a molecule, "b": edge labels as text
        where it is not, "d": 1 where it is directed.

    Examples
    --------
    >>> drawing_values(Graph(2, [(0, 1)]))
    {'n': 2, 'm': 1, 'p': [-500, 0, 500, 0], 'e': [0, 1]}
    """
    drawn: dict[str, Any] = {"n": graph.n_nodes, "m": graph.n_edges}
    if graph.n_nodes > MAX_NODES or graph.n_edges > MAX_EDGES:
        return drawn
    orders = bond_orders(graph)
    places = _molecule_places(graph, orders) if orders else None
    if places is None:
        places = lay_out(graph)
    drawn["p"] = np.rint(places * SCALE).astype(int).ravel().tolist()
    drawn["e"] = graph.edges.ravel().tolist()
    if graph.node_labels is not None:
        drawn["l"] = [visible(label, 12) for label in graph.node_labels]
    if graph.node_names != tuple(range(graph.n_nodes)):
        drawn["t"] = [visible(name, 40) for name in graph.node_names]
    if orders:
        drawn["o"] = orders
    elif graph.edge_labels is not None:
        drawn["b"] = [visible(label, 12) for label in graph.edge_labels]
    if getattr(graph, "directed", False):
        drawn["d"] = 1
    return drawn


def bond_orders(graph: Graph) -> list[int] | None:
    """Return the order of every bond if the labels are those of a molecule, else None.

    Examples
    --------
    >>> bond_orders(Graph(2, [(0, 1)], node_labels="CO", edge_labels=["="]))
    [2]
    >>> bond_orders(Graph(2, [(0, 1)], node_labels="xy", edge_labels=["="])) is None
    True
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


def _molecule_places(graph: Graph, orders: list[int]) -> NDArray[np.float64] | None:
    """Return the coordinates rdkit gives a molecule, or None where it is missing or fails."""
    if find_spec("rdkit") is None:
        return None
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDepictor

    kinds = {1: Chem.BondType.SINGLE, 2: Chem.BondType.DOUBLE, 3: Chem.BondType.TRIPLE,
             4: Chem.BondType.AROMATIC}  # fmt: skip
    quiet = rdBase.BlockLogs()
    try:
        molecule = Chem.RWMol()
        assert graph.node_labels is not None
        for label in graph.node_labels:
            molecule.AddAtom(Chem.Atom(_element(label)))
        for (u, v), order in zip(graph.edges.tolist(), orders, strict=True):
            molecule.AddBond(u, v, kinds[order])
        molecule.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(molecule)
        rdDepictor.Compute2DCoords(molecule)
        places = np.asarray(molecule.GetConformer().GetPositions())[:, :2]
    except (RuntimeError, ValueError):
        return None
    finally:
        del quiet
    low, high = places.min(axis=0), places.max(axis=0)
    # A single bond fills a third of the drawing at most, so that small molecules are not blown up.
    reach = max(float((high - low).max()) / 2, 2.2)
    found: NDArray[np.float64] = (places - (low + high) / 2) / reach
    return found if np.isfinite(found).all() else None
