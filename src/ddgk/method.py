"""What the method is, as one frozen value; and three presets of it.

`Method` holds everything that changes a result. How fast it is had (engine, threads) is not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ddgk.attributes import FAMILIES
from ddgk.engine.problem import EncoderTraining, PairTraining
from ddgk.errors import ParameterError
from ddgk.relations import RELATIONS

CURVE = (1, 2, 3, 5, 8, 12, 20, 35, 60)
N_REGIONS, MOST_REGIONS = 16, 256
N_IMAGES, MOST_IMAGES, BETWEEN_IMAGES = 2, 8, 3
MOST_SIZE = 4096  # of attention; beyond, products are larger than the matrix of most pairs
SAMPLED_ABOVE, SAMPLES = 6000, 64  # nodes; entries of each in a step
# What a file says that is older than the parameter: nothing, and this is what it did.
BEFORE = {
    "regions": 0,
    "images": 0,
    "encoder_drop": 0.0,
    "encoder_decay": 0.0,
    "encoder_patience": 0,
    "attention_size": 0,
    "sampled_above": SAMPLED_ABOVE,
    "samples": SAMPLES,
}

CHOICES: dict[str, tuple[str, ...]] = {
    "scores": ("linear", "tanh"),
    "reverse": ("tied", "free"),
    "start": ("equivariant", "glorot"),
    "surroundings": ("pooled", "two_hop"),
    "reduction": ("mean", "sum", "both"),
    "output": ("channels", "total", "edges"),
    "baseline": ("source", "target", "none"),
    "precision": ("float32", "float64"),
}


@dataclass(frozen=True)
class Method:
    """Everything that changes a result.

    Parameters
    ----------
    relation : {"node_to_edges", "closeness", "edge_to_nodes", "neighborhood"}, or several
        What an encoder learns to predict; of several, each has encoders of its own, and their
        channels stand side by side.
    dimension, width, depth : int
        Of the encoder: d, h (None: 4 d) and L.
    encoder_epochs, encoder_rate : int, float
        Adam steps of an encoder, and their rate.
    encoder_drop : float
        Share of the relation's nonzero entries that an encoder does not see in an epoch, others in
        each; 0: it sees all.
    encoder_decay : float
        Decay of an encoder's weights, but for biases: each step takes encoder_rate * encoder_decay
        of them away (AdamW).
    encoder_patience : int
        Hold out a tenth of the entries, and end the training of an encoder when the loss on them
        has not improved for so many epochs; the best weights are kept. 0: use all entries and all
        epochs.
    scores : {"linear", "tanh"}
        What the encoder's last layer puts out.
    reverse : {"tied", "free"}
        Reverse attention: the attention itself transposed, or a matrix of its own.
    start : {"equivariant", "glorot"}
        "equivariant" knows no node order; "glorot" is random, for alignment with restarts.
    rate : float
        Of the Adam steps of a pair.
    curve : tuple of int, or int
        After how many steps channels are reported; the last ends the training. A single number
        reports the end alone.
    window : int
        How many of the latest losses each report averages.
    regions : int
        How many regions of a source are told apart by images; without images, the last report is
        split by them instead: what the nodes cost that attend to a region. A source of fewer nodes
        leaves the others 0; 0: neither.
    images : int
        How often the target's image in the source is read (`ddgk.engine.images`): after the last
        step, after a third of the steps, after a third of these, and so on.
    attention_size : int
        q: attention and reverse attention are products of two matrices with so many columns and
        rows, so that what is held grows as n_s + n_t; 0: matrices of their own, n_s n_t. From an
        equivariant start the source's factor is read off its encoder and does not train.
    sampled_above, samples : int
        Targets of more nodes are reconstructed by their edges and, in every step, so many sampled
        entries of each node, so that time and memory grow as nodes and edges do. For the relation
        "node_to_edges"; others always look at all entries.
    families : "auto", "none" or tuple of str
        Which of node_labels, edge_labels, attributes to read; "auto": those the graphs carry.
    coefficients : float or mapping
        Weight of the families in the training loss, for all or by name.
    smoothing : float
        Share of the uniform distribution mixed into inferred labels; 0 clamps at 1e-12 instead.
    surroundings : {"pooled", "two_hop"}
        What surrounds a node in the edge-label family; "two_hop" is the paper's.
    reduction : {"mean", "sum", "both"}
        Losses over entries and units; "both" trains by the mean and reports mean and sum.
    output : {"channels", "total", "edges"}
        Report every channel, their weighted sum, or the edges alone (paper eq. 9).
    baseline : {"source", "target", "none"}
        What eq. 10 subtracts: D'(S||S), D'(T||T), or nothing.
    symmetric : bool
        Report D(T||S) + D(S||T).
    precision : {"float32", "float64"}

    Examples
    --------
    >>> Method().reverse, PRESETS["paper"].reverse
    ('tied', 'free')
    >>> PRESETS["authors"].changed(curve=(299,)).curve
    (299,)
    """

    relation: str | tuple[str, ...] = "node_to_edges"
    dimension: int = 4
    width: int | None = None
    depth: int = 4
    encoder_epochs: int = 600
    encoder_rate: float = 0.01
    encoder_drop: float = 0.0
    encoder_decay: float = 0.0
    encoder_patience: int = 0
    scores: str = "linear"
    reverse: str = "tied"
    start: str = "equivariant"
    rate: float = 0.15
    curve: tuple[int, ...] = CURVE
    window: int = 1
    regions: int = N_REGIONS
    images: int = N_IMAGES
    attention_size: int = 0
    sampled_above: int = SAMPLED_ABOVE
    samples: int = SAMPLES
    families: str | tuple[str, ...] = "auto"
    coefficients: float | Mapping[str, float] = 1.0
    smoothing: float = 0.01
    surroundings: str = "pooled"
    reduction: str = "both"
    output: str = "channels"
    baseline: str = "source"
    symmetric: bool = False
    precision: str = "float32"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ParameterError(f"{name} must be one of {listed}, not {getattr(self, name)!r}")
        widths = () if self.width is None else ("width",)
        for name in ("dimension", "depth", "window", "samples", *widths):
            _require(name, getattr(self, name), int, minimum=1)
        whole = ("encoder_epochs", "encoder_patience", "attention_size", "sampled_above")
        for name in (*whole, "regions", "images"):
            _require(name, getattr(self, name), int, minimum=0)
        bounds = {"regions": MOST_REGIONS, "images": MOST_IMAGES, "attention_size": MOST_SIZE}
        for name, most in bounds.items():
            if getattr(self, name) > most:
                raise ParameterError(f"{name} must be at most {most}, not {getattr(self, name)}")
        for name in ("encoder_rate", "rate"):
            _require(name, getattr(self, name), (int, float), above=0)
        for name in ("encoder_drop", "encoder_decay", "smoothing"):
            _require(name, getattr(self, name), (int, float), minimum=0)
        for name in ("encoder_drop", "smoothing"):
            if getattr(self, name) >= 1:
                raise ParameterError(f"{name} must be below 1, not {getattr(self, name)!r}")
        if self.encoder_rate * self.encoder_decay >= 1:
            raise ParameterError(
                f"encoder_decay must be below 1 / encoder_rate = {1 / self.encoder_rate:g}, "
                f"not {self.encoder_decay!r}"
            )
        if self.symmetric not in (True, False):
            raise ParameterError(f"symmetric must be True or False, not {self.symmetric!r}")
        self._check_relation()
        self._check_curve()
        self._check_families()

    def _check_relation(self) -> None:
        given: Any = self.relation
        several = isinstance(given, Iterable) and not isinstance(given, str)
        names = tuple(given) if several else (given,)
        known = all(isinstance(name, str) and name in RELATIONS for name in names)
        if not known or len(set(names)) < max(1, len(names)):
            listed = ", ".join(map(repr, RELATIONS))
            raise ParameterError(
                f"relation must be one of {listed}, or several different ones, not {given!r}"
            )
        object.__setattr__(self, "relation", names[0] if len(names) == 1 else names)

    def _check_curve(self) -> None:
        given: Any = self.curve
        try:
            steps = (
                (int(given),)
                if isinstance(given, int | np.integer)
                else tuple(int(step) for step in given)
            )
        except (TypeError, ValueError):
            raise ParameterError(f"curve must be whole numbers, not {self.curve!r}") from None
        if not steps or steps[0] < 0 or any(b <= a for a, b in pairwise(steps)):
            raise ParameterError(f"curve must list steps in ascending order, not {self.curve!r}")
        object.__setattr__(self, "curve", steps)

    def _check_families(self) -> None:
        if self.families not in ("auto", "none"):
            names = (self.families,) if isinstance(self.families, str) else tuple(self.families)
            unknown = [name for name in names if name not in FAMILIES]
            if unknown:
                listed = ", ".join(map(repr, FAMILIES))
                raise ParameterError(
                    f"families must be 'auto', 'none' or a list of {listed}, not {unknown[0]!r}"
                )
            object.__setattr__(self, "families", names)
        given = self.coefficients
        values = dict(given) if isinstance(given, Mapping) else {"coefficients": given}
        for name, value in values.items():
            if isinstance(given, Mapping) and name not in FAMILIES:
                raise ParameterError(
                    f"coefficients names {name!r}; families are {', '.join(FAMILIES)}"
                )
            _require(name, value, (int, float), minimum=0)
        if isinstance(given, Mapping):
            object.__setattr__(self, "coefficients", {name: float(v) for name, v in values.items()})

    def changed(self, **changes: Any) -> Method:
        """Return the method with some parameters changed."""
        known = [field.name for field in fields(self)]
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise ParameterError(
                f"there is no parameter {unknown[0]!r}; there are {', '.join(known)}"
            )
        return replace(self, **changes)

    def samples_of(self, n_nodes: int, relation: str) -> int:
        """Return how many entries of a unit are looked at besides its edges; 0: all of them.

        >>> Method(samples=64, sampled_above=1000).samples_of(1001, "node_to_edges")
        64
        """
        sampled = n_nodes > self.sampled_above and relation == "node_to_edges"
        return self.samples if sampled else 0

    def coefficient(self, family: str) -> float:
        """Return c_f of a family; one that a mapping leaves out does not train."""
        if isinstance(self.coefficients, Mapping):
            return float(self.coefficients.get(family, 0.0))
        return float(self.coefficients)

    @property
    def relations(self) -> tuple[str, ...]:
        """Name all relations."""
        return (self.relation,) if isinstance(self.relation, str) else self.relation

    @property
    def readouts(self) -> tuple[str, ...]:
        """Name what is read of every channel: after each step of the curve, then by region.

        >>> Method(curve=(5, 60), regions=2, images=0).readouts
        ('5', '60', 'region0', 'region1')
        """
        return readout_names(self.curve, self.split_regions)

    @property
    def split_regions(self) -> int:
        """Return into how many regions the last report is split: into none beside images."""
        return 0 if self.images else self.regions

    @property
    def image_steps(self) -> tuple[int, ...]:
        """Return after how many steps the target's image in the source is read.

        >>> Method().image_steps, Method(curve=(5,)).image_steps, Method(regions=0).image_steps
        ((20, 60), (2, 5), ())
        """
        n_images = self.images if self.regions else 0
        back = {round(self.curve[-1] / BETWEEN_IMAGES**place) for place in range(n_images)}
        return tuple(sorted(back))

    @property
    def on_quotient(self) -> bool:
        """Say whether pairs are trained on the target's quotient: from an equivariant start."""
        return self.start == "equivariant"

    @property
    def encoder_training(self) -> EncoderTraining:
        """Return what the engine needs to train encoders."""
        return EncoderTraining(
            dimension=self.dimension,
            width=4 * self.dimension if self.width is None else self.width,
            depth=self.depth,
            epochs=self.encoder_epochs,
            rate=self.encoder_rate,
            scores=self.scores,  # type: ignore[arg-type]
            drop=self.encoder_drop,
            decay=self.encoder_decay,
            patience=self.encoder_patience,
        )

    def pair_training(self, families: tuple[str, ...]) -> PairTraining:
        """Return what the engine needs to train pairs whose graphs carry these families."""
        return PairTraining(
            scores=self.scores,  # type: ignore[arg-type]
            reverse=self.reverse,  # type: ignore[arg-type]
            start=self.start,  # type: ignore[arg-type]
            rate=self.rate,
            report=self.curve,
            window=self.window,
            coefficients=tuple(map(self.coefficient, families)),
            smoothing=self.smoothing,
            reduction="sum" if self.reduction == "sum" else "mean",
            size=self.attention_size,
            images=self.image_steps,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Method:
        """Undo `as_json`."""
        given = BEFORE | dict(values)
        for name in ("relation", "curve", "families"):
            if isinstance(given.get(name), list):
                given[name] = tuple(given[name])
        return cls().changed(**given)


def _require(
    name: str,
    value: Any,
    kind: Any,
    *,
    minimum: float | None = None,
    above: float | None = None,
) -> None:
    """Refuse a number that is not one, not finite, or too small."""
    wanted = "a whole number" if kind is int else "a number"
    bound = f" of at least {minimum:g}" if minimum is not None else f" above {above:g}"
    fits = isinstance(value, kind) and not isinstance(value, bool) and abs(value) < float("inf")
    if fits and minimum is not None:
        fits = value >= minimum
    if fits and above is not None:
        fits = value > above
    if not fits:
        raise ParameterError(f"{name} must be {wanted}{bound}, not {value!r}")


_PUBLISHED = Method(
    reverse="free",
    start="glorot",
    rate=0.01,
    smoothing=0.0,
    surroundings="two_hop",
    reduction="mean",
    regions=0,
    images=0,
)

PRESETS: dict[str, Method] = {
    "default": Method(),
    # The paper's text: linear scores, D' sums over the edges, eq. 10 as its text reads.
    "paper": _PUBLISHED.changed(curve=(600,), reduction="sum", output="edges"),
    # The authors' released code: tanh on the scores too, the mean over all entries, and the mean of
    # the losses its last ten steps start from, hence 599.
    "authors": _PUBLISHED.changed(
        scores="tanh", curve=(599,), window=10, coefficients=0.0, output="total", baseline="none"
    ),
}


def readout_names(curve: Sequence[int], regions: int) -> tuple[str, ...]:
    """Name the steps of a curve, then the regions."""
    return (*map(str, curve), *(f"region{place}" for place in range(regions)))


def preset_method(preset: str, changes: Mapping[str, Any]) -> Method:
    """Return a preset with what was changed; None means as the preset says.

    >>> preset_method("paper", {"rate": 0.1, "scores": None}).rate
    0.1
    """
    if preset not in PRESETS:
        listed = ", ".join(map(repr, PRESETS))
        raise ParameterError(f"preset must be one of {listed}, not {preset!r}")
    given = {name: value for name, value in changes.items() if value is not None}
    return PRESETS[preset].changed(**given)
