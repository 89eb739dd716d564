import json
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

QUICK = ("--encoder-epochs", "3", "--curve", "1,2", "--sources", "2")


@pytest.fixture
def finished(run, rings, monkeypatch):
    """A finished run."""
    monkeypatch.setattr("ddgk.tiling.MOST_ROWS", 8)
    run("embed", rings, "--run", "kept", *QUICK)
    return "kept"


def test_status_says_how_far_a_run_is(run, finished, folder):
    said = run("status", finished).stdout
    assert "1 of 1" in said
    assert "8 of 8" in said
    assert "yes" in said
    (folder / finished / "divergences" / "c.0.0.0").unlink()
    said = run("status", finished).stdout
    assert "0 of 1" in said
    assert "0% of the work" in said


def test_status_of_what_is_no_run(fails, folder):
    assert "not a run folder: it has no manifest.json" in fails("status", folder)
    (folder / "manifest.json").write_text(json.dumps({"format": 7, "versions": {"ddgk": "3.0"}}))
    assert "by ddgk 3.0, whose format 7 is newer than 3; upgrade ddgk" in fails("status", folder)


def test_verify_finds_a_flipped_byte_and_repair_mends_it(run, finished, folder, rings):
    assert "everything that is stored is whole" in run("status", "--verify", finished).stdout
    chunk = folder / finished / "divergences" / "c.0.0.0"
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    said = run("status", "--verify", finished, code=1).stderr
    assert "damaged: tile 0 (" in said
    assert "c.0.0.0) is damaged" in said
    assert chunk.exists()
    said = run("status", "--repair", finished).stderr
    assert "removed: divergences/c.0.0.0" in said
    run("embed", rings, "--run", finished, *QUICK)
    assert chunk.read_bytes() == whole
    assert "is whole" in run("status", "--verify", finished).stdout


def test_what_cannot_be_had_again_is_not_removed(run, finished, folder):
    index = folder / finished / "targets" / "000000.safetensors"
    content = bytearray(index.read_bytes())
    content[-1] ^= 1
    index.write_bytes(content)
    # Without the index nothing can be said of the run but that.
    assert "checksum" in run("status", "--repair", finished, code=1).stderr
    assert index.exists()


def test_the_same_command_again_returns_what_is_there(run, rings, folder):
    pytest.importorskip("pyarrow", reason="one of the files is Parquet (extra parquet)")
    for suffix in (".npy", ".csv", ".npz", ".parquet"):
        out = f"x{suffix}"
        words = ("embed", rings, "--run", "kept", "-o", out, *QUICK)
        said = run(*words).stdout
        assert said.startswith(f"{out}: 4 graphs x 1040 columns, in ")
        assert said.endswith("kept in kept\n")
        before = (folder / out).read_bytes()
        run(*words)
        assert (folder / out).read_bytes() == before
    run("embed", rings, "-o", "plain.npy", *QUICK)
    np.testing.assert_array_equal(np.load("x.npy"), np.load("plain.npy"))
    assert not list(folder.glob(".*"))


def test_another_table_is_not_overwritten(run, fails, rings, folder):
    (folder / "x.csv").write_text("mine")
    words = ("embed", rings, "--run", "kept", "-o", "x.csv", *QUICK)
    assert "x.csv exists and holds something else" in fails(*words)
    assert (folder / "x.csv").read_text() == "mine"
    run(*words, "--force")
    assert (folder / "x.csv").read_text().startswith("name,")
    assert not list(folder.glob(".*"))


def test_adding_to_a_run(run, fails, rings, folder):
    run("embed", rings, "--run", "kept", *QUICK)
    (folder / "new.edges").write_text("0 1\n1 2\n")
    said = fails("embed", "new.edges", "--run", "kept", *QUICK)
    assert "is a run of another configuration" in said
    run("embed", "new.edges", "--run", "kept", "--add", "-o", "new.npy")
    run("embed", rings, "--run", "kept", "--save-model", "m.ddgk", *QUICK)
    run("embed", "new.edges", "-o", "plain.npy", "--model", "m.ddgk")
    np.testing.assert_array_equal(np.load("new.npy"), np.load("plain.npy"))
    run("embed", "new.edges", "--run", "kept", "--model", "m.ddgk")  # it is there now
    (folder / "newer.edges").write_text("0 1\n1 2\n2 3\n2 4\n")
    said = fails("embed", "newer.edges", "--run", "kept", "--model", "m.ddgk")
    assert "is not among its 5" in said
    assert "--add" in said
    said = run("embed", "new.edges", "--run", "kept", "--add", "--seed", 1, code=2).stderr
    assert "--seed would fit a new model" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give a file with -o, or a folder with --run"),
        (("-o", "x.npy", "--add"), "--add is about a run"),
        (("-o", "x.npy", "--cluster", "tcp://a:1"), "--cluster is about a run"),
        (("-o", "x.npy", "--if-busy", "share"), "--if-busy is about a run"),
        (("--run", "kept", "--if-busy", "hurry"), "must be one of wait, share, fail"),
    ],
)
def test_options_that_do_not_go_together(run, rings, words, message):
    assert message in run("embed", rings, *words, code=2).stderr


def test_amounts_of_memory(run, fails, rings):
    run("embed", rings, "--run", "kept", "--max-memory", "2 MB", *QUICK)
    assert "such as '500MB'" in fails("embed", rings, "--run", "new", "--max-memory", "x", *QUICK)


def test_a_cluster_that_is_not_there(fails, rings, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("ddgk.cli.running.CONNECTING", 0.5)
    said = fails("embed", rings, "--run", "kept", "--cluster", "tcp://127.0.0.1:1", *QUICK)
    assert "no scheduler answers at tcp://127.0.0.1:1" in said


def test_a_cluster_needs_its_library(fails, rings, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = fails("embed", rings, "--run", "kept", "--cluster", "tcp://127.0.0.1:1", *QUICK)
    assert "pip install 'ddgk[cluster]'" in said


SLOWLY = """
import sys, time
from ddgk import tiling
tiling.MOST_ROWS = 8
tiling.WANTED_SECONDS = tiling.SHORTEST_SECONDS = 1e-9
from ddgk.embedding import tiles
values = tiles._values
def slowly(*arguments):
    time.sleep(0.2)
    return values(*arguments)
tiles._values = slowly
from ddgk.cli import main
sys.argv[0] = "ddgk"
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_says_what_is_kept_and_the_command_that_continues(folder, run):
    (folder / "my graphs").mkdir()
    for n in range(3, 83):
        edges = "".join(f"{i} {i + 1}\n" for i in range(n % 20 + 2)) + f"0 {n % 19 + 2}\n"
        (folder / "my graphs" / f"path-{n}.edges").write_text(edges + f"0 {n + 100}\n")
    words = ["embed", "my graphs", "--run", "kept", *QUICK]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "kept" / "run.log").exists():
        time.sleep(0.02)
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    output, errors = process.communicate(timeout=60)
    said = [line for line in errors.splitlines() if not line.startswith("ddgk: compiling")]
    assert time.monotonic() - began < 10  # a tile and a second, on a machine that may be busy
    assert (process.returncode, output) == (130, "")
    assert "tiles are kept in" in said[0]
    assert said[0].endswith("; to continue:")
    assert said[1:] == [shlex.join(["ddgk", *words]), "stopped"]
    kept = int(said[0].split()[0])
    assert kept == len(list((folder / "kept" / "divergences").glob("c.*"))) >= 1
    run(*shlex.split(said[1])[1:])
    assert "is whole" in run("status", "--verify", "kept").stdout
