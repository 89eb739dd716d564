"""What a search may spend, and what its pairs cost."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ddgk.errors import ParameterError


@dataclass(frozen=True)
class AlignmentOptions:
    """Options of `align` that most callers leave alone.

    Attributes
    ----------
    max_restarts : int
        Restarts at most. Fewer are run once a matching is proven best, once three in a row bring
        nothing, or where graphs are large.
    iterations : int
        Rounds of belief propagation at most; fewer where a round is expensive.
    search_steps : int
        Proposals of the local search, per node.
    max_dense : int
        Nodes up to which all pairs of nodes are compared (of both graphs, the geometric mean);
        larger graphs are matched by a few candidates a node.
    candidates : int
        Candidates a node, of large graphs.
    label_cost : float
        What a pair with different node labels costs, in edges.
    edge_label_worth : float
        What an edge on an edge of another label is worth, between 0 and 1.
    unmatched_cost : float
        What it costs to leave two nodes without partner, in edges. A pair is dropped where
        ``unmatched_cost + kept < label_cost [labels differ] + [kept = 0]``, kept being the edges
        that the pair keeps. From 2 on, no pair is dropped.
    connected : bool
        Keep only the largest connected part that both graphs have in common.

    Examples
    --------
    >>> import ddgk
    >>> from ddgk.alignment import AlignmentOptions
    >>> cut = ddgk.Graph(5, [(0, 1), (1, 2), (3, 4)], node_labels="CCOCN")
    >>> whole = ddgk.Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="CCON")
    >>> options = AlignmentOptions(connected=True)
    >>> sorted(ddgk.align(cut, whole, labels="strict", options=options).matching)
    [0, 1, 2]
    """

    max_restarts: int = 8
    iterations: int = 40
    search_steps: int = 2000
    max_dense: int = 6000
    candidates: int = 16
    label_cost: float = 1.0
    edge_label_worth: float = 0.5
    unmatched_cost: float = 0.5
    connected: bool = False

    def __post_init__(self) -> None:
        for given in fields(self):
            value = getattr(self, given.name)
            kinds: dict[str, tuple[str, Any, int]] = {
                "bool": ("True or False", bool, 0),
                "int": ("a whole number of at least 1", int, 1),
                "float": ("a number of at least 0", (int, float), 0),
            }
            kind, number, least = kinds[str(given.type)]
            good = isinstance(value, number) and isinstance(value, bool) == (number is bool)
            if not (good and least <= value < float("inf")):
                raise ParameterError(f"{given.name} must be {kind}, not {value!r}")
