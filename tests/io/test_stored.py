from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ddgk.errors import DatasetError, DatasetNotFoundError
from ddgk.io import catalogue as storage


def test_the_cache_follows_its_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DDGK_CACHE", str(tmp_path / "mine"))
    assert storage.cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("DDGK_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert storage.cache_folder() == tmp_path / "ddgk"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert storage.cache_folder() == Path.home() / ".cache" / "ddgk"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert storage.cache_folder() == Path.home() / "Library" / "Caches" / "ddgk"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert storage.cache_folder() == tmp_path / "ddgk"


def test_the_own_folder_comes_before_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
):
    own = tmp_path / "own"
    monkeypatch.setenv("DDGK_DATA", str(own))
    assert storage.folders() == [own, cache]
    for folder in (cache, own):
        (folder / "tu").mkdir(parents=True)
        (folder / "tu" / "X.zip").touch()
    (own / "tu" / "Y").mkdir()
    (own / "networks").mkdir()
    (own / "networks" / "Z.gml").touch()
    assert storage.find_tu("X") == own / "tu" / "X.zip"
    assert storage.find_tu("Y") == own / "tu" / "Y"
    assert storage.find_network("Z") == own / "networks" / "Z.gml"
    assert storage.find_tu("Z") is None
    assert storage.find_network("X") is None
    assert storage.list_stored() == ["X", "Y", "Z"]


@pytest.mark.parametrize("name", ["..", "a/b", "a\\b", "", "-x", ".hidden", "a b", "x" * 101, "ä"])
def test_names_that_could_climb_are_refused(name: str):
    with pytest.raises(DatasetNotFoundError, match="neither an existing path nor the name"):
        storage.check_name(name)


def test_a_new_file_appears_whole_with_its_hash(tmp_path: Path):
    target = tmp_path / "deep" / "x.zip"
    with storage.new_file(target) as path:
        path.write_bytes(b"content")
        assert not target.exists()
    assert sorted(file.name for file in target.parent.iterdir()) == ["x.zip", "x.zip.sha256"]
    storage.check_hash(target, None)
    storage.check_hash(target, storage.file_hash(target).upper())
    target.write_bytes(b"contend")
    with pytest.raises(DatasetError, match=r"noted in x.zip.sha256 .*delete the file"):
        storage.check_hash(target, None)


def test_a_failed_file_leaves_no_trace(tmp_path: Path):
    target = tmp_path / "x.zip"
    target.write_bytes(b"old")

    def fail() -> None:
        with storage.new_file(target) as path:
            path.write_bytes(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [file.name for file in tmp_path.iterdir()] == ["x.zip"]
    assert target.read_bytes() == b"old"


def test_a_file_put_there_by_hand_needs_no_note(tmp_path: Path):
    (tmp_path / "x.zip").write_bytes(b"by hand")
    storage.check_hash(tmp_path / "x.zip", None)
    with pytest.raises(DatasetError, match="not the given sha256"):
        storage.check_hash(tmp_path / "x.zip", "0" * 64)
    with pytest.raises(DatasetError, match="a folder has no sha256"):
        storage.check_hash(tmp_path, "0" * 64)
