"""The published data where it is at hand, toy sets where it is not, and a server on loopback."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

# Two graphs: a labelled triangle with a tail, and an edge beside an isolated node.
TOY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n3, 4\n4, 3\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n0\n1\n3\n0\n1\n1\n",
    "edge_labels": "0\n0\n1\n1\n0\n0\n2\n2\n0\n0\n",
    "node_attributes": "0.5, -1\n1, 0\n2, 3\n0, 0\n1e1, -2.5\n0, 0\n7, 1\n",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test an empty cache of its own, no data, and a mirror where nobody answers."""
    for variable in ("DDGK_DATA", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setenv("DDGK_CACHE", str(folder))
    monkeypatch.setenv("DDGK_MIRROR", "http://127.0.0.1:9")
    return folder


@pytest.fixture
def toy() -> dict[str, str]:
    """The texts of a valid set, by file; change them to make an invalid one."""
    return dict(TOY)


@pytest.fixture
def write_tu(tmp_path: Path) -> Callable[..., Path]:
    """Write texts as the folder of a set in TU format."""

    def write(texts: dict[str, str], name: str = "toy") -> Path:
        folder = tmp_path / "sets" / name
        folder.mkdir(parents=True, exist_ok=True)
        for kind, text in texts.items():
            (folder / f"{name}_{kind}.txt").write_text(text)
        return folder

    return write


@pytest.fixture
def write_zip(tmp_path: Path) -> Callable[..., Path]:
    """Write texts as a zip archive in TU format."""

    def write(texts: dict[str, str], name: str = "toy", folder: Path | None = None) -> Path:
        path = (folder or tmp_path) / f"{name}.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for kind, text in texts.items():
                archive.writestr(f"{name}/{name}_{kind}.txt", text)
        return path

    return write


@dataclass
class Server:
    """What each path answers: status, headers, body; and which paths were asked for."""

    url: str = ""
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        sent = {"Content-Length": str(len(body))} | {
            key.replace("_", "-"): value for key, value in headers.items()
        }
        self.answers[path] = (status, sent, body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A web server on this computer, set as the mirror."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            status, headers, body = state.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for key, value in headers.items():
                if value:
                    self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{web.server_address[1]}"
    monkeypatch.setenv("DDGK_MIRROR", state.url)
    yield state
    web.shutdown()
    web.server_close()
    thread.join()
