"""Everything that changes a result, as one frozen value, and three presets of it.

Execution (engine, device, threads) is not part of it: it does not change results beyond rounding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice, pairwise
from math import isfinite
from typing import Any

import numpy as np

from ddgk.errors import ParameterError

MAX_CHECKPOINTS, MAX_STEPS = 1_000, 100_000
MAX_LAYERS = 16

ATTRIBUTE_NAMES = ("node_labels", "edge_labels", "node_attributes", "edge_attributes")
CHOICES: dict[str, tuple[str, ...]] = {
    "attention": ("local", "global"),
    "target": ("adjacency", "closeness", "edge_to_nodes", "neighborhood"),
    "scores": ("linear", "tanh"),
    "reverse": ("tied", "free"),
    "initialisation": ("equivariant", "glorot"),
    "edge_label_neighbourhood": ("pooled", "two_hop"),
    "reduction": ("mean", "sum"),
    "output": ("terms", "total", "edges"),
    "baseline": ("none", "source"),
}
# Smallest and largest whole number.
WHOLE = {
    "dimension": (1, 4096),
    "depth": (1, 64),
    "encoder_epochs": (0, MAX_STEPS),
    "n_anchors": (1, 1_000_000),
}
POSITIVE = ("encoder_learning_rate", "learning_rate")
SHARES = ("encoder_edge_dropout", "smoothing")  # in [0, 1)
KERNEL_WEIGHTS = ("neighbourhood_weight", "size_weight", "attribute_weight")  # in [0, 1]
# What local attention does not have.
GLOBAL_ONLY = {
    "target": "adjacency",
    "scores": "linear",
    "reverse": "tied",
    "initialisation": "equivariant",
    "attention_layers": (),
}


@dataclass(frozen=True)
class Config:
    """Everything that changes a result.

    Parameters
    ----------
    attention : {"local", "global"}
        "local": after t gradient steps the attention of a node depends on its t-hop neighbourhood
        only; the basis of the compact embedding. "global": Adam on the loss over all entries, as in
        the paper.
    target : {"adjacency", "closeness", "edge_to_nodes", "neighborhood"}
        The target matrix B that encoders predict (`ddgk.targets.TARGETS`). All but "adjacency" need
        global attention.
    dimension : int
        d, the columns of an encoder's table.
    width : int or None
        h, the size of an encoder's hidden layers; None: 4 d.
    depth : int
        L, the number of hidden layers of an encoder.
    encoder_epochs : int
        Adam steps of an encoder.
    encoder_learning_rate : float
        Learning rate of an encoder.
    encoder_edge_dropout : float
        Share of the nonzero entries of B that are hidden from an encoder in each epoch. Needs
        torch.
    encoder_weight_decay : float
        Decay of an encoder's weights, without biases, as in AdamW. Needs torch.
    scores : {"linear", "tanh"}
        Activation of an encoder's output layer.
    reverse : {"tied", "free"}
        Reverse attention: the attention transposed, Y = Z P^T, or Y = Z R + r with parameters of
        its own. With global attention, "tied" needs torch.
    initialisation : {"equivariant", "glorot"}
        "equivariant": all zeros, so results do not depend on the node order. "glorot": random.
    learning_rate : float
        Learning rate of the attention of a pair.
    checkpoints : tuple of int, or int
        Steps after which loss terms are recorded, ascending; the last ends the training. At most
        1,000 checkpoints and 100,000 steps.
    attention_layers : tuple of int
        Sizes of the hidden layers of an attention network of fixed size; (): a full matrix A. One
        size q: A = U V with q columns of U; more: tanh between them. Needs torch.
    attributes : "auto", "none" or tuple of str
        Which of node_labels, edge_labels, node_attributes, edge_attributes to use; "auto": those
        the graphs of `fit` carry.
    coefficients : float or mapping from str to float
        Weight of the attribute terms in the training loss, for all or by name.
    smoothing : float
        Share of the uniform distribution mixed into inferred labels; 0 clamps at 1e-12 instead.
    edge_label_neighbourhood : {"pooled", "two_hop"}
        Edge labels around a node: of all edges at its neighbours, or of those two hops away (the
        paper's).
    reduction : {"mean", "sum"}
        Loss terms as means or sums over entries and units (global attention).
    output : {"terms", "total", "edges"}
        Report every loss term, their weighted sum, or the edges alone (paper eq. 9).
    baseline : {"none", "source"}
        What eq. 10 subtracts: nothing, or D'(S||S).
    symmetric : bool
        Report D(T||S) + D(S||T).
    neighbourhood_weight : float
        Weight of common neighbourhoods and of labels around nodes in the kernel, in [0, 1]; node
        views have the rest (local attention).
    size_weight : float
        Weight of the difference in size in the kernel, in [0, 1], where graphs that look alike are
        of similar size; it counts less where they are not (local attention).
    attribute_weight : float
        Weight of real attributes in the kernel, in [0, 1], where graphs have some; views,
        neighbourhoods and labels share the rest (local attention).
    n_anchors : int
        Largest number of graphs of `fit` that the columns are computed from; at most half of them
        where they are more than this or than `n_features` (local attention).

    Examples
    --------
    >>> Config().attention, Config.preset("paper").reverse
    ('local', 'free')
    >>> Config.preset("authors").replace(checkpoints=(299,)).checkpoints
    (299,)
    """

    attention: str = "local"
    target: str = "adjacency"
    dimension: int = 4
    width: int | None = None
    depth: int = 4
    encoder_epochs: int = 600
    encoder_learning_rate: float = 0.01
    encoder_edge_dropout: float = 0.0
    encoder_weight_decay: float = 0.0
    scores: str = "linear"
    reverse: str = "tied"
    initialisation: str = "equivariant"
    learning_rate: float = 0.1
    checkpoints: tuple[int, ...] = (0, 1, 2, 3, 4)
    attention_layers: tuple[int, ...] = ()
    attributes: str | tuple[str, ...] = "auto"
    coefficients: float | Mapping[str, float] = 1.0
    smoothing: float = 0.01
    edge_label_neighbourhood: str = "pooled"
    reduction: str = "mean"
    output: str = "terms"
    baseline: str = "none"
    symmetric: bool = False
    neighbourhood_weight: float = 0.7
    size_weight: float = 0.07
    attribute_weight: float = 0.6
    n_anchors: int = 2048

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise ParameterError(f"{name} must be one of {_listed(allowed)}, not {value!r}")
        for name, (least, most) in WHOLE.items():
            self._put(name, _whole(name, getattr(self, name), least, most))
        if self.width is not None:
            self._put("width", _whole("width", self.width, 1, 4096))
        for name in (*POSITIVE, *SHARES, *KERNEL_WEIGHTS, "encoder_weight_decay"):
            self._put(name, _number(name, getattr(self, name), positive=name in POSITIVE))
        for name in SHARES:
            if getattr(self, name) >= 1:
                raise ParameterError(f"{name} must be below 1, not {getattr(self, name)!r}")
        for name in KERNEL_WEIGHTS:
            if getattr(self, name) > 1:
                raise ParameterError(f"{name} must be at most 1, not {getattr(self, name)!r}")
        if self.encoder_learning_rate * self.encoder_weight_decay >= 1:
            raise ParameterError(
                "encoder_weight_decay must be below 1 / encoder_learning_rate = "
                f"{1 / self.encoder_learning_rate:g}, not {self.encoder_weight_decay!r}"
            )
        if not isinstance(self.symmetric, bool | np.bool_):
            raise ParameterError(f"symmetric must be True or False, not {self.symmetric!r}")
        self._put("symmetric", bool(self.symmetric))
        self._check_checkpoints()
        layers = _whole_numbers("attention_layers", self.attention_layers, MAX_LAYERS)
        for size in layers:
            _whole("attention_layers", size, 1, 4096)
        self._put("attention_layers", layers)
        self._check_attributes()
        for name, value in GLOBAL_ONLY.items() if self.attention == "local" else ():
            if getattr(self, name) != value:
                raise ParameterError(
                    f'{name}={getattr(self, name)!r} needs attention="global"; local attention has '
                    f"{name}={value!r}"
                )

    def _put(self, name: str, value: Any) -> None:
        """Store a normalised value; an equal one stays the same object, as sklearn.clone checks."""
        before = getattr(self, name)
        if type(value) is not type(before) or repr(value) != repr(before):
            object.__setattr__(self, name, value)

    def _check_checkpoints(self) -> None:
        given: Any = self.checkpoints
        single = isinstance(given, int | np.integer) and not isinstance(given, bool)
        steps = _whole_numbers("checkpoints", (given,) if single else given, MAX_CHECKPOINTS)
        if not steps or steps[0] < 0 or any(b <= a for a, b in pairwise(steps)):
            raise ParameterError(f"checkpoints must list steps in ascending order, not {given!r}")
        if steps[-1] > MAX_STEPS:
            raise ParameterError(f"checkpoints must end by step {MAX_STEPS:,}, not {steps[-1]:,}")
        self._put("checkpoints", steps)

    def _check_attributes(self) -> None:
        given: Any = self.attributes
        if given not in ("auto", "none"):
            names = (given,) if isinstance(given, str) else tuple(given or ())
            unknown = [name for name in names if name not in ATTRIBUTE_NAMES]
            if unknown or not names or len(set(names)) < len(names):
                raise ParameterError(
                    f"attributes must be 'auto', 'none' or different names among "
                    f"{_listed(ATTRIBUTE_NAMES)}, not {given!r}"
                )
            self._put("attributes", names)
        weights = self.coefficients
        if not isinstance(weights, Mapping):
            self._put("coefficients", _number("coefficients", weights))
            return
        for name in weights:
            if name not in ATTRIBUTE_NAMES:
                raise ParameterError(
                    f"coefficients names {name!r}; attributes are {_listed(ATTRIBUTE_NAMES)}"
                )
        self._put("coefficients", {name: _number(name, value) for name, value in weights.items()})

    def __hash__(self) -> int:
        return hash(repr(self))

    @classmethod
    def preset(cls, name: str) -> Config:
        """Return the preset "default", "paper" or "authors".

        "paper" follows the text: linear scores, free reverse attention, D' as a sum over edges.
        "authors" follows their released code: tanh on the scores, the mean over all entries, no
        label terms in the loss, and the loss before the last of 600 steps, hence 599.
        """
        if name not in PRESETS:
            raise ParameterError(f"the preset must be one of {_listed(PRESETS)}, not {name!r}")
        return PRESETS[name]

    def replace(self, **changes: Any) -> Config:
        """Return a copy with some fields changed."""
        known = [field.name for field in fields(self)]
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise ParameterError(f"Config has no field {unknown[0]!r}; it has {', '.join(known)}")
        return replace(self, **changes)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return all fields by name, as scikit-learn's estimators do."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __sklearn_clone__(self) -> Config:
        return self

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON values.

        >>> Config.from_json(Config().as_json()) == Config()
        True
        """
        return dict(json.loads(json.dumps(self.get_params())))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Config:
        """Undo `as_json`; fields that are missing or unknown are errors."""
        missing = [field.name for field in fields(cls) if field.name not in values]
        if missing:
            raise ParameterError(f"the configuration lacks {missing[0]!r}")
        return cls().replace(**values)

    def coefficient(self, attribute: str) -> float:
        """Return c_f of an attribute; 0 for one that a mapping leaves out."""
        if isinstance(self.coefficients, Mapping):
            return float(self.coefficients.get(attribute, 0.0))
        return float(self.coefficients)

    @property
    def hidden_width(self) -> int:
        """Return h, the size of an encoder's hidden layers."""
        return 4 * self.dimension if self.width is None else self.width

    @property
    def torch_reason(self) -> str:
        """Say which field needs the torch engine; empty where none does.

        >>> Config(attention="global", target="edge_to_nodes").torch_reason
        "target='edge_to_nodes' is computed by the torch engine only"
        """
        needs_torch = {
            "encoder_edge_dropout": self.encoder_edge_dropout > 0,
            "encoder_weight_decay": self.encoder_weight_decay > 0,
            "attention_layers": bool(self.attention_layers),
            "target": self.target in ("edge_to_nodes", "neighborhood"),
            "reverse": self.attention == "global" and self.reverse == "tied",
        }
        for name, needed in needs_torch.items():
            if needed:
                suffix = " with global attention" if name == "reverse" else ""
                value = getattr(self, name)
                return f"{name}={value!r}{suffix} is computed by the torch engine only"
        return ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a whole number in bounds as int."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise ParameterError(
            f"{name} must be a whole number from {least} to {most:,}, not {_shown(value)}"
        )
    return int(value)


