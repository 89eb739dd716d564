"""Disks fill up, files are damaged or forged: each is noticed and named."""

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

from ddgk.embedding import embed_into, train_into
from ddgk.errors import RunError, RunNotFoundError, TileError
from ddgk.store import open_run, save_parts
from ddgk.store.sealed import pack, seal_json, unpack, unseal_json
from degrees import DegreeEmbedder

TILE = "rows/000002.safetensors"


def flip(path, place=None):
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if place is None else place] ^= 0x10
    path.write_bytes(content)


def damaged(folder):
    return [(damage.name, damage.mendable) for damage in open_run(folder).verify()]


@pytest.mark.parametrize(
    "damage",
    [
        flip,
        lambda path: os.truncate(path, 40),
        lambda path: os.truncate(path, 7),
        # A tile of the same shape, of this run: the old format could not tell them apart.
        lambda path: shutil.copy(path.with_name("000001.safetensors"), path),
    ],
    ids=["flipped", "truncated", "stump", "copied"],
)
def test_a_damaged_tile_is_named_and_alone_computed_again(finished, example, embedder, damage):
    damage(finished / TILE)
    with pytest.raises(RunError, match=r"tile 2 \(.*000002.* is damaged.*ddgk status --repair"):
        embed_into(finished, embedder, example.graphs).rows()
    assert damaged(finished) == [(TILE, True)]
    others = {p: p.stat().st_mtime_ns for p in finished.glob("rows/*") if "02" not in p.name}
    open_run(finished).verify()[0].remove()
    found = embed_into(finished, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)
    assert all(path.stat().st_mtime_ns == time for path, time in others.items())
    assert damaged(finished) == []


def read_part(run, kind):
    """Read the targets or the rows of a run."""
    return run.graphs(0) if kind == "targets" else run.rows()


def test_a_tile_of_another_run_is_named(finished, example, embedder, tmp_path):
    embed_into(tmp_path / "other", embedder, example.graphs)
    for kind in ("rows", "targets", "index"):
        shutil.copytree(finished, tmp_path / kind)
        name = f"{kind}/000000.safetensors"
        shutil.copy(tmp_path / "other" / name, tmp_path / kind / name)
        with pytest.raises(RunError, match=f"{name} is damaged|{name}. is damaged"):
            read_part(open_run(tmp_path / kind), kind)


def test_every_flipped_byte_of_a_tile_is_found_or_does_not_matter(finished, example):
    path = finished / TILE
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in range(0, len(whole), 3):
        flip(path, place)
        found = damaged(finished)
        if found != [(TILE, True)]:  # a space that safetensors ignores
            assert place < header
            np.testing.assert_array_equal(open_run(finished).rows(), example.expected)
        path.write_bytes(whole)


def test_a_damaged_model_is_named_and_made_again(finished, example, embedder):
    flip(finished / "model.safetensors", -100)
    with pytest.raises(RunError, match=r"model\.safetensors is damaged.*makes it again"):
        embed_into(finished, embedder, example.graphs)
    np.testing.assert_array_equal(open_run(finished).rows(), example.expected)
    assert damaged(finished) == [("model.safetensors", True)]
    open_run(finished).verify()[0].remove()
    embed_into(finished, embedder, example.graphs)
    assert damaged(finished) == []
    assert embedder.computed == []


def test_another_model_in_the_folder_is_named(finished, example, embedder):
    other = DegreeEmbedder(n_powers=5)
    save_parts(finished / "model.safetensors", *other.to_parts())
    assert damaged(finished) == [("model.safetensors", True)]
    with pytest.raises(RunError, match="not the model of this run"):
        embed_into(finished, embedder, example.graphs)


def test_damaged_targets_are_named_and_kept_again(finished, example, embedder):
    flip(finished / "targets" / "000003.safetensors")
    (finished / "rows" / "000003.safetensors").unlink()
    with pytest.raises(TileError, match=r"000003\.safetensors is damaged: its checksum"):
        embed_into(finished, embedder, example.graphs)
    assert damaged(finished) == [("targets/000003.safetensors", True)]
    open_run(finished).verify()[0].remove()
    with pytest.raises(RunError, match="run the command that began the run"):
        embed_into(finished, embedder, example.graphs[:2])
    found = embed_into(finished, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)


def test_leftovers_are_found(finished):
    (finished / "targets" / ".writing-000001.safetensors.0123").write_bytes(b"half")
    (finished / "rows" / "000000.safetensors").write_bytes(b"")
    assert sorted(damaged(finished)) == [
        ("rows/000000.safetensors", True),
        ("targets/.writing-000001.safetensors.0123", True),
    ]


def forge(folder, change, *, seal=True):
    path = folder / "manifest.json"
    content = unseal_json("run", path.read_bytes())
    change(content)
    if seal:
        path.write_bytes(seal_json("run", content))
    else:
        values = json.loads(path.read_text())
        path.write_text(json.dumps(values | {"content": content}))


CHANGES = {
    "column": lambda m: m["columns"].__setitem__(0, "other"),
    "fewer columns": lambda m: m["columns"].pop(),
    "no columns": lambda m: m.update(columns=[]),
    "identity": lambda m: m.update(identity="0" * 64),
    "version": lambda m: m["versions"].update(ddgk="9.9"),
    "engine": lambda m: m.update(engine="torch:cpu"),
    "dtype": lambda m: m.update(dtype="float64"),
    "pickle": lambda m: m.update(dtype="object"),
    "created": lambda m: m.update(created="\x1b[31m"),
    "run": lambda m: m.update(run="1" * 16),
    "indices": lambda m: m.update(indices=5),
    "no index": lambda m: m.update(indices=[]),
    "an index twice": lambda m: m["indices"].append(m["indices"][0]),
    "a path": lambda m: m["indices"].__setitem__(0, "../../etc/passwd"),
    "a lost field": lambda m: m.pop("identity"),
}


