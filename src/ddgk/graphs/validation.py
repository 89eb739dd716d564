"""Checks of the arguments of `Graph`; each function returns the clean value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ddgk.errors import GraphError, shown

Scalar = TypeVar("Scalar", bound=np.generic)

PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Items:
    """The nodes or the edges of a graph, and what messages call it and each of them."""

    who: str
    kind: str
    count: int
    called: Callable[[int], str]


def checked_fields(
    who: str,
    n_nodes: Any,
    edges: Any,
    missing: str,
    *,
    node_labels: Any = None,
    edge_labels: Any = None,
    node_attributes: Any = None,
    edge_attributes: Any = None,
    edge_weights: Any = None,
    node_names: Any = None,
    **fix: Any,
) -> dict[str, Any]:
    """Return what a graph holds by field, edges in the order given; fix: of wrong weights."""
    count = _checked_count(n_nodes, who)
    names = _checked_names(node_names, count, who)
    pairs = _checked_pairs(edges, count, who)
    nodes = Items(who, "node", count, lambda place: f"node {shown(repr(names[place]))}")
    rows = Items(who, "edge", len(pairs), lambda place: called_edge(names, pairs[place]))
    return {
        "n_nodes": count,
        "edges": pairs,
        "node_labels": _checked_labels(node_labels, nodes),
        "edge_labels": _checked_labels(edge_labels, rows),
        "node_attributes": _checked_attributes(node_attributes, nodes, missing),
        "edge_attributes": _checked_attributes(edge_attributes, rows, missing),
        "edge_weights": _checked_weights(edge_weights, rows, fix),
        "node_names": names,
    }


def called_edge(names: Any, pair: Iterable[Any]) -> str:
    """Return what messages call an edge: by the names of its nodes."""
    u, v = (shown(repr(plain(names[end]))) for end in pair)
    return f"edge ({u}, {v})"


def plain(value: Any) -> Any:
    """Return numpy and torch scalars as Python scalars, also inside tuples and frozensets.

    >>> plain((np.int64(3), "a"))
    (3, 'a')
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is tuple or kind is frozenset:
        return kind(map(plain, value))
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    return value


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return an array that nobody else holds as a read-only one."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def _checked_count(n_nodes: int, who: str) -> int:
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, int | np.integer):
        raise GraphError(f"{who}: n_nodes must be a whole number, not {n_nodes!r}")
    if n_nodes < 0:
        raise GraphError(f"{who}: n_nodes must not be negative, not {n_nodes}")
    return int(n_nodes)


def _checked_pairs(edges: Any, n_nodes: int, who: str) -> NDArray[np.int64]:
    """Return pairs of numbers of existing nodes, (n_edges, 2), in the order given."""
    try:
        pairs = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges))
    except (TypeError, ValueError) as error:
        raise GraphError(f"{who}: edges must be pairs of node numbers") from error
    if pairs.shape == (0,) or pairs.shape == (0, 2):
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphError(f"{who}: edges must have shape (n_edges, 2), not {pairs.shape}")
    if pairs.dtype.kind not in "iu":
        raise GraphError(f"{who}: edges must be whole numbers, not {pairs.dtype}")
    outside = (pairs < 0) | (pairs >= n_nodes)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        u, v = pairs[row].tolist()
        known = f"{n_nodes} nodes (0..{n_nodes - 1})" if n_nodes else "no nodes"
        raise GraphError(
            f"{who}: edge ({u}, {v}) names node {pairs[row, column]}, but it has {known}"
        )
    return pairs.astype(np.int64)


