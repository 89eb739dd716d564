"""Run folders: manifest, indices, packed graphs and grid, spoiled with hashes that still fit."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors.numpy import load, save

import ddgk
from ddgk import DDGK, Graph
from ddgk.io import Dataset
from ddgk.store.inspection import inspect
from fuzzing.forging import change_array, change_header, forge_model
from fuzzing.mutations import dump_tree, mutate, mutate_bytes, mutate_json, mutate_text, mutate_tree

MANIFEST, INDEX, BLOCK = "manifest.json", "targets/000000.safetensors", "graphs/000000.safetensors"
GRID, CHUNK, MODEL = "divergences/zarr.json", "divergences/c.0.0.0", "model.safetensors"

Files = dict[str, bytes]


def write_run(folder: Path) -> None:
    """Make a finished run of three graphs that carry everything."""
    graphs = [
        Graph(
            4,
            [(0, 1), (1, 2), (2, 3)][:n_edges],
            node_labels="CONC",
            edge_labels=["single", "double", "single"][:n_edges],
            node_attributes=[[1, 0], [0, 1], [1, 1], [2, 1]],
            name=f"g{n_edges}",
        )
        for n_edges in (1, 2, 3)
    ]
    model = DDGK(n_sources=2, encoder_epochs=2, curve=(1, 3), random_state=0)
    model.fit_transform(graphs, run=folder)
    # What differs from run to run, so that an input of some number is always the same.
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest |= {"run": "0" * 16, "created": "2000-01-01T00:00:00+00:00"}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def valid_runs(home: Path) -> list[Files]:
    """Return the files of the run, but the lock."""
    folder = home / "run"
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return [{str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}]


def make_run(rng: Random, home: Path) -> Files:
    """Spoil one of the files; those that hold its hash follow, so that the lie goes deeper."""
    (files,) = valid_runs(home)
    name = rng.choice((MANIFEST, MANIFEST, MANIFEST, INDEX, BLOCK, GRID, CHUNK, MODEL, "run.log"))
    if rng.random() < 0.03:
        del files[name]
        return files
    if name in (INDEX, BLOCK):
        files[name] = mutate(rng, files[name], _forge_arrays, change_header)
        if rng.random() < 0.9:
            _hash_again(files, name)
    elif name == MODEL:
        files[name] = mutate(rng, files[name], forge_model)
    elif name in (MANIFEST, GRID):
        files[name] = mutate(
            rng, files[name], mutate_json, mutate_json, _change_counts, mutate_text
        )
    else:
        files[name] = mutate(rng, files[name], mutate_bytes)
    return files


def read_run(path: Path, lenient: bool) -> Dataset:
    """Look at all of a run, or, otherwise, only inspect it as `ddgk status --verify` does."""
    run = ddgk.open_run(path)
    inspect(run)
    if lenient:
        assert 0 <= run.share <= 1
        assert len(run.names) == run.n_graphs
        rows = run.rows()
        assert rows.shape == (run.n_graphs, len(run.columns))
        assert np.isfinite(rows).all()
        run.log()
        DDGK.load(path)
    blocks = range(len(run.manifest.plan.block_counts))
    return Dataset([graph for block in blocks for graph in run.graphs(block)[0]])


def _change_counts(rng: Random, data: bytes) -> bytes:
    """Put large numbers where counts are, several at once, so that they agree with each other."""
    tree = json.loads(data)
    large = rng.choice((2, 100, 10**6, 2**26 - 1, 2**26, 10**9, 10**12, 2**63))
    if "batches" in tree:
        for place in rng.sample(("targets", "sources", "n_graphs", "n_rows", "steps"), k=3):
            if place in tree["tile"]:
                tree["tile"][place] = large
            elif place == "steps":
                tree["steps"] = [large]
            else:
                tree["batches"][0][place] = large
        if rng.random() < 0.2:
            tree["batches"] *= rng.choice((2, 1000))
    else:
        tree["shape"][rng.randrange(len(tree["shape"]))] = large
    return json.dumps(tree).encode()


def _forge_arrays(rng: Random, data: bytes) -> bytes:
    arrays: dict[str, Any] = {name: array.copy() for name, array in load(data).items()}
    length = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + length]).get("__metadata__")
    change_array(rng, arrays)
    if rng.random() < 0.3 and "names" in arrays:
        tree = mutate_tree(rng, ["a", None, "c"])
        text = dump_tree(rng, tree).encode("utf-8", "surrogatepass")
        arrays["names"] = np.frombuffer(text, dtype=np.uint8)
    if metadata and rng.random() < 0.4:
        metadata = {"ddgk": dump_tree(rng, mutate_tree(rng, json.loads(metadata["ddgk"])))}
        metadata = {key: text.encode("utf-8", "replace").decode() for key, text in metadata.items()}
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(whole, metadata)


def _hash_again(files: Files, name: str) -> None:
    """Let the index and the manifest hold the hashes of what is there now."""
    if name == BLOCK:
        index = dict(load(files[INDEX]))
        index["blocks"] = np.frombuffer(hashlib.sha256(files[BLOCK]).digest(), np.uint8)[None]
        files[INDEX] = save(index)
    manifest = json.loads(files[MANIFEST])
    manifest["batches"][0]["sha256"] = hashlib.sha256(files[INDEX]).hexdigest()
    files[MANIFEST] = json.dumps(manifest).encode()
