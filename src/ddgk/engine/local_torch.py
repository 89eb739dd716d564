"""Local attention in torch: the loss of `ddgk.engine.local` by autograd, node by node.

The reference that the compiled engine is held to, and the engine for GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import softplus

from ddgk.config import Config
from ddgk.engine.local import STRUCTURE_TERMS, LocalOutcome, LocalSource
from ddgk.engine.neighbourhoods import LABELS, LocalTargets
from ddgk.engine.torch import one_thread

Tensor = torch.Tensor


@one_thread()
def train_local_torch(
    targets: LocalTargets,
    sources: Sequence[LocalSource],
    config: Config,
    directions: Sequence[NDArray[np.float32]] = (),
    *,
    precision: str = "float32",
    device: str = "cpu",
) -> LocalOutcome:
    """Train local attention of every target against every source; see `train_local`."""
    kind = torch.float64 if precision == "float64" else torch.float32

    def tensor(values: Any) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), dtype=kind, device=device)

    n_steps = config.checkpoints[-1]
    n_graphs, n_nodes = len(targets.starts) - 1, targets.n_nodes
    graph = torch.as_tensor(np.repeat(np.arange(n_graphs), np.diff(targets.starts)), device=device)
    tails, heads, weights = _arcs(targets, kind, device)
    own = [tensor(attribute.own) for attribute in targets.attributes]
    around = [_around(a.kind, tensor(a.given), tails, heads) for a in targets.attributes]
    size = directions[0].shape[-1] if len(directions) else 0
    views = torch.zeros((n_nodes, size), dtype=kind, device=device)
    n_terms = len(STRUCTURE_TERMS) + 2 * len(targets.attributes)
    found = np.zeros((n_graphs, len(sources), n_terms, n_steps + 1))
    for place, source in enumerate(sources):
        encode = _encoder(source, tensor)
        carried = [tensor(values) for values in source.attributes]
        n_source = len(source.weights.table)
        uniform = torch.full((1, n_source), 1.0 / n_source, dtype=kind, device=device)
        background = encode(uniform).detach()[0]
        A = torch.zeros((n_nodes, n_source), dtype=kind, device=device)
        for step in range(n_steps + 1):
            A = A.detach().requires_grad_(True)
            P = torch.softmax(A, dim=1)
            Z = encode(P)
            scores = (Z[tails] * P[heads]).sum(1)
            by_arc = weights * softplus(-scores) + (1 - weights) * softplus(scores)
            by_arc = by_arc + torch.xlogy(weights, weights) + torch.xlogy(1 - weights, 1 - weights)
            edges = torch.zeros_like(A[:, 0]).index_add(0, tails, by_arc)
            terms = [edges, softplus(Z.mean(1)), softplus(P @ background)]
            loss = torch.stack(terms).sum()
            for a, attribute in enumerate(targets.attributes):
                chances = torch.sigmoid(Z)
                inferred, mass = P @ carried[a], chances @ carried[a]
                total = mass.sum(1) if attribute.kind == LABELS else chances.sum(1)
                share = mass / torch.where(total > 0, total, 1.0)[:, None]
                pair = [
                    _attribute_loss(attribute.kind, own[a], inferred, config.smoothing),
                    _attribute_loss(attribute.kind, around[a], share, config.smoothing),
                ]
                loss = loss + config.coefficient(attribute.name) * (pair[0].sum() + pair[1].sum())
                terms += pair
            losses = torch.stack(terms, 1).detach()
            by_graph = torch.zeros((n_graphs, n_terms), dtype=kind, device=device)
            by_graph = by_graph.index_add(0, graph, losses)
            found[:, place, :, step] = by_graph.cpu().numpy()
            if size > 0:
                drawn = tensor(directions[place][step])
                views = views + torch.log1p(losses[:, : len(drawn)].clamp(min=0)) @ drawn
            if step < n_steps:
                (slope,) = torch.autograd.grad(loss, A)
                A = (A - config.learning_rate * n_source * slope).detach()
    return LocalOutcome(found, np.arange(n_nodes), views.cpu().numpy().astype(np.float32))


def _arcs(targets: LocalTargets, kind: Any, device: str) -> tuple[Tensor, Tensor, Tensor]:
    tails = np.repeat(np.arange(targets.n_nodes), np.diff(targets.out.starts))
    weights = np.ones(len(tails)) if targets.out.weights is None else targets.out.weights
    return (
        torch.as_tensor(tails, device=device),
        torch.as_tensor(targets.out.nodes, device=device),
        torch.as_tensor(weights, dtype=kind, device=device),
    )


def _encoder(source: LocalSource, tensor: Any) -> Any:
    """Return the frozen network from attention to scores."""
    table, *layers, output, bias = (tensor(array) for array in source.weights.arrays())

    def encode(attention: Tensor) -> Tensor:
        layer = attention @ table
        for matrix, shift in zip(layers[::2], layers[1::2], strict=True):
            layer = torch.tanh(layer @ matrix + shift)
        scores: Tensor = layer @ output + bias
        return scores

    return encode


def _around(kind: int, given: Tensor, tails: Tensor, heads: Tensor) -> Tensor:
    """Frequencies of labels among neighbours, or means of their observed values."""
    known = ~torch.isnan(given)
    values = torch.where(known, given, 0.0)
    sums = torch.zeros_like(values).index_add(0, tails, values[heads])
    if kind == LABELS:
        total = sums.sum(1, keepdim=True)
        return sums / torch.where(total > 0, total, 1.0)
    counts = torch.zeros_like(values).index_add(0, tails, known[heads].to(values.dtype))
    return torch.where(counts > 0, sums / counts.clamp(min=1), torch.nan)


def _attribute_loss(kind: int, wanted: Tensor, inferred: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy with smoothing, or the mean squared error over observed columns."""
    if kind == LABELS:
        if smoothing > 0:
            mixed = (1 - smoothing) * inferred + smoothing / wanted.shape[1]
        else:
            mixed = inferred.clamp(min=1e-12)
        return -(wanted * torch.log(mixed)).sum(1)
    known = ~torch.isnan(wanted)
    gaps = torch.where(known, inferred - torch.where(known, wanted, 0.0), 0.0)
    return (gaps**2).sum(1) / known.sum(1).clamp(min=1)
