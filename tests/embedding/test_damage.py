"""Disks fill up, files rot, strangers write manifests: each is noticed and named."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import ddgk
from ddgk.errors import RunError, TileError
from ddgk.store.inspection import inspect

pytestmark = pytest.mark.usefixtures("small_tiles")


@pytest.fixture(scope="module")
def finished(example, tmp_path_factory):
    """A finished run, to be copied and damaged."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ddgk.tiling.WANTED_SECONDS", 1e-9)
        patch.setattr("ddgk.tiling.SHORTEST_SECONDS", 1e-9)
        example.model.transform(example.graphs, run=folder)
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


def flip(path, place=None):
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if place is None else place] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [flip, lambda path: os.truncate(path, 40), lambda path: os.truncate(path, 7)],
    ids=["flipped", "truncated", "stump"],
)
def test_a_damaged_chunk_is_named_and_alone_computed_again(copy, example, damage):
    damage(copy / "divergences" / "c.2.0.0")
    with pytest.raises(RunError, match=r"tile 2 \(.*c\.2\.0\.0\) is damaged.*ddgk status --repair"):
        example.model.transform(example.graphs, run=copy)
    untouched = example.model.transform(example.graphs[:0] or example.graphs, run=None)
    np.testing.assert_array_equal(untouched, example.expected)
    (found,) = inspect(ddgk.open_run(copy))
    assert (found.name, found.mendable) == ("divergences/c.2.0.0", True)
    others = {p: p.stat().st_mtime_ns for p in copy.glob("divergences/c.*") if ".2." not in p.name}
    found.remove()
    np.testing.assert_array_equal(
        example.model.transform(example.graphs, run=copy), example.expected
    )
    assert all(path.stat().st_mtime_ns == time for path, time in others.items())
    assert inspect(ddgk.open_run(copy)) == []


@pytest.mark.parametrize("place", range(0, 1200, 37))
def test_every_flipped_byte_of_a_chunk_is_found(copy, place):
    path = copy / "divergences" / "c.0.0.0"
    flip(path, place % path.stat().st_size)
    assert [damage.name for damage in inspect(ddgk.open_run(copy))] == ["divergences/c.0.0.0"]


def test_a_damaged_model_is_named_and_trained_again(copy, make, example):
    flip(copy / "model.safetensors", -100)
    (copy / "divergences" / "c.4.0.0").unlink()
    with pytest.raises(RunError, match=r"model\.safetensors is damaged .*trains it again"):
        make().fit_transform(example.graphs, run=copy)
    with pytest.raises(TileError, match=r"model\.safetensors is damaged .*4 of 5 tiles are kept"):
        example.model.transform(example.graphs, run=copy)
    (found,) = inspect(ddgk.open_run(copy))
    assert found.name == "model.safetensors"
    found.remove()
    np.testing.assert_array_equal(make().fit_transform(example.graphs, run=copy), example.expected)
    assert inspect(ddgk.open_run(copy)) == []


def test_another_model_in_the_folder_is_noticed(copy, make, example):
    make(random_state=5).fit(example.graphs).save(copy / "model.safetensors")
    (found,) = inspect(ddgk.open_run(copy))
    assert "not the model that this run began with" in found.message
    (copy / "divergences" / "c.0.0.0").unlink()
    with pytest.raises(TileError, match="not the model that this run began with"):
        example.model.transform(example.graphs, run=copy)


def test_damaged_graphs_are_named_and_packed_again(copy, make, example):
    flip(copy / "graphs" / "000003.safetensors")
    (copy / "divergences" / "c.3.0.0").unlink()
    with pytest.raises(TileError, match=r"000003\.safetensors is damaged: its checksum"):
        make().fit_transform(example.graphs, run=copy)
    (found,) = inspect(ddgk.open_run(copy))
    found.remove()
    with pytest.raises(RunError, match="run the command that began the run"):
        example.model.transform(example.graphs[:2], run=copy)
    np.testing.assert_array_equal(make().fit_transform(example.graphs, run=copy), example.expected)


def test_a_damaged_index_cannot_be_had_again(copy):
    flip(copy / "targets" / "000000.safetensors")
    (found,) = inspect(ddgk.open_run(copy))
    assert "checksum" in found.message
    assert not found.mendable


def test_leftovers_are_found(copy, example):
    (copy / "graphs" / ".writing-000001.safetensors.0123").write_bytes(b"half")
    (copy / "divergences" / "c.0.0.0").write_bytes(b"")
    found = {damage.name for damage in inspect(ddgk.open_run(copy))}
    assert found == {"graphs/.writing-000001.safetensors.0123", "divergences/c.0.0.0"}
    np.testing.assert_array_equal(
        example.model.transform(example.graphs, run=copy), example.expected
    )


