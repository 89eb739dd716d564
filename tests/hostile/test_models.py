"""Model files: nothing in one is run, and none takes more room than its own bytes say."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save

from ddgk import DDGK, Graph
from ddgk.errors import DDGKError, ModelFileError, ModelNotFoundError
from ddgk.store.models import seal
from hostility import json_values, judged, little_memory
from specimens import random_graph

HUGE = [10**9, 10**12, 10**18]


class Parts(tuple):
    """A description and arrays, shown by hypothesis as one word."""

    def __repr__(self) -> str:
        return "parts"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The description and the arrays of a valid model."""
    path = tmp_path_factory.mktemp("model") / "model.ddgk"
    graphs = [random_graph(seed, labels=True, attributes=True) for seed in (1, 5)]
    DDGK(n_sources=2, encoder_epochs=1, curve=(1, 3), random_state=0).fit(graphs).save(path)
    with safe_open(path, "numpy") as file:
        description = json.loads(file.metadata()["ddgk"])
    return Parts((description, load_file(path)))


def forged(description, arrays) -> bytes:
    """Write a model with a true checksum, whatever it describes."""
    if isinstance(description, dict):
        description = description | {"sha256": seal(description, arrays)}
    return save(arrays, {"ddgk": json.dumps(description)})


def load(data: bytes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy.ddgk")
        path.write_bytes(data)
        return judged(DDGK.load, path)


def replaced(tree, place: list[int], value):
    """Return a copy with the value somewhere in it; `place` chooses the way down."""
    tree = copy.deepcopy(tree)
    holder, key = {"top": tree}, "top"
    for step in place:
        inner = holder[key]
        keys = (
            list(inner)
            if isinstance(inner, dict)
            else range(len(inner))
            if isinstance(inner, list)
            else ()
        )
        if not keys:
            break
        holder, key = inner, keys[step % len(keys)]
    if key == "top":
        return value
    holder[key] = value
    return tree


@given(
    place=st.lists(st.integers(0, 40), min_size=1, max_size=4),
    value=json_values | st.sampled_from(HUGE),
)
@settings(max_examples=200)
def test_any_description(parts, place, value):
    description, arrays = parts
    load(forged(replaced(description, place, value), arrays))


@given(
    which=st.integers(0, 100),
    kind=st.sampled_from(["f8", "f4", "f2", "i8", "i4", "u1", "?", "c8"]),
    shape=st.sampled_from([(0,), (10**12, 0), (0, 10**12), (3,), (3, 2), (1, 1, 1), ()])
    | st.none(),
    value=st.sampled_from([0, 1, -1, 7, 1e308, np.nan, np.inf]) | st.none(),
)
@settings(max_examples=200)
def test_any_array(parts, which: int, kind: str, shape, value):
    description, arrays = parts
    name = sorted(arrays)[which % len(arrays)]
    old = arrays[name]
    with np.errstate(all="ignore"):
        new = np.zeros(shape, kind) if shape is not None else old.astype(kind)
        if value is not None and new.size:
            new.flat[0] = (
                np.nan_to_num(np.array(value)).astype(kind) if kind[0] not in "fc" else value
            )
    load(forged(description, arrays | {name: new}))


@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4),
    end=st.integers(0, 10**6),
)
@settings(max_examples=150)
def test_any_damage(parts, changes, end: int):
    data = bytearray(forged(*parts))
    for at, value in changes:
        data[at % len(data)] = value
    load(bytes(data[: end % (2 * len(data))]))


@pytest.mark.parametrize("name", ["depth", "dimension", "width", "window", "curve"])
@pytest.mark.parametrize("number", HUGE)
def test_a_number_in_the_description_reserves_nothing(parts, name: str, number: int):
    description, arrays = parts
    changed = copy.deepcopy(description)
    changed["method"][name] = number
    data = forged(changed, arrays)
    with little_memory():
        load(data)


@pytest.mark.parametrize("names", [None, []])
def test_an_array_without_bytes_is_no_huge_graph(parts, names):
    description, arrays = parts
    changed = copy.deepcopy(description)
    changed["sources"][0] |= {"node_names": names, "node_labels": None}
    empty = {name: np.empty((10**12, 0)) for name in ("0.order", "0.table")}
    data = forged(changed, arrays | {"0.order": empty["0.order"].astype(np.int64)} | empty)
    with little_memory():
        assert load(data) is None


