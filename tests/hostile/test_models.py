"""Model files: nothing in one is run, and none takes more memory than its own bytes."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import struct
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk import DDGK, Graph
from ddgk.errors import DDGKError, ModelFileError, ModelNotFoundError
from ddgk.store import load_model, save_parts
from ddgk.store.sealed import pack
from degrees import DegreeEmbedder
from hostility import json_values, judged, little_memory
from specimens import random_graph

HUGE = [10**9, 10**12, 10**18]
TENSORS, METADATA = DegreeEmbedder(
    [random_graph(seed, labels=True, attributes=True) for seed in (1, 5)]
).to_parts()


def build(path):
    return load_model(path, DegreeEmbedder.from_parts)


def load(data: bytes):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "toy.ddgk")
        path.write_bytes(data)
        return judged(build, path)


@given(key=st.sampled_from([*METADATA, "other"]), value=json_values | st.sampled_from(HUGE))
@settings(max_examples=100)
def test_any_metadata(key, value):
    try:
        data = pack("model", TENSORS, METADATA | {key: value})
    except ValueError:  # NaN, which no file of ours holds
        return
    load(data)


@given(
    which=st.integers(0, 100),
    kind=st.sampled_from(["f8", "f4", "f2", "i8", "i4", "u1", "?", "c8"]),
    shape=st.sampled_from([(0,), (10**12, 0), (0, 10**12), (3,), (3, 2), (1, 1, 1), ()])
    | st.none(),
    value=st.sampled_from([0, 1, -1, 7, 1e308, np.nan, np.inf]) | st.none(),
)
@settings(max_examples=200)
def test_any_array(which: int, kind: str, shape, value):
    name = sorted(TENSORS)[which % len(TENSORS)]
    with np.errstate(all="ignore"):
        new = np.zeros(shape, kind) if shape is not None else TENSORS[name].astype(kind)
        if value is not None and new.size:
            new.flat[0] = (
                np.nan_to_num(np.array(value)).astype(kind) if kind[0] not in "fc" else value
            )
    load(pack("model", TENSORS | {name: new}, METADATA))


@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4),
    end=st.integers(0, 10**6),
)
@settings(max_examples=150)
def test_any_damage(changes, end: int):
    data = bytearray(pack("model", TENSORS, METADATA))
    for at, value in changes:
        data[at % len(data)] = value
    load(bytes(data[: end % (2 * len(data))]))


@pytest.mark.parametrize(
    "more",
    [
        {"checkpoints": list(range(10**6))},
        {"checkpoints": [[]] * 10**6},
        {"deep": json.loads("[" * 500 + "]" * 500)},
        {"number": 10**30},
    ],
    ids=["a million numbers", "a million lists", "deep", "digits"],
)
def test_sealed_metadata_is_bounded_before_it_is_built(more):
    data = pack("model", TENSORS, METADATA | more)
    began = time.perf_counter()
    with little_memory(5 * len(data) + (8 << 20)):
        assert load(data) is None
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize(
    "error",
    [TypeError, AssertionError, RuntimeError, NotImplementedError, KeyError, RecursionError],
)
def test_whatever_building_raises_is_our_error(tmp_path, error):
    save_parts(tmp_path / "m.ddgk", TENSORS, METADATA | {"n_jobs": "x", "device": "cuda:99"})

    def fails(_tensors, metadata):
        raise error(metadata["device"])

    with pytest.raises(ModelFileError, match=rf"m\.ddgk.*{error.__name__}.*cuda:99"):
        load_model(tmp_path / "m.ddgk", fails)


@pytest.mark.parametrize(
    "forged",
    [{"n_jobs": "x"}, {"device": 7}, {"max_memory": "xx"}, {"n_sources": True}, {"engine": "jax"}],
    ids=str,
)
def test_parameters_of_a_sealed_model_are_checked(tmp_path, forged):
    path = tmp_path / "m.ddgk"
    DDGK(2, random_state=0).fit([Graph(2, [(0, 1)]), Graph(3, [(0, 1), (1, 2)])]).save(path)
    tensors, metadata = load_model(path, lambda *parts: parts)
    save_parts(path, tensors, metadata | {"parameters": metadata["parameters"] | forged})
    (name,) = forged
    with pytest.raises(ModelFileError, match=rf"m\.ddgk.*ParameterError: {name} must be"):
        DDGK.load(path)


def test_a_device_that_is_not_there_is_our_error(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "m.ddgk"
    graphs = [Graph(2, [(0, 1)]), Graph(3, [(0, 1), (1, 2)])]
    DDGK(2, random_state=0).fit(graphs).save(path)
    tensors, metadata = load_model(path, lambda *parts: parts)
    parameters = metadata["parameters"] | {"engine": "torch", "device": "cuda:99"}
    save_parts(path, tensors, metadata | {"parameters": parameters})
    with pytest.raises(DDGKError):
        DDGK.load(path).transform(graphs)


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
        {"__metadata__": {"ddgk": '{"kind": "model", "format": ' + "9" * 5000 + "}"}},
        {"__metadata__": {"ddgk": '{"kind": "model", "format": 1e999}'}},
        {"__metadata__": {"ddgk": '{"kind": "model", "format": true}'}},
        {"__metadata__": {"ddgk": '{"kind": "model", "format": NaN}'}},
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
    np.savez(archive, a=np.array([escape], dtype=object), allow_pickle=True)
    plain = pickle.dumps(escape)
    header = struct.pack("<Q", len(plain)) + plain
    return {"pickle": plain, "npy": array.getvalue(), "npz": archive.getvalue(), "header": header}


def test_pickles_are_refused_and_never_run(tmp_path: Path):
    trace = tmp_path / "trace"
    for name, data in pickles(trace).items():
        assert load(data) is None, name
        assert not trace.exists(), name
    pickle.loads(pickles(trace)["pickle"])
    assert trace.is_dir(), "the pickles of this test do run where they are read"


@pytest.mark.parametrize("old_format", [True, False])
def test_a_torch_file_is_refused_and_never_run(old_format: bool, tmp_path: Path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "model.safetensors"
    content = {"a": torch.zeros(3), "b": Escape(tmp_path / "trace")}
    torch.save(content, path, _use_new_zipfile_serialization=not old_format)
    assert judged(build, path) is None
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
        build(path)
    assert isinstance(caught.value, DDGKError)
    assert isinstance(caught.value, FileNotFoundError)


def test_every_part_is_needed():
    for name in METADATA:
        assert (
            load(pack("model", TENSORS, {k: v for k, v in METADATA.items() if k != name})) is None
        )
    changed = copy.deepcopy(METADATA) | {"n_powers": 101}
    assert load(pack("model", TENSORS, changed)) is None
    assert load(pack("model", TENSORS, [])) is None


def test_a_description_without_content_is_refused():
    for described in ({"kind": "model", "format": 1}, {"kind": "model"}, {}, [], None):
        text = json.dumps({"__metadata__": {"ddgk": json.dumps(described)}}).encode()
        assert load(struct.pack("<Q", len(text)) + text) is None
