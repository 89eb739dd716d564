"""`DDGK`: graphs in, rows of numbers out; the paper's Algorithm 1 as a transformer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import UNSEEN
from ddgk.compiling import prepare
from ddgk.config import Config
from ddgk.embedding import embed_graphs, embed_into, stored_settings, train_into
from ddgk.embedding.checks import check_choice, check_count, check_n_jobs, parse_memory
from ddgk.embedding.progress import PATIENCE, progress
from ddgk.encoder import choose_sources
from ddgk.engine import ENGINES
from ddgk.errors import ParameterError
from ddgk.explanation import Explanation
from ddgk.features import Description
from ddgk.graphs import Policies
from ddgk.graphs.convert import as_graph, as_graphs, stream_graphs
from ddgk.graphs.graph import Graph
from ddgk.models import Execution, GlobalModel, LocalModel, model_from_parts
from ddgk.similarity import SimilarityExplanation, explain_pair
from ddgk.store import Run, load_model, save_parts
from ddgk.targets import Encoding
from ddgk.transformer import Transformer, as_config, draw_seed

Path = str | PathLike[str]


class DDGK(Transformer):
    """Embed graphs by how well a few source graphs reconstruct them.

    A small encoder is trained for each of a few source graphs. Every graph learns attention onto
    each source through the frozen encoder; the loss that remains is its divergence from the source.
    With the default configuration the columns are a compact feature map (`ddgk.features`) of what
    nodes look like from the sources, of their neighbourhoods and of the labels around them: inner
    products are a kernel, and Euclidean distances its distance. With the presets "paper" and
    "authors" they are the divergences themselves.

    Parameters
    ----------
    n_sources : int, default=8
        Number of source graphs. More sources cost proportionally more time; beyond 8 they bring
        little.
    n_features : int or None, default=1024
        Largest number of columns; there are never more than anchors. None keeps all. Not used by
        the presets "paper" and "authors", whose columns are given by sources and loss terms.
    sources : "random", list of graphs or list of int, default="random"
        "random" draws sources from the fitted graphs. Otherwise the graphs to use as sources, or
        their positions among the fitted graphs.
    config : {"default", "paper", "authors"} or Config, default="default"
        Everything else that changes a result. Fields can be searched as ``config__learning_rate``.
    policies : Policies, optional
        What to do with input that a graph cannot represent as it is. Default: `Policies()`.
    unseen_labels : {"warn", "ignore", "error"}, default="warn"
        Labels that no fitted graph had carry no weight; "warn" names them in one warning, "error"
        refuses such graphs.
    random_state : int, numpy RandomState or Generator, or None, default=None
        Seed of the choice of sources and anchors and of the initial weights.
    n_jobs : int or None, default=None
        Threads; -1 for all processors. Results do not depend on it.
    engine : {"auto", "fused", "torch"}, default="auto"
        "fused" is compiled for the CPU. "torch" (extra `torch`) has every option and runs on GPUs.
        "auto" takes the fused engine where it can.
    device : str, default="cpu"
        "cpu", or a device of torch such as "cuda".
    max_memory : str, int or None, default=None
        Memory for each thread, such as "500MB"; None: "1GB".
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    sources_ : list of Graph
        The sources; of graphs of more than 64 nodes, connected parts.
    source_indices_ : array of int or None
        Positions of the sources among the fitted graphs; None where graphs were given.
    config_ : Config
        The configuration that `fit` used, with every field.
    term_names_ : list of str
        Names of the loss terms.
    checkpoints_ : tuple of int
        Steps after which loss terms are recorded.
    n_features_in_ : int
        Always 1: a graph.

    Examples
    --------
    >>> import networkx, ddgk
    >>> graphs = [networkx.cycle_graph(n) for n in range(4, 10)]
    >>> graphs += [networkx.star_graph(n) for n in range(4, 10)]
    >>> model = ddgk.DDGK(n_sources=4, random_state=0)
    >>> X = model.fit_transform(graphs)
    >>> X.shape
    (12, 12)
    >>> apart = ddgk.kernels.distances(X)
    >>> bool(apart[0, 1] < apart[0, 6])
    True
    """

    _model: LocalModel | GlobalModel

    def __init__(
        self,
        n_sources: int = 8,
        n_features: int | None = 1024,
        *,
        sources: Any = "random",
        config: str | Config = "default",
        policies: Policies | None = None,
        unseen_labels: str = "warn",
        random_state: Any = None,
        n_jobs: int | None = None,
        engine: str = "auto",
        device: str = "cpu",
        max_memory: str | int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_sources = n_sources
        self.n_features = n_features
        self.sources = sources
        self.config = config
        self.policies = policies
        self.unseen_labels = unseen_labels
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.engine = engine
        self.device = device
        self.max_memory = max_memory
        self.verbose = verbose

    def fit(
        self,
        X: Iterable[Any],  # noqa: N803
        y: object = None,  # noqa: ARG002
        *,
        run: Path | None = None,
        if_busy: str = "wait",
    ) -> Self:
        """Choose sources, train their encoders, and learn the feature map.

        Parameters
        ----------
        X : iterable of graphs
            `ddgk.Graph`, graphs of networkx, igraph, PyTorch Geometric, scipy, numpy, GraKeL or
            RDKit, or SMILES (extra `chem`).
        y : ignored
            Classes are not used.
        run : str or path, optional
            A run folder. A model that is there is read and not trained again.
        if_busy : {"wait", "share", "fail"}
            What to do while another process works in the run folder.

        Returns
        -------
        self
        """
        self._fit(as_graphs(X, policies=self.policies), run, if_busy)
        return self

    def _fit(self, given: Sequence[Graph], run: Path | None, if_busy: str) -> Description | None:
        """Fit; return the description of the anchors, where its bits are those of `transform`."""
        config = self._checked()
        graphs = [graph for graph in given if graph.n_nodes]
        if not graphs:
            raise ParameterError("fit needs at least one graph with nodes")
        seed = self._seed(run)
        execution = self._execution(check_n_jobs(self.n_jobs))
        chosen, indices = choose_sources(graphs, self.sources, self.n_sources, seed, self.policies)
        kind: Any = LocalModel if config.attention == "local" else GlobalModel
        described: Description | None = None

        def train() -> LocalModel | GlobalModel:
            nonlocal described
            encoding = Encoding.learn([*graphs, *chosen], config, self.policies)
            how = (encoding, config, seed, execution, self.n_features)
            verbose = bool(self.verbose)
            with progress("Fitting", len(graphs), "graphs", verbose, patience=PATIENCE) as advance:
                model: LocalModel | GlobalModel
                model, described = kind.fit(graphs, chosen, *how)
                advance(len(graphs))
            return model

        if run is None:
            model = train()
        else:
            settings = self._settings(config, seed, graphs)
            model = train_into(run, settings, train, kind, if_busy=if_busy)
        self._adopt(model)
        self.source_indices_ = indices
        return described

    def transform(
        self,
        X: Iterable[Any],  # noqa: N803
        *,
        run: Path | None = None,
        add: bool = False,
        if_busy: str = "wait",
        cluster: Any = None,
    ) -> Any:
        """Embed graphs.

        Parameters
        ----------
        X : iterable of graphs
        run : str or path, optional
            A folder, or an address such as s3://bucket/run, that keeps finished rows: the same call
            continues after an interruption.
        add : bool
            Let a run take graphs it does not have yet.
        if_busy : {"wait", "share", "fail"}
            While another process works on the run: wait, compute other rows of it, or raise.
        cluster : str or distributed.Client, optional
            A Dask scheduler (extra `cluster`) whose workers compute the rows of a run.

        Returns
        -------
        array of shape (n_graphs, n_columns), or a data frame (`set_output`)
            float32; with the presets "paper" and "authors" float64. A row does not depend on the
            other graphs.
        """
        self.check_fitted()
        if run is None and cluster is not None:
            raise ParameterError("cluster needs run=..., where its workers put their rows")
        if run is not None:
            found = self.embed_into(run, X, add=add, if_busy=if_busy, cluster=cluster)
            return self.arrange(found.rows(), self.get_feature_names_out())
        graphs = self._converted(X)
        # Tiles share the threads; only a graph alone uses several itself.
        model = self._current(check_n_jobs(self.n_jobs) if len(graphs) == 1 else 1)
        rows = embed_graphs(
            model,
            graphs,
            n_jobs=self.n_jobs,
            max_memory=self.max_memory,
            verbose=bool(self.verbose),
        )
        return self.arrange(rows, self.get_feature_names_out())

    def fit_transform(
        self,
        X: Iterable[Any],  # noqa: N803
        y: object = None,  # noqa: ARG002
        *,
        run: Path | None = None,
        if_busy: str = "wait",
    ) -> Any:
        """Fit, then embed the same graphs; see `fit` and `transform`.

        Examples
        --------
        >>> import networkx, tempfile, ddgk
        >>> graphs = [networkx.path_graph(n) for n in (3, 4, 5)]
        >>> model = ddgk.DDGK(random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first = model.fit_transform(graphs, run=folder)
        ...     again = model.fit_transform(graphs, run=folder)  # reads, and computes nothing
        >>> bool((first == again).all())
        True
        """
        graphs = as_graphs(X, policies=self.policies)
        described, model = self._fit(graphs, run, if_busy), self._model
        if run is None and described is not None and len(described.sizes) == len(graphs):
            assert isinstance(model, LocalModel)
            return self.arrange(model.map.transform(described), self.get_feature_names_out())
        return self.transform(graphs, run=run, if_busy=if_busy)

    def embed_into(
        self,
        run: Path,
        X: Iterable[Any],  # noqa: N803
        *,
        add: bool = False,
        if_busy: str = "wait",
        cluster: Any = None,
    ) -> Run:
        """Embed graphs into a run folder and return the run, whose rows are read on request.

        Unlike `transform` this holds neither the graphs nor the rows in memory; graphs may come
        from a generator. Parameters are those of `transform`.
        """
        self.check_fitted()
        return embed_into(
            run,
            self._current(),
            stream_graphs(X, policies=self.policies),
            add=add,
            if_busy=if_busy,
            n_jobs=self.n_jobs,
            max_memory=self.max_memory,
            cluster=cluster,
            verbose=bool(self.verbose),
        )

    def divergences(self, X: Iterable[Any]) -> NDArray[np.float64]:  # noqa: N803
        """Return the paper's Psi: the divergence of every graph from every source.

        Parameters
        ----------
        X : iterable of graphs

        Returns
        -------
        array of shape (n_graphs, n_sources, n_terms, n_checkpoints)
            Named by `sources_`, `term_names_` and `checkpoints_`; NaN for graphs without nodes.

        Examples
        --------
        >>> import networkx, ddgk
        >>> graphs = [networkx.cycle_graph(n) for n in (4, 5, 6)]
        >>> model = ddgk.DDGK(n_sources=2, random_state=0).fit(graphs)
        >>> model.divergences(graphs).shape, model.term_names_, model.checkpoints_
        ((3, 2, 3, 5), ['edges', 'forward_background', 'reverse_background'], (0, 1, 2, 3, 4))
        """
        self.check_fitted()
        graphs, model = self._converted(X), self._current()
        shape = (len(self.sources_), len(self.term_names_), len(self.checkpoints_))
        found = np.full((len(graphs), *shape), np.nan)
        kept = [place for place, graph in enumerate(graphs) if graph.n_nodes]
        if kept:
            found[kept] = model.divergences([graphs[place] for place in kept], kept)
        return found

    def explain(self, graph: Any, source: int) -> Explanation:
        """Split the divergence of a graph from a source into shares of nodes and edges.

        Parameters
        ----------
        graph : graph
        source : int
            Position in `sources_`.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> import networkx, ddgk
        >>> graphs = [networkx.cycle_graph(5), networkx.star_graph(4)]
        >>> model = ddgk.DDGK(random_state=0).fit(graphs)
        >>> why = model.explain(networkx.path_graph(4), source=1)
        >>> found = model.divergences([networkx.path_graph(4)])[0, 1]
        >>> bool(abs(why.divergence - found).max() < 1e-4)
        True
        """
        self.check_fitted()
        place = check_count("source", source, 0, len(self.sources_) - 1)
        target = as_graph(graph, policies=self.policies)
        if not target.n_nodes:
            raise ParameterError("explain needs a graph with nodes")
        return self._current().explain(target, place)

    def explain_similarity(self, first: Any, second: Any) -> SimilarityExplanation:
        """Split the similarity of two graphs over parts of the kernel and over pairs of nodes.

        Parameters
        ----------
        first, second : graph

        Returns
        -------
        SimilarityExplanation

        Examples
        --------
        >>> import networkx, ddgk
        >>> graphs = [networkx.cycle_graph(5), networkx.star_graph(4), networkx.path_graph(4)]
        >>> model = ddgk.DDGK(random_state=0).fit(graphs)
        >>> why = model.explain_similarity(networkx.path_graph(4), networkx.path_graph(5))
        >>> why.pairs.shape
        (4, 5)
        """
        self.check_fitted()
        model = self._current()
        if not isinstance(model, LocalModel):
            raise ParameterError(
                'similarities are explained by local attention; fit with config="default"'
            )
        graphs = [as_graph(graph, policies=self.policies) for graph in (first, second)]
        return explain_pair(model, *graphs)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the columns."""
        self.check_fitted()
        return np.asarray(self._model.columns, dtype=np.object_)

    def save(self, path: Path) -> None:
        """Write the fitted model to a file, atomically; an existing file is replaced.

        Parameters
        ----------
        path : str or path
        """
        self.check_fitted()
        tensors, metadata = self._model.to_parts()
        plain = (str, int, float, bool, type(None))
        kept = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if isinstance(value, plain) and name not in ("config", "sources", "policies")
        }
        save_parts(path, tensors, metadata | {"parameters": kept})

    @classmethod
    def load(cls, path: Path) -> DDGK:
        """Read a model that `save` wrote, or that is in a run folder.

        Rows of a loaded model are bitwise identical.

        Parameters
        ----------
        path : str or path
            The file, or the folder or address of a run.

        Examples
        --------
        >>> import networkx, tempfile, ddgk
        >>> graphs = [networkx.path_graph(n) for n in (3, 4, 5)]
        >>> model = ddgk.DDGK(n_sources=2, random_state=0).fit(graphs)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/paths.ddgk")
        ...     loaded = ddgk.DDGK.load(f"{folder}/paths.ddgk")
        >>> bool((loaded.transform(graphs) == model.transform(graphs)).all())
        True
        """

        def build(tensors: Any, metadata: dict[str, Any]) -> DDGK:
            model = model_from_parts(tensors, metadata)
            loaded = cls(**dict(metadata.get("parameters", {})) | {"config": model.config})
            loaded._checked()
            loaded._adopt(replace(model, execution=loaded._execution()))
            return loaded

        loaded = load_model(path, build)
        loaded.source_indices_ = None
        return loaded

    def _checked(self) -> Config:
        """Validate all parameters; return the configuration."""
        check_count("n_sources", self.n_sources)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        check_choice("unseen_labels", self.unseen_labels, UNSEEN)
        check_choice("engine", self.engine, ENGINES)
        check_n_jobs(self.n_jobs)
        parse_memory(self.max_memory)
        if not isinstance(self.device, str):
            raise ParameterError(f"device must be a name such as 'cpu', not {self.device!r}")
        if self.policies is not None and not isinstance(self.policies, Policies):
            raise ParameterError(f"policies must be a ddgk.Policies, not {self.policies!r}")
        return as_config(self.config)

    def _execution(self, n_threads: int = 1) -> Execution:
        return Execution(self.engine, self.device, n_threads)

    def _seed(self, run: Path | None) -> int:
        """Draw the seed; without a random state, a run keeps the seed it has."""
        if run is not None and self.random_state is None:
            there = stored_settings(run)
            if there is not None and isinstance(there.get("seed"), int):
                return int(there["seed"])
        return draw_seed(self.random_state)

    def _settings(self, config: Config, seed: int, graphs: Sequence[Graph]) -> dict[str, Any]:
        """Return what identifies a fit before it is done, for a run folder."""
        content = hashlib.sha256("".join(graph.digest for graph in graphs).encode()).hexdigest()
        return {
            **{f"config.{name}": value for name, value in config.as_json().items()},
            "n_sources": int(self.n_sources),
            "n_features": None if self.n_features is None else int(self.n_features),
            "sources": self.sources if isinstance(self.sources, str) else "given",
            "engine": self.engine,
            "device": self.device,
            "seed": seed,
            "graphs": content,
        }

    def _converted(self, graphs: Iterable[Any]) -> list[Graph]:
        """Convert graphs and apply the policy for labels that fit did not see."""
        found = as_graphs(graphs, policies=self.policies)
        self._model.encoding.attributes.check_labels(found, self.unseen_labels)
        self._model.encoding.check_weights(found)
        return found

    def _current(self, n_threads: int = 1) -> LocalModel | GlobalModel:
        """Return the model, executed as the parameters say now."""
        execution = self._execution(n_threads)
        if execution != self._model.execution:
            self._model = replace(self._model, execution=execution)
        if self.source_indices_ is None and self._model.engine_name == "fused":  # loaded
            prepare("attention" if self.config_.attention == "local" else "pairs")
        return self._model

    def _adopt(self, model: LocalModel | GlobalModel) -> None:
        self._model = model
        self.config_ = model.config
        self.sources_ = [encoder.graph for encoder in model.encoders]
        self.term_names_ = model.term_names
        self.checkpoints_ = model.config.checkpoints
        self.n_features_in_ = 1