def test_a_large_alphabet_takes_no_square():
    labels = [f"label {i}" for i in range(5000)]
    graphs = [Graph(2, [(0, 1)], node_labels=labels[i : i + 2]) for i in range(0, 5000, 2)]
    from ddgk.attributes import NodeLabels

    family = NodeLabels.learn(graphs)
    with little_memory():
        rows = family.unit_distributions(graphs[7], "error")
    assert rows.shape == (2, 5000)
    assert rows.sum() == 2


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}},
        {"a": {"dtype": "F64", "shape": [2**63, 2**63], "data_offsets": [0, 8]}},
        {
            "a": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
            "__metadata__": {"ddgk": "{}"},
        },
        {
            "a": {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]},
            "__metadata__": {"ddgk": ""},
        },
        {"__metadata__": {"ddgk": "[" * 100_000}},
        {"__metadata__": {"ddgk": '{"format": ' + "9" * 5000 + "}"}},
        {"__metadata__": {"ddgk": '{"format": 1e999}'}},
        {"__metadata__": {"ddgk": '{"format": true}'}},
        {"__metadata__": {"ddgk": '{"format": 0}'}},
    ],
)
def test_headers_that_promise_what_is_not_there(header):
    text = json.dumps(header).encode()
    content = b"\0" * 8 if "a" in header else b""
    with little_memory():
        assert load(struct.pack("<Q", len(text)) + text + content) is None


@pytest.mark.parametrize("length", [0, 1, 2**31, 2**40, 2**63, 2**64 - 1])
def test_a_length_that_is_not_true(length: int):
    with little_memory():
        assert load(struct.pack("<Q", length) + b"{}") is None


class Escape:
    """Leaves a trace where it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def pickles(trace: Path) -> dict[str, bytes]:
    """Return the ways in which others put a pickle into a model file."""
    escape = Escape(trace)
    array, archive = io.BytesIO(), io.BytesIO()
    np.save(array, np.array([escape], dtype=object), allow_pickle=True)
    np.savez(archive, baselines=np.array([escape], dtype=object), allow_pickle=True)
    plain = pickle.dumps(escape)
    found = {f"pickle {n}": pickle.dumps(escape, protocol=n) for n in range(6)}
    found |= {
        "npy": array.getvalue(),
        "npz": archive.getvalue(),
        "behind a length": struct.pack("<Q", len(plain)) + plain,
        "behind an empty header": struct.pack("<Q", 2) + b"{}" + plain,
        "as metadata": save({}, {"ddgk": plain.decode("latin-1")}),
    }
    return found


@pytest.mark.parametrize("suffix", [".ddgk", ".safetensors", ".pkl", ".npz", ".pt"])
def test_a_pickle_is_refused_and_never_run(suffix: str, tmp_path: Path):
    trace = tmp_path / "trace"
    for name, data in pickles(trace).items():
        path = tmp_path / f"model{suffix}"
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match="model"):
            DDGK.load(path)
        assert not trace.exists(), name
    pickle.loads(pickles(trace)["pickle 2"])
    assert trace.is_dir(), "the pickles of this test do run where they are read"


@pytest.mark.parametrize("old_format", [True, False])
def test_a_torch_file_is_refused_and_never_run(old_format: bool, tmp_path: Path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "model.safetensors"
    content = {"a": torch.zeros(3), "b": Escape(tmp_path / "trace")}
    torch.save(content, path, _use_new_zipfile_serialization=not old_format)
    assert judged(DDGK.load, path) is None
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("kind", ["folder", "fifo", "missing", "dangling", "device", "NUL", "long"])
def test_what_is_no_file(kind: str, tmp_path: Path):
    path: Path | str = tmp_path / "model.ddgk"
    if kind == "folder":
        Path(path).mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind in ("dangling", "device"):
        Path(path).symlink_to("nowhere" if kind == "dangling" else "/dev/zero")
    elif kind in ("NUL", "long"):
        path = "model\0" if kind == "NUL" else "m" * 5000
    with pytest.raises(ModelNotFoundError, match=r"there is no model file|without model") as caught:
        DDGK.load(path)
    assert isinstance(caught.value, DDGKError)
    assert isinstance(caught.value, FileNotFoundError)


def test_no_parameter_of_the_method_may_be_nested(parts):
    description, arrays = parts
    for name in description["method"]:
        changed = copy.deepcopy(description)
        changed["method"][name] = [[["auto"]]]
        assert load(forged(changed, arrays)) is None, name


def test_a_model_needs_sources(parts):
    description, arrays = parts
    nothing = {"baselines": arrays["baselines"][:0]}
    assert load(forged(description | {"sources": []}, nothing)) is None


def test_a_source_must_carry_what_the_model_reads(parts):
    description, arrays = parts
    without = {name: array for name, array in arrays.items() if name != "0.attributes"}
    assert load(forged(description, without)) is None
