from __future__ import annotations

import contextlib
import io
import struct
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import DatasetError, DDGKError
from ddgk.io import read_tu
from ddgk.io.reading import read_archive

Writer = Callable[..., Path]


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def add(path: Path, name: str, content: str = "1\n", mode: int = 0o100644) -> None:
    info = zipfile.ZipInfo("placeholder")
    # Set afterwards: the constructor would turn some hostile names into harmless ones.
    info.filename = name
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, content)


@pytest.mark.parametrize(
    "name",
    ["../evil_A.txt", "toy/../../evil_A.txt", "/etc/evil_A.txt", "C:/evil_A.txt", "..\\evil_A.txt"],
)
def test_nothing_in_an_archive_reaches_the_disk(name: str, toy: dict[str, str], tmp_path: Path):
    path = tmp_path / "toy.zip"
    for kind, text in toy.items():
        add(path, name.replace("_A.txt", f"_{kind}.txt"), text, mode=0o120777)
    before = files_below(tmp_path.parent)
    graphs, _ = read_tu(path)
    assert [graph.name.endswith("evil-0") for graph in graphs] == [True, False]
    assert files_below(tmp_path.parent) == before


def test_an_encrypted_member_is_refused(toy: dict[str, str], write_zip: Writer):
    path = write_zip(toy)
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    path.write_bytes(data)
    with pytest.raises(DatasetError, match=r"not a complete zip archive .*encrypted"):
        read_tu(path)


def test_another_packing_method_is_refused(tmp_path: Path, toy: dict[str, str]):
    path = tmp_path / "toy.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("toy/toy_A.txt", toy["A"])
    with pytest.raises(DatasetError, match="other than deflate"):
        read_tu(path)


def test_a_bomb_is_stopped_by_its_ratio(toy: dict[str, str], write_zip: Writer):
    path = write_zip(toy | {"node_labels": "1\n" * 20_000_000})
    assert path.stat().st_size < 100_000
    with pytest.raises(DatasetError, match=r"node_labels.txt: too large.*200 times its size"):
        read_tu(path)


def test_the_limit_counts_all_members_together(toy: dict[str, str], write_zip: Writer):
    path = write_zip(toy)
    total = sum(map(len, toy.values()))
    assert len(read_tu(path, max_bytes=total).graphs) == 2
    with pytest.raises(DatasetError, match=f"max_bytes={total - 1}"):
        read_tu(path, max_bytes=total - 1)


def test_a_header_that_lies_about_sizes_gains_nothing(toy: dict[str, str], write_zip: Writer):
    """A promise of few bytes ends the member early, and its checksum then fails."""
    path = write_zip(toy | {"node_labels": "1\n" * 100_000})
    data = path.read_bytes()
    lied = data.replace(struct.pack("<L", 200_000), struct.pack("<L", 20))
    assert lied != data
    path.write_bytes(lied)
    with pytest.raises(DatasetError):
        read_tu(path)


def test_a_truncated_archive_is_refused_wherever_it_ends(toy: dict[str, str], write_zip: Writer):
    path = write_zip(toy)
    data = path.read_bytes()
    for end in range(0, len(data), 7):
        path.write_bytes(data[:end])
        with pytest.raises(DatasetError, match=r"toy.zip: not a"):
            read_tu(path)


def test_a_damaged_byte_in_a_member_is_noticed(toy: dict[str, str], write_zip: Writer):
    path = write_zip(toy)
    data = bytearray(path.read_bytes())
    data[45 + len("toy/toy_A.txt")] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DatasetError, match="not a complete zip archive"):
        read_tu(path)


def test_a_huge_directory_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(14_000):
            archive.writestr(f"a/rather/long/name/of/a/member/{i:08d}", "")
    with pytest.raises(DatasetError, match="far more members"):
        read_archive(path.read_bytes(), str(path), lambda _: True, 1000)


def test_a_64_bit_directory_cannot_hide_behind_a_small_one(toy: dict[str, str], write_zip: Writer):
    path = write_zip(toy)
    data = path.read_bytes()
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, 0, 1)
    path.write_bytes(data[:-22] + locator + data[-22:])
    with pytest.raises(DatasetError, match="not a complete zip archive"):
        read_tu(path)


def test_shadow_files_of_other_systems_are_passed_over(toy: dict[str, str], write_zip: Writer):
    path = write_zip(toy)
    add(path, "__MACOSX/toy/._toy_A.txt", "\x00\x05")
    assert len(read_tu(path).graphs) == 2


def packed() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t/t_A.txt", "1, 2\n")
        archive.writestr("t/t_graph_indicator.txt", "1\n1\n")
    return buffer.getvalue()


@settings(max_examples=200, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, len(packed()) - 1), st.integers(0, 255))),
    end=st.integers(0, len(packed())) | st.just(len(packed())),
    tail=st.binary(max_size=30),
)
def test_any_damage_gives_graphs_or_one_of_our_errors(
    changes: list[tuple[int, int]], end: int, tail: bytes
):
    data = bytearray(packed())
    for position, value in changes:
        data[position] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.zip")
        path.write_bytes(bytes(data[:end]) + tail)
        with contextlib.suppress(DDGKError):
            read_tu(path)
        assert [file.name for file in Path(folder).iterdir()] == ["t.zip"]
