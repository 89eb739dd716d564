"""A run of another configuration, engine, version or owner is refused, and nothing is touched."""

from __future__ import annotations

import numpy as np
import pytest

from ddgk import __version__
from ddgk.embedding import embed_into, train_into
from ddgk.errors import RunError
from ddgk.store import open_run
from ddgk.store.manifest import Manifest, read_manifest
from ddgk.store.sealed import seal_json
from degrees import DegreeEmbedder
from specimens import contents, random_graph


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (DegreeEmbedder(n_powers=4), "another configuration"),
        (DegreeEmbedder([random_graph(8, labels=True)]), "another configuration"),
        (DegreeEmbedder(dtype=np.dtype("float64")), "another configuration"),
        (DegreeEmbedder(engine_name="torch:cpu"), "begun with the engine fused, and this is torch"),
    ],
)
def test_another_configuration_is_refused_and_nothing_touched(example, finished, other, message):
    before = contents(finished)
    with pytest.raises(RunError, match=message):
        embed_into(finished, other, example.graphs)
    assert contents(finished) == before


def test_folders_of_others_are_left_alone(example, embedder, finished, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("mine")
    with pytest.raises(RunError, match=r"is not empty: it holds 'letter\.txt'; name a new folder"):
        embed_into(mine, embedder, example.graphs)
    with pytest.raises(RunError, match="is not empty"):
        train_into(mine, {}, lambda: embedder, DegreeEmbedder)
    (finished / "manifest.json").unlink()
    with pytest.raises(RunError, match=r"holds tiles, but no manifest\.json"):
        embed_into(finished, embedder, example.graphs)


def test_a_newer_format_is_named(finished, monkeypatch):
    content = (finished / "manifest.json").read_text()
    newer = content.replace('"format": 1', '"format": 9').replace(__version__, "99.1.0")
    (finished / "manifest.json").write_text(newer)
    with pytest.raises(RunError, match=r"written by ddgk 99\.1\.0 in format 9.*upgrade ddgk"):
        open_run(finished)
    monkeypatch.setattr("ddgk.store.sealed.FORMAT", 2)
    (finished / "manifest.json").write_text(content)
    with pytest.raises(RunError, match="in format 1, and this version reads 2; make it again"):
        open_run(finished)


def test_a_run_of_another_version_is_read_but_not_continued(
    example, embedder, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("ddgk.embedding.runs.__version__", "0.0.1")
        embed_into(tmp_path, embedder, example.graphs)
    np.testing.assert_array_equal(open_run(tmp_path).rows(), example.expected)
    embed_into(tmp_path, embedder, example.graphs)  # nothing is missing
    (tmp_path / "rows" / "000000.safetensors").unlink()
    with pytest.raises(RunError, match=r"begun by ddgk 0\.0\.1"):
        embed_into(tmp_path, embedder, example.graphs)


def test_the_key_of_a_run_covers_everything_that_is_fixed(finished):
    manifest = read_manifest(open_run(finished).folder)
    fixed = {name: value for name, value in vars(manifest).items() if name != "key"}
    for name in ("run", "created", "versions", "identity", "engine", "dtype", "columns"):
        changed = Manifest(**fixed | {name: fixed[name] and type(fixed[name])()})
        assert changed.key != manifest.key, name
    assert Manifest(**fixed | {"indices": ()}).key == manifest.key


def test_damaged_settings_are_named(embedder, tmp_path):
    train_into(tmp_path, {"a": 1}, lambda: embedder, DegreeEmbedder)
    path = tmp_path / "settings.json"
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    with pytest.raises(RunError, match=r"settings\.json is damaged"):
        train_into(tmp_path, {"a": 1}, lambda: embedder, DegreeEmbedder)
    path.write_bytes(seal_json("settings", {"a": 2, "c": 3}))
    with pytest.raises(RunError, match="a is 2 there and 1 here; c is set there"):
        train_into(tmp_path, {"a": 1}, lambda: embedder, DegreeEmbedder)
