"""Data only ever climbs: a module imports from lower rows, never from its own or a higher one."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "ddgk"

ROWS = [
    ["compiling", "errors", "hashing"],
    ["graphs", "refinement"],
    ["datasets", "pieces", "symmetry"],
    ["relations"],
    ["attributes", "engine"],
    ["method", "reading"],
    ["encoder"],
    ["columns"],
    ["divergence", "tiling"],
    ["explanation", "store"],
    ["embedding"],
    ["kernel", "alignment", "transformer"],
    ["parameters", "sources"],
    ["estimator"],
    ["evaluation", "plots"],
    ["cli"],
]
ROW = {module: row for row, modules in enumerate(ROWS) for module in modules}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = [node.module or ""]
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("ddgk.")}
    return found & set(ROW)


FILES = sorted(p for p in SOURCE.rglob("*.py") if room(p) not in ("__init__", "__main__"))


def test_every_module_has_a_row():
    assert {room(path) for path in FILES} == set(ROW)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_only_climb(path):
    own = room(path)
    for other in imported_rooms(path) - {own}:
        assert ROW[other] < ROW[own], f"{own} (row {ROW[own]}) imports {other} (row {ROW[other]})"


def test_the_check_can_fail(tmp_path):
    stray = tmp_path / "stray.py"
    stray.write_text("from ddgk.estimator import DDGK\nfrom ddgk import plots\nimport ddgk.cli\n")
    assert imported_rooms(stray) == {"estimator", "plots", "cli"}


def test_importing_ddgk_is_light():
    """`import ddgk` and the graph type load none of the heavy libraries."""
    heavy = ["torch", "numba", "matplotlib", "sklearn", "networkx", "typer", "zarr", "pandas"]
    code = (
        "import sys, ddgk; from ddgk.graphs import Graph; dir(ddgk); "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_public_names_exist():
    import ddgk

    for name in ddgk.__all__:
        assert getattr(ddgk, name) is not None
    assert set(ddgk.__all__) <= set(dir(ddgk))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ddgk.nothing


def test_version_agrees_with_the_package():
    from importlib.metadata import version

    import ddgk

    assert ddgk.__version__ == version("ddgk")
