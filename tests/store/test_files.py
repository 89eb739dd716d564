from __future__ import annotations

import errno
import os

import pytest

from ddgk.errors import MissingExtraError, RunError
from ddgk.store.files import LocalFolder, open_folder, replacing


@pytest.fixture(params=["disk", "memory", "local"])
def folder(request, tmp_path):
    if request.param == "disk":
        (tmp_path / "run").mkdir()
        return open_folder(tmp_path / "run")
    pytest.importorskip("fsspec")
    address = {"memory": "memory://files", "local": f"local://{tmp_path}/bucket"}[request.param]
    return open_folder(f"{address}/{tmp_path.name}")


def test_what_is_written_is_there(folder):
    assert not folder.has("a/b")
    assert folder.names("a") == {}
    folder.write("a/b", b"one")
    folder.write("a/b", b"two!")
    folder.write("a/deeper/c", b"")
    assert (folder.read("a/b"), folder.size("a/b"), folder.size("a/x")) == (b"two!", 4, 0)
    assert {n: s for n, s in folder.names("a").items() if s >= 0} == {"b": 4}
    folder.remove("a/b")
    folder.remove("a/b")
    assert not folder.has("a/b")
    with pytest.raises(FileNotFoundError):
        folder.read("a/b")


def test_files_that_are_too_large_are_not_read(folder, monkeypatch):
    monkeypatch.setattr("ddgk.store.files.MOST_BYTES", 3)
    folder.write("a/b", b"four")
    with pytest.raises(RunError, match="b has 4 bytes, which no"):
        folder.read("a/b")


def test_a_log_has_lines(folder):
    assert folder.lines("log") == []
    folder.append("log", "1", "2026 one")
    folder.append("log", "2", "2027 two")
    assert folder.lines("log") == ["2026 one", "2027 two"]


def test_a_line_that_was_cut_off_is_no_line(tmp_path):
    (tmp_path / "log").write_text("whole\nhal")
    assert LocalFolder(tmp_path).lines("log") == ["whole"]


def test_addresses(tmp_path):
    pytest.importorskip("fsspec", reason="buckets need fsspec (extra cloud)")
    assert isinstance(open_folder(f"file://{tmp_path}"), LocalFolder)
    assert open_folder(tmp_path).address == str(tmp_path)
    with pytest.raises(RunError, match="not an address that fsspec knows"):
        open_folder("nonsense://x")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(MissingExtraError, match=r"ddgk\[cloud\]"):
        open_folder("memory://x")


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    folder = LocalFolder(tmp_path)
    folder.write("x", b"old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        folder.write("x", b"new")
    assert caught.value.filename == str(tmp_path / "x")
    assert folder.names("") == {"x": 3}
    assert folder.read("x") == b"old"


def test_a_file_that_stops_halfway_was_never_there(tmp_path):
    def write():
        with replacing(tmp_path / "x") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert list(tmp_path.iterdir()) == []


def test_new_files_have_the_mode_of_any_other(tmp_path):
    before = os.umask(0o027)
    try:
        LocalFolder(tmp_path).write("x", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_a_file_that_another_process_makes_meanwhile_is_not_there_yet(tmp_path, monkeypatch):
    def look_too_early(path, **_):
        path.write_bytes(b"made just after")
        raise FileNotFoundError(2, "No such file", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "stat", look_too_early)
        assert not LocalFolder(tmp_path).has("x")
    assert LocalFolder(tmp_path).has("x")