@pytest.mark.parametrize("seal", [True, False], ids=["sealed", "unsealed"])
@pytest.mark.parametrize("change", CHANGES)
def test_changed_manifests_are_named(finished, example, embedder, change, seal):
    forge(finished, CHANGES[change], seal=seal)
    with pytest.raises(RunError, match=r"manifest\.json|index/000001"):
        open_run(finished)
    with pytest.raises(RunError):
        embed_into(finished, embedder, example.graphs)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 10**5, b"null", b"17"])
def test_manifests_that_are_none(finished, content):
    (finished / "manifest.json").write_bytes(content)
    with pytest.raises(RunError, match=r"manifest\.json is damaged"):
        open_run(finished)


def test_a_tile_forged_with_a_true_checksum_but_another_shape_is_named(finished):
    run = open_run(finished)
    context = run._context(2)
    for rows in (np.zeros((8, 5), np.float32), np.zeros((8, 4)), np.zeros((10**5, 0), np.float32)):
        (finished / TILE).write_bytes(pack("rows", {"rows": rows}, context=context))
        with pytest.raises(RunError, match=r"tile 2 .*is damaged: it holds"):
            open_run(finished).rows()
    assert unpack("rows", (finished / TILE).read_bytes(), context)[0]["rows"].shape == (10**5, 0)


FILES = [
    "manifest.json",
    "model.safetensors",
    "settings.json",
    "run.log",
    "run.lock",
    "rows",
    "targets",
    "index",
    "rows/000000.safetensors",
    "targets/000000.safetensors",
    "index/000000.safetensors",
]


@pytest.mark.parametrize("kind", ["folder", "dangling"])
@pytest.mark.parametrize("name", FILES)
def test_a_folder_or_a_dangling_link_in_place_of_a_file(example, embedder, tmp_path, name, kind):
    folder = tmp_path / "run"
    train_into(folder, {}, lambda: embedder, DegreeEmbedder)
    embed_into(folder, embedder, example.graphs)
    path = folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if name in ("rows", "targets", "index"):
        path.write_text("a file") if kind == "folder" else path.symlink_to("nowhere")
    else:
        path.mkdir() if kind == "folder" else path.symlink_to("nowhere")

    def everything():
        train_into(folder, {}, lambda: embedder, DegreeEmbedder)
        run = embed_into(folder, embedder, example.graphs)
        run.log()
        return run

    with pytest.raises((RunError, TileError), match=name.partition(".")[0]):
        raise RunError(str([damage.message for damage in everything().verify()]))


@pytest.mark.parametrize("kind", ["dangling", "file", "loop"])
def test_a_run_that_is_no_folder(example, embedder, tmp_path, kind):
    path = tmp_path / "run"
    if kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to("nowhere" if kind == "dangling" else "run")
    with pytest.raises((RunError, OSError), match="run") as caught:
        embed_into(path, embedder, example.graphs)
    assert kind == "loop" or isinstance(caught.value, RunError)
    with pytest.raises((RunError, RunNotFoundError)):
        open_run(path)


def test_a_run_below_a_file_is_named(example, embedder, tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(RunError, match=r"mine.run lies below a file"):
        embed_into(tmp_path / "mine" / "run", embedder, example.graphs)


def test_what_is_no_run_is_said(tmp_path):
    with pytest.raises(RunNotFoundError, match=r"not a run folder: it has no manifest\.json"):
        open_run(tmp_path)
    assert issubclass(RunNotFoundError, FileNotFoundError)


@contextmanager
def limited(n_bytes):
    """Let this process write no file beyond some bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_stops_the_run_and_loses_nothing(finished, example, embedder):
    tiles = sorted((finished / "rows").iterdir())
    for tile in tiles[2:]:
        tile.unlink()
    kept = {tile: tile.read_bytes() for tile in tiles[:2]}
    with limited(300), pytest.raises(TileError) as caught:
        embed_into(finished, embedder, example.graphs)
    assert os.strerror(errno.EFBIG) in str(caught.value)
    assert "rows/0000" in str(caught.value)
    assert "2 of 5 tiles are kept" in str(caught.value)
    assert {path: path.read_bytes() for path in (finished / "rows").iterdir()} == kept
    found = embed_into(finished, embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)


def test_a_disk_that_is_full_from_the_beginning(example, embedder, tmp_path):
    with limited(300), pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as caught:
        embed_into(tmp_path / "run", embedder, example.graphs)
    assert "model.safetensors" in str(caught.value)
    found = embed_into(tmp_path / "run", embedder, example.graphs).rows()
    np.testing.assert_array_equal(found, example.expected)


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
def test_a_folder_without_permission(finished, example, embedder):
    # Not pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o755)
        folder = Path(shutil.copytree(finished, Path(above) / "run"))
        tile = folder / "rows" / "000001.safetensors"
        content = tile.read_bytes()
        tile.unlink()
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        with (
            as_nobody(),
            pytest.raises(TileError, match=r"Permission denied.*4 of 5 tiles are kept"),
        ):
            embed_into(folder, embedder, example.graphs)
        with as_nobody(), pytest.raises(PermissionError, match="new"):
            embed_into(Path(above) / "new", embedder, example.graphs)
        os.chmod(tile.parent, 0o755)
        tile.write_bytes(content)
        os.chmod(tile.parent, 0o555)
        with as_nobody():  # a user who may read has what is finished
            found = embed_into(folder, embedder, example.graphs).rows()
        np.testing.assert_array_equal(found, example.expected)
        for path in [folder, *folder.rglob("*")]:
            os.chmod(path, 0o755)
