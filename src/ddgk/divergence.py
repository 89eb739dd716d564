"""Pairs -> divergences: what the engine learned of a pair, as named channels that add up.

D' is how badly a target is reconstructed through a source's encoder; D subtracts a baseline
(paper eq. 9 and 10). A row of columns belongs to a target and a source: every channel after every
step of the curve, the last time also by region of the source; then what the target looks like from
there (`ddgk.engine.images`). Arrays have the axes (target, source, column).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ddgk.columns import channel_places, reported_channels, source_columns
from ddgk.encoder import Encoder, train_encoders
from ddgk.engine.images import draw_waves, read_images
from ddgk.engine.problem import Engine, Outcome, Source
from ddgk.errors import NonFiniteLossError
from ddgk.graphs.graph import Graph, at_position, describe
from ddgk.method import Method
from ddgk.reading import Reader, Reading

Array = NDArray[np.float64]
Pair = tuple[int, int]
PAIRS_PER_TILE = 4096


@dataclass(frozen=True)
class Scorer:
    """Scores pairs of (target, source) by one method.

    seed: for the starts of encoders, also of those that targets need for a baseline or symmetry.
    Several relations are as many scorers, `parts`; their channels stand side by side in what
    `encode`, `baselines` and `divergences` have to do with, everything else is about one relation.
    """

    method: Method
    reader: Reader
    engine: Engine
    seed: int

    @property
    def channels(self) -> list[str]:
        """Return the names of the reported channels."""
        return reported_channels(self.method, self.reader.family_names)

    @property
    def columns(self) -> list[str]:
        """Return the names of what a source says of a target."""
        return source_columns(self.method, self.reader.family_names)

    @property
    def parts(self) -> tuple[Scorer, ...]:
        """Return a scorer for each relation alone."""
        return tuple(
            replace(
                self,
                method=self.method.changed(relation=relation),
                reader=replace(self.reader, relation=relation),
            )
            for relation in self.method.relations
        )

    def read(self, graph: Graph) -> Reading:
        """Read a target, on its quotient where the start allows it; sampled if it is large."""
        samples = self.method.samples_of(graph.n_nodes, self.reader.relation)
        return self.reader.read(graph, quotient=self.method.on_quotient, samples=samples)

    def encode(self, graphs: Sequence[Graph]) -> list[Encoder]:
        """Train an encoder for every graph."""
        if len(self.method.relations) > 1:
            sides = zip(*(part.encode(graphs) for part in self.parts), strict=True)
            return [replace(first, beside=tuple(others)) for first, *others in sides]
        training = self.method.encoder_training
        return train_encoders(graphs, self.reader, training, self.engine, self.seed)

    def train(
        self,
        readings: Sequence[Reading],
        encoders: Sequence[Encoder],
        pairs: Sequence[Pair],
        *,
        detail: bool = False,
        seeds: Sequence[int] | None = None,
    ) -> list[Outcome]:
        """Train the attention of pairs (reading, encoder), given by position."""
        sources = [self._asked(encoder) for encoder in encoders]
        problems = [(readings[t].problem, sources[s]) for t, s in pairs]
        starts = [encoders[s].seed for _, s in pairs] if seeds is None else seeds
        training = self.method.pair_training(self.reader.family_names)
        return self.engine.score_pairs(problems, starts, training, detail=detail)

    def losses(
        self, readings: Sequence[Reading], encoders: Sequence[Encoder], pairs: Sequence[Pair]
    ) -> Array:
        """Return D' and images of pairs, (n_pairs, n_columns)."""
        n_regions, places = self.method.split_regions, defaultdict(list)
        # What is subtracted of a soft relation goes to regions by where units attend.
        soft = n_regions > 0 and any(reading.entropies.any() for reading in readings)
        outcomes = self.train(readings, encoders, pairs, detail=soft)
        within = [_membership(encoder, n_regions) for encoder in encoders]
        losses = np.empty((len(pairs), len(self.columns)))
        n_losses = self.places.size
        for place, (t, _) in enumerate(pairs):
            places[t].append(place)
        for t, own in places.items():
            found = [(outcomes[place], within[pairs[place][1]]) for place in own]
            terms, entropies = _by_readout(readings[t], found)
            reported = np.moveaxis(self.reported(terms, entropies, readings[t]), -1, 0)
            losses[own, :n_losses] = reported.reshape(len(own), -1)
        if self.method.image_steps:
            waves = [draw_waves(encoder.seed, self.method.regions) for encoder in encoders]
            for t, own in places.items():
                seen = ((outcomes[place].regional, waves[pairs[place][1]]) for place in own)
                images = read_images(readings[t].problem, seen).reshape(len(own), -1)
                losses[own, n_losses:] = self._reduced(images, readings[t])
        return losses

    @property
    def places(self) -> NDArray[np.int64]:
        """Return where among the columns channels are, (n_channels, n_readouts)."""
        return channel_places(self.method, self.reader.family_names)

    def _reduced(self, images: Array, reading: Reading) -> Array:
        """Return images, which are sums over units, as the method reports: means, sums or both."""
        if self.method.reduction == "sum":
            return images
        means = images / reading.problem.unit_weights.sum()
        return means if self.method.reduction == "mean" else np.hstack([means, images])

    def _asked(self, encoder: Encoder) -> Source:
        """Return an encoder that knows its regions, where attention to them is asked for."""
        n_regions = self.method.regions if self.method.image_steps else 0
        if not n_regions:
            return encoder.source
        return replace(encoder.source, regions=encoder.regions(n_regions), n_regions=n_regions)

    @property
    def _at_steps(self) -> NDArray[np.int64]:
        """Return which columns are read of the whole target, and not by region of the source."""
        return self.places[:, : len(self.method.curve)].ravel()

    def reported(self, terms: Array, entropies: Array, reading: Reading) -> Array:
        """Turn an engine's channels, or shares of them, into the reported ones.

        terms: (n_engine_channels, ...); entropies: what is to be subtracted of the first two, as a
        sum over entries, (2, ...). Returns (n_channels, ...).
        """
        counts = self.counts(reading).reshape(-1, *[1] * (terms.ndim - 1))
        excess = terms.copy()
        excess[:2] -= entropies if self.method.reduction == "sum" else entropies / counts[:2]
        if self.method.reduction != "both":
            return self._output(excess)
        return np.concatenate([self._output(excess), self._output(excess * counts)])

    def counts(self, reading: Reading) -> Array:
        """Return how many entries or units each engine channel runs over, (n_engine_channels,)."""
        n_units = reading.problem.unit_weights.sum()
        n_nodes = reading.problem.node_weights.sum()
        return np.array([n_units * n_nodes] * 2 + [n_units] * (2 * len(self.reader.families)))

    def _output(self, channels: Array) -> Array:
        if self.method.output == "channels":
            return channels
        if self.method.output == "edges":
            return channels[:1]
        total: Array = channels[0] + channels[1]
        for place, family in enumerate(self.reader.family_names):
            parts = channels[2 + 2 * place] + channels[3 + 2 * place]
            total = total + self.method.coefficient(family) * parts
        return total[None]

    def self_losses(self, encoders: Sequence[Encoder]) -> Array:
        """Return D'(S||S) of every encoder, (n_encoders, n_columns)."""
        readings = [self.read(encoder.graph) for encoder in encoders]
        return self.losses(readings, encoders, [(i, i) for i in range(len(encoders))])

    def baselines(self, encoders: Sequence[Encoder]) -> Array:
        """Return what is subtracted per source, (n_encoders, n_columns)."""
        if len(self.method.relations) > 1:
            sides = zip(self.parts, sides_of(encoders), strict=True)
            return np.concatenate([part.baselines(own) for part, own in sides], axis=1)
        if self.method.baseline == "none":
            return np.zeros((len(encoders), len(self.columns)))
        own = self.self_losses(encoders)
        if self.method.baseline == "target":  # which regions of a source know nothing of
            own[:, self._at_steps] = 0
        return own

    def divergences(
        self,
        targets: Sequence[Graph],
        encoders: Sequence[Encoder],
        baselines: Array,
        places: Sequence[int] | None = None,
    ) -> Array:
        """Return D of all targets against all sources, (n_targets, n_sources, n_columns).

        baselines: as `baselines` returned them. places: where the caller has the targets, for
        messages. For the baseline "target" and for symmetric divergences an encoder of every target
        is trained too; they change what is read after steps. Regions are of the source, so what a
        target's encoder says has no place in them: they are D'(T||S), less D'(S||S).
        """
        if len(self.method.relations) > 1:
            shares = np.split(baselines, len(self.method.relations), axis=-1)
            each = zip(self.parts, sides_of(encoders), shares, strict=True)
            grids = [part.divergences(targets, own, less, places) for part, own, less in each]
            return np.concatenate(grids, axis=2)
        sources = [encoder.graph for encoder in encoders]
        grid = self._all_losses(targets, encoders, places) - baselines
        if self.method.baseline != "target" and not self.method.symmetric:
            return grid
        own = self.encode(targets)
        own_losses = self.self_losses(own)
        steps = self._at_steps
        if self.method.baseline == "target":
            grid[..., steps] -= own_losses[:, None, steps]
        if self.method.symmetric:
            mirrored = self._all_losses(sources, own)
            if self.method.baseline == "source":
                mirrored -= own_losses
            elif self.method.baseline == "target":
                mirrored -= self.self_losses(encoders)[:, None]
            grid[..., steps] += mirrored.swapaxes(0, 1)[..., steps]
        return grid

    def _all_losses(
        self,
        targets: Sequence[Graph],
        encoders: Sequence[Encoder],
        places: Sequence[int] | None = None,
    ) -> Array:
        """Return D' of all targets against all sources; equal readings are trained once."""
        known = range(len(targets)) if places is None else places
        readings = []
        for place, graph in zip(known, targets, strict=True):
            with at_position(place):
                readings.append(self.read(graph))
        first: dict[str, int] = {}
        shared = [first.setdefault(r.digest, place) for place, r in enumerate(readings)]
        distinct = sorted(first.values())
        pairs = [(t, s) for t in distinct for s in range(len(encoders))]
        losses = self.losses(readings, encoders, pairs)
        named = [describe(graph.name, place) for place, graph in zip(known, targets, strict=True)]
        refuse_non_finite(losses, pairs, named, encoders, self.method.rate)
        grid: Array = losses.reshape(len(distinct), len(encoders), *losses.shape[1:])
        return grid[np.searchsorted(distinct, shared)]


