"""A small atlas with hostile names, and a browser."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from ddgk.comparison import compare
from ddgk.explorer import make_atlas
from ddgk.graphs import Graph
from light_model import DegreeCounts, rings_and_stars

CHROMIUM = Path(os.environ.get("DDGK_CHROMIUM", "/usr/bin/chromium"))
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"


def labelled(letters: str, name: str) -> Graph:
    """A path of atoms."""
    bonds = [(i, i + 1) for i in range(len(letters) - 1)]
    return Graph(
        len(letters), bonds, node_labels=letters, edge_labels=["-"] * len(bonds), name=name
    )


@pytest.fixture(scope="session")
def atlas():
    """Rings, stars and two molecules; one name and one title try to run a script."""
    graphs = [*rings_and_stars(), labelled("CCO", "ethanol"), labelled("CCN", HOSTILE)]
    classes = ["ring"] * 6 + ["star"] * 6 + [HOSTILE] * 2
    found = compare(graphs, model=DegreeCounts(), classes=classes)
    return make_atlas(
        found, title=f"atlas {HOSTILE}", projection="pca", attributes={"=mass": list(range(14))}
    )


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by playwright, which has an event loop running until it ends."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"browser tests need Chromium, and there is none at {CHROMIUM}")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def address(atlas):
    """The address of a running server."""
    pytest.importorskip("starlette", reason="the server needs starlette (extra explore)")
    uvicorn = pytest.importorskip("uvicorn", reason="the server needs uvicorn (extra explore)")
    from ddgk.explorer.server import make_app

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = uvicorn.Config(make_app(atlas), host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < until
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=20)
