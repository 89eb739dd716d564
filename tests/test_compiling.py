"""A first use compiles what it needs, in several processes, and says how long it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

import pytest

from ddgk import compiling, warmup

FIRST_USE = """
import networkx as nx, ddgk
from ddgk.cli.doctor import _kernels, _modules
paths = [nx.path_graph(n) for n in range(3, 9)]
X = ddgk.DDGK(n_sources=2, random_state=0).fit_transform(paths)
ddgk.align(nx.cycle_graph(6), nx.star_graph(7))
ddgk.align(nx.path_graph(200), nx.path_graph(200))
paper = ddgk.Config.preset("paper").replace(checkpoints=2, encoder_epochs=2)
ddgk.DDGK(n_sources=2, config=paper, random_state=0).fit_transform(paths)
counts = [kernel.stats for name in _modules() for kernel in _kernels(name)]
print(sum(sum(count.cache_hits.values()) for count in counts) > 0)
print(sum(sum(count.cache_misses.values()) for count in counts))
"""


@pytest.mark.parametrize("name", compiling.PARTS)
def test_every_part_has_a_kernel_and_an_example(name):
    part = compiling.PARTS[name]
    kernel = getattr(import_module(part.module), part.kernel)
    assert kernel.signatures is not None
    assert name in warmup.EXAMPLES


def test_what_is_compiled_is_not_announced(capfd, monkeypatch):
    warmup.refinement()
    monkeypatch.setattr(compiling, "_ready", set())
    monkeypatch.setattr(compiling, "_compile", None)
    compiling.prepare("refinement")
    assert capfd.readouterr() == ("", "")


def test_a_part_that_fails_is_left_to_its_caller(monkeypatch):
    monkeypatch.setitem(compiling.PARTS, "nonsense", compiling.PARTS["refinement"])
    ticks = []
    compiling._compile(["nonsense"], 2, lambda: ticks.append(1))
    assert ticks


@pytest.mark.slow
def test_the_examples_compile_all_that_a_first_use_needs(tmp_path):
    """Processes of their own fill the cache; the next process then compiles nothing."""
    if compiling._cores() == 1:
        pytest.skip("one core compiles in the process itself")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    prepare = "from ddgk.compiling import PARTS, prepare; prepare(*PARTS)"

    def call(code: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", code]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=True)

    first, last = call(prepare).stderr.splitlines()
    assert first.startswith("ddgk: compiling for this computer, once; about ")
    assert last.startswith("ddgk: compiled in ")
    assert call(prepare).stderr == ""
    used = call(FIRST_USE)
    assert used.stderr == ""
    assert used.stdout.split() == ["True", "0"]
