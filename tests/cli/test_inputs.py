import pytest

from ddgk.cli.inputs import chosen_policies, read_graph
from ddgk.errors import DatasetError
from ddgk.graphs import Policies


def test_policies_are_made_only_when_asked_for():
    assert chosen_policies(directed=None, weights=None) is None
    assert chosen_policies(directed=None, weights="ignore") == Policies(weights="ignore")


@pytest.mark.usefixtures("rings", "molecules")
def test_one_graph_by_file_by_number_and_by_name():
    assert read_graph("rings/ring-5.edges").n_nodes == 5
    assert read_graph("rings:2").n_nodes == 6
    assert read_graph("molecules.json:1").node_labels == ("C", "O", "N")
    assert read_graph("karate").n_nodes == 34
    assert read_graph("karate:0").n_nodes == 34


@pytest.mark.usefixtures("rings")
def test_a_folder_whose_name_looks_like_a_number_is_a_folder(folder):
    (folder / "rings").rename(folder / "rings:1")
    with pytest.raises(DatasetError, match="rings:1 holds 4 graphs"):
        read_graph("rings:1")


@pytest.mark.usefixtures("rings")
def test_which_graph_must_be_clear():
    with pytest.raises(
        DatasetError, match="rings holds 4 graphs; pick one, from rings:0 to rings:3"
    ):
        read_graph("rings")
    with pytest.raises(DatasetError, match="rings has no graph 4; it holds 4, counted from 0"):
        read_graph("rings:4")
