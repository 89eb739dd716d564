"""The page on hostile input is true: every test that it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = 20


def collect(names: list[str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0"]
    return subprocess.run([*words, *names], cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_fault_has_a_test_that_exists():
    page = (ROOT / "docs" / "design" / "hostile_input.md").read_text()
    faults = [line for line in page.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(line.split("|")[1]) for line in faults] == list(range(1, FAULTS + 1))
    named = [re.findall(r"`(tests/[^`]+::[^`]+)`", line) for line in faults]
    assert all(named)
    names = [name for found in named for name in found]
    done = collect(names)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(names) <= set(done.stdout.splitlines())


def test_a_name_of_no_test_is_noticed():
    assert collect(["tests/test_config.py::test_bad_values[none of them]"]).returncode != 0
