"""What is fuzzed, a line each: how an input is made, and who reads it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ddgk.graphs import Graph
from ddgk.io import Dataset, read, read_tu
from ddgk.store import load_model
from degrees import DegreeEmbedder
from fuzzing import specimens
from fuzzing.forging import forge_archive, forge_model
from fuzzing.mutations import mutate, mutate_json, mutate_text
from fuzzing.runs import make_run, read_run, valid_runs


@dataclass(frozen=True)
class Odd:
    """What is not a file of its own: a "fifo", a "folder", or a "link" to a path."""

    kind: str
    target: str = ""


Case = dict[str, bytes | Odd]
"""What lies in the folder of an input, by path."""


@dataclass(frozen=True)
class Target:
    """A format: `valid` lists what must be accepted, `make` spoils it, `read` reads it.

    path: what is handed to the reader, below the folder of the input; "" is the folder itself. Both
    makers are told where the model files are.
    """

    valid: Callable[[Path], list[Case]]
    make: Callable[[Random, Path], Case]
    read: Callable[[Path, bool], Any]
    path: str = ""


def file_target(
    name: str, valid: Callable[[], list[bytes]], *ways: Callable[[Random, bytes], bytes]
) -> Target:
    """Return the target of a format that has one file per input."""

    def make(rng: Random, _: Path) -> Case:
        return {name: mutate(rng, rng.choice(valid()), *ways)}

    return Target(lambda _: [{name: data} for data in valid()], make, read_graphs, name)


def read_graphs(path: Path, lenient: bool) -> Dataset:
    return read(path, policies=specimens.LENIENT if lenient else None)


def read_set(path: Path, lenient: bool) -> Dataset:
    return read_tu(path, policies=specimens.LENIENT if lenient else None)


def spoiled_set(rng: Random) -> dict[str, bytes]:
    """Spoil one file of a set, sometimes two, sometimes lose one."""
    texts = dict(rng.choice(specimens.tu_texts()))
    for kind in rng.choices(list(texts), k=rng.choice((1, 1, 1, 2))):
        texts[kind] = mutate(rng, texts[kind], mutate_text)
    if rng.random() < 0.05:
        del texts[rng.choice(list(texts))]
    return texts


def valid_tu_folders(_: Path) -> list[Case]:
    return [{f"toy_{k}.txt": data for k, data in texts.items()} for texts in specimens.tu_texts()]


def make_tu_folder(rng: Random, _: Path) -> Case:
    return {f"toy_{kind}.txt": data for kind, data in spoiled_set(rng).items()}


def valid_tu_archives(models: Path) -> list[Case]:
    return [{"toy.zip": specimens.zipped(case)} for case in valid_tu_folders(models)]


def make_tu_archive(rng: Random, _: Path) -> Case:
    members = {f"toy/toy_{kind}.txt": data for kind, data in spoiled_set(rng).items()}
    return {"toy.zip": forge_archive(rng, members)}


def valid_folders(_: Path) -> list[Case]:
    files = (specimens.gml, specimens.node_link, specimens.edge_lists, specimens.graphml)
    names = ("a.gml", "b.json", "c.edges", "d.graphml")
    return [{name: valid()[i] for name, valid in zip(names, files, strict=True)} for i in (0, 2)]


def make_folder(rng: Random, models: Path) -> Case:
    """Mix files of all formats with what else a folder may hold."""
    valid = rng.choice(valid_folders(models))
    case: Case = {name: data for name, data in valid.items() if rng.random() < 0.6}
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = rng.choice(
            ("d.gml", "e.json", "f.csv", "toy_A.txt", "g.zip", ".edges", "h.GML", "i")
        )
        case[name] = rng.choice(
            (
                *(Odd("fifo"), Odd("folder"), Odd("link", "nowhere"), Odd("link", name)),
                *(
                    Odd("link", "/dev/zero"),
                    Odd("link", "a.gml"),
                    Odd("link", "."),
                    Odd("link", ".."),
                ),
                *(b"", b"\0", b"1 2\n", mutate(rng, specimens.gml()[-1], mutate_text)),
            )
        )
    return case


def valid_models(models: Path) -> list[Case]:
    return [{"toy.ddgk": path.read_bytes()} for path in sorted(models.glob("*.ddgk"))]


def make_model(rng: Random, models: Path) -> Case:
    data = rng.choice(sorted(models.glob("*.ddgk"))).read_bytes()
    return {"toy.ddgk": mutate(rng, data, forge_model)}


def read_model(path: Path, _: bool) -> DegreeEmbedder:
    return load_model(path, DegreeEmbedder.from_parts)


TARGETS: dict[str, Target] = {
    "tu folder": Target(valid_tu_folders, make_tu_folder, read_set),
    "tu archive": Target(valid_tu_archives, make_tu_archive, read_set, "toy.zip"),
    "gml": file_target("toy.gml", specimens.gml, mutate_text),
    "graphml": file_target("toy.graphml", specimens.graphml, mutate_text),
    "node-link": file_target("toy.json", specimens.node_link, mutate_json, mutate_text),
    "edge list": file_target("toy.edges", specimens.edge_lists, mutate_text),
    "matrix market": file_target("toy.mtx", specimens.matrix_market, mutate_text),
    "pajek": file_target("toy.net", specimens.pajek, mutate_text),
    "graph6": file_target("toy.g6", specimens.graph6, mutate_text),
    "gexf": file_target("toy.gexf", specimens.gexf, mutate_text),
    "smiles": file_target("toy.smi", specimens.smiles, mutate_text),
    "sdf": file_target("toy.sdf", specimens.sdf, mutate_text),
    "graph folder": Target(valid_folders, make_folder, read_graphs),
    "model": Target(valid_models, make_model, read_model, "toy.ddgk"),
    "run folder": Target(valid_runs, make_run, read_run),
}


def write_case(case: Case, folder: Path) -> None:
    """Lay an input out below a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in case.items():
        path = folder / name
        if isinstance(content, bytes):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        elif content.kind == "fifo":
            os.mkfifo(path)
        elif content.kind == "folder":
            path.mkdir()
        else:
            path.symlink_to(content.target)


def check_result(result: Any) -> str | None:
    """Return what is wrong with something a reader accepted, or None."""
    if isinstance(result, DegreeEmbedder):
        # Any text may be fitted and saved; only files of graphs are held to UTF-8.
        graphs = [graph.replace(name=None, node_names=None) for graph in result.sources]
        if len(result.identity) != 64 or len(result.columns) != result.n_powers + len(graphs):
            return "a model whose columns do not fit"
    else:
        graphs = result.graphs
    if not all(isinstance(graph, Graph) for graph in graphs):
        return "something else than graphs"
    for graph in graphs:
        if len(graph.node_names) != graph.n_nodes or len(graph.digest) != 64:
            return f"{graph!r} is not whole"
        texts = (graph.name, *graph.node_names)
        try:
            "".join(text for text in texts if isinstance(text, str)).encode()
        except UnicodeEncodeError:
            return "a name or label that cannot be written down"
    return None
