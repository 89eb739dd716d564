"""The explorer: frames per second, page size, and the server under load.

    python benchmarks/explorer.py frames --points 100000
    python benchmarks/explorer.py size --smiles molecules.csv --graphs 1000
    python benchmarks/explorer.py server --requests 1000 --clients 16
    python benchmarks/explorer.py server --requests 10000 --clients 16 --only position

Frames and server use an embedding that costs nothing (counts of nodes by degree), so that the
figures are those of the page and of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import networkx
import numpy as np

from ddgk.comparison import compare
from ddgk.explorer.atlas import make_atlas
from ddgk.explorer.page import write_page
from ddgk.graphs import Graph

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


class DegreeCounts:
    """Embeds a graph as the number of nodes of every degree."""

    def transform(self, graphs: Any) -> Any:
        """Return (n_graphs, 16)."""
        rows = [
            np.bincount(
                np.minimum(np.bincount(graph.edges.ravel(), minlength=graph.n_nodes), 15),
                minlength=16,
            )
            for graph in graphs
        ]
        return np.asarray(rows, dtype=np.float32)


def random_graphs(n: int) -> list[Graph]:
    """Return trees of 12 to 30 nodes with a few more edges, like molecules."""
    graphs = []
    for seed in range(n):
        draw = np.random.default_rng(seed)
        size = int(draw.integers(12, 31))
        edges = {(int(draw.integers(node)), node) for node in range(1, size)}
        for _ in range(3):
            u, v = sorted(draw.choice(size, 2, replace=False).tolist())
            edges.add((u, v))
        labels = draw.choice(list("CCCCNO"), size).tolist()
        graphs.append(Graph(size, sorted(edges), node_labels=labels, name=f"graph {seed}"))
    return graphs


def measure_frames(points: int) -> dict[str, Any]:
    """Zoom a page of many points and count frames."""
    from playwright.sync_api import sync_playwright

    from ddgk.explorer.atlas import Atlas
    from ddgk.explorer.page import assemble

    draw = np.random.default_rng(0)
    base = compare(random_graphs(50), model=DegreeCounts(), n_neighbors=5)
    places = np.clip(
        draw.normal(size=(40, 2))[draw.integers(40, size=points)] * 0.13
        + draw.normal(size=(points, 2)) * 0.02 + 0.5, 0, 1)  # fmt: skip
    small = Atlas("frames", base, "PCA", base.embedding[:, :2].astype(np.float64), [])
    values = small.map_values()
    values |= {
        "x": np.rint(places[:, 0] * 65535).astype(int).tolist(),
        "y": np.rint(places[:, 1] * 65535).astype(int).tolist(),
        "names": [f"graph {i}" for i in range(points)],
        "columns": [{"name": "cluster", "kind": "category", "labels": list("01234567"),
                     "values": draw.integers(8, size=points).tolist()}],
        "neighbors": [[0]] * points, "distances": [[0.0]] * points, "graphs": [], "matches": {},
    }  # fmt: skip
    found: dict[str, Any] = {"points": points}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "frames.html"
        path.write_text(assemble(values, served=False)[0])
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        begun = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        ready = time.perf_counter() - begun
        frames = page.evaluate(
            """async () => { let n = 0; const begun = performance.now();
            while (performance.now() - begun < 4000) {
              ddgk.zoom(n % 40 < 20 ? 1.02 : 1 / 1.02);
              await new Promise(requestAnimationFrame); n += 1; }
            return n / (performance.now() - begun) * 1000; }"""
        )
        found["canvas"] = {"ready_s": round(ready, 2), "frames_per_s": round(frames, 1)}
        browser.close()
    return found


def measure_size(smiles: str, count: int, jobs: int) -> dict[str, Any]:
    """Embed molecules, write their page and report its size; processor times are in brackets."""
    from ddgk import DDGK, io

    graphs = io.read(smiles).graphs[:count]
    found: dict[str, Any] = {"graphs": len(graphs)}

    def timed(name: str, begun: tuple[float, float]) -> None:
        found[f"{name}_s"] = round(time.perf_counter() - begun[0], 1)
        found[f"{name}_cpu_s"] = round(time.process_time() - begun[1], 1)

    begun = time.perf_counter(), time.process_time()
    model = DDGK(random_state=0, n_jobs=jobs).fit(graphs)
    comparison = compare(graphs, model=model, n_jobs=jobs)
    timed("compare", begun)
    begun = time.perf_counter(), time.process_time()
    atlas = make_atlas(comparison, title="molecules")
    timed("map", begun)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(os.environ.get("PAGE", os.path.join(folder, "map.html")))
        begun = time.perf_counter(), time.process_time()
        write_page(atlas, path, n_aligned=3, n_jobs=jobs)
        timed("page", begun)
        found["alignments"] = len(json.loads(_data(path))["matches"])
        found["bytes"] = path.stat().st_size
    return found


def _data(path: Path) -> bytes:
    held = path.read_text().partition('id="data">')[2].partition("<")[0]
    return gzip.decompress(base64.b64decode(held))


def run_server(port: int) -> None:
    """Serve 2,000 random graphs until the process is ended."""
    from ddgk.explorer.server import serve

    found = compare(random_graphs(2000), model=DegreeCounts())
    serve(make_atlas(found, projection="pca"), port=port)


def resident(pid: int) -> float:
    """Return the memory of a process and its children in megabytes."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(
                line.split(":", 1) for line in status.read_text().splitlines() if ":" in line
            )
        except OSError:
            continue
        if pid in (int(status.parent.name), int(lines["PPid"])):
            total += int(lines.get("VmRSS", "0 kB").split()[0])
    return total / 1024


