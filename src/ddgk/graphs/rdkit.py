"""Convert molecules: SMILES and RDKit molecules (extra ``chem``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ddgk.errors import GraphError, MissingExtraError, shown
from ddgk.graphs.edges import check_empty
from ddgk.graphs.foreign import require
from ddgk.graphs.graph import Graph, describe
from ddgk.graphs.policies import Policies, chosen_policies
from ddgk.graphs.validation import frozen

if TYPE_CHECKING:
    from rdkit import Chem

MAX_SMILES = 20_000
BONDS = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":", "QUADRUPLE": "$"}


def from_rdkit(
    molecule: Chem.Mol, *, name: str | None = None, policies: Policies | None = None
) -> Graph:
    """Convert an RDKit molecule.

    Atoms are labelled by element and formal charge ("C", "N+", "O-"), bonds by "-", "=", "#", ":"
    (aromatic), or the name of a rarer type. Hydrogens follow `Policies.hydrogens`.

    Parameters
    ----------
    molecule : rdkit.Chem.Mol
    name : str, optional
        Default: the molecule's property "_Name".
    policies : Policies, optional

    Examples
    --------
    >>> from rdkit import Chem
    >>> from ddgk.graphs import from_rdkit
    >>> acid = from_rdkit(Chem.MolFromSmiles("CC(=O)[O-]"))
    >>> acid.node_labels, acid.edge_labels
    (('C', 'C', 'O', 'O-'), ('-', '=', '-'))
    """
    policies = chosen_policies(policies)
    require(molecule, "rdkit", "Mol", "from_rdkit", name)
    if name is None and molecule.HasProp("_Name"):
        name = molecule.GetProp("_Name") or None
    check_empty(molecule.GetNumAtoms(), describe(name), policies)
    if policies.hydrogens == "add":
        molecule = load_chem().AddHs(molecule)
    # By index: RDKit's own sequences of atoms and bonds are several times slower.
    atoms = [molecule.GetAtomWithIdx(i) for i in range(molecule.GetNumAtoms())]
    bonds = {}
    for i in range(molecule.GetNumBonds()):
        bond = molecule.GetBondWithIdx(i)
        u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        bonds[min(u, v), max(u, v)] = bond.GetBondType().name
    ends = sorted(bonds)
    return Graph.from_checked(
        len(atoms),
        frozen(np.array(ends, dtype=np.int64).reshape(-1, 2)),
        node_labels=tuple(atom.GetSymbol() + _charge(atom.GetFormalCharge()) for atom in atoms),
        edge_labels=tuple(BONDS.get(bonds[pair], bonds[pair].lower()) for pair in ends),
        name=name,
    )


def from_smiles(smiles: str, *, name: str | None = None, policies: Policies | None = None) -> Graph:
    """Convert a SMILES text; its name is the text unless one is given.

    Parameters
    ----------
    smiles : str
    name : str, optional
    policies : Policies, optional

    Examples
    --------
    >>> from ddgk.graphs import Policies, from_smiles
    >>> from_smiles("CCO")
    Graph(n_nodes=3, n_edges=2, name='CCO', node_labels=2, edge_labels=1)
    >>> from_smiles("C", policies=Policies(hydrogens="add")).node_labels
    ('C', 'H', 'H', 'H', 'H')
    >>> from_smiles("C1CC")
    Traceback (most recent call last):
    ...
    ddgk.errors.GraphError: graph 'C1CC': 'C1CC' is not a valid SMILES (RDKit cannot parse it);
        correct it, or use Policies(invalid_smiles="skip")
    """
    text = smiles.strip()
    name = text if name is None else name
    return from_rdkit(_parsed(text, describe(name)), name=name, policies=policies)


def _parsed(text: str, who: str) -> Chem.Mol:
    """Return the molecule of a SMILES text, or raise a GraphError with RDKit's reason."""
    chem = load_chem()
    from rdkit import rdBase

    # RDKit accepts a name after the first blank, and the empty text as a molecule without atoms.
    if not text or any(char.isspace() for char in text):
        reason = "it is empty or has blanks"
    elif len(text) > MAX_SMILES or not text.isascii() or not text.isprintable():
        reason = f"it is longer than {MAX_SMILES} or not printable ASCII"
    else:
        with rdBase.BlockLogs():  # RDKit would write its complaints to the terminal
            molecule: Chem.Mol | None = chem.MolFromSmiles(text)
            if molecule is not None:
                return molecule
            raw = chem.MolFromSmiles(text, sanitize=False)
            problems = [] if raw is None else chem.DetectChemistryProblems(raw)
        reason = str(problems[0].Message()) if problems else "RDKit cannot parse it"
    raise GraphError(
        f"{who}: {shown(repr(text), 100)} is not a valid SMILES ({shown(reason, 100)})",
        advice="correct it",
        policy="invalid_smiles",
        choices=("skip",),
    )


def _charge(charge: int) -> str:
    """Write a formal charge as chemists do.

    >>> _charge(0), _charge(1), _charge(-2)
    ('', '+', '-2')
    """
    text = f"{charge:+}" if charge else ""
    return text[0] if abs(charge) == 1 else text


def load_chem() -> Any:
    """Return the module Chem of RDKit."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise MissingExtraError("molecules need RDKit; pip install 'ddgk[chem]'") from error
    return Chem
