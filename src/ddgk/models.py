"""Fitted models: what turns a graph into a row, one class per kind of attention.

Both follow the protocol `ddgk.embedding.Embedder`, so that rows are computed in memory, in run
folders and on clusters in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import Attribute, filled
from ddgk.compiling import prepare
from ddgk.config import Config
from ddgk.divergence import GlobalDivergences
from ddgk.encoder import Encoder, source_part, train_encoders
from ddgk.engine import engine_name, make_engine
from ddgk.engine.arrays import EncodedGraph, EncoderWeights, Engine, Source
from ddgk.engine.initialisation import uniform
from ddgk.engine.local import (
    STRUCTURE_TERMS,
    LocalOutcome,
    LocalSource,
    explain_local,
    train_local,
)
from ddgk.engine.neighbourhoods import (
    LABELS,
    REALS,
    Adjacency,
    AttributeColumns,
    LocalTargets,
)
from ddgk.errors import ParameterError
from ddgk.explanation import Explanation
from ddgk.features import (
    N_DIRECTIONS,
    CompactMap,
    Description,
    count_anchors,
    describe_targets,
)
from ddgk.graphs.graph import Graph, at_position
from ddgk.shares import node_neighbourhoods
from ddgk.store import graphs_from_tensors, graphs_to_tensors
from ddgk.targets import Encoding

Array = NDArray[np.float64]
PROJECTION = 1 << 40  # stream of random numbers for the directions of node views
SECONDS_A_NODE = 2e-5  # of 8 sources, on one core: only proportions matter
MAX_EXPLAINED = 4000  # nodes; an explanation holds a number for every pair of nodes


@dataclass(frozen=True)
class Execution:
    """How rows are computed: engine, device, threads of one row. No part of a result."""

    engine: str = "auto"
    device: str = "cpu"
    n_threads: int = 1


@dataclass(frozen=True)
class Model:
    """What both kinds of model have: the configuration, the encoding, and trained sources."""

    config: Config
    encoding: Encoding
    encoders: tuple[Encoder, ...]
    seed: int
    execution: Execution = field(default_factory=Execution, compare=False)

    @property
    def engine_name(self) -> str:
        """Name of the engine; rows of different engines are not mixed in one run."""
        execution = self.execution
        name = engine_name(execution.engine, execution.device, self._torch_reason)
        return name if name == "fused" else f"{name}:{execution.device}"

    @property
    def _torch_reason(self) -> str:
        return self.config.torch_reason

    def _engine(self, n_threads: int = 1) -> Engine:
        return make_engine(
            self.execution.engine,
            device=self.execution.device,
            threads=n_threads,
            reason=self._torch_reason,
        )

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return tensors and JSON metadata of all that the model consists of."""
        tensors: dict[str, NDArray[Any]] = dict(
            graphs_to_tensors([encoder.graph for encoder in self.encoders], prefix="source.")
        )
        for place, encoder in enumerate(self.encoders):
            tensors[f"encoder{place}.order"] = encoder.order
            for part, array in enumerate(encoder.source.weights.arrays()):
                tensors[f"encoder{place}.{part}"] = array
        metadata = {
            "config": self.config.as_json(),
            "encoding": self.encoding.as_json(),
            "encoder_seeds": [str(encoder.seed) for encoder in self.encoders],
            "seed": self.seed,
        }
        return tensors, metadata


