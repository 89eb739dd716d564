"""Folders, archives and paths: what is no ordinary file is refused, and not waited for."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.attributes import normalised
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
attributes = st.sampled_from(["ignore", "keep", "shift"])


@given(changes=st.lists(spoiled, min_size=1, max_size=2), how=attributes)
@settings(max_examples=200)
def test_any_tu_folder(changes, how: str):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy")
        path.mkdir()
        for kind, text in (TOY | dict(changes)).items():
            (path / f"toy_{kind}.txt").write_text(text, encoding="utf-8", newline="")
        found = judged(lambda p: read_tu(p, attributes=how), path)
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
        judged(lambda p: read_tu(p, attributes="shift"), path)


@pytest.mark.parametrize("how", ["keep", "shift"])
def test_a_set_without_attributes_names_its_file(how: str, tmp_path: Path):
    for kind in ("A", "graph_indicator"):
        (tmp_path / f"toy_{kind}.txt").write_text(TOY[kind])
    with pytest.raises(DatasetError, match=r"toy_A\.txt: toy has no node attributes"):
        read_tu(tmp_path, attributes=how)


def test_attributes_too_far_apart_to_shift(tmp_path: Path):
    for kind, text in (TOY | {"node_attributes": "1e308\n-1e308\n0\n0\n"}).items():
        (tmp_path / f"toy_{kind}.txt").write_text(text)
    with pytest.raises(DatasetError, match="column 1 lie too far apart"):
        read_tu(tmp_path, attributes="shift")


def test_attributes_whose_sum_is_too_large_are_still_shares():
    rows = np.array([[1e308, 1e308, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    assert normalised(rows).tolist() == [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 0.0]]


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