def forge(copy, change):
    path = copy / "manifest.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.pop("tile"),
        lambda m: m["tile"].update(targets=0),
        lambda m: m["tile"].update(targets=2**40),
        lambda m: m["tile"].update(sources=99),
        lambda m: m["tile"].update(targets="8"),
        lambda m: m.update(batches=5),
        lambda m: m["batches"].append(m["batches"][0]),
        lambda m: m["batches"][0].update(n_rows=10**9),
        lambda m: m["batches"][0].update(n_graphs=2**25, n_rows=2**25),
        lambda m: m["batches"][0].update(n_graphs=50, n_rows=50),
        lambda m: m["batches"][0].update(sha256="../../etc/passwd"),
        lambda m: m.update(channels=[]),
        lambda m: m.update(columns=[]),
        lambda m: m.update(columns=["a"] * 1000),
        lambda m: m.update(steps=[-1]),
        lambda m: m.update(source_sizes=[5]),
        lambda m: m["identity"].update(sources=[]),
        lambda m: m.update(identity=[]),
        lambda m: m.update(format="1"),
        lambda m: m.update(format=True) or m.pop("run"),
        lambda m: m.update(engine={"name": "pickle", "device": "cpu"}),
        lambda m: m.update(versions=[]),
    ],
)
def test_forged_manifests_are_refused(copy, example, change):
    forge(copy, change)
    (copy / "divergences" / "c.0.0.0").unlink()
    with pytest.raises((RunError, TileError)):
        example.model.transform(example.graphs, run=copy)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 10**5, b"null", b"17"])
def test_manifests_that_are_none(copy, content):
    (copy / "manifest.json").write_bytes(content)
    with pytest.raises(RunError, match=r"manifest\.json is damaged"):
        ddgk.open_run(copy)


def test_a_changed_description_of_the_array_is_refused(copy):
    path = copy / "divergences" / "zarr.json"
    original = json.loads(path.read_text())
    for change in (
        {"codecs": [{"name": "numcodecs.pickle"}]},
        {"data_type": "object"},
        {"shape": [10**12, 3, 8, 2]},
        {"shape": [1, 3, 8, 2]},
        {"fill_value": 0.0},
    ):
        path.write_text(json.dumps(original | change))
        if change == {"shape": [10**12, 3, 8, 2]}:  # as if targets had been about to be added
            continue
        with pytest.raises(RunError, match=r"zarr\.json does not describe the grid of this run"):
            ddgk.open_run(copy).rows()
    path.write_text("{")
    with pytest.raises(RunError, match="damaged"):
        ddgk.open_run(copy).rows()


def test_a_chunk_that_would_unpack_to_gigabytes_is_refused(copy):
    path = copy / "divergences" / "c.0.0.0"
    content = bytearray(path.read_bytes())
    content[4:8] = (2**31 - 1).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"does not hold \d+ bytes"):
        ddgk.open_run(copy).rows()


def test_what_is_no_run_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"not a run folder: it has no manifest\.json"):
        ddgk.open_run(tmp_path)


@contextmanager
def limited(n_bytes):
    """Let this process write no file beyond so many bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_stops_the_run_and_loses_nothing(copy, make, example):
    chunks = sorted((copy / "divergences").glob("c.*"))
    for chunk in chunks[2:]:
        chunk.unlink()
    kept = {chunk: chunk.read_bytes() for chunk in chunks[:2]}
    with limited(500), pytest.raises(TileError) as caught:
        make().fit_transform(example.graphs, run=copy)
    assert os.strerror(errno.EFBIG) in str(caught.value)
    assert "divergences/c." in str(caught.value)
    assert "2 of 5 tiles are kept" in str(caught.value)
    assert {chunk: chunk.read_bytes() for chunk in kept} == kept
    assert sorted((copy / "divergences").glob("[c.]*")) == sorted(kept)
    np.testing.assert_array_equal(make().fit_transform(example.graphs, run=copy), example.expected)


def test_a_disk_that_is_full_from_the_beginning(make, example, tmp_path):
    with limited(500), pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as caught:
        make().fit_transform(example.graphs, run=tmp_path / "run")
    assert "model.safetensors" in str(caught.value)
    np.testing.assert_array_equal(
        make().fit_transform(example.graphs, run=tmp_path / "run"), example.expected
    )


@contextmanager
def as_nobody():
    """Be a user who may write nothing here; root may everything, so root becomes nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="there are no such users here")
def test_a_folder_without_permission(finished, example):
    # Not pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o755)
        folder = Path(shutil.copytree(finished, Path(above) / "run"))
        chunk = folder / "divergences" / "c.1.0.0"
        content = chunk.read_bytes()
        chunk.unlink()
        example.model.transform(example.graphs, run=folder)  # everything is imported after this
        chunk.unlink()
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        with (
            as_nobody(),
            pytest.raises(TileError, match=r"Permission denied.*4 of 5 tiles are kept"),
        ):
            example.model.transform(example.graphs, run=folder)
        with as_nobody(), pytest.raises(PermissionError, match="new"):
            example.model.transform(example.graphs, run=Path(above) / "new")
        os.chmod(chunk.parent, 0o755)
        chunk.write_bytes(content)
        os.chmod(chunk.parent, 0o555)
        with as_nobody():  # who may read can have what is finished
            found = example.model.transform(example.graphs, run=folder)
        np.testing.assert_array_equal(found, example.expected)
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o755)
