"""DDGK as a scikit-learn transformer: lists of graphs in, one row per graph out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ddgk.attributes import UNSEEN, learn_families
from ddgk.divergence import Scorer, reported_channels
from ddgk.embedding import column_names, embed, progress
from ddgk.encoder import Encoder
from ddgk.engine import make_engine
from ddgk.engine.problem import Engine
from ddgk.errors import ParameterError
from ddgk.explanation import Explanation, explain, profiles
from ddgk.graphs import Graph, Policies
from ddgk.graphs.convert import as_graph, as_graphs
from ddgk.method import PRESETS, Method
from ddgk.reading import Reader
from ddgk.sources import choose
from ddgk.store import StoredModel, load_model, save_model

SOURCES_AT_ONCE = 32  # between two looks at the progress bar


class DDGK(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Deep Divergence Graph Kernels: describe graphs by how far they are from a few source graphs.

    `fit` chooses sources among the graphs and trains a small encoder for each; `transform` learns,
    for every graph, attention onto each source, and reports how badly it reconstructs the graph.

    Parameters
    ----------
    n_sources : int
        How many of the graphs become sources; all of them where there are fewer.
    preset : {"default", "paper", "authors"}
        What the parameters of the method are where they are not given (see `ddgk.method.Method`).
    sources : "random", sequence of int, or sequence of graphs
        How sources are chosen, or which positions of the fitted graphs, or which graphs, they are.
    relation, dimension, width, depth, encoder_epochs, encoder_rate, scores, reverse, start, rate, \
curve, window, families, coefficients, smoothing, surroundings, reduction, output, baseline, \
symmetric, precision
        The method; None means as the preset says. They are explained at `ddgk.method.Method`.
    directed, self_loops, parallel_edges, weights : str
        Policies for input that is not a simple graph (see `ddgk.graphs.Policies`).
    unseen_labels : {"error", "ignore"}
        For a label at `transform` that `fit` did not see; "ignore" gives it no mass.
    engine : {"auto", "fused", "torch"}
        What trains: the fused engine on the CPU, or torch (extra `torch`), which is the one for
        GPUs. Results agree but for rounding. "auto": fused on the CPU, torch elsewhere.
    device : str
        "cpu", or "cuda" for the torch engine on a GPU.
    random_state : int, RandomState instance or None
        Seed of the choice of sources and of the starts.
    n_jobs : int or None
        Threads. Results do not depend on it.
    verbose : bool
        Show progress.

    Attributes
    ----------
    sources_ : list of Graph
    source_indices_ : array of int, or None where graphs were given as sources
    method_ : Method
        The preset with what was changed.
    channels_ : list of str
    steps_ : tuple of int
        Columns run over sources, then channels, then steps.
    n_features_in_ : int
        Always 1, a graph.

    Examples
    --------
    >>> import networkx, ddgk
    >>> graphs = [networkx.cycle_graph(n) for n in (4, 5, 6)]
    >>> graphs += [networkx.star_graph(n) for n in (4, 5, 6)]
    >>> model = ddgk.DDGK(n_sources=2, encoder_epochs=100, random_state=0)
    >>> model.fit_transform(graphs).shape
    (6, 72)
    >>> model.get_feature_names_out()[:2].tolist()
    ['source0/edges/1', 'source0/edges/2']
    """

    def __init__(
        self,
        n_sources: int = 32,
        *,
        preset: str = "default",
        sources: Any = "random",
        relation: str | None = None,
        dimension: int | None = None,
        width: int | None = None,
        depth: int | None = None,
        encoder_epochs: int | None = None,
        encoder_rate: float | None = None,
        scores: str | None = None,
        reverse: str | None = None,
        start: str | None = None,
        rate: float | None = None,
        curve: Any = None,
        window: int | None = None,
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
        self.scores = scores
        self.reverse = reverse
        self.start = start
        self.rate = rate
        self.curve = curve
        self.window = window
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
        self.verbose = verbose

    def fit(self, X: Sequence[Any], y: object = None) -> Self:  # noqa: ARG002, N803
        """Choose sources and train their encoders.

        Parameters
        ----------
        X : sequence of graphs
            `ddgk.Graph`, or graphs of networkx, igraph, PyG, scipy, numpy, GraKeL.
        y : ignored
            The method has no use for classes.
        """
        method, policies = self._method(), self._policies()
        graphs = as_graphs(X, policies=policies)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        chosen, indices = self._choose(graphs, policies, seed)
        families = learn_families([*graphs, *chosen], method.families)
        reader = Reader(method.relation, families, self.unseen_labels, method.surroundings)
        scorer = Scorer(method, reader, self._engine(method), seed)
        encoders: list[Encoder] = []
        with progress("Training", len(chosen), "sources", bool(self.verbose)) as advance:
            for first in range(0, len(chosen), SOURCES_AT_ONCE):
                encoders += scorer.encode(chosen[first : first + SOURCES_AT_ONCE])
                advance(len(encoders) - first)
        self._adopt(StoredModel(method, reader, seed, tuple(encoders), scorer.baselines(encoders)))
        self.source_indices_ = indices
        return self

    def transform(self, X: Sequence[Any]) -> NDArray[np.float64]:  # noqa: N803
        """Embed graphs.

        Parameters
        ----------
        X : sequence of graphs

        Returns
        -------
        array of shape (n_graphs, n_sources * n_channels * n_steps)
            A graph's row does not depend on the other graphs.
        """
        check_is_fitted(self)
        graphs = as_graphs(X, policies=self._policies())
        model = self._model
        grid = embed(
            self._scorer(), graphs, model.encoders, model.baselines, verbose=bool(self.verbose)
        )
        return grid.reshape(len(graphs), -1)

    def explain(self, graph: Any, source: int) -> Explanation:
        """Split the divergence of a graph from a source into the shares of nodes and edges.

        Parameters
        ----------
        graph : a graph
        source : int
            Position in `sources_`.

        Examples
        --------
        >>> import networkx, ddgk
        >>> graphs = [networkx.cycle_graph(5), networkx.star_graph(4)]
        >>> model = ddgk.DDGK(encoder_epochs=100, random_state=0).fit(graphs)
        >>> why = model.explain(networkx.path_graph(4), source=1)
        >>> row = model.transform([networkx.path_graph(4)]).reshape(2, 4, 9)
        >>> bool(abs(why.nodes.sum(-1) - why.baseline - row[1]).max() < 1e-9)
        True
        """
        return explain(self._scorer(), self._one(graph), self._encoder(source))

    def node_profiles(self, graph: Any) -> NDArray[np.float64]:
        """Return what every node of a graph costs against every source.

        Returns
        -------
        array of shape (n_nodes, n_sources * n_channels * n_steps)
            Nodes of different graphs can be compared, since the sources are the same.
        """
        check_is_fitted(self)
        found = profiles(self._scorer(), self._one(graph), list(self._model.encoders))
        return found.reshape(len(found), -1)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Name the columns: source, channel, step."""
        check_is_fitted(self)
        names = column_names(self.sources_, self.channels_, self.steps_)
        return np.asarray(names, dtype=np.object_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file; nothing is left half-written under that name."""
        check_is_fitted(self)
        save_model(path, self._model, self._parameters())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> DDGK:
        """Read a model that `save` wrote; it transforms to the same bits.

        Its parameters spell the whole method out, so that a clone fits as the saved model did.
        """
        model, parameters = load_model(path)
        known = cls().get_params()
        given = {**parameters, **{f.name: getattr(model.method, f.name) for f in fields(Method)}}
        loaded = cls(**{name: value for name, value in given.items() if name in known})
        loaded._adopt(model)
        loaded.source_indices_ = None
        return loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags

    def _method(self) -> Method:
        if self.preset not in PRESETS:
            listed = ", ".join(map(repr, PRESETS))
            raise ParameterError(f"preset must be one of {listed}, not {self.preset!r}")
        given = {field.name: getattr(self, field.name) for field in fields(Method)}
        changes = {name: value for name, value in given.items() if value is not None}
        return PRESETS[self.preset].changed(**changes)

    def _policies(self) -> Policies:
        if self.unseen_labels not in UNSEEN:
            listed = ", ".join(map(repr, UNSEEN))
            raise ParameterError(
                f"unseen_labels must be one of {listed}, not {self.unseen_labels!r}"
            )
        return Policies(self.directed, self.self_loops, self.parallel_edges, self.weights)

    def _engine(self, method: Method) -> Engine:
        return make_engine(
            self.engine,
            precision=method.precision,
            device=self.device,
            threads=effective_n_jobs(self.n_jobs),
        )

    def _scorer(self) -> Scorer:
        check_is_fitted(self)
        model = self._model
        reader = replace(model.reader, unseen=self.unseen_labels)
        return Scorer(model.method, reader, self._engine(model.method), model.seed)

    def _choose(
        self, graphs: list[Graph], policies: Policies, seed: int
    ) -> tuple[list[Graph], NDArray[np.int64] | None]:
        """Return the sources, and their positions where they are among the fitted graphs."""
        if isinstance(self.sources, str):
            if not isinstance(self.n_sources, int | np.integer) or self.n_sources < 1:
                raise ParameterError(
                    f"n_sources must be a whole number of at least 1, not {self.n_sources!r}"
                )
            positions = choose(graphs, self.sources, int(self.n_sources), seed)
        elif all(isinstance(source, int | np.integer) for source in self.sources):
            positions = [int(source) for source in self.sources]
            outside = [p for p in positions if not 0 <= p < len(graphs)]
            if outside or not positions:
                raise ParameterError(
                    f"sources must be positions 0..{len(graphs) - 1}, not {outside or positions!r}"
                )
        else:
            return as_graphs(self.sources, policies=policies), None
        return [graphs[p] for p in positions], np.asarray(positions, dtype=np.int64)

    def _adopt(self, model: StoredModel) -> None:
        """Become a fitted model."""
        self._model = model
        self.method_ = model.method
        self.sources_ = [encoder.graph for encoder in model.encoders]
        self.steps_ = model.method.curve
        self.channels_ = reported_channels(model.method, model.reader.family_names)
        self.n_features_in_ = 1

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters that a file can hold; the rest is in the model already."""
        plain = (str, int, float, bool, type(None))
        given = {**self.get_params(), "sources": "random"}
        return {name: value for name, value in given.items() if isinstance(value, plain)}

    def _one(self, graph: Any) -> Graph:
        return as_graph(graph, policies=self._policies())

    def _encoder(self, source: int) -> Encoder:
        check_is_fitted(self)
        encoders = self._model.encoders
        if not isinstance(source, int | np.integer) or not 0 <= source < len(encoders):
            raise ParameterError(f"source must be 0..{len(encoders) - 1}, not {source!r}")
        return encoders[source]
