r"""Scale edge weights to [0, 1], the range of a target matrix.

A rule is learned on the graphs of `fit` and applied to every graph later. With :math:`|w|` the
absolute weight (negative weights are decided by a policy before), the three rules are

- ``scale``: :math:`\min(1, |w| / q)`, where q is the 99th percentile of the absolute weights;
- ``log``: :math:`\min(1, \log(1 + |w|) / \log(1 + q))`;
- ``rank``: the share of the learned weights that are not larger than :math:`|w|`.

The percentile is an observed weight, so that a few enormous weights do not press all others
towards 0. A graph without weights counts as one whose weights are all 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import ParameterError
from ddgk.graphs.graph import Graph
from ddgk.graphs.policies import CHOICES, Policies, chosen_policies

QUANTILE = 0.99
MAX_KNOTS = 1024


@dataclass(frozen=True)
class WeightScale:
    """A learned rule from edge weights to [0, 1].

    knots: ascending absolute weights, of which the last one becomes 1; larger weights are clipped.
    One for "scale" and "log", quantiles of the learned weights for "rank".

    >>> pair = Graph(3, [(0, 1), (1, 2)], edge_weights=[2.0, 4.0])
    >>> scale = learn_weight_scale([pair], Policies())
    >>> scale.apply(pair)[0].tolist()
    [0.5, 1.0]
    >>> values, n_clipped = scale.apply(pair.replace(edge_weights=[1.0, 9.0]))
    >>> values.tolist(), n_clipped
    ([0.25, 1.0], 1)
    """

    rule: str = "ignore"
    knots: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        real = all(isinstance(x, float) and 0 < x < np.inf for x in self.knots)
        most = MAX_KNOTS if self.rule == "rank" else 1
        if self.rule not in CHOICES["weights"] or not (real and 0 < len(self.knots) <= most):
            raise ParameterError(f"not a scale of edge weights: rule {self.rule!r}")
        if (np.diff(self.knots) < 0).any():
            raise ParameterError("not a scale of edge weights: its knots do not ascend")

    def apply(self, graph: Graph) -> tuple[NDArray[np.float64], int]:
        """Return the scaled weight in [0, 1] of every edge, and how many were clipped."""
        if self.rule == "ignore":
            return np.ones(graph.n_edges), 0
        sizes, limit = _sizes(graph), self.knots[-1]
        n_clipped = int((sizes > limit).sum())
        if self.rule == "rank":
            return np.searchsorted(self.knots, sizes, side="right") / len(self.knots), n_clipped
        within = np.minimum(sizes, limit)  # before dividing, which could overflow
        if self.rule == "log":
            return np.log1p(within) / np.log1p(limit), n_clipped
        return within / limit, n_clipped

    def as_json(self) -> dict[str, Any]:
        """Return the rule as an object of JSON; floats come back exactly."""
        return asdict(self) | {"knots": list(self.knots)}

    @classmethod
    def from_json(cls, content: Any) -> WeightScale:
        """Return the rule that `as_json` wrote; anything else is a ParameterError."""
        try:
            knots = tuple(map(float, content["knots"][: MAX_KNOTS + 1]))
            return cls(str(content["rule"]), knots)
        except ParameterError:
            raise
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise ParameterError(f"not a scale of edge weights ({error!r})") from error


def _sizes(graph: Graph) -> NDArray[np.float64]:
    weights = graph.edge_weights
    return np.ones(graph.n_edges) if weights is None else np.abs(weights)


def learn_weight_scale(graphs: Iterable[Graph], policies: Policies | None = None) -> WeightScale:
    """Learn the rule that a policy chooses; where no graph has weights, a weight of 1 becomes 1.

    >>> path = Graph(4, [(0, 1), (1, 2), (2, 3)], edge_weights=[1, 10, 1000])
    >>> learn_weight_scale([path], Policies(weights="log")).apply(path)[0].round(3).tolist()
    [0.1, 0.347, 1.0]
    """
    rule = chosen_policies(policies).weights
    if rule == "ignore":
        return WeightScale()
    sizes = np.sort(np.concatenate([np.empty(0), *map(_sizes, graphs)]))
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return WeightScale("scale")
    # Observed weights, not interpolated ones: exact, and the same whatever the order.
    places = np.array([np.ceil(QUANTILE * len(sizes)) - 1], dtype=np.int64)
    if rule == "rank":
        n_knots = min(len(sizes), MAX_KNOTS)
        places = np.arange(1, n_knots + 1) * len(sizes) // n_knots - 1
    return WeightScale(rule, tuple(sizes[places].tolist()))
