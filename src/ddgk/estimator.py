"""DDGK as a scikit-learn transformer: lists of graphs in, one row per graph out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.attributes import learn_families
from ddgk.columns import column_names, reported_channels, source_columns, split_by_channel
from ddgk.divergence import Scorer
from ddgk.embedding import embed
from ddgk.embedding.runs import Setting, embed_into
from ddgk.embedding.tiles import memory_in_bytes
from ddgk.embedding.training import train_model, train_model_in
from ddgk.encoder import Encoder
from ddgk.engine import engine_name
from ddgk.errors import ParameterError
from ddgk.explanation import Explanation, explain, profiles
from ddgk.graphs import Graph
from ddgk.graphs.convert import as_graph, as_graphs, stream_graphs
from ddgk.method import Method
from ddgk.parameters import Parameters, Path
from ddgk.reading import Reader
from ddgk.sources import cheap_divergences, choose_sources
from ddgk.store import StoredModel, load_model, save_model
from ddgk.store.run import Run, is_run, load_from_run


class DDGK(Parameters):
    """Deep Divergence Graph Kernels: describe graphs by how far they are from a few source graphs.

    `fit` chooses sources among the graphs and trains a small encoder for each; `transform` learns,
    for every graph, attention onto each source, and reports how badly it reconstructs the graph.

    Parameters
    ----------
    n_sources : int
        How many of the graphs become sources; all of them where there are fewer.
    preset : {"default", "paper", "authors"}
        What the parameters of the method are where they are not given (see `ddgk.method.Method`).
    sources : {"random", "sizes", "farthest", "facility"}, sequence of int, or of graphs
        How sources are chosen (at random; one from each of as many strata by size; each as far as
        can be from those before; so that every graph is near one, by cheap divergences from a few
        pilots), or which positions of the fitted graphs, or which graphs, they are. Graphs of more
        than 20,000 nodes are never chosen; they can be targets.
    relation, dimension, width, depth, encoder_epochs, encoder_rate, encoder_drop, encoder_decay, \
