"""Convert PyTorch Geometric's Data."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import GraphError
from ddgk.graphs.edges import build_graph
from ddgk.graphs.foreign import kinds, require
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies, chosen_policies

if TYPE_CHECKING:
    from torch_geometric.data import Data

USUAL = ("x", "edge_attr", "edge_weight")


def from_pyg(
    data: Data,
    *,
    node_labels: str | None = "x",
    edge_labels: str | None = "edge_attr",
    node_attributes: str | None = "x",
    edge_attributes: str | None = "edge_attr",
    edge_weights: str | None = "edge_weight",
    name: str | None = None,
    policies: Policies | None = None,
) -> Graph:
    """Convert a torch_geometric.data.Data.

    `edge_index` lists an undirected edge in both directions; one that stands in one direction only
    makes the graph directed.

    The first five parameters name attributes of `data`. What can be a label: one-hot rows (the
    label is the place of the 1), whole numbers (a row of several is one label, a tuple), lists of
    hashables. Where labels and attributes name the same attribute, as they do by default for nodes
    and for edges, it is read as labels if it can be, and otherwise as attributes. What
    `edge_weights` names is read as weights only.

    Parameters
    ----------
    data : torch_geometric.data.Data
        One graph; split a Batch with ``batch.to_data_list()``.
    node_labels, edge_labels, node_attributes, edge_attributes, edge_weights : str or None
        Attributes to read. None reads none; a default may be absent, others must be there.
    name : str, optional
        Default: ``data.name``, if it is text.
    policies : Policies, optional
        How to read what can be read in more than one way.

    Examples
    --------
    >>> import warnings
    >>> import torch
    >>> from ddgk.graphs import from_pyg
    >>> with warnings.catch_warnings():  # some versions import what torch has deprecated
    ...     warnings.simplefilter("ignore")
    ...     from torch_geometric.data import Data
    >>> both = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> from_pyg(Data(edge_index=both, x=torch.eye(3))).node_labels
    (0, 1, 2)
    """
    if ("torch_geometric", "Batch") in kinds(data):
        raise GraphError(
            f"{describe(name)}: a torch_geometric Batch is many graphs; "
            "pass batch.to_data_list() to as_graphs"
        )
    require(data, "torch_geometric", "Data", "from_pyg", name)
    own = data.get("name")
    name = own if name is None and isinstance(own, str) else name
    who = describe(name)

    def get(key: str | None) -> Any:
        value = None if key is None else data.get(key)
        if value is None and key is not None and key not in USUAL:
            there = ", ".join(map(repr, sorted(data.keys())))
            raise GraphError(f"{who}: it has no {key!r}; it has {there}")
        return value

    def columns(labels: str | None, attributes: str | None, kind: str) -> dict[str, Any]:
        found = _as_labels(get(labels))
        if labels == attributes and found is not None:
            return {f"{kind}_labels": found}
        if found is None and labels != attributes and get(labels) is not None:
            raise GraphError(
                f"{who}: {labels} holds neither whole numbers nor one-hot rows, so it cannot be "
                f"labels; pass {kind}_labels=None to leave it out, or "
                f"{kind}_attributes={labels!r} to read vectors"
            )
        return {f"{kind}_labels": found, f"{kind}_attributes": _as_array(get(attributes))}

    on_nodes = columns(node_labels, node_attributes, "node")
    kind, vectors = (None if key == edge_weights else key for key in (edge_labels, edge_attributes))
    weights = None
    if chosen_policies(policies).weights != "ignore":
        weights = _as_array(get(edge_weights))
        weights = weights[:, 0] if weights is not None and weights.shape[1:] == (1,) else weights
    pairs = np.asarray(_as_array(get("edge_index")))
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise GraphError(f"{who}: edge_index must have shape (2, n), not {pairs.shape}")
    return build_graph(
        _n_nodes(data, [get(node_labels), get(node_attributes)], who),
        pairs.T,
        edge_weights=weights,
        listing="both",
        policies=policies,
        name=name,
        **on_nodes,
        **columns(kind, vectors, "edge"),
    )


def _n_nodes(data: Any, columns: list[Any], who: str) -> int:
    """Return the number of nodes as far as it is known, rather than guessed from the edges."""
    if "num_nodes" in data:
        return int(data["num_nodes"])
    for column in columns:
        if column is not None:
            return len(column)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return int(data.num_nodes)
        except (UserWarning, TypeError) as error:
            raise GraphError(
                f"{who}: nothing says how many nodes it has, and isolated ones could be "
                "lost; set data.num_nodes"
            ) from error


def _as_array(value: Any) -> NDArray[Any] | None:
    """Return a tensor, wherever it lives and whatever its precision, as a numpy array."""
    if value is None:
        return None
    if ("torch", "Tensor") not in kinds(value):
        return np.asarray(value)
    tensor = value.detach().cpu()
    array: NDArray[Any] = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    return array


def _as_labels(value: Any) -> list[Hashable] | None:
    """Return one label per row of a tensor, array or list; None if they cannot be labels."""
    if isinstance(value, list | tuple):
        return list(value)
    array = _as_array(value)
    if array is None:
        return None
    whole = array.dtype.kind in "biuUS"
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 2:
        return list(array.tolist()) if array.ndim == 1 and whole else None
    # Whole numbers stay rows even if one-hot: rows that are one-hot in one graph and not in the
    # next would otherwise be labelled in two ways.
    if whole:
        return [tuple(row) for row in array.tolist()]
    one_hot = ((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all()
    return list(array.argmax(axis=1).tolist()) if one_hot else None
