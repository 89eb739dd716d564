"""Folders, archives and paths: what is no ordinary file is refused, and not waited for."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import DatasetError, DDGKError
from ddgk.io import read, read_tu
from hostility import judged, spliced

TOY = {
    "A": "1, 2\n2, 1\n3, 4\n",
    "graph_indicator": "1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0, 1\n1, 1\n0, 2\n1, 1\n",
    "edge_labels": "0\n0\n2\n",
    "node_attributes": "0.5, -1\n1, 0\n2, 3\n0, 1e1\n",
}
kinds = st.sampled_from(list(TOY))
spoiled = kinds.flatmap(lambda kind: st.tuples(st.just(kind), spliced(TOY[kind], "1\n" * 99)))


@given(changes=st.lists(spoiled, min_size=1, max_size=2))
@settings(max_examples=200)
def test_any_tu_folder(changes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy")
        path.mkdir()
        for kind, text in (TOY | dict(changes)).items():
            (path / f"toy_{kind}.txt").write_text(text, encoding="utf-8", newline="")
        found = judged(read_tu, path)
    if found is not None:
        assert all(graph.n_nodes for graph in found.graphs)
        assert found.classes is None or len(found.classes) == len(found.graphs)


@given(
    changes=st.lists(spoiled, max_size=1),
    names=st.dictionaries(
        kinds,
        st.sampled_from(
            ["../x_A.txt", "/x_A.txt", "a\\b", "C:x", "y" * 60_000 + "_A.txt", "t/", ""]
        ),
        max_size=1,
    ),
    mode=st.sampled_from([0, 0, 0o120777, 0o040755, 0o010644]),
    flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3),
)
@settings(max_examples=150)
def test_any_tu_archive(changes, names, mode: int, flips):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, text in (TOY | dict(changes)).items():
            entry = zipfile.ZipInfo(names.get(kind, f"toy/toy_{kind}.txt"))
            entry.external_attr = mode << 16
            archive.writestr(entry, text)
    data = bytearray(buffer.getvalue())
    for at, value in flips:
        data[at % len(data)] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy.zip")
        path.write_bytes(data)
        judged(read_tu, path)


def test_far_apart_attributes_are_read_as_they_are(tmp_path: Path):
    for kind, text in (TOY | {"node_attributes": "1e308\n-1e308\n0\n0\n"}).items():
        (tmp_path / f"toy_{kind}.txt").write_text(text)
    first, second = read_tu(tmp_path).graphs
    assert first.node_attributes.tolist() == [[1e308], [-1e308]]
    assert second.node_attributes.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(
    "text", ["inf\n0\n0\n0\n", "1e999\n0\n0\n0\n", "1\n2\n", "1, 2\n1\n0\n0\n"]
)
def test_attributes_that_are_no_table_of_numbers(text: str, tmp_path: Path):
    for kind, content in (TOY | {"node_attributes": text}).items():
        (tmp_path / f"toy_{kind}.txt").write_text(content)
    with pytest.raises(DatasetError, match="toy_node_attributes"):
        read_tu(tmp_path)


@pytest.mark.parametrize("name", ["toy.gml", "toy.json", "toy_A.txt", "toy.zip"])
@pytest.mark.parametrize("inside", [True, False], ids=["in a folder", "by itself"])
@pytest.mark.parametrize("kind", ["fifo", "folder", "dangling", "loop", "device"])
def test_what_is_no_file(kind: str, inside: bool, name: str, tmp_path: Path):
    path = tmp_path / "sub" / name
    path.parent.mkdir()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        target = {"dangling": "nowhere", "loop": name, "device": "/dev/zero"}[kind]
        path.symlink_to(target)
    assert judged(read, path.parent if inside else path) is None


def test_a_link_to_a_file_elsewhere_is_read_as_that_file(tmp_path: Path):
    """Reading follows links, as every reader does; only archives may not bring their own."""
    (tmp_path / "real.edges").write_text("0 1\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link.edges").symlink_to("../real.edges")
    assert read(tmp_path / "sub").graphs[0].n_edges == 1


@pytest.mark.parametrize(
    "text",
    ["a\0b", "a\0/*", "*\0", "x\0.gml", "[\0]/*.gml", "a" * 5000, "a" * 5000 + "*.gml", "", "*"],
)
def test_paths_that_no_system_has(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DDGKError):
        read(text)


def test_an_empty_file_of_every_ending(tmp_path: Path):
    for ending in ("gml", "graphml", "json", "edges", "zip"):
        path = tmp_path / f"toy.{ending}"
        path.write_bytes(b"")
        assert judged(read, path) is None


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(DatasetError, match=r"cannot be read \(Permission denied\)"):
        read(tmp_path)
