"""The map of the paper is true: every equation is on it, every name on it exists."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def rows(text: str) -> list[tuple[str, str, str, str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


ROWS = rows((ROOT / "docs" / "paper_map.md").read_text())


def resolve(name: str):
    """Import the longest module of a dotted name, then take attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


def has_test(name: str) -> bool:
    path, _, function = name.partition("::")
    if not (ROOT / path).is_file():
        return False
    tree = ast.parse((ROOT / path).read_text())
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return not function or function in functions


def test_every_equation_is_on_the_map():
    listed = {row[0] for row in ROWS}
    assert {f"eq. {number}" for number in range(1, 14)} | {"algorithm 1"} <= listed


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]} {row[1][:20]}" for row in ROWS])
def test_every_name_on_the_map_exists(row):
    assert len(row) == 4
    _, _, function, test = row
    if function == "planned":
        assert test == "planned"
        return
    if ".engine.equations." in function:
        pytest.importorskip("torch", reason="the readable equations are written in torch")
    assert callable(resolve(function.strip("`")))
    assert has_test(test.strip("`"))


def test_the_check_can_fail():
    with pytest.raises(AttributeError):
        resolve("ddgk.kernels.nothing")
    assert not has_test("tests/test_kernels.py::test_nothing")
    assert not has_test("tests/test_nothing.py")


def test_notes_named_on_the_map_exist():
    text = (ROOT / "docs" / "paper_map.md").read_text()
    for note in re.findall(r"`(docs/[^`]+)`", text):
        assert (ROOT / note).is_file(), note
