"""The parameters of the estimator, and what they stand for: a method, policies, an engine."""

from __future__ import annotations

from dataclasses import fields
from os import PathLike
from typing import Any

from ddgk.attributes import UNSEEN
from ddgk.embedding.runs import stored_seed
from ddgk.embedding.workers import count_threads
from ddgk.engine import make_engine
from ddgk.engine.problem import Engine
from ddgk.errors import ParameterError
from ddgk.graphs import Policies
from ddgk.method import Method, preset_method
from ddgk.transformer import Transformer, draw_seed

Path = str | PathLike[str]


class Parameters(Transformer):
    """Keeps what `ddgk.DDGK` was given, under the same names and unchanged, and reads it.

    What each parameter means is said there, and at `ddgk.method.Method`.
    """

    def __init__(
        self,
        n_sources: int = 32,
        *,
        preset: str = "default",
        sources: Any = "random",
        relation: Any = None,
        dimension: int | None = None,
        width: int | None = None,
        depth: int | None = None,
        encoder_epochs: int | None = None,
        encoder_rate: float | None = None,
        encoder_drop: float | None = None,
        encoder_decay: float | None = None,
        encoder_patience: int | None = None,
        scores: str | None = None,
        reverse: str | None = None,
        start: str | None = None,
        rate: float | None = None,
        curve: Any = None,
        window: int | None = None,
        regions: int | None = None,
        images: int | None = None,
        attention_size: int | None = None,
        sampled_above: int | None = None,
        samples: int | None = None,
        families: Any = None,
        coefficients: Any = None,
        smoothing: float | None = None,
        surroundings: str | None = None,
        reduction: str | None = None,
        output: str | None = None,
        baseline: str | None = None,
        symmetric: bool | None = None,
        precision: str | None = None,
        directed: str = "error",
        self_loops: str = "error",
        parallel_edges: str = "error",
        weights: str = "error",
        unseen_labels: str = "error",
        engine: str = "auto",
        device: str = "cpu",
        random_state: Any = None,
        n_jobs: int | None = None,
        max_memory: str | int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_sources = n_sources
        self.preset = preset
        self.sources = sources
        self.relation = relation
        self.dimension = dimension
        self.width = width
        self.depth = depth
        self.encoder_epochs = encoder_epochs
        self.encoder_rate = encoder_rate
        self.encoder_drop = encoder_drop
        self.encoder_decay = encoder_decay
        self.encoder_patience = encoder_patience
        self.scores = scores
        self.reverse = reverse
        self.start = start
        self.rate = rate
        self.curve = curve
        self.window = window
        self.regions = regions
        self.images = images
        self.attention_size = attention_size
        self.sampled_above = sampled_above
        self.samples = samples
        self.families = families
        self.coefficients = coefficients
        self.smoothing = smoothing
        self.surroundings = surroundings
        self.reduction = reduction
        self.output = output
        self.baseline = baseline
        self.symmetric = symmetric
        self.precision = precision
        self.directed = directed
        self.self_loops = self_loops
        self.parallel_edges = parallel_edges
        self.weights = weights
        self.unseen_labels = unseen_labels
        self.engine = engine
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_memory = max_memory
        self.verbose = verbose

    def _seed(self, run: Path | None) -> int:
        """Draw the seed; where none was asked for, a run goes on with its own."""
        kept = None if run is None or self.random_state is not None else stored_seed(run)
        drawn = draw_seed(self.random_state)
        return drawn if kept is None else kept

    def _method(self) -> Method:
        """Return the preset with what was given besides."""
        given = {field.name: getattr(self, field.name) for field in fields(Method)}
        return preset_method(self.preset, given)

    def _policies(self) -> Policies:
        """Return what is to be done with input that is not a simple graph."""
        if self.unseen_labels not in UNSEEN:
            listed = ", ".join(map(repr, UNSEEN))
            raise ParameterError(
                f"unseen_labels must be one of {listed}, not {self.unseen_labels!r}"
            )
        return Policies(self.directed, self.self_loops, self.parallel_edges, self.weights)

    def _engine(self, method: Method) -> Engine:
        """Return what trains."""
        return make_engine(
            self.engine,
            precision=method.precision,
            device=self.device,
            threads=count_threads(self.n_jobs),
        )

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters that a file can hold; the rest is in the model already."""
        plain = (str, int, float, bool, type(None))
        given = self.get_params()
        if not isinstance(self.sources, str):
            given["sources"] = "random"
        return {name: value for name, value in given.items() if isinstance(value, plain)}
