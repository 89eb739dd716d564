"""Run folders: whatever a manifest, an index, targets or rows hold, it is read or refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.embedding import embed_into
from ddgk.errors import RunError
from ddgk.store import open_run
from ddgk.store.graphs import text_as_array
from ddgk.store.sealed import pack, seal_json, unpack, unseal_json
from degrees import DegreeEmbedder
from hostility import json_values, judged
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True, attributes=True) for seed in (1, 5, 8)]
INDEX, BENCHMARKS = "index/000000.safetensors", Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A finished run; copy it before changing it."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    embed_into(folder, DegreeEmbedder(), GRAPHS)
    return folder


def look(path: Path) -> None:
    """Read everything that a run holds."""
    run = open_run(path)
    damages = run.verify()
    assert len(run.names) == run.n_graphs
    assert 0 <= run.progress <= 1
    if not damages:
        assert run.rows().shape == (run.n_graphs, len(run.columns))


def check(finished: Path, name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "run")
        shutil.copytree(finished, copy)
        (copy / name).write_bytes(content)
        judged(look, copy)


@given(
    keys=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    value=json_values | st.sampled_from([2**26 - 1, 2**40, 10**12]),
)
@settings(max_examples=80)
def test_any_sealed_manifest(finished: Path, keys: list[int], value):
    tree = unseal_json("run", (finished / "manifest.json").read_bytes())
    holder, key = {"": tree}, ""
    for step in keys:
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner:
            break
        choices = list(inner) if isinstance(inner, dict) else range(len(inner))
        holder, key = inner, choices[step % len(choices)]
    holder[key] = value
    try:
        content = seal_json("run", tree)
    except ValueError:  # NaN, which no file of ours holds
        content = json.dumps(tree).encode()
    check(finished, "manifest.json", content)


@given(
    name=st.sampled_from(["manifest.json", INDEX, "rows/000000.safetensors", "run.log"]),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3),
    end=st.integers(0, 10**6),
)
@settings(max_examples=80)
def test_any_damage(finished: Path, name: str, changes, end: int):
    data = bytearray((finished / name).read_bytes())
    for at, value in changes:
        data[at % len(data)] = value
    check(finished, name, bytes(data[: end % (2 * len(data))]))


@pytest.mark.parametrize("names", [["a"], [1, 2, 3], {}, "abc", [["a"], None, None]], ids=str)
def test_an_index_with_other_names_and_true_checksums(finished: Path, names, tmp_path: Path):
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    context = f"{open_run(copy).manifest.key} {INDEX}"
    arrays, _ = unpack("index", (copy / INDEX).read_bytes(), context)
    content = pack("index", arrays | {"names": text_as_array(names)}, context=context)
    (copy / INDEX).write_bytes(content)
    manifest = unseal_json("run", (copy / "manifest.json").read_bytes())
    manifest["indices"][0] = hashlib.sha256(content).hexdigest()
    (copy / "manifest.json").write_bytes(seal_json("run", manifest))
    if names == "abc":
        assert open_run(copy).names == list("abc")  # text as a list of characters is that list
        return
    with pytest.raises(RunError, match="damaged"):
        open_run(copy)


@pytest.mark.slow
def test_a_short_attack_finds_nothing(tmp_path: Path):
    command = [sys.executable, str(BENCHMARKS / "attack.py"), "--flips", "4"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
