from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from ddgk.errors import DownloadError
from ddgk.io.download import UnreachableError, check_url, download


def test_what_is_served_arrives(server: Any, tmp_path: Path):
    body = bytes(range(256)) * 1000
    server.put("/x.zip", body)
    download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=len(body))
    assert (tmp_path / "x").read_bytes() == body


def test_without_a_length_it_arrives_too(server: Any, tmp_path: Path):
    server.put("/x.zip", b"content", Content_Length="")
    download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=100)
    assert (tmp_path / "x").read_bytes() == b"content"


def test_too_large_by_its_header_is_not_begun(server: Any, tmp_path: Path):
    server.put("/x.zip", b"1234", Content_Length="99999999999")
    with pytest.raises(DownloadError, match="99999999999 bytes, more than max_bytes=1000"):
        download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=1000)
    assert (tmp_path / "x").stat().st_size == 0


def test_too_large_without_a_header_is_stopped(server: Any, tmp_path: Path):
    server.put("/x.zip", b"x" * 1_000_000, Content_Length="")
    with pytest.raises(DownloadError, match="more than max_bytes=1000 bytes arrived"):
        download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=1000)
    assert (tmp_path / "x").stat().st_size <= 1000


def test_a_broken_off_download_is_noticed(server: Any, tmp_path: Path):
    server.put("/x.zip", b"half", Content_Length="8")
    with pytest.raises(DownloadError, match="only 4 of 8 bytes arrived"):
        download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=1000)


def test_a_missing_file(server: Any, tmp_path: Path):
    with pytest.raises(UnreachableError, match="the server answers 404"):
        download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=1000)


def test_no_server(tmp_path: Path):
    with pytest.raises(UnreachableError, match="cannot be reached"):
        download("http://127.0.0.1:9/x.zip", tmp_path / "x", max_bytes=1000)


def test_a_server_that_says_nothing_is_given_up(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.zip"
        with pytest.raises(UnreachableError):
            download(url, tmp_path / "x", max_bytes=1000, timeout=0.1)


def test_a_server_that_speaks_gibberish(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def babble() -> None:
            connection, _ = odd.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"\xff\xfe not http\r\n\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        url = f"http://127.0.0.1:{odd.getsockname()[1]}/x.zip"
        with pytest.raises(UnreachableError):
            download(url, tmp_path / "x", max_bytes=1000, timeout=5)
        thread.join()


@pytest.mark.parametrize("elsewhere", ["file:///etc/passwd", "ftp://x/y", "http://example.org/x"])
def test_redirects_lead_only_where_a_first_request_may_go(
    server: Any, tmp_path: Path, elsewhere: str
):
    server.put("/x.zip", b"", status=302, Location=elsewhere)
    with pytest.raises(DownloadError):
        download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=1000)
    server.put("/x.zip", b"", status=302, Location=f"{server.url}/y.zip")
    server.put("/y.zip", b"here")
    download(f"{server.url}/x.zip", tmp_path / "x", max_bytes=1000)
    assert (tmp_path / "x").read_bytes() == b"here"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x.zip",
        "http://localhost.example.org/x",
        "ftp://localhost/x",
        "file:///x",
        "x",
        "http://[bad/x",
    ],
)
def test_only_https_and_this_machine(url: str):
    with pytest.raises(DownloadError):
        check_url(url)


@pytest.mark.parametrize("url", ["https://x.org/y", "http://localhost:1/x", "http://[::1]/x"])
def test_good_addresses(url: str):
    check_url(url)
