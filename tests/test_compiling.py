"""A first use says how long it takes, and processes may share what they compile."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ddgk import compiling
from ddgk.config import Config
from ddgk.encoder import train_encoders
from ddgk.engine import make_engine
from ddgk.engine.fused import products
from ddgk.graphs import Graph
from ddgk.targets import Encoding


@pytest.mark.parametrize("name", compiling.PARTS)
def test_every_part_has_a_kernel(name):
    part = compiling.PARTS[name]
    assert getattr(import_module(part.module), part.kernel).signatures is not None


def test_what_is_compiled_is_not_announced(capfd, monkeypatch):
    ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    train_encoders([ring], Encoding(), Config(encoder_epochs=1), make_engine(), 0)
    capfd.readouterr()
    monkeypatch.setattr(compiling, "_ready", set())
    compiling.prepare("encoders")
    assert capfd.readouterr() == ("", "")


def test_a_first_use_says_how_long_it_takes(capfd, monkeypatch):
    monkeypatch.setattr(compiling, "_ready", set())
    monkeypatch.setattr(compiling, "_is_compiled", lambda part: part.kernel == "train_group")
    compiling.prepare("encoders", "pairs")
    compiling.prepare("encoders")
    assert capfd.readouterr().err.count("compiling for this computer, once; about") == 1


def test_processes_do_not_overwrite_each_others_code(tmp_path):
    """Two processes that compile a kernel for different types at the same time get their own."""
    module = tmp_path / "shared_kernel.py"
    module.write_text(
        "from ddgk.compiling import kept\n\n\n@kept()\ndef double(x):\n    return x + x\n"
    )
    script = (
        "import sys, time, shared_kernel\n"
        "index = shared_kernel.double._cache._cache_file\n"
        "load = index._load_index\n"
        "def slow():\n"
        "    found = load()\n"
        "    time.sleep(2)  # the other process reads the same index meanwhile\n"
        "    return found\n"
        "index._load_index = slow\n"
        "value = eval(sys.argv[1])\n"
        "print(shared_kernel.double(value), shared_kernel.double(value))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])

    def start(value):
        command = [sys.executable, "-c", script, value]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    expected = {"21": "42 42", "0.5": "1.0 1.0"}
    for _ in range(2):  # compile, then load
        running = {value: start(value) for value in expected}
        for value, process in running.items():
            assert process.communicate(timeout=60)[0].strip() == expected[value]
    names = [file.name for file in (tmp_path / "cache").rglob("*.nbc")]
    assert len(names) == len(set(names)) >= 2


def test_kernels_are_told_apart_by_name():
    """Code that several processes compiled meets by name in the process that loads it."""

    def made(x):
        return x

    with pytest.raises(ValueError, match="__qualname__"):
        compiling.inner(made)
    names = [kernel.py_func.__qualname__ for kernel in vars(products).values() if is_kernel(kernel)]
    assert len(set(names)) == len(names) > 5


def is_kernel(value):
    return hasattr(value, "py_func") and value.py_func.__module__ == products.__name__


def test_kernels_of_another_version_are_compiled_anew(tmp_path, monkeypatch):
    """What is on disk may name a module that this version does not have."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "old_kernel.py").write_text(
        "from ddgk.compiling import kept\n\n\n@kept()\ndef double(x):\n    return x + x\n"
    )
    first = import_module("old_kernel").double
    assert first(2) == 4
    index = first._cache._cache_file
    place = Path(index._index_path)
    place.write_bytes(place.read_bytes().replace(b"numba.core.types", b"numba.gone.types"))
    del sys.modules["old_kernel"]
    again = import_module("old_kernel").double
    assert again(2) == 4


@pytest.mark.slow
def test_compiled_and_loaded_kernels_give_the_same_bits(tmp_path):
    """The process that compiles embeds as those that find the kernels on disk."""
    script = (
        "import hashlib, ddgk, networkx as nx, numpy as np\n"
        "def molecule(seed, n):\n"
        "    edges = list(nx.gnm_random_graph(n, n + n // 5, seed=seed).edges)\n"
        "    drawn = np.random.default_rng(seed).integers(0, 9, n + len(edges))\n"
        "    return ddgk.Graph(n, edges, node_labels=drawn[:n], edge_labels=drawn[n:] % 3)\n"
        "graphs = [molecule(seed, 8 + seed) for seed in range(30)]\n"
        "rows = ddgk.DDGK(random_state=0).fit_transform(graphs)\n"
        "print(hashlib.sha256(rows.tobytes()).hexdigest())\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    runs = [
        subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