def _common_parts(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Undo `Model.to_parts`; what does not fit together raises."""
    config = Config.from_json(metadata["config"])
    encoding = Encoding.from_json(dict(metadata["encoding"]))
    graphs = graphs_from_tensors(tensors, prefix="source.")
    seeds = [int(seed) for seed in metadata["encoder_seeds"]]
    if len(seeds) != len(graphs):
        raise ValueError(f"it has {len(graphs)} sources, but {len(seeds)} seeds")
    encoders = []
    for place, (graph, seed) in enumerate(zip(graphs, seeds, strict=True)):
        order = tensors[f"encoder{place}.order"]
        if not np.array_equal(np.sort(order), np.arange(graph.n_nodes)):
            raise ValueError(f"the node order of source {place} is no order of its nodes")
        ordered = graph.permuted(order)
        rows, members = encoding.source_rows(ordered)
        weights = _weights(tensors, place, config, encoding.encode(ordered, quotient=False))
        encoders.append(Encoder(graph, order, seed, Source(weights, tuple(rows), members)))
    return {
        "config": config,
        "encoding": encoding,
        "encoders": tuple(encoders),
        "seed": int(metadata["seed"]),
    }


def _weights(
    tensors: Mapping[str, NDArray[Any]], place: int, config: Config, encoded: EncodedGraph
) -> EncoderWeights:
    """Return the layers of an encoder; raise where they do not fit each other or its graph."""
    sizes = [config.dimension, *[config.hidden_width] * config.depth, encoded.matrix.shape[1]]
    shapes: list[tuple[int, ...]] = [(encoded.n_attending, sizes[0])]
    shapes += [shape for a, b in pairwise(sizes) for shape in ((a, b), (b,))]
    parts = [tensors[f"encoder{place}.{number}"] for number in range(len(shapes))]
    types = [(part.dtype, part.shape) for part in parts]
    if types != [(np.dtype(np.float64), shape) for shape in shapes]:
        raise ValueError("the layers of an encoder do not fit its graph")
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError(f"the encoder of source {place} has weights that are not finite")
    layers = list(zip(parts[1::2], parts[2::2], strict=True))
    return EncoderWeights(parts[0], tuple(layers[:-1]), layers[-1])


@dataclass(frozen=True)
class GlobalModel(Model):
    """Global attention: a row is the divergences from all sources (the paper's Psi)."""

    baselines: Array = field(default_factory=lambda: np.zeros((0, 0, 0)))

    @classmethod
    def fit(
        cls,
        graphs: Sequence[Graph],  # noqa: ARG003
        sources: Sequence[Graph],
        encoding: Encoding,
        config: Config,
        seed: int,
        execution: Execution,
        n_features: int | None,  # noqa: ARG003
    ) -> tuple[GlobalModel, None]:
        """Train an encoder per source, and the baselines; parameters as of `LocalModel.fit`."""
        blank = cls(config, encoding, (), seed, execution)
        if blank.engine_name == "fused":
            prepare("encoders", "pairs")
        scorer = blank._scorer(execution.n_threads)
        encoders = tuple(scorer.encode_sources(sources))
        return replace(blank, encoders=encoders, baselines=scorer.baselines(encoders)), None

    @property
    def _torch_reason(self) -> str:
        return self.config.torch_reason or self.encoding.torch_reason

    def _scorer(self, n_threads: int = 1) -> GlobalDivergences:
        return GlobalDivergences(self.config, self.encoding, self._engine(n_threads), self.seed)

    @property
    def term_names(self) -> list[str]:
        """Names of the loss terms."""
        return self._scorer().term_names

    @property
    def columns(self) -> list[str]:
        """Names of the columns: source/term/checkpoint."""
        terms, sources = self.term_names, range(len(self.encoders))
        return [
            f"source{s}/{t}/{c}" for s in sources for t in terms for c in self.config.checkpoints
        ]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Divergences are float64."""
        return np.dtype(np.float64)

    def divergences(self, graphs: Sequence[Graph], positions: Sequence[int] | None = None) -> Array:
        """Return D, (n_graphs, n_sources, n_terms, n_checkpoints)."""
        return self._scorer().divergences(graphs, self.encoders, self.baselines, positions)

    def rows(self, graphs: Sequence[Graph], positions: Sequence[int]) -> NDArray[np.floating]:
        """Return the divergences of every graph as a row."""
        return self.divergences(graphs, positions).reshape(len(graphs), -1)

    def explain(self, graph: Graph, source: int) -> Explanation:
        """Split one divergence into shares of nodes and entries."""
        return self._scorer().explain(graph, self.encoders[source])

    def cost(self, graph: Graph) -> float:
        """Estimate seconds: steps times products over all pairs of nodes."""
        steps, n = self.config.checkpoints[-1] + 1, graph.n_nodes
        sizes = sum(encoder.graph.n_nodes for encoder in self.encoders)
        return 1e-9 * steps * n * (n * len(self.encoders) * 40 + 60 * sizes)

    def memory(self, graph: Graph) -> int:
        """Estimate bytes of one pair: attention, reverse attention and their moments."""
        largest = max((encoder.graph.n_nodes for encoder in self.encoders), default=1)
        return 64 * graph.n_nodes * (largest + graph.n_nodes) + 1024

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return tensors and JSON metadata."""
        tensors, metadata = super().to_parts()
        return tensors | {"baselines": self.baselines}, metadata

    @classmethod
    def from_parts(
        cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
    ) -> GlobalModel:
        """Undo `to_parts`."""
        parts = _common_parts(tensors, metadata)
        found = cls(**parts, baselines=np.asarray(tensors["baselines"], np.float64))
        shape = (len(found.encoders), *found._scorer().shape)
        if found.baselines.shape != shape or not np.isfinite(found.baselines).all():
            raise ValueError("its baselines do not fit its sources")
        return found


@dataclass(frozen=True)
class LocalModel(Model):
    """Local attention: a row is the compact embedding (`ddgk.features`)."""

    features: CompactMap | None = None

    @classmethod
    def fit(
        cls,
        graphs: Sequence[Graph],
        sources: Sequence[Graph],
        encoding: Encoding,
        config: Config,
        seed: int,
        execution: Execution,
        n_features: int | None,
    ) -> tuple[LocalModel, Description | None]:
        """Train an encoder per source, then learn the feature map from anchors.

        Returns the model and the description of the anchors, in the order of `graphs`; None where
        `describe` may give other bits.
        """
        blank = cls(config, encoding, (), seed, execution)
        engine = blank._engine(execution.n_threads)
        fused = blank.engine_name == "fused"
        if fused:
            prepare("encoders", "attention")
        parts = [source_part(graph, encoding, seed) for graph in sources]
        encoders = tuple(train_encoders(parts, encoding, config, engine, seed))
        blank = replace(blank, encoders=encoders)
        drawn = np.random.default_rng([seed, 1]).permutation(len(graphs))
        drawn = drawn[: count_anchors(len(graphs), n_features, config.n_anchors)]
        anchors = [graphs[place] for place in np.sort(drawn)]
        described = blank.describe(anchors, execution.n_threads)
        features = CompactMap.fit(
            described,
            n_features,
            blank.kernel_weights,
            seed,
            sampled=len(anchors) < len(graphs),
        )
        return replace(blank, features=features), described if fused else None

    @property
    def term_names(self) -> list[str]:
        """Names of the loss terms."""
        names = self.encoding.attributes.names
        return [
            *STRUCTURE_TERMS,
            *(f"{n}.{part}" for n in names for part in ("attention", "reverse")),
        ]

    @property
    def map(self) -> CompactMap:
        """The fitted feature map."""
        assert self.features is not None
        return self.features

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [f"ddgk{place}" for place in range(self.map.n_features)]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Rows are float32."""
        return np.dtype(np.float32)

    @property
    def kernel_weights(self) -> tuple[float, ...]:
        """Weights of `ddgk.features.PARTS` in the exponent of the kernel."""
        config = self.config
        real = config.attribute_weight if REALS in self._kinds else 0.0
        near = config.neighbourhood_weight
        views, common = (1 - real) * (1 - near), (1 - real) * near
        return views, common, common, config.size_weight, real

    @cached_property
    def local_sources(self) -> list[LocalSource]:
        """Encoders and attributes as arrays."""
        sources = [encoder.source for encoder in self.encoders]
        return [LocalSource(s.weights, tuple(map(filled, s.attributes))) for s in sources]

    @cached_property
    def directions(self) -> list[NDArray[np.float32]]:
        """Directions R of node views by source, (n_steps + 1, n_terms, n_directions) each."""
        shape = (self.config.checkpoints[-1] + 1, len(STRUCTURE_TERMS), N_DIRECTIONS)
        found = []
        for encoder in self.encoders:
            # Normal numbers from two hashes of (seed of the source, row, column).
            first, second = (
                uniform(encoder.seed, PROJECTION + k, shape[0] * shape[1], shape[2]) for k in (0, 1)
            )
            normal = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
            found.append(normal.astype(np.float32).reshape(shape))
        return found

    def _train(
        self, targets: LocalTargets, n_threads: int = 1, *, views: bool = False
    ) -> LocalOutcome:
        """Train local attention of targets against all sources.

        views: also compute node views; real attributes are then left out of the training.
        """
        sources = self.local_sources
        directions: Sequence[NDArray[np.float32]] = self.directions if views else ()
        if views:
            labels = [kind == LABELS for kind in self._kinds]

            def kept(values: Sequence[Any]) -> tuple[Any, ...]:
                return tuple(compress(values, labels))

            targets = replace(targets, attributes=kept(targets.attributes))
            sources = [replace(own, attributes=kept(own.attributes)) for own in sources]
        if self.engine_name == "fused":
            return train_local(targets, sources, self.config, directions, n_threads=n_threads)
        from ddgk.engine.local_torch import train_local_torch

        device = self.execution.device
        return train_local_torch(targets, sources, self.config, directions, device=device)

    @property
    def _kinds(self) -> list[int]:
        return [_kind(attribute) for attribute in self.encoding.attributes.attributes]

    @property
    def _node_labels(self) -> int | None:
        names = list(self.encoding.attributes.names)
        return names.index("node_labels") if "node_labels" in names else None

    def describe(self, graphs: Sequence[Graph], n_threads: int = 1) -> Description:
        """Return what the kernel takes of graphs."""
        targets = local_targets(graphs, self.encoding)
        outcome = self._train(targets, n_threads, views=True)
        return describe_targets(targets, outcome, self._node_labels, self.config.checkpoints[-1])

    def neighbourhoods(self, graphs: Sequence[Graph]) -> list[NDArray[np.int64]]:
        """Return ids of the t-hop neighbourhoods of all nodes of all graphs, for every t."""
        targets = local_targets(graphs, self.encoding)
        found = node_neighbourhoods(targets, self._node_labels, self.config.checkpoints[-1])
        return [ids for ids, _ in found]

    def divergences(self, graphs: Sequence[Graph], positions: Sequence[int] | None = None) -> Array:
        """Return loss terms, sums over nodes, (n_graphs, n_sources, n_terms, n_checkpoints)."""
        with at_position(None if positions is None else positions[0]):
            outcome = self._train(local_targets(graphs, self.encoding))
        return outcome.terms[..., list(self.config.checkpoints)]

    def rows(self, graphs: Sequence[Graph], positions: Sequence[int]) -> NDArray[np.floating]:
        """Return the compact embedding of every graph."""
        del positions
        return self.map.transform(self.describe(graphs, self.execution.n_threads))

    def explain(self, graph: Graph, source: int) -> Explanation:
        """Split one divergence into shares of nodes and edges."""
        if graph.n_nodes > MAX_EXPLAINED:
            raise ParameterError(
                f"explain holds a number for every pair of nodes and takes graphs of up to "
                f"{MAX_EXPLAINED:,} nodes, not {graph.n_nodes:,}"
            )
        encoder = self.encoders[source]
        targets = local_targets([graph], self.encoding)
        found = explain_local(targets, self.local_sources[source], self.config)
        terms = found.terms[:, list(self.config.checkpoints)]
        entries = np.zeros((2, graph.n_nodes, graph.n_nodes))
        tails = np.repeat(np.arange(graph.n_nodes), np.diff(targets.out.starts))
        entries[0, tails, targets.out.nodes] = found.edge_terms
        attention = np.empty((graph.n_nodes, encoder.graph.n_nodes))
        attention[:, encoder.order] = found.attention
        return Explanation(
            target=graph,
            source=encoder.graph,
            terms=tuple(self.term_names),
            checkpoints=self.config.checkpoints,
            nodes=terms,
            entries=entries,
            baseline=np.zeros(terms.shape[:2]),
            attention=attention,
        )

    def cost(self, graph: Graph) -> float:
        """Estimate seconds: linear in nodes and edges."""
        size = sum(encoder.graph.n_nodes for encoder in self.encoders) / 160
        steps = self.config.checkpoints[-1] / 4
        return SECONDS_A_NODE * (graph.n_nodes + graph.n_edges) * size * steps + 1e-4

    def memory(self, graph: Graph) -> int:
        """Estimate bytes: one source at a time, and the views of all steps."""
        largest = max(encoder.graph.n_nodes for encoder in self.encoders)
        widths = sum(attribute.width for attribute in self.encoding.attributes.attributes)
        steps = self.config.checkpoints[-1]
        per_node = 20 * largest + 8 * N_DIRECTIONS * (steps + 1) + 40 * widths + 600
        return graph.n_nodes * per_node + 64 * graph.n_edges

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return tensors and JSON metadata."""
        tensors, metadata = super().to_parts()
        arrays, numbers = self.map.to_parts()
        tensors |= {f"features.{name}": array for name, array in arrays.items()}
        return tensors, metadata | {"features": numbers}

    @classmethod
    def from_parts(
        cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
    ) -> LocalModel:
        """Undo `to_parts`."""
        parts = _common_parts(tensors, metadata)
        arrays = {
            name.removeprefix("features."): array
            for name, array in tensors.items()
            if name.startswith("features.")
        }
        features = CompactMap.from_parts(arrays, metadata["features"])
        found = cls(**parts, features=features)
        widths = [attribute.width for attribute in found.encoding.attributes.attributes]
        n_labels = 0 if found._node_labels is None else widths[found._node_labels]
        width = sum(widths) if REALS in found._kinds else 0
        features.check(found.config.checkpoints[-1], width, n_labels)
        return found


def model_from_parts(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> LocalModel | GlobalModel:
    """Return the model that a file holds."""
    kinds = {"local": LocalModel, "global": GlobalModel}
    kind: Any = kinds[metadata["config"]["attention"]]
    found: LocalModel | GlobalModel = kind.from_parts(tensors, metadata)
    return found


def local_targets(graphs: Sequence[Graph], encoding: Encoding) -> LocalTargets:
    """Return graphs as one disjoint union, as local attention takes them."""
    for graph in graphs:
        encoding.attributes.check(graph)
    sizes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shifts = np.repeat(starts[:-1], [graph.n_edges for graph in graphs])[:, None]
    edges = np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in graphs)])
    tails, heads = (edges + shifts).T
    weights = None
    if encoding.weight_scale is not None:
        weights = np.concatenate([np.zeros(0), *map(encoding.edge_weights, graphs)])
    # An undirected edge is an arc each way.
    directed = np.array([graph.directed for graph in graphs], dtype=bool)
    back = (tails != heads) & ~np.repeat(directed, [graph.n_edges for graph in graphs])
    both = None if weights is None else np.concatenate([weights, weights[back]])
    ends = np.concatenate([tails, heads[back]]), np.concatenate([heads, tails[back]])
    out = _adjacency(*ends, both, starts[-1])
    into = _adjacency(*ends[::-1], both, starts[-1]) if directed.any() else out
    columns = []
    for attribute in encoding.attributes.attributes:
        own = np.concatenate([attribute.units(graph) for graph in graphs])
        given = np.concatenate([attribute.nodes(graph) for graph in graphs])
        columns.append(AttributeColumns(_kind(attribute), own, given, attribute.name))
    return LocalTargets(starts, out, into, tuple(columns))


def _kind(attribute: Attribute) -> int:
    return REALS if attribute.is_real else LABELS


def _adjacency(
    tails: NDArray[np.int64], heads: NDArray[np.int64], weights: Array | None, n_nodes: int
) -> Adjacency:
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(n_nodes + 1)).astype(np.int64)
    return Adjacency(starts, heads[order], None if weights is None else weights[order])
