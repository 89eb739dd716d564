"""Run folders: whatever a manifest, an index or packed graphs say, it is read or refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

import ddgk
from ddgk import DDGK
from ddgk.errors import RunError, RunNotFoundError
from ddgk.store.graphs import pack_graphs, unpack_graphs
from ddgk.store.inspection import inspect
from hostility import json_values, judged, little_memory
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True, attributes=True) for seed in (1, 5, 8)]
INDEX = "targets/000000.safetensors"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A finished run; copy it before changing it."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    model = DDGK(n_sources=2, encoder_epochs=1, curve=(1, 2), random_state=0)
    model.fit_transform(GRAPHS, run=folder)
    return folder


def look(path: Path) -> None:
    """Read everything that a run holds."""
    run = ddgk.open_run(path)
    inspect(run)
    assert run.rows().shape == (run.n_graphs, len(run.columns))
    assert len(run.names) == run.n_graphs
    assert 0 <= run.share <= 1


def check(finished: Path, name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "run")
        shutil.copytree(finished, copy)
        (copy / name).write_bytes(content)
        judged(look, copy)


@given(
    keys=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    value=json_values | st.sampled_from([2**26 - 1, 2**26, 10**12]),
    name=st.sampled_from(["manifest.json", "manifest.json", "divergences/zarr.json"]),
)
@settings(max_examples=80)
def test_any_description(finished: Path, keys: list[int], value, name: str):
    tree = json.loads((finished / name).read_text())
    holder, key = {"": tree}, ""
    for step in keys:
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner:
            break
        choices = list(inner) if isinstance(inner, dict) else range(len(inner))
        holder, key = inner, choices[step % len(choices)]
    holder[key] = value
    check(finished, name, json.dumps(tree).encode())


@given(
    name=st.sampled_from(["manifest.json", INDEX, "divergences/c.0.0.0", "run.log"]),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3),
    end=st.integers(0, 10**6),
)
@settings(max_examples=80)
def test_any_damage(finished: Path, name: str, changes, end: int):
    data = bytearray((finished / name).read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    check(finished, name, bytes(data[: end % (2 * len(data))]))


@pytest.mark.parametrize("names", ["[" * 5000, "[" * 980 + "]" * 980, "{}", "5", '["a"]', "\0"])
def test_an_index_with_other_names_and_a_true_hash(finished: Path, names: str, tmp_path: Path):
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    arrays = load((copy / INDEX).read_bytes())
    content = save(arrays | {"names": np.frombuffer(names.encode(), dtype=np.uint8)})
    (copy / INDEX).write_bytes(content)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["batches"][0]["sha256"] = hashlib.sha256(content).hexdigest()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="damaged"):
        ddgk.open_run(copy).rows()


@pytest.mark.parametrize("kind", ["nodes", "n_edges", "edges", "places", "node_labels"])
def test_packed_graphs_by_the_shape_of_nothing(kind: str):
    content = pack_graphs(GRAPHS, range(3), ("node_labels", "edge_labels"))
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    arrays = load(content) | {kind: np.empty((5 * 10**7, 0), dtype=np.int64)}
    if kind == "nodes":
        arrays["n_edges"] = arrays["nodes"]
    with little_memory(), pytest.raises(RunError, match=r"toy is damaged"):
        unpack_graphs(save(arrays, header["__metadata__"]), "toy")


def test_many_packed_graphs_of_many_nodes_and_nothing_else():
    content = pack_graphs([random_graph(1).replace(edges=[])] * 3, range(3), ())
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    arrays = load(content) | {"nodes": np.full(3, 1 << 22)}
    with little_memory(), pytest.raises(RunError, match="graphs are said to have 4194304"):
        unpack_graphs(save(arrays, header["__metadata__"]), "toy")


def test_a_run_of_no_graphs_has_no_rows(finished: Path, tmp_path: Path):
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps(manifest | {"batches": []}))
    run = ddgk.open_run(copy)
    assert run.rows().shape == (0, len(run.columns))


def test_a_manifest_without_the_hash_of_its_encoders(finished: Path, tmp_path: Path):
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["identity"]["encoders"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match=r"manifest\.json is damaged: KeyError"):
        ddgk.open_run(copy)


def test_a_grid_of_more_rows_than_numbers_can_count(finished: Path, tmp_path: Path):
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    grid = json.loads((copy / "divergences" / "zarr.json").read_text())
    grid["shape"][0] = 10**400
    (copy / "divergences" / "zarr.json").write_text(json.dumps(grid))
    with pytest.raises(RunError, match="does not describe the grid of this run"):
        ddgk.open_run(copy).rows()


def test_no_run_is_one_of_our_errors_and_the_builtin(tmp_path: Path):
    with pytest.raises(RunNotFoundError, match="not a run folder"):
        ddgk.open_run(tmp_path)
    assert issubclass(RunNotFoundError, FileNotFoundError)