def smaller_first(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return undirected edges with the smaller node in front."""
    # Several times faster than np.sort(pairs, axis=1) on millions of rows of two.
    u, v = pairs.T
    return np.stack((np.minimum(u, v), np.maximum(u, v)), axis=1)


def _checked_labels(labels: Iterable[Hashable] | None, items: Items) -> tuple[Hashable, ...] | None:
    """Return labels as plain hashables, one per item."""
    if labels is None:
        return None
    who, kind = items.who, items.kind
    values = tuple(map(plain, labels))
    if len(values) != items.count:
        raise GraphError(f"{who}: {len(values)} {kind} labels for {items.count} {kind}s")
    for position, value in enumerate(values):
        if type(value) is str or type(value) is int:
            continue
        # A torch tensor hashes by its address, so that equal labels would differ.
        if not is_hashable(value) or getattr(value, "ndim", False):
            raise GraphError(
                f"{who}: the label {shown(repr(value))} of {items.called(position)} is not "
                "hashable; use a number, a text or a tuple"
            )
        if _holds_nan(value):
            raise GraphError(
                f"{who}: the label of {items.called(position)} is NaN, which equals no label, "
                "not even itself; use None or a text"
            )
    return values


def _checked_attributes(
    attributes: ArrayLike | None, items: Items, missing: str
) -> NDArray[np.float64] | None:
    """Return attributes as a (count, k) array of finite numbers, and NaN where it may be."""
    if attributes is None:
        return None
    who, count, what = items.who, items.count, f"{items.kind} attributes"
    values = _real_numbers(attributes, what, who)
    if count == 0 and values.shape == (0,):
        return None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[0] != count or values.shape[1] == 0:
        raise GraphError(
            f"{who}: {what} must have shape ({count}, k) with k > 0, not {values.shape}"
        )
    unknown = np.isnan(values)
    bad = np.argwhere(np.isinf(values) if missing == "mask" else ~np.isfinite(values))
    if len(bad):
        row, column = bad[0].tolist()
        called = f"{who}: attribute {column} of {items.called(row)} is"
        if unknown[row, column]:
            raise GraphError(f"{called} missing (NaN)", policy="missing", choices=("mask",))
        raise GraphError(f"{called} {values[row, column]}; attributes must be finite")
    values[unknown] = np.nan  # one bit pattern for all, for the digest
    return values


def _checked_weights(
    weights: ArrayLike | None, edges: Items, fix: dict[str, Any]
) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    values = _real_numbers(weights, "edge weights", edges.who)
    if values.shape != (edges.count,):
        raise GraphError(
            f"{edges.who}: edge weights must have shape ({edges.count},), not {values.shape}"
        )
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        problem = f"{edges.called(row)} has weight {values[row]:g}, but weights are finite numbers"
        raise GraphError(f"{edges.who}: {problem}", advice="correct it", **fix)
    return values


def _checked_names(
    names: Iterable[Hashable] | None, n_nodes: int, who: str
) -> tuple[Hashable, ...]:
    if names is None:
        return tuple(range(n_nodes))
    values = tuple(map(plain, names))
    if len(values) != n_nodes:
        raise GraphError(f"{who}: {len(values)} node names for {n_nodes} nodes")
    if not all(map(is_hashable, values)):
        raise GraphError(f"{who}: node names must be hashable")
    if len(set(values)) != n_nodes:
        twice = Counter(values).most_common(1)[0][0]
        raise GraphError(
            f"{who}: node names must be all different, but {shown(repr(twice))} stands twice"
        )
    if any(type(value) is float and value != value for value in values):
        raise GraphError(f"{who}: a node is named NaN, which equals no name, not even itself")
    return values


def _real_numbers(values: Any, what: str, who: str) -> NDArray[np.float64]:
    """Return numbers as float64, and refuse text, complex numbers and ragged rows."""
    try:
        _refuse_text(values)
        array = np.asarray(values)
        if array.dtype.kind in "OUSc":
            listed = array.ravel().tolist()
            _refuse_text(listed)
            array = np.asarray([float(plain(value)) for value in listed]).reshape(array.shape)
        # Adding 0 turns -0.0 into 0.0, which would otherwise have another digest.
        return array.astype(np.float64) + 0.0
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(
            f"{who}: {what} must be numbers, as many in every row ({error})"
        ) from error


def _refuse_text(values: Any) -> None:
    """Find text in lists before numpy does, which gives all items the size of the longest."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{values[:60]!r} is text")
    if isinstance(values, list | tuple):
        for value in values:
            if not isinstance(value, int | float):
                _refuse_text(value)


def is_hashable(value: object) -> bool:
    """Tell whether a thing can be a name or a label."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _holds_nan(value: object) -> bool:
    if isinstance(value, tuple | frozenset):
        return any(map(_holds_nan, value))
    return isinstance(value, float) and value != value
