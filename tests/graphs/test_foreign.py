from __future__ import annotations

import numpy as np
import pytest

from ddgk.errors import GraphError
from ddgk.graphs import Policies
from ddgk.graphs.foreign import MISSING, describe_type, keyed_graph, kinds, require


def read(values, key="label"):
    graph = keyed_graph(
        range(len(values)),
        [],
        lambda *_: values,
        (key, None, None, None, None),
        directed=False,
        name=None,
        policies=Policies(empty="keep"),
    )
    return graph.node_labels


def test_kinds_names_all_classes_by_their_library():
    assert ("numpy", "ndarray") in kinds(np.eye(2).view(np.recarray))
    assert describe_type(np.eye(2)) == "a numpy.ndarray"


def test_a_namesake_of_another_library_is_not_taken_for_it():
    impostor = type("Graph", (), {"__module__": "networkx_like.graph"})()
    with pytest.raises(GraphError, match=r"reads a networkx.Graph, not a networkx_like.Graph"):
        require(impostor, "networkx", "Graph", "from_networkx", None)


def test_a_column_is_whole_or_absent():
    assert read(["a", None]) == ("a", None)
    assert read([MISSING, MISSING]) is None
    assert read([]) is None
    with pytest.raises(GraphError, match="node 1 has no 'label', but others have"):
        read(["a", MISSING])
    with pytest.raises(GraphError, match="node 0 has no 'kind', nor has any other"):
        read([MISSING, MISSING], key="kind")