async def load(
    port: int, requests: int, clients: int, only: str | None, pid: int
) -> dict[str, Any]:
    """Send requests from several clients, each the next when the last is answered."""
    import httpx

    graphs = [networkx.gnm_random_graph(15, 18, seed=seed) for seed in range(40)]
    plain = [{"n_nodes": 15, "edges": [list(e) for e in graph.edges]} for graph in graphs]
    kinds = [only] if only else ["similar", "position", "embed", "graph", "align"]
    spent: dict[str, list[float]] = {kind: [] for kind in kinds}
    wrong = 0
    left = iter(range(requests))
    memory: list[float] = []

    async def one(client: Any) -> None:
        nonlocal wrong
        for number in left:
            kind = kinds[number % len(kinds)]
            graph = plain[number % len(plain)]
            begun = time.perf_counter()
            if kind == "graph":
                answer = await client.get(f"/api/graph/{number % 2000}")
            elif kind == "align":
                pair = {"target": {"graph": graph}, "source": {"position": number % 2000}}
                answer = await client.post("/api/align", json=pair)
            elif kind == "position":
                answer = await client.post("/api/similar", json={"position": number % 2000})
            else:
                answer = await client.post(f"/api/{kind}", json={"graph": graph})
            spent[kind].append(time.perf_counter() - begun)
            wrong += answer.status_code != 200
            if number % max(1, requests // 10) == 0:
                memory.append(round(resident(pid)))

    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
        begun = time.perf_counter()
        await asyncio.gather(*(one(client) for _ in range(clients)))
        total = time.perf_counter() - begun
    every = np.concatenate([np.asarray(values) for values in spent.values()])
    return {
        "requests": requests,
        "clients": clients,
        "errors": wrong,
        "requests_per_s": round(requests / total, 1),
        "p50_ms": round(1000 * float(np.quantile(every, 0.5)), 1),
        "p99_ms": round(1000 * float(np.quantile(every, 0.99)), 1),
        "by_kind_p50_ms": {k: round(1000 * float(np.median(v)), 1) for k, v in spent.items()},
        "memory_mb": memory,
    }


def measure_server(requests: int, clients: int, only: str | None) -> dict[str, Any]:
    """Start a server in a process of its own and put it under load."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, __file__, "serve", f"--port={port}"])
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        return asyncio.run(load(port, requests, clients, only, process.pid))
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("frames", "size", "server", "serve"))
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--smiles", default="")
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("-o", "--out", help="JSON file to add the results to")
    given = parser.parse_args()
    if given.what == "serve":
        run_server(given.port)
        return
    if given.what == "frames":
        found = measure_frames(given.points)
    elif given.what == "size":
        found = measure_size(given.smiles, given.graphs, given.jobs)
    else:
        found = measure_server(given.requests, given.clients, given.only)
    print(json.dumps(found))
    if given.out:
        path = Path(given.out)
        known = json.loads(path.read_text()) if path.exists() else {}
        name = f"{given.what} {given.requests}" if given.what == "server" else given.what
        path.write_text(json.dumps(known | {name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
