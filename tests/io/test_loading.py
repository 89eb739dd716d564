from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ddgk.errors import DatasetError, DatasetNotFoundError, DownloadError, ParameterError
from ddgk.graphs import Policies
from ddgk.io import DATASETS, get, load, loading, read

Writer = Callable[..., Path]


@pytest.fixture
def served(server: Any, toy: dict[str, str], write_zip: Writer, tmp_path: Path) -> Any:
    server.put("/toy.zip", write_zip(toy, folder=tmp_path / "elsewhere").read_bytes())
    return server


def test_a_name_is_found_in_the_own_folder(
    toy: dict[str, str], write_zip: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write_zip(toy, "MUTAG", folder=tmp_path / "own" / "tu")
    monkeypatch.setenv("DDGK_DATA", str(tmp_path / "own"))
    with pytest.warns(UserWarning, match="not MUTAG as it was published"):
        graphs, classes = load("MUTAG")
    assert graphs[0].name == "MUTAG-0"
    assert classes.tolist() == [1, -1]
    assert get("MUTAG") == path


def test_a_known_name_is_never_a_path(
    toy: dict[str, str], write_tu: Writer, monkeypatch: pytest.MonkeyPatch
):
    folder = write_tu(toy, "MUTAG")
    monkeypatch.chdir(folder.parent)
    with pytest.raises(DownloadError):
        read("MUTAG")
    assert read(Path("MUTAG")).name == "MUTAG"
    write_tu(toy, "mine")
    assert read("mine").name == "mine"


def test_a_download_goes_to_the_cache_once(served: Any, cache: Path):
    first = load("toy")
    assert served.asked == ["/toy.zip"]
    assert sorted(path.name for path in cache.rglob("*.*")) == ["toy.zip"]
    assert load("toy").fingerprint == first.fingerprint
    assert served.asked == ["/toy.zip"]
    assert get("toy") == cache / "tu" / "toy.zip"


def test_attributes_of_a_download_are_there(served: Any):
    assert load("toy").graphs[0].node_attributes is not None
    assert served.asked == ["/toy.zip"]


@pytest.mark.usefixtures("served")
def test_the_given_hash_is_held_against_every_file(cache: Path, toy, write_tu: Writer):
    with pytest.raises(DownloadError, match="not the given 0000"):
        get("toy", sha256="0" * 64)
    assert not list(cache.rglob("*.*"))
    right = hashlib.sha256(get("toy").read_bytes()).hexdigest()
    assert get("toy", sha256=right.upper()) == cache / "tu" / "toy.zip"
    with pytest.raises(DatasetError, match="not the given 0000"):
        get("toy", sha256="0" * 64)
    with pytest.raises(ParameterError, match="64 hexadecimal digits"):
        get("toy", sha256="abc")
    get("toy").unlink()
    write_tu(toy).rename(cache / "tu" / "toy")
    with pytest.raises(DatasetError, match="a folder has no sha256"):
        get("toy", sha256=right)


def test_a_known_set_must_have_the_published_content(
    served: Any, cache: Path, toy: dict[str, str], write_zip: Writer
):
    served.put("/MUTAG.zip", write_zip(toy, "MUTAG").read_bytes())
    with pytest.raises(DownloadError, match="not the published MUTAG"):
        load("MUTAG")
    assert not list(cache.rglob("*.*"))


@pytest.mark.parametrize("body", [b"", b"<html>sorry</html>", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_set_is_not_kept(server: Any, cache: Path, body: bytes):
    server.put("/toy.zip", body)
    with pytest.raises(DownloadError, match="what arrived is not a data set"):
        load("toy")
    assert not list(cache.rglob("*.*"))


def test_a_truncated_download_is_not_kept(served: Any, cache: Path):
    _, _, body = served.answers["/toy.zip"]
    served.put("/toy.zip", body[:-30], Content_Length="")
    with pytest.raises(DownloadError, match="what arrived is not a data set"):
        load("toy")
    served.put("/toy.zip", body[:-30], Content_Length=str(len(body)))
    with pytest.raises(DownloadError, match="bytes arrived; try again"):
        load("toy")
    assert not list(cache.rglob("*.*"))


@pytest.mark.usefixtures("served")
def test_a_download_over_the_limit_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loading, "MAX_BYTES", 100)
    with pytest.raises(DownloadError, match="more than max_bytes=100"):
        load("toy")
    assert not list(cache.rglob("*.*"))


def test_a_hostile_download_writes_nothing(server: Any, tmp_path: Path, cache: Path):
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../../evil_A.txt", "1, 2\n")
    server.put("/evil.zip", (tmp_path / "evil.zip").read_bytes())
    before = set(tmp_path.parent.rglob("*")) | {cache, cache / "tu"}
    with pytest.raises(DownloadError, match="what arrived is not a data set"):
        load("evil")
    assert set(tmp_path.parent.rglob("*")) == before


def test_a_missing_name_brings_the_names_that_come_close(server: Any):
    with pytest.raises(DatasetNotFoundError, match=r"no data set 'MUTGA'.* did you mean 'MUTAG'"):
        load("MUTGA")
    assert server.asked == ["/MUTGA.zip"]
    with pytest.raises(DatasetNotFoundError, match="known here: MUTAG, PTC_MR"):
        load("zzzzzz")


def test_offline_says_what_to_put_where(cache: Path):
    with pytest.raises(DownloadError) as caught:
        load("NCI1")
    message = str(caught.value)
    for part in ("'NCI1'", str(cache / "tu"), "http://127.0.0.1:9/NCI1.zip", "DDGK_DATA"):
        assert part in message
    with pytest.raises(DatasetNotFoundError, match="cannot be reached"):
        load("PTC_FM")


def test_the_web_can_be_ruled_out(server: Any):
    with pytest.raises(DownloadError, match="not tried, since fetch=False"):
        load("NCI1", fetch=False)
    assert server.asked == []


def test_the_default_address_is_the_official_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DDGK_MIRROR")
    with pytest.raises(DownloadError, match=r"https://www.chrsmrrs.com/graphkerneldatasets/DD.zip"):
        load("DD", fetch=False)


@pytest.mark.usefixtures("served")
def test_a_cache_that_cannot_be_written(cache: Path):
    cache.write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match=r"cannot write .* set DDGK_CACHE"):
        load("toy")


def test_networks_are_not_sets():
    with pytest.raises(DatasetNotFoundError, match=r"read\('karate'\)"):
        load("karate")


@pytest.mark.parametrize("name", ["no/such/folder", "nothing.zip", Path("nothing"), "a\0b/c"])
def test_paths_that_lead_nowhere(name: str | Path):
    with pytest.raises(DatasetError, match="no such file or folder"):
        read(name)


def test_a_wrong_zip_in_the_cache_is_named_with_both_fingerprints(
    toy: dict[str, str], write_zip: Writer, cache: Path
):
    path = write_zip(toy, "MUTAG", folder=cache / "tu")
    with pytest.warns(UserWarning, match="not MUTAG as it was published") as caught:
        found = load("MUTAG")
    said = str(caught[0].message)
    assert str(path) in said
    assert found.fingerprint in said
    assert DATASETS["MUTAG"].fingerprint in said


def test_a_redirect_to_half_an_address_is_a_download_error(server: Any):
    server.put("/toy.zip", b"", 302, Location="http://[::1")
    with pytest.raises(DownloadError, match="not an address"):
        load("toy")


def test_the_set_of_a_download_may_have_graphs_without_nodes(
    server: Any, toy: dict[str, str], write_zip: Writer, tmp_path: Path
):
    toy["graph_labels"] += "7\n"
    server.put("/toy.zip", write_zip(toy, folder=tmp_path / "elsewhere").read_bytes())
    with pytest.raises(DatasetError, match=r'Policies\(empty="skip"\)'):
        load("toy")
    assert load("toy", policies=Policies(empty="skip")).classes.tolist() == [1, -1]
