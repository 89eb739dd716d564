"""The guard of benchmarks/fuzz.py can fail: it hears everything an input must not do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

MISDEEDS = {
    "open": "open(outside / 'x', 'w')",
    "open to read": "open('/etc/hostname').read()",
    "os.mkdir": "(outside / 'made').mkdir()",
    "os.remove": "os.unlink(outside / 'kept')",
    "os.system": "os.system('true')",
    "subprocess.Popen": "subprocess.run(['true'])",
    "socket.connect": "socket.socket().connect(('127.0.0.1', 9))",
    "pickle.find_class": "pickle.loads(pickle.dumps(os.getcwd))",
    "exec": "exec(made)",
    "compile": "ast.literal_eval('[1]')",
    "warning": "warnings.warn('leaked')",
    "time": "[0 for _ in iter(int, 1)]",
    "memory": "len(bytearray(100 << 20).replace(bytes(1), bytes(1)))",
}
PROGRAM = """
import ast, os, pickle, socket, subprocess, sys, warnings
from pathlib import Path
sys.path.insert(0, {benchmarks!r})
from fuzzing.guard import Guard
outside = Path(sys.argv[1])
(outside / "input").mkdir()
(outside / "kept").touch()
made = compile("1 + 1", "input", "exec")
guard = Guard(outside / "input")
with guard.armed() as harmless:
    (outside / "input" / "own").write_text("fine")
with guard.armed() as complaints:
    try:
        {misdeed}
    except PermissionError:
        pass
print(harmless, complaints)
"""


@pytest.mark.parametrize("kind", MISDEEDS)
@pytest.mark.skipif(sys.platform != "linux", reason="the guard asks Linux about memory")
def test_the_guard_hears(kind: str, tmp_path: Path):
    code = PROGRAM.format(benchmarks=str(BENCHMARKS), misdeed=MISDEEDS[kind])
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(f"[] ['{kind.split()[0]}") or found.stdout.startswith(
        f'[] ["{kind.split()[0]}'
    ), found.stdout
    assert sorted(os.listdir(tmp_path)) == ["input", "kept"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the guard asks Linux about memory")
def test_a_short_run_finds_nothing(tmp_path: Path):
    command = [
        sys.executable,
        str(BENCHMARKS / "fuzz.py"),
        "--inputs",
        "1600",
        "--first",
        "10000000",
    ]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert " 0 failures" in found.stdout
