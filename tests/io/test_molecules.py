from __future__ import annotations

import pytest

from ddgk.errors import DatasetError
from ddgk.graphs import Policies
from ddgk.io.files import convert
from ddgk.io.reading import Options

pytest.importorskip("rdkit", reason="reads molecules")

from rdkit import Chem

SKIP = Policies(invalid_smiles="skip")


def sdf(*smiles: str) -> bytes:
    blocks = []
    for text in smiles:
        molecule = Chem.MolFromSmiles(text)
        molecule.SetProp("_Name", f"called {text}")
        blocks.append(Chem.MolToMolBlock(molecule) + "> <x>\n1\n\n$$$$\n")
    return "".join(blocks).encode()


def test_lines_of_smiles_with_names_a_header_and_comments():
    text = b"smiles name\n# a comment\nCCO ethanol\nC\n\nC#N\thydrogen cyanide\r\n"
    graphs = convert(text, ".smi", "toy.smi", "toy", Options())
    assert [graph.name for graph in graphs] == ["ethanol", "C", "hydrogen cyanide"]
    assert graphs[2].edge_labels == ("#",)


def test_names_behind_commas_and_a_header_of_another_name():
    text = b"canonical_smiles,name\nCCO,ethanol\nC 1,2-x\n"
    graphs = convert(text, ".smi", "toy.smi", "toy", Options())
    assert [graph.name for graph in graphs] == ["ethanol", "1,2-x"]


def test_invalid_lines_are_named_or_skipped_and_listed():
    text = b"C\nC1CC x\nCC\n"
    with pytest.raises(DatasetError, match=r"toy.smi, line 2: 'C1CC' is not a valid SMILES") as e:
        convert(text, ".smi", "toy.smi", "toy", Options())
    assert (e.value.policy, e.value.choices) == ("invalid_smiles", ("skip",))
    options = Options(policies=SKIP)
    assert len(convert(text, ".smi", "toy.smi", "toy", options)) == 2
    assert options.skipped[0].startswith("toy.smi, line 2: 'C1CC'")
    with pytest.raises(DatasetError, match="no molecule in it"):
        convert(b"# nothing\n", ".smi", "toy.smi", "toy", Options())


def test_structure_files():
    graphs = convert(sdf("CCO", "c1ccccc1"), ".sdf", "toy.sdf", "toy", Options())
    assert [graph.n_nodes for graph in graphs] == [3, 6]
    assert [graph.name for graph in graphs] == ["called CCO", "called c1ccccc1"]
    assert set(graphs[1].edge_labels) == {":"}
    added = convert(sdf("C"), ".sdf", "toy.sdf", "toy", Options(policies=Policies(hydrogens="add")))
    assert added[0].n_nodes == 5


@pytest.mark.parametrize("damage", [b"garbage\n$$$$\n", b"\n\n\n 99 99\n$$$$\n", b"M  END\n$$$$\n"])
def test_a_damaged_record_is_named_or_skipped_alone(damage: bytes):
    data = sdf("CC") + damage + sdf("CCC")
    with pytest.raises(DatasetError, match=r"toy.sdf, record 2: not a molecule"):
        convert(data, ".sdf", "toy.sdf", "toy", Options())
    options = Options(policies=SKIP)
    assert [graph.n_nodes for graph in convert(data, ".sdf", "toy.sdf", "toy", options)] == [2, 3]
    assert len(options.skipped) == 1