def sides_of(encoders: Sequence[Encoder]) -> list[list[Encoder]]:
    """Sort encoders of several relations by relation."""
    return [list(own) for own in zip(*(encoder.sides for encoder in encoders), strict=True)]


def _by_readout(reading: Reading, found: Sequence[tuple[Outcome, Array]]) -> tuple[Array, Array]:
    """Put what an engine found of a target, against several sources, in the order of readouts.

    found: outcomes, and which units of the source are in which region. Returns the channels,
    (n_engine_channels, n_readouts, n_sources), and what of the first two a perfect prediction would
    cost, (2, n_readouts, n_sources).
    """
    steps = np.stack([outcome.channels for outcome, _ in found]).T
    regions = np.stack([outcome.shares @ within for outcome, within in found], axis=-1)
    by_unit = reading.entropies * reading.problem.unit_weights
    at_steps = np.broadcast_to(by_unit.sum(axis=1)[:, None, None], (2, *steps.shape[1:]))
    at_regions = [
        np.zeros((2, within.shape[1]))
        if outcome.attention is None
        else by_unit @ reading.unit_attention(outcome.attention) @ within
        for outcome, within in found
    ]
    return (
        np.concatenate([steps, regions], axis=1),
        np.concatenate([at_steps, np.stack(at_regions, axis=-1)], axis=1),
    )


