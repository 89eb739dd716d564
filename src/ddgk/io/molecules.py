"""Read molecules: SMILES files (.smi, .smiles) and structure files (.sdf); extra ``chem``."""

from __future__ import annotations

import io
from collections.abc import Iterable

from ddgk.errors import DatasetError, GraphError, MissingExtraError, shown
from ddgk.graphs import Graph, from_rdkit, from_smiles
from ddgk.io.options import Options, decode


def read_smiles(data: bytes, where: str, name: str, options: Options) -> list[Graph]:  # noqa: ARG001
    """SMILES: a molecule per line, and after a blank its name; a header and # lines are skipped."""
    rows: list[tuple[int, str, str]] = []
    for number, line in enumerate(decode(data, where).splitlines(), start=1):
        smiles, _, label = line.strip().partition("\t" if "\t" in line else " ")
        if not smiles or smiles.startswith("#") or (not rows and smiles.casefold() == "smiles"):
            continue
        rows.append((number, smiles, label.strip()))
    return molecules(rows, where, options)


def read_sdf(data: bytes, where: str, name: str, options: Options) -> list[Graph]:
    """SDF: molecules with their own names; read by RDKit."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtraError(
            f"{where}: molecules need RDKit; pip install 'ddgk[chem]'"
        ) from error

    graphs = []
    skip = options.policies.invalid_smiles == "skip"
    with rdBase.BlockLogs():
        # One record at a time: a damaged one must not take the next with it.
        records = decode(data, where).replace("\r\n", "\n").split("$$$$\n")
        for position, record in enumerate(records):
            if not record.strip():
                continue
            supplier = Chem.ForwardSDMolSupplier(io.BytesIO(record.encode() + b"$$$$\n"))
            molecule = next(iter(supplier), None)
            if molecule is None:
                problem = f"{where}, record {position + 1}: not a molecule that RDKit can read"
                if not skip:
                    raise DatasetError(
                        problem,
                        advice="correct it",
                        policy="invalid_smiles",
                        choices=("skip",),
                    )
                options.skipped.append(problem)
                continue
            own = molecule.GetProp("_Name") if molecule.HasProp("_Name") else ""
            label = shown(own.strip()) or f"{name}-{position}"
            graphs.append(from_rdkit(molecule, name=label, policies=options.policies))
    if not graphs:
        raise DatasetError(f"{where}: no molecule in it")
    return graphs


def molecules(rows: Iterable[tuple[int, str, str]], where: str, options: Options) -> list[Graph]:
    """Convert rows of (line, SMILES, name or ""); without a name, the SMILES is the name.

    Invalid SMILES follow the policy.
    """
    graphs = []
    for line, smiles, label in rows:
        try:
            graphs.append(
                from_smiles(smiles, name=shown(label or smiles), policies=options.policies)
            )
        except GraphError as error:
            problem = f"{where}, line {line}: " + error.problem.partition(": ")[2]
            if error.policy != "invalid_smiles" or options.policies.invalid_smiles != "skip":
                raise error.of_file(problem) from error
            options.skipped.append(problem)
    if not graphs:
        raise DatasetError(f"{where}: no molecule in it")
    return graphs
