"""What to do with input that is not an undirected simple unweighted graph: said, never guessed."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ddgk.errors import ParameterError

CHOICES = {
    "directed": ("error", "undirected"),
    "self_loops": ("error", "drop"),
    "parallel_edges": ("error", "merge"),
    "weights": ("error", "ignore", "keep"),
}


@dataclass(frozen=True)
class Policies:
    """How conversions treat what a simple graph cannot hold. Every default is an error.

    Parameters
    ----------
    directed : {"error", "undirected"}
        "undirected" joins two nodes when an edge runs either way; the two directions of an edge
        must agree on its label, and their weights are added.
    self_loops : {"error", "drop"}
    parallel_edges : {"error", "merge"}
        "merge" keeps one edge; labels must agree, weights are added.
    weights : {"error", "ignore", "keep"}
        "error" accepts weights that are all 1, since they say nothing. "keep" stores them on the
        graph; a model reads kept weights as soft edges, which must lie in [0, 1].

    Examples
    --------
    >>> Policies(self_loops="drop").directed
    'error'
    >>> Policies(directed="yes")
    Traceback (most recent call last):
    ...
    ddgk.errors.ParameterError: directed must be one of 'error', 'undirected', not 'yes'
    """

    directed: str = "error"
    self_loops: str = "error"
    parallel_edges: str = "error"
    weights: str = "error"

    def __post_init__(self) -> None:
        for field in fields(self):
            value, allowed = getattr(self, field.name), CHOICES[field.name]
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ParameterError(f"{field.name} must be one of {listed}, not {value!r}")


STRICT = Policies()


def chosen_policies(policies: Policies | None) -> Policies:
    """Return the policies a caller passed, or the strict ones.

    >>> chosen_policies(None) is STRICT
    True
    """
    if policies is None:
        return STRICT
    if not isinstance(policies, Policies):
        raise ParameterError(
            f'policies must be given as Policies(self_loops="drop", ...), not {policies!r}'
        )
    return policies