encoder_patience, scores, reverse, start, rate, curve, window, regions, images, \
attention_size, sampled_above, samples, families, coefficients, smoothing, surroundings, \
reduction, output, baseline, symmetric, precision
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
    random_state : int, numpy RandomState or Generator, or None
        Seed of the choice of sources and of the starts.
    n_jobs : int or None
        Threads. Results do not depend on it.
    max_memory : str, int or None
        What a worker may take for the tile of a run it is at, such as "500MB"; None: "1GB".
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
    readouts_ : tuple of str
        What is read of a channel: after each of the steps, then by region of the source.
    columns_ : list of str
        What a source says of a graph: channels, each with all of its readouts, then images. The
        columns of an embedding run over sources, then these.
    n_features_in_ : int
        Always 1, a graph.

    Examples
    --------
    >>> import networkx, ddgk
    >>> graphs = [networkx.cycle_graph(n) for n in (4, 5, 6)]
    >>> graphs += [networkx.star_graph(n) for n in (4, 5, 6)]
    >>> model = ddgk.DDGK(n_sources=2, encoder_epochs=100, random_state=0)
    >>> model.fit_transform(graphs).shape
    (6, 1096)
    >>> model.get_feature_names_out()[:2].tolist()
    ['source0/edges/1', 'source0/edges/2']
    """

    def fit(
        self,
        X: Sequence[Any],  # noqa: N803
        y: object = None,  # noqa: ARG002
        *,
        run: Path | None = None,
        if_busy: str = "wait",
    ) -> Self:
        """Choose sources and train their encoders.

        Parameters
        ----------
        X : sequence of graphs
            `ddgk.Graph`, or graphs of networkx, igraph, PyG, scipy, numpy, GraKeL.
        y : ignored
            The method has no use for classes.
        run : path, optional
            A run folder. Encoders that are there already are taken from it, and not trained.
        if_busy : {"wait", "share", "fail"}
            As for `transform`; "share" waits until the encoders are there.
        """
        method, policies = self._method(), self._policies()
        graphs = as_graphs(X, policies=policies)
        seed = self._seed(run)
        engine, verbose = self._engine(method), bool(self.verbose)
        cheaply = partial(
            cheap_divergences, method=method, engine=engine, seed=seed, verbose=verbose
        )
        chosen, indices = choose_sources(
            graphs, self.sources, self.n_sources, seed, policies, cheaply
        )
        families = learn_families([*graphs, *chosen], method.families)
        reader = Reader(
            method.relations[0], families, self.unseen_labels, method.surroundings, seed
        )
        scorer = Scorer(method, reader, engine, seed)
        if run is None:
            model = train_model(scorer, chosen, verbose)
        else:
            parameters = self._parameters()
            model = train_model_in(run, scorer, chosen, parameters, if_busy, verbose)
        self._adopt(model)
        self.source_indices_ = indices
        return self

    def transform(
        self,
        X: Sequence[Any],  # noqa: N803
        *,
        run: Path | None = None,
        add: bool = False,
        if_busy: str = "wait",
    ) -> Any:
        """Embed graphs.

        Parameters
        ----------
        X : sequence of graphs
        run : path, optional
            A folder, or an address such as s3://bucket/run, that keeps what is finished: the same
            call continues after whatever ended it, and returns at once when nothing is missing.
        add : bool
            Let a run that exists take graphs it does not have; only those are computed.
        if_busy : {"wait", "share", "fail"}
            When another process is at work in the folder: wait for it, compute other tiles of the
            same run beside it, or raise `BusyError`.

        Returns
        -------
        array of shape (n_graphs, n_columns), or a data frame of it
            (`set_output`). A graph's row does not depend on the other graphs, nor on the run it
            was computed in.
        """
        self.check_fitted()
        if run is not None:
            stream = stream_graphs(X, policies=self._policies())
            rows = self._embed_into(run, stream, add, if_busy).rows()
        else:
            rows = self._rows(as_graphs(X, policies=self._policies()))
        return self.arrange(rows, self.get_feature_names_out())

    def fit_transform(
        self,
        X: Sequence[Any],  # noqa: N803
        y: object = None,
        *,
        run: Path | None = None,
        if_busy: str = "wait",
    ) -> Any:
        """Fit, then embed the same graphs; see `fit` and `transform` for what a run is.

        Examples
        --------
        >>> import networkx, tempfile, ddgk
        >>> graphs = [networkx.path_graph(n) for n in (3, 4, 5)]
        >>> model = ddgk.DDGK(encoder_epochs=50, random_state=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     first = model.fit_transform(graphs, run=folder)
        ...     again = model.fit_transform(graphs, run=folder)  # reads, and computes nothing
        >>> (first == again).all()
        np.True_
        """
        return self.fit(X, y, run=run, if_busy=if_busy).transform(X, run=run, if_busy=if_busy)

    def embed_into(
        self,
        run: Path,
        X: Iterable[Any],  # noqa: N803
        *,
        add: bool = False,
        if_busy: str = "wait",
    ) -> Run:
        """Embed graphs into a run folder and return the run, whose rows are read when asked for.

        Unlike `transform` this holds neither the graphs nor the embedding in memory: graphs may
        come from a generator. The other parameters are those of `transform`.

        Examples
        --------
        >>> import networkx, tempfile, ddgk
        >>> model = ddgk.DDGK(n_sources=2, encoder_epochs=50, random_state=0)
        >>> model = model.fit([networkx.path_graph(n) for n in (3, 4, 5)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = model.embed_into(folder, (networkx.cycle_graph(n) for n in range(3, 9)))
        ...     print(run.n_graphs, [block.shape for block in run.blocks()])
        6 [(6, 1096)]
        """
        self.check_fitted()
        return self._embed_into(run, stream_graphs(X, policies=self._policies()), add, if_busy)

    def explain(self, graph: Any, source: int, *, relation: str | None = None) -> Explanation:
        """Split the divergence of a graph from a source into the shares of nodes and edges.

        Parameters
        ----------
        graph : a graph
        source : int
            Position in `sources_`.
        relation : str, optional
            Which of several relations; the first if not given.

        Returns
        -------
        Explanation
            Of a target whose entries were sampled it has the shares of nodes, not of edges.

        Examples
        --------
        >>> import networkx, ddgk
        >>> graphs = [networkx.cycle_graph(5), networkx.star_graph(4)]
        >>> model = ddgk.DDGK(encoder_epochs=100, random_state=0).fit(graphs)
        >>> why = model.explain(networkx.path_graph(4), source=1)
        >>> found = model.by_channel(model.transform([networkx.path_graph(4)]))[0, 1]
        >>> bool(abs(why.nodes.sum(-1) - why.baseline - found).max() < 1e-9)
        True
        """
        encoder, scorer = self._encoder(source), self._scorer()
        known = scorer.method.relations
        if relation is not None and relation not in known:
            raise ParameterError(
                f"relation must be one of {', '.join(map(repr, known))}, not {relation!r}"
            )
        place = 0 if relation is None else known.index(relation)
        return explain(scorer.parts[place], self._one(graph), encoder.sides[place])

    def node_profiles(self, graph: Any) -> NDArray[np.float64]:
        """Return what every node of a graph costs against every source.

        Returns
        -------
        array of shape (n_nodes, n_sources * n_channels * n_steps)
            Nodes of different graphs can be compared, since the sources are the same.
        """
        self.check_fitted()
        found = profiles(self._scorer(), self._one(graph), self._model.encoders)
        return found.reshape(len(found), -1)

    def by_channel(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return the divergences in rows of an embedding, with an axis for all they run over.

        Parameters
        ----------
        rows : array-like of shape (n_graphs, n_columns)
            As `transform` returns them.

        Returns
        -------
        array of shape (n_graphs, n_sources, n_channels, n_readouts)

        Examples
        --------
        >>> import networkx, ddgk
        >>> graphs = [networkx.cycle_graph(n) for n in (4, 5, 6)]
        >>> model = ddgk.DDGK(n_sources=2, encoder_epochs=50, curve=(1, 5))
        >>> rows = model.fit_transform(graphs)
        >>> model.by_channel(rows).shape, model.channels_[:2], model.readouts_
        ((3, 2, 4, 2), ['edges', 'non_edges'], ('1', '5'))
        """
        self.check_fitted()
        method, families = self._model.method, self._model.reader.family_names
        return split_by_channel(rows, len(self.sources_), method, families)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Name the columns: source, channel, readout."""
        self.check_fitted()
        names = column_names(len(self.sources_), self.columns_)
        return np.asarray(names, dtype=np.object_)

    def save(self, path: Path) -> None:
        """Write the fitted model to a file; nothing is left half-written under that name.

        Parameters
        ----------
        path : str or path
            A file that exists is replaced.
        """
        self.check_fitted()
        save_model(path, self._model, self._parameters())

    @classmethod
    def load(cls, path: Path) -> DDGK:
        """Read a model that `save` wrote, or that is in a run folder; it gives the same bits.

        Its parameters spell the whole method out, so that a clone fits as the saved model did.

        Parameters
        ----------
        path : str or path
            The file, or the folder or address of a run.

        Examples
        --------
        >>> import networkx, tempfile, ddgk
        >>> graphs = [networkx.path_graph(n) for n in (3, 4, 5)]
        >>> model = ddgk.DDGK(relation=["node_to_edges", "edge_to_nodes"], encoder_epochs=50)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.fit(graphs).save(f"{folder}/paths.ddgk")
        ...     loaded = ddgk.DDGK.load(f"{folder}/paths.ddgk")
        >>> loaded.relation
        ('node_to_edges', 'edge_to_nodes')
        """
        model, parameters = load_from_run(path) if is_run(path) else load_model(path)
        known = cls().get_params()
        given = {**parameters, **{f.name: getattr(model.method, f.name) for f in fields(Method)}}
        loaded = cls(**{name: value for name, value in given.items() if name in known})
        loaded._adopt(model)
        loaded.source_indices_ = None
        return loaded

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _rows(self, graphs: Sequence[Graph]) -> NDArray[np.float64]:
        scorer, model = self._scorer(), self._model
        grid = embed(scorer, graphs, model.encoders, model.baselines, verbose=bool(self.verbose))
        return grid.reshape(len(graphs), -1)

    def _embed_into(self, run: Path, graphs: Iterable[Graph], add: bool, if_busy: str) -> Run:
        setting = Setting(
            engine=engine_name(self.engine, self.device),
            device=self.device,
            n_jobs=self.n_jobs,
            max_memory=memory_in_bytes(self.max_memory),
            if_busy=if_busy,
            add=add,
            verbose=bool(self.verbose),
        )
        reader = replace(self._model.reader, unseen=self.unseen_labels)
        model = replace(self._model, reader=reader)
        return embed_into(run, model, self._parameters(), graphs, setting)

    def _scorer(self) -> Scorer:
        self.check_fitted()
        model = self._model
        reader = replace(model.reader, unseen=self.unseen_labels)
        return Scorer(model.method, reader, self._engine(model.method), model.seed)

    def _adopt(self, model: StoredModel) -> None:
        """Become a fitted model."""
        self._model = model
        self.method_ = model.method
        self.sources_ = [encoder.graph for encoder in model.encoders]
        self.steps_ = model.method.curve
        self.readouts_ = model.method.readouts
        self.columns_ = source_columns(model.method, model.reader.family_names)
        self.channels_ = reported_channels(model.method, model.reader.family_names)
        self.n_features_in_ = 1

    def _one(self, graph: Any) -> Graph:
        return as_graph(graph, policies=self._policies())

    def _encoder(self, source: int) -> Encoder:
        self.check_fitted()
        encoders = self._model.encoders
        if not isinstance(source, int | np.integer) or not 0 <= source < len(encoders):
            raise ParameterError(f"source must be 0..{len(encoders) - 1}, not {source!r}")
        return encoders[source]
