"""The experiments use the public names of the library and nothing else."""

import ast
import inspect
from pathlib import Path

import pytest

import ddgk
import experiments

SUBMODULES = {"io", "kernels", "graphs", "errors", "plots"}
FOLDER = Path(inspect.getfile(experiments)).parent
FILES = sorted(FOLDER.rglob("*.py"))


def imports_of(path):
    """Yield (module, name or None) of every import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import"
            yield from ((node.module, alias.name) for alias in node.names)


def is_public(module, name):
    first, *rest = module.split(".")
    if first != "ddgk":
        return True
    if rest:
        return rest[0] in SUBMODULES and len(rest) == 1
    return name is None or name in {*ddgk.__all__, *SUBMODULES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_only_public_names_are_imported(path):
    refused = [
        f"{module}:{name}" for module, name in imports_of(path) if not is_public(module, name)
    ]
    assert refused == []


def test_private_names_are_noticed():
    assert not is_public("ddgk.engine.fused", "x")
    assert not is_public("ddgk", "estimator")
    assert not is_public("ddgk.graphs.validation", "frozen")
    assert is_public("ddgk.graphs", "Graph")
    assert is_public("numpy", None)


def test_there_are_files_to_read():
    assert len(FILES) > 20
