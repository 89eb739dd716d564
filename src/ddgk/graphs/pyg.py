"""Convert PyTorch Geometric's Data."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
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
    reader = _Reader(data, name)
    labels, attributes = reader.columns(node_labels, node_attributes, "node")
    kind = None if edge_labels == edge_weights else edge_labels
    vectors = None if edge_attributes == edge_weights else edge_attributes
    edge_kinds, edge_vectors = reader.columns(kind, vectors, "edge")
    weights = None
    if chosen_policies(policies).weights != "ignore":
        weights = reader.numbers(edge_weights)
        weights = weights[:, 0] if weights is not None and weights.shape[1:] == (1,) else weights
    return build_graph(
        reader.n_nodes(node_labels, node_attributes),
        reader.pairs(),
        edge_labels=edge_kinds,
        edge_attributes=edge_vectors,
        edge_weights=weights,
        listing="both",
        policies=policies,
        name=reader.name,
        node_labels=labels,
        node_attributes=attributes,
    )


class _Reader:
    """Takes the attributes of one Data out as arrays and lists."""

    def __init__(self, data: Any, name: str | None) -> None:
        if ("torch_geometric", "Batch") in kinds(data):
            raise GraphError(
                f"{describe(name)}: a torch_geometric Batch is many graphs; "
                "pass batch.to_data_list() to as_graphs"
            )
        require(data, "torch_geometric", "Data", "from_pyg", name)
        own = data.get("name")
        self.data = data
        self.name = own if name is None and isinstance(own, str) else name
        self.who = describe(self.name)

    def get(self, key: str | None) -> Any:
        if key is None:
            return None
        value = self.data.get(key)
        if value is None and key not in USUAL:
            there = ", ".join(map(repr, sorted(self.data.keys())))
            raise GraphError(f"{self.who}: it has no {key!r}; it has {there}")
        return value

    def pairs(self) -> NDArray[Any]:
        array = _as_array(self.get("edge_index"))
        if array.ndim != 2 or array.shape[0] != 2:
            raise GraphError(f"{self.who}: edge_index must have shape (2, n), not {array.shape}")
        return array.T

    def n_nodes(self, *named: str | None) -> int:
        """Return the number of nodes as far as it is known, rather than guessed from the edges."""
        if "num_nodes" in self.data:
            return int(self.data["num_nodes"])
        for key in named:
            column = self.get(key)
            if column is not None:
                return len(column)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return int(self.data.num_nodes)
            except (UserWarning, TypeError) as error:
                raise GraphError(
                    f"{self.who}: nothing says how many nodes it has, and isolated ones could be "
                    "lost; set data.num_nodes"
                ) from error

    def columns(
        self, labels: str | None, attributes: str | None, kind: str
    ) -> tuple[Sequence[Hashable] | None, NDArray[Any] | None]:
        if labels == attributes:
            found = _as_labels(self.get(labels))
            if found is not None:
                return found, None
            labels = None
        values = self.numbers(attributes)
        if values is not None and values.ndim == 1:
            values = values[:, None]
        otherwise = f"{kind}_attributes={labels!r} to read vectors"
        return self.labels(labels, f"{kind}_labels", otherwise), values

    def labels(self, key: str | None, parameter: str, otherwise: str) -> Sequence[Hashable] | None:
        value = self.get(key)
        found = _as_labels(value)
        if found is None and value is not None:
            raise GraphError(
                f"{self.who}: {key} holds neither whole numbers nor one-hot rows, so it cannot be "
                f"labels; pass {parameter}=None to leave it out, or {otherwise}"
            )
        return found

    def numbers(self, key: str | None) -> NDArray[Any] | None:
        value = self.get(key)
        return None if value is None else _as_array(value)


def _as_array(value: Any) -> NDArray[Any]:
    """Return a tensor, wherever it lives and whatever its precision, as a numpy array."""
    if ("torch", "Tensor") not in kinds(value):
        return np.asarray(value)
    tensor = value.detach().cpu()
    array: NDArray[Any] = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    return array


def _as_labels(value: Any) -> list[Hashable] | None:
    """Return one label per row of a tensor, array or list; None if they cannot be labels."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return list(value)
    array = _as_array(value)
    whole = array.dtype.kind in "biuUS"
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 1 and whole:
        return list(array.tolist())
    if array.ndim != 2:
        return None
    # Whole numbers stay rows even if one-hot: rows that are one-hot in one graph and not in the
    # next would otherwise be labelled in two ways.
    if whole:
        return [tuple(row) for row in array.tolist()]
    one_hot = ((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all()
    return list(array.argmax(axis=1).tolist()) if one_hot else None
