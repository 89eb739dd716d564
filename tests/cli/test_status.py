import shlex
import sys

import pytest

from ddgk.cli import embed
from ddgk.embedding import RunStopped, embed_into
from ddgk.embedding.runs import _versions
from ddgk.store import open_run
from degrees import DegreeEmbedder
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True) for seed in range(20)]


@pytest.fixture
def finished(folder):
    """A finished run of three tiles."""
    embed_into(folder / "kept", DegreeEmbedder(), GRAPHS)
    return "kept"


def test_status_says_how_far_a_run_is(run, finished, folder):
    said = run("status", finished).stdout
    assert "3 of 3" in said
    assert "20, 20 of them different, 20 finished" in said
    assert "4 of float32" in said
    (folder / finished / "rows" / "000000.safetensors").unlink()
    said = run("status", finished).stdout
    assert "2 of 3" in said
    assert "% of the work" in said


def test_status_of_what_is_no_run(fails, folder, finished):
    assert "not a run folder: it has no manifest.json" in fails("status", folder)
    path = folder / finished / "manifest.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 7'))
    assert "format 7, and this version reads 1; upgrade ddgk" in fails("status", finished)


def test_verify_finds_a_flipped_byte_and_repair_mends_it(run, finished, folder):
    assert "everything that is stored is whole" in run("status", "--verify", finished).stdout
    tile = folder / finished / "rows" / "000000.safetensors"
    whole = tile.read_bytes()
    tile.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    said = run("status", "--verify", finished, code=1).stderr
    assert "damaged: tile 0 (" in said
    assert "000000.safetensors) is damaged" in said
    assert tile.exists()
    said = run("status", "--repair", finished).stderr
    assert "removed: rows/000000.safetensors" in said
    embed_into(folder / finished, DegreeEmbedder(), GRAPHS)
    assert tile.read_bytes() == whole
    assert "is whole" in run("status", "--verify", finished).stdout


def test_what_cannot_be_removed_is_said(run, fails, finished, folder):
    tile = folder / finished / "rows" / "000000.safetensors"
    tile.unlink()
    tile.mkdir()
    said = run("status", "--repair", finished, code=1).stderr
    assert "not removed:" in said
    assert "cannot be removed from here" in said
    index = folder / finished / "index" / "000000.safetensors"
    index.write_bytes(index.read_bytes()[:-1])
    assert "index/000000.safetensors is damaged" in fails("status", "--repair", finished)


def test_text_of_a_run_is_shown_escaped(run, folder, monkeypatch):
    hostile = "\x1b]0;pwned\x07\u202e\ud800[red]"
    monkeypatch.setattr("ddgk.embedding.runs._versions", lambda: _versions() | {"x": hostile})
    embed_into(folder / "kept", DegreeEmbedder(engine_name=hostile), GRAPHS)
    with open(folder / "kept" / "run.log", "a", errors="replace") as log:
        log.write(f"{hostile}\n")
    for words in (("status", "kept"), ("status", "--verify", "kept")):
        said = run(*words).stdout
        assert "\\x1b]0;pwned" in said
        assert not set("\x1b\x07\u202e\ud800") & set(said)


def test_repr_is_one_escaped_line(folder):
    run = embed_into(folder / "a\x1b[31m\nb", DegreeEmbedder(), GRAPHS)
    assert "\x1b" not in repr(run)
    assert "\n" not in repr(open_run(run.address))


def test_a_stop_prints_what_is_kept_and_the_command_that_continues(capsys, monkeypatch):
    words = ["ddgk", "embed", "my graphs", "--run", "kept"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(KeyboardInterrupt), embed.resumable("kept"):
        raise RunStopped("3 of 5 tiles are kept in kept")
    said = capsys.readouterr().err.splitlines()
    assert said == ["3 of 5 tiles are kept in kept; to continue:", shlex.join(words)]
    with pytest.raises(KeyboardInterrupt), embed.resumable("kept"):
        raise KeyboardInterrupt
    assert "nothing was computed in kept" in capsys.readouterr().err


def test_options_that_do_not_go_together(fails):
    assert "give a file with -o, or a folder" in fails("embed", "MUTAG", code=2)
    words = ("embed", "MUTAG", "-o", "x.npy")
    assert "--if-busy is about a run" in fails(*words, "--if-busy", "share", code=2)