def _number(name: str, value: Any, *, positive: bool = False) -> float:
    """Return a finite number that is not negative, or positive, as float."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not isfinite(value) or value < 0 or (positive and value == 0):
        bound = "a positive number" if positive else "a number of at least 0"
        raise ParameterError(f"{name} must be {bound}, not {_shown(value)}")
    return float(value)


def _whole_numbers(name: str, given: Any, most: int) -> tuple[int, ...]:
    """Return at most so many whole numbers; a longer sequence is not even read."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ParameterError(f"{name} must be whole numbers, not {_shown(given)}")
    items: list[Any] = list(islice(given, most + 1))
    if len(items) > most:
        raise ParameterError(f"{name} must be at most {most:,} numbers")
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in items)
    if not whole:
        raise ParameterError(f"{name} must be whole numbers, not {_shown(given)}")
    return tuple(map(int, items))


def _shown(value: Any) -> str:
    return repr(value)[:100]


_PUBLISHED = Config(
    attention="global",
    reverse="free",
    initialisation="glorot",
    learning_rate=0.01,
    smoothing=0.0,
    edge_label_neighbourhood="two_hop",
)

PRESETS: dict[str, Config] = {
    "default": Config(),
    "paper": _PUBLISHED.replace(
        checkpoints=(600,), reduction="sum", output="edges", baseline="source"
    ),
    "authors": _PUBLISHED.replace(
        scores="tanh", checkpoints=(599,), coefficients=0.0, output="total"
    ),
}
