"""A place of its own for every test: no network, no data of the user's, small graphs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import pytest
from typer.testing import CliRunner

from ddgk.cli import app


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, cut off from the network and from what is stored here."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("DDGK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DDGK_MIRROR", "http://127.0.0.1:9")
    monkeypatch.delenv("DDGK_DATA", raising=False)
    return work


@pytest.fixture
def run() -> Callable[..., Any]:
    """Run a command in this process, and check its exit code."""

    def invoke(*words: object, code: int = 0) -> Any:
        result = CliRunner().invoke(app, [str(word) for word in words], prog_name="ddgk")
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


@pytest.fixture
def fails(run: Callable[..., Any]) -> Callable[..., str]:
    """Run a command that must fail with one line, or a list under it, and return that."""

    def invoke(*words: object, code: int = 1) -> str:
        result = run(*words, code=code)
        line, *listed = result.stderr.splitlines()
        assert line.startswith("error: ")
        assert all(item.startswith("  ") for item in listed)
        return str(result.stderr).rstrip("\n")

    return invoke


@pytest.fixture
def rings(folder: Path) -> str:
    """A folder of four rings."""
    (folder / "rings").mkdir()
    for n in (4, 5, 6, 10):
        edges = "".join(f"{i} {(i + 1) % n}\n" for i in range(n))
        (folder / "rings" / f"ring-{n}.edges").write_text(edges)
    return "rings"


@pytest.fixture
def molecules(folder: Path) -> str:
    """A file of two graphs with labels of nodes and edges."""
    graphs = []
    for labels in ("CCO", "CON"):
        graph = networkx.path_graph(3)
        networkx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        networkx.set_edge_attributes(graph, {(0, 1): "-", (1, 2): "="}, "label")
        graphs.append(networkx.node_link_data(graph, edges="links"))
    (folder / "molecules.json").write_text(json.dumps(graphs))
    return "molecules.json"
