from __future__ import annotations

import sys

import numpy as np
import pytest

from ddgk.errors import GraphError, MissingExtraError
from ddgk.graphs import Policies, as_graph, as_graphs, from_smiles

pytest.importorskip("rdkit", reason="reads molecules")

from rdkit import Chem


def test_atoms_by_element_and_charge_and_bonds_by_type():
    graph = from_smiles("C[N+](=O)[O-]")
    assert graph.node_labels == ("C", "N+", "O", "O-")
    assert graph.edges.tolist() == [[0, 1], [1, 2], [1, 3]]
    assert graph.edge_labels == ("-", "=", "-")
    assert set(from_smiles("c1ccccc1").edge_labels) == {":"}
    assert from_smiles("N#N").edge_labels == ("#",)
    assert from_smiles("[Ca+2]").node_labels == ("Ca+2",)
    assert from_smiles("CCO", name="ethanol").name == "ethanol"


def test_the_result_is_as_the_constructor_leaves_graphs():
    graph = from_smiles("CC(=O)Oc1ccccc1C(=O)O")
    again = graph.replace()
    assert again == graph
    assert graph.edges.dtype == np.int64
    assert not graph.edges.flags.writeable


def test_hydrogens_follow_the_policy():
    assert from_smiles("C").n_nodes == 1
    assert from_smiles("C", policies=Policies(hydrogens="add")).n_nodes == 5
    assert from_smiles("[H]C").n_nodes == 1


def test_a_list_of_texts_is_read_as_smiles():
    graphs = as_graphs(["CCO", np.str_("C"), Chem.MolFromSmiles("N")])
    assert [graph.n_nodes for graph in graphs] == [3, 1, 1]
    named = Chem.MolFromSmiles("C")
    named.SetProp("_Name", "methane")
    assert as_graph(named).name == "methane"


@pytest.mark.parametrize("text", ["C1CC", "", "C C", "C(C)(C)(C)(C)C", "hello", "Ünicode", "C\x1b"])
def test_invalid_smiles_are_refused_or_skipped(text):
    with pytest.raises(GraphError) as caught:
        as_graphs(["C", text])
    assert str(caught.value).startswith("graph 1 (")
    assert "is not a valid SMILES" in str(caught.value)
    assert caught.value.policy == "invalid_smiles"
    assert "\x1b" not in str(caught.value)
    with pytest.warns(UserWarning, match="1 of 3 graphs were skipped by the policies: 1"):
        kept = as_graphs(["C", text, "CC"], policies=Policies(invalid_smiles="skip"))
    assert [graph.n_nodes for graph in kept] == [1, 2]


def test_all_graphs_skipped_is_an_error():
    with pytest.raises(GraphError, match="all 1 graphs were skipped"):
        as_graphs(["C1CC"], policies=Policies(invalid_smiles="skip"))


def test_nothing_is_written_to_the_terminal(capfd):
    with pytest.raises(GraphError):
        from_smiles("C1CC")
    assert capfd.readouterr() == ("", "")


def test_a_missing_rdkit_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ddgk\[chem\]'"):
        as_graph("CCO")
