from __future__ import annotations

import pickle

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ddgk.embedding import embed_graphs
from ddgk.errors import ModelFileError, ModelNotFoundError
from ddgk.store import load_model, save_parts
from ddgk.store.sealed import pack
from degrees import DegreeEmbedder
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True, attributes=True) for seed in (1, 5, 8, 9)]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.ddgk"
    model = DegreeEmbedder(GRAPHS[:2])
    save_parts(path, *model.to_parts())
    return path, model


def load(path):
    return load_model(path, DegreeEmbedder.from_parts)


def test_a_loaded_model_gives_the_same_bits(saved):
    path, model = saved
    loaded = load(path)
    np.testing.assert_array_equal(embed_graphs(loaded, GRAPHS), embed_graphs(model, GRAPHS))
    assert loaded.sources == model.sources
    assert loaded.identity == model.identity
    assert loaded.to_parts()[1] == model.to_parts()[1]


def test_every_flipped_byte_is_noticed_or_does_not_matter(saved):
    path, model = saved
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 0x15
        path.write_bytes(damaged)
        try:
            loaded = load(path)
        except ModelFileError:
            continue
        assert place < header  # what safetensors ignores, such as spaces
        assert loaded.identity == model.identity


def test_truncated_and_foreign_files(saved, tmp_path):
    content = saved[0].read_bytes()
    bad = tmp_path / "bad.ddgk"
    stumps = (b"", content[:7], content[:100], content[:-1], b"not a model", b"\xff" * 99)
    for damaged in (*stumps, pickle.dumps({"weights": [1, 2, 3]})):
        bad.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"bad\.ddgk"):
            load(bad)
    save_file({"a": np.zeros(2)}, bad)
    with pytest.raises(ModelFileError, match="not one of ddgk"):
        load(bad)
    bad.write_bytes(pack("rows", {"rows": np.zeros((2, 2))}))
    with pytest.raises(ModelFileError, match="not a ddgk model"):
        load(bad)
    with pytest.raises(ModelNotFoundError, match="no model file"):
        load(tmp_path / "missing.ddgk")


def test_a_newer_format_says_so(saved, monkeypatch):
    monkeypatch.setattr("ddgk.store.sealed.FORMAT", 0)
    with pytest.raises(ModelFileError, match="in format 1, and this version reads 0; upgrade"):
        load(saved[0])


def test_changed_numbers_are_refused(saved):
    path, _ = saved
    arrays = load_file(path)
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        metadata = file.metadata()
    arrays["source.edges"] = arrays["source.edges"][::-1].copy()
    save_file(arrays, path, metadata)
    with pytest.raises(ModelFileError, match="checksum"):
        load(path)


def test_metadata_must_be_plain(tmp_path):
    for metadata in ({"rate": float("nan")}, {"rate": float("inf")}, {"object": object()}):
        with pytest.raises((TypeError, ValueError)):
            save_parts(tmp_path / "m", {}, metadata)
    assert list(tmp_path.iterdir()) == []
