"""Policies: what to do with input that can be read in more than one way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ddgk.errors import ParameterError

CHOICES: dict[str, tuple[str, ...]] = {
    "directed": ("keep", "undirected", "error"),
    "self_loops": ("keep", "drop", "error"),
    "parallel_edges": ("error", "merge"),
    "weights": ("scale", "log", "rank", "ignore"),
    "negative_weights": ("error", "absolute", "sign", "threshold"),
    "missing": ("error", "mask"),
    "empty": ("error", "skip", "keep"),
    "hydrogens": ("drop", "add"),
    "invalid_smiles": ("error", "skip"),
}


@dataclass(frozen=True)
class Policies:
    """How graphs are read where there is a choice.

    What a graph can hold is kept; what cannot be represented, or is probably a mistake, is an
    error that names the policy to choose.

    Parameters
    ----------
    directed : {"keep", "undirected", "error"}
        "keep" reads a directed graph as directed. "undirected" joins two nodes when an edge runs
        either way; the labels of the two directions must agree, weights are added, attributes
        averaged.
    self_loops : {"keep", "drop", "error"}
        "keep", the default, since a self-loop has a place: the diagonal of the target matrix.
    parallel_edges : {"error", "merge"}
        "merge" makes one edge; labels must agree, weights are added, attributes averaged. It is
        not the default, because repeated edges are often a sign of a table read the wrong way.
    weights : {"scale", "log", "rank", "ignore"}
        How weights become numbers in [0, 1] that a model reads; see `ddgk.graphs.weights`.
        "ignore" reads no weights.
    negative_weights : {"error", "absolute", "sign", "threshold"}
        "absolute" takes absolute values. "sign" does too and adds the sign, "+" or "-", to the
        edge labels. "threshold" keeps edges with a weight above `threshold`.
    threshold : float
        For ``negative_weights="threshold"``; at least 0.
    missing : {"error", "mask"}
        NaN in node or edge attributes: "mask" keeps it, and losses skip the entry.
    empty : {"error", "skip", "keep"}
        Graphs without nodes: "skip" leaves them out, "keep" gives each a row of NaN.
    hydrogens : {"drop", "add"}
        Hydrogens of molecules: "drop" leaves them implicit, "add" makes every one a node.
    invalid_smiles : {"error", "skip"}
        Text that is not a molecule: "skip" leaves it out and lists it in the report.

    Examples
    --------
    >>> from ddgk.graphs import Policies
    >>> Policies(self_loops="drop").directed
    'keep'
    >>> Policies(directed="yes")
    Traceback (most recent call last):
    ...
    ddgk.errors.ParameterError: directed must be one of 'keep', 'undirected', 'error', not 'yes'
    """

    directed: str = "keep"
    self_loops: str = "keep"
    parallel_edges: str = "error"
    weights: str = "scale"
    negative_weights: str = "error"
    threshold: float = 0.0
    missing: str = "error"
    empty: str = "error"
    hydrogens: str = "drop"
    invalid_smiles: str = "error"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ParameterError(f"{name} must be one of {listed}, not {value!r}")
        threshold: Any = self.threshold
        real = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not real or not 0 <= threshold < math.inf:
            raise ParameterError(f"threshold must be a number of at least 0, not {threshold!r}")
        object.__setattr__(self, "threshold", float(threshold))


DEFAULT = Policies()


def chosen_policies(policies: Policies | None) -> Policies:
    """Return the policies that a caller passed, or the default ones.

    >>> chosen_policies(None) is DEFAULT
    True
    """
    if policies is None:
        return DEFAULT
    if not isinstance(policies, Policies):
        raise ParameterError(
            f'policies must be given as Policies(self_loops="drop", ...), not {policies!r}'
        )
    return policies
