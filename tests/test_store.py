from __future__ import annotations

import json
import os
import pickle
import stat

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ddgk import DDGK, Graph
from ddgk.errors import LabelError, ModelFileError
from ddgk.store import label_as_json, label_from_json, write_atomically
from specimens import random_graph

QUICK = {"n_sources": 3, "encoder_epochs": 20, "curve": (1, 5), "random_state": 0}
GRAPHS = [random_graph(seed, labels=True, attributes=True) for seed in (1, 5, 8, 9)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.ddgk"
    model = DDGK(**QUICK).fit(GRAPHS)
    model.save(path)
    return path, model


def rewritten(path, copy, *, change=None, arrays=None):
    """Write a copy with a changed description or changed arrays, as a forger would."""
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        description = json.loads(file.metadata()["ddgk"])
    if change is not None:
        change(description)
    save_file(load_file(path) | (arrays or {}), copy, {"ddgk": json.dumps(description)})
    return copy


def test_a_loaded_model_transforms_to_the_same_bits(saved):
    path, model = saved
    loaded = DDGK.load(path)
    np.testing.assert_array_equal(loaded.transform(GRAPHS), model.transform(GRAPHS))
    assert loaded.method_ == model.method_
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    assert [g.name for g in loaded.sources_] == [g.name for g in model.sources_]
    assert loaded.sources_ == model.sources_


@pytest.mark.parametrize(
    "settings",
    [
        {"precision": "float64"},
        {"preset": "paper", "curve": (3,)},
        {"baseline": "target", "symmetric": True, "start": "glorot"},
        {"families": ("edge_labels",), "coefficients": {"edge_labels": 0.5}},
        {"relation": "closeness", "reduction": "both", "width": 5},
        {"relation": ["edge_to_nodes", "neighborhood", "node_to_edges"], "attention_size": 2},
        {"sampled_above": 3, "samples": 8, "encoder_drop": 0.2, "encoder_patience": 5},
    ],
    ids=str,
)
def test_every_kind_of_model_round_trips(tmp_path, settings):
    model = DDGK(**{**QUICK, **settings}).fit(GRAPHS)
    model.save(tmp_path / "m.ddgk")
    loaded = DDGK.load(tmp_path / "m.ddgk")
    np.testing.assert_array_equal(loaded.transform(GRAPHS), model.transform(GRAPHS))
    refitted = DDGK(**{**loaded.get_params(), "random_state": 0}).fit(GRAPHS)
    np.testing.assert_array_equal(refitted.transform(GRAPHS), model.transform(GRAPHS))


def test_labels_and_names_of_many_kinds_round_trip(tmp_path):
    labels = [("C", 4), "C", 6, None, frozenset({1, "x"}), 1.5, True, b"\x00"]
    graph = Graph(8, [(0, 1)], node_labels=labels, node_names=[f"n{i}" for i in range(8)])
    model = DDGK(**QUICK).fit([graph, GRAPHS[0].replace(edge_labels=None, node_attributes=None)])
    model.save(tmp_path / "m.ddgk")
    assert DDGK.load(tmp_path / "m.ddgk").sources_[0].node_labels == graph.node_labels
    for label in labels:
        assert label_from_json(json.loads(json.dumps(label_as_json(label, "x")))) == label


def test_a_label_that_no_file_can_hold(tmp_path):
    graphs = [Graph(2, [(0, 1)], node_labels=[object(), 1], name="odd")]
    with pytest.raises(LabelError, match="which a model file cannot hold; use text"):
        DDGK(**QUICK).fit(graphs).save(tmp_path / "m.ddgk")
    assert list(tmp_path.iterdir()) == []


def test_every_flipped_byte_is_noticed(saved, tmp_path):
    path, model = saved
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(content[:8], "little")
    places = [*rng.integers(header, len(content), 20), *rng.integers(0, header, 40)]
    expected = model.transform(GRAPHS[:1])
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 0x15
        (tmp_path / "m.ddgk").write_bytes(damaged)
        try:
            loaded = DDGK.load(tmp_path / "m.ddgk")
        except ModelFileError:
            continue
        # What safetensors itself ignores may pass, such as spaces; nothing that counts.
        assert place < header
        np.testing.assert_array_equal(loaded.transform(GRAPHS[:1]), expected)


def test_truncated_foreign_and_hostile_files(saved, tmp_path):
    path, _ = saved
    content = path.read_bytes()
    bad = tmp_path / "bad.ddgk"
    for damaged in (
        b"",
        content[:7],
        content[:100],
        content[:-1],
        b"not a model at all",
        b"\xff" * 99,
    ):
        bad.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"bad\.ddgk"):
            DDGK.load(bad)
    bad.write_bytes(pickle.dumps({"weights": [1, 2, 3]}))
    with pytest.raises(ModelFileError):
        DDGK.load(bad)
    save_file({"a": np.zeros(2)}, bad)
    with pytest.raises(ModelFileError, match="not a ddgk model"):
        DDGK.load(bad)
    with pytest.raises(FileNotFoundError, match="no model file"):
        DDGK.load(tmp_path / "missing.ddgk")


def test_a_newer_format_says_so(saved, tmp_path):
    copy = rewritten(saved[0], tmp_path / "m", change=lambda d: d.update(format=99))
    with pytest.raises(ModelFileError, match="format 99 is newer than 1; upgrade ddgk"):
        DDGK.load(copy)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("method"),
        lambda d: d.pop("sources"),
        lambda d: d["sources"].pop(),
        lambda d: d["method"].update(dimension=7),
        lambda d: d["method"].update(surprise=1),
        lambda d: d["families"].pop(),
        lambda d: d["families"][0].update(name="colours"),
        lambda d: d["sources"][0].update(node_labels=[{"tuple": 5}]),
        lambda d: d["sources"][0].update(node_labels=[[]]),
        lambda d: d.update(sources=5),
        lambda d: d.update(parameters=5),
        lambda d: d.update(format="1"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(saved, tmp_path, change):
    with pytest.raises(ModelFileError):
        DDGK.load(rewritten(saved[0], tmp_path / "m", change=change))


def test_changed_numbers_are_refused(saved, tmp_path):
    table = load_file(saved[0])["0.table"].copy()
    table[0, 0] += 1
    with pytest.raises(ModelFileError, match="checksum"):
        DDGK.load(rewritten(saved[0], tmp_path / "m", arrays={"0.table": table}))


def test_writing_is_atomic(tmp_path, monkeypatch):
    target = tmp_path / "file"
    write_atomically(target, b"first")

    def fails(_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        write_atomically(target, b"second")
    assert target.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) & 0o400
