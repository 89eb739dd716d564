from __future__ import annotations

from pathlib import Path

import pytest

from ddgk.errors import DatasetNotFoundError
from ddgk.io import catalogue as storage


def test_the_cache_follows_its_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("DDGK_CACHE", str(tmp_path / "mine"))
    assert storage.cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("DDGK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert storage.cache_folder() == tmp_path / "ddgk"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert storage.cache_folder() == Path.home() / ".cache" / "ddgk"


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
