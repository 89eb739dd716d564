"""What these tests share: random graphs, and torch_geometric without the noise of its import."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest
from hypothesis import strategies as st

from ddgk.graphs import Graph

ODD_LABELS = [
    None,
    True,
    1,
    1.5,
    "",
    "C",
    "with\x00nul",
    "ünïcode-漢字-🧪",
    "\ud800",
    (1, "a"),
    ("nested", (None, frozenset({"x", "y"}))),
    frozenset(),
    frozenset({"p", "q", "r"}),
    b"bytes",
]


@st.composite
def graphs(draw: st.DrawFn, *, named: bool = True) -> Graph:
    """Small graphs with any mixture of labels, attributes, weights and names."""
    n_nodes = draw(st.integers(1, 8))
    directed = draw(st.booleans())
    possible = [(u, v) for u in range(n_nodes) for v in range(n_nodes) if directed or u <= v]
    edges = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    label = st.sampled_from(ODD_LABELS)
    number = st.floats(-1e6, 1e6, allow_nan=False)
    attribute = number | st.just(float("nan"))

    def each(values: st.SearchStrategy, count: int) -> st.SearchStrategy:
        return st.lists(values, min_size=count, max_size=count)

    width = draw(st.integers(1, 3))
    names = st.lists(
        st.one_of(
            st.integers(), st.text(max_size=3), st.tuples(st.integers(), st.text(max_size=1))
        ),
        min_size=n_nodes,
        max_size=n_nodes,
        unique=True,
    )
    # Without edges there is nothing that could remember that edges would have been labelled.
    of_edges = bool(edges)
    return Graph(
        n_nodes,
        edges,
        directed=directed,
        node_labels=draw(st.none() | each(label, n_nodes)),
        edge_labels=draw(st.none() | each(label, len(edges))) if of_edges else None,
        node_attributes=draw(st.none() | each(each(attribute, width), n_nodes)),
        edge_attributes=draw(st.none() | each(each(attribute, width), len(edges)))
        if of_edges
        else None,
        edge_weights=draw(st.none() | each(number, len(edges))) if of_edges else None,
        name=draw(st.none() | st.text(min_size=1, max_size=5)) if named else None,
        node_names=draw(st.none() | names) if named else None,
        missing="mask",
    )


@pytest.fixture(scope="session")
def any_graph() -> st.SearchStrategy[Graph]:
    return graphs()


@pytest.fixture(scope="session")
def odd_labels() -> list:
    return ODD_LABELS


@pytest.fixture(scope="session")
def pyg() -> SimpleNamespace:
    """torch, and Data and Batch of torch_geometric."""
    torch = pytest.importorskip("torch", reason="torch_geometric needs torch")
    with warnings.catch_warnings():
        # Importing torch_geometric calls parts of torch that newer versions deprecate.
        warnings.simplefilter("ignore", DeprecationWarning)
        data = pytest.importorskip("torch_geometric.data", reason="converts its Data")
    return SimpleNamespace(torch=torch, Data=data.Data, Batch=data.Batch)