def _membership(encoder: Encoder, n_regions: int) -> Array:
    """Return 1 where a unit of the source is in a region, else 0, (n_units, n_regions)."""
    if not n_regions:
        return np.zeros((len(encoder.source.weights.table), 0))
    return np.eye(n_regions)[encoder.regions(n_regions)]


def refuse_non_finite(
    losses: Array,
    pairs: Sequence[Pair],
    targets: Sequence[str],
    encoders: Sequence[Encoder],
    rate: float,
) -> None:
    """Raise when a pair diverged, and say which; targets are given as messages call them."""
    broken = ~np.isfinite(losses).reshape(len(pairs), -1).all(axis=1)
    if broken.any():
        t, s = pairs[int(np.argmax(broken))]
        raise NonFiniteLossError(
            f"target {targets[t]} against source {describe(encoders[s].graph.name, s)}: "
            "the loss became inf or nan; "
            f"lower rate (it is {rate:g})"
        )


def plan_tiles(sizes: Sequence[int], n_sources: int) -> Iterator[list[int]]:
    """Cut targets into tiles of like size, each about `PAIRS_PER_TILE` pairs. Yields positions.

    The number of targets is a multiple of 8, since engines train so many side by side.
    """
    order = np.argsort(np.asarray(sizes), kind="stable")
    per_tile = 8 * -(-PAIRS_PER_TILE // (8 * max(1, n_sources)))
    for first in range(0, len(order), per_tile):
        yield order[first : first + per_tile].tolist()
