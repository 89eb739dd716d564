"""Run folders: manifest, indices, targets and rows, spoiled with checksums that still fit."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from ddgk import Graph
from ddgk.embedding import embed_into
from ddgk.io import Dataset
from ddgk.store import load_model, open_run
from ddgk.store.sealed import pack, seal_json, unpack, unseal_json
from degrees import DegreeEmbedder
from fuzzing.forging import change_array, change_header, forge_model
from fuzzing.mutations import mutate, mutate_bytes, mutate_json, mutate_text, mutate_tree

MANIFEST, MODEL, LOG = "manifest.json", "model.safetensors", "run.log"
INDEX, TARGETS, ROWS = (f"{kind}/000000.safetensors" for kind in ("index", "targets", "rows"))

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
    # What differs from run to run is fixed, so that an input of some number is always the same.
    with patch("ddgk.embedding.runs.secrets.token_hex", lambda n: "0" * 2 * n):
        embed_into(folder, DegreeEmbedder(), graphs)
    (folder / LOG).write_text("2000-01-01T00:00:00.000+00:00 tile 0: 3 graphs\n")


def valid_runs(home: Path) -> list[Files]:
    """Return the files of the run, but the lock."""
    folder = home / "run"
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return [{str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}]


def make_run(rng: Random, home: Path) -> Files:
    """Spoil one of the files; checksums follow, so that the lie is found late."""
    (files,) = valid_runs(home)
    name = rng.choice((MANIFEST, MANIFEST, MANIFEST, INDEX, TARGETS, ROWS, MODEL, LOG))
    if rng.random() < 0.03:
        del files[name]
    elif name in (INDEX, TARGETS, ROWS):
        context = open_run(home / "run")

        def forge(rng: Random, data: bytes) -> bytes:
            return _forge_arrays(rng, data, name, context)

        files[name] = mutate(rng, files[name], forge, forge, change_header)
        if name == INDEX and rng.random() < 0.9:
            manifest = unseal_json("run", files[MANIFEST])
            manifest["indices"][0] = hashlib.sha256(files[INDEX]).hexdigest()
            files[MANIFEST] = seal_json("run", manifest)
    elif name == MODEL:
        files[name] = mutate(rng, files[name], forge_model)
    elif name == MANIFEST:
        files[name] = mutate(rng, files[name], _forge_manifest, mutate_json, mutate_text)
    else:
        files[name] = mutate(rng, files[name], mutate_bytes)
    return files


def read_run(path: Path, lenient: bool) -> Dataset:
    """Read all of a run, or only verify it as `ddgk status --verify` does."""
    run = open_run(path)
    damages = run.verify()
    if lenient:
        assert 0 <= run.progress <= 1
        assert len(run.names) == run.n_graphs
        rows = run.rows()
        assert rows.shape == (run.n_graphs, len(run.columns))
        run.log()
        load_model(path, DegreeEmbedder.from_parts)
    elif damages:
        return Dataset([])
    return Dataset([graph for tile in range(run.n_tiles) for graph in run.graphs(tile)[0]])


def _forge_manifest(rng: Random, data: bytes) -> bytes:
    content = mutate_tree(rng, unseal_json("run", data))
    if isinstance(content, dict):
        with suppress(TypeError, ValueError, RecursionError):
            return seal_json("run", content)
    return json.dumps(content).encode()


def _forge_arrays(rng: Random, data: bytes, name: str, run: Any) -> bytes:
    kind = name.partition("/")[0]
    context = run._context(0) if kind == "rows" else f"{run.manifest.key} {name}"
    found, content = unpack(kind, data, context)
    arrays = {key: array.copy() for key, array in found.items()}
    change_array(rng, arrays)
    return pack(kind, {key: np.ascontiguousarray(a) for key, a in arrays.items()}, content, context)
