"""Damage every file of a run and of a model, and send hostile text through every output.

    python benchmarks/attack.py              all cases, about a minute
    python benchmarks/attack.py --flips 20   fewer flipped bytes per file

Each case has one of two good ends: the damage is *named* (an error of ddgk, or `Run.verify`, that
names the file), or what is read is *unchanged* (rows, names, columns; of a model its identity).
Anything else is a failure: another exception ("failed"), or other content without a word
("silent"). The script ends with 1 if there is any. No secret is kept in a run, so a forger who
knows the format can always make another valid run; what is tried is every change of a single file.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from ddgk.embedding import embed_into, train_into
from ddgk.errors import DDGKError
from ddgk.store import graphs_from_tensors, graphs_to_tensors, load_model, open_run, save_parts
from ddgk.store.sealed import map_sealed, pack, save_sealed, seal_json, unpack, unseal_json
from ddgk.tables import Table, write_table
from degrees import DegreeEmbedder
from light_model import DegreeCounts, rings_and_stars
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True, attributes=True) for seed in range(20)]
FORGED: tuple[Any, ...] = (None, True, -1, 0, 10**9, 2**62, 0.5, "", "x" * 5000, "\x1b[31m", [], {})
TEXTS = {
    "terminal": "\x1b]0;pwned\x07\x1b[31mred\x1b[2J",
    "controls": "a\x00b\x08\x7f\x9b31m",
    "mathtext": "$\\frac{$",
    "html": "<script>alert(1)</script>&amp;",
    "markup": "[red]x[/red] [link=file:///etc/passwd]y",
    "formula": "=1+1",
    "command": "=cmd|'/C calc'!A0",
    "plus": "+1+1",
    "minus": "-2+3+cmd",
    "at": "@SUM(A1:A9)",
    "tab": "\t=1",
    "return": "a\rb",
    "line": "a\nb\r\nc",
    "quotes": "\"a\",'b'",
    "bidirectional": "abc\u202egpj.exe\u2066\u2069",
    "separators": "a\u2028b\u2029c\u0085d",
    "surrogate": "half \ud800 \udfff",
    "long": "x" * 2**20,
    "empty": "",
}

Operation = Callable[[Path], object]
csv.field_size_limit(2**24)


class Tally:
    """Counts of verdicts by area; failures are kept."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.wrong: list[str] = []

    def judge(self, area: str, case: str, look: Callable[[], str]) -> None:
        """Count what `look` returns: "named", "unchanged" or "silent"; or "failed" if it raises."""
        try:
            verdict = look()
        except Exception as error:
            verdict = "failed"
            case += f": {type(error).__name__}: {error}"[:200]
        self.counts.setdefault(area, Counter())[verdict] += 1
        if verdict not in ("named", "unchanged"):
            self.wrong.append(f"{verdict}: {area}, {case}")


def content_of(run: Any) -> tuple[Any, ...]:
    return run.rows().tobytes(), run.names, run.columns


def damages(path: Path, others: list[Path], flips: int) -> Iterator[tuple[str, Operation]]:
    """List the ways to damage a file; others: files to put in its place."""
    content = path.read_bytes()
    yield "delete", Path.unlink
    yield "empty", lambda p: p.write_bytes(b"")
    yield "garbage", lambda p: p.write_bytes(os.urandom(len(content)))
    yield "append", lambda p: p.write_bytes(content + b"\0")
    yield "folder", lambda p: (p.unlink(), p.mkdir())
    yield "dangling link", lambda p: (p.unlink(), p.symlink_to("nowhere"))
    yield "link to a device", lambda p: (p.unlink(), p.symlink_to("/dev/zero"))
    for other in others:
        yield (
            f"swap with {other.parent.parent.name}/{other.name}",
            lambda p, o=other: shutil.copy(o, p),
        )
    for end in np.unique(np.linspace(1, max(1, len(content) - 1), 8).astype(int)).tolist():
        yield f"truncate to {end}", lambda p, end=end: p.write_bytes(content[:end])
    for place in np.unique(np.linspace(0, len(content) - 1, flips).astype(int)).tolist():
        for bit in (0x01, 0x20):
            flipped = bytearray(content)
            flipped[place] ^= bit
            yield f"flip {place}", lambda p, data=bytes(flipped): p.write_bytes(data)


def forgeries(path: Path, folder: Path) -> Iterator[tuple[str, Operation]]:
    """List changes of single fields and arrays, sealed again as far as the file alone allows."""
    if path.suffix == ".json":
        kind = "run" if path.name == "manifest.json" else "settings"
        content = unseal_json(kind, path.read_bytes())
        for field in content:
            for value in FORGED:
                data = seal_json(kind, content | {field: value})
                yield (
                    f"forge {field}={value!r}"[:60],
                    lambda p, data=data: p.write_bytes(data),
                )
        return
    if path.suffix != ".safetensors":
        return
    kind = "model" if path.name.startswith("model") else path.parent.name
    key = open_run(folder).manifest.key
    name = f"{path.parent.name}/{path.name}"
    run = open_run(folder)
    contexts = {"model": "", "rows": ""}
    if kind == "rows":
        contexts["rows"] = run._context(int(path.stem))
    arrays, content = unpack(kind, path.read_bytes(), contexts.get(kind, f"{key} {name}"))
    for array_name, array in arrays.items():
        changed = {
            "zeros": np.zeros_like(array),
            "reversed": array[::-1],
            "shorter": array[:-1],
            "twice": np.concatenate([array, array]),
            "wider": array.astype(np.float64) if array.dtype != np.float64 else array[..., None],
            "nothing": np.empty((10**6, 0), array.dtype),
        }
        for what, value in changed.items():
            # A tile sealed for its true place with the right shape is a valid tile.
            true_tile = kind == "rows" and value.shape == array.shape and value.dtype == array.dtype
            context = "" if true_tile else contexts.get(kind, f"{key} {name}")
            data = pack(kind, arrays | {array_name: value}, content, context)
            yield f"forge {array_name} {what}", lambda p, data=data: p.write_bytes(data)
    if isinstance(content, dict):
        for field in content:
            for value in FORGED:
                data = pack(kind, arrays, content | {field: value})
                yield (
                    f"forge {field}={value!r}"[:60],
                    lambda p, data=data: p.write_bytes(data),
                )


def look_at_run(folder: Path, expected: tuple[Any, ...]) -> str:
    """Open, verify and read a run."""
    try:
        run = open_run(folder)
        damages = run.verify()
        found = content_of(run)
        run.log()
        return "named" if damages else "unchanged" if found == expected else "silent"
    except DDGKError as error:
        return "named" if str(folder) in str(error) else "silent"


def resume(folder: Path, expected: tuple[Any, ...]) -> str:
    """Continue a run by the command that began it."""
    try:
        train_into(folder, {"seed": 1}, DegreeEmbedder, DegreeEmbedder)
        run = embed_into(folder, DegreeEmbedder(), GRAPHS)
        return "unchanged" if content_of(run) == expected else "silent"
    except DDGKError as error:
        return "named" if str(folder) in str(error) else "silent"


def load_again(path: Path, identity: str) -> str:
    try:
        loaded = load_model(path, DegreeEmbedder.from_parts)
        return "unchanged" if loaded.identity == identity else "silent"
    except DDGKError as error:
        return "named" if str(path) in str(error) else "silent"


def make_run(folder: Path, graphs: Any) -> tuple[Any, ...]:
    train_into(folder, {"seed": 1}, DegreeEmbedder, DegreeEmbedder)
    return content_of(embed_into(folder, DegreeEmbedder(), graphs))


def attack_runs(home: Path, tally: Tally, flips: int) -> None:
    """Damage every file of a run, look at it, and continue it."""
    whole = home / "run"
    expected = make_run(whole, GRAPHS)
    make_run(home / "same", GRAPHS)
    make_run(home / "other", GRAPHS[::2])
    for path in sorted(p for p in whole.rglob("*") if p.is_file()):
        name = path.relative_to(whole)
        others = [p for p in path.parent.iterdir() if p != path and p.is_file()]
        others += [p for p in (home / "same" / name, home / "other" / name) if p.exists()]
        operations = [*damages(path, others, flips), *forgeries(path, whole)]
        content = path.read_bytes()
        for what, operate in operations:
            operate(path)
            tally.judge("run, read", f"{name}: {what}", lambda: look_at_run(whole, expected))
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            path.write_bytes(content)
            if not what.startswith("flip"):
                copy = home / "copy"
                shutil.copytree(whole, copy)
                operate(copy / name)
                tally.judge("run, resume", f"{name}: {what}", lambda c=copy: resume(c, expected))
                shutil.rmtree(copy)


def attack_models(home: Path, tally: Tally, flips: int) -> None:
    """Damage and forge a model file. A forgery that loads must be what it claims to be."""
    path, other = home / "model.safetensors", home / "others" / "model.safetensors"
    other.parent.mkdir()
    embedder = DegreeEmbedder()
    save_parts(path, *embedder.to_parts())
    other.write_bytes(pack("rows", {"rows": np.zeros((2, 2))}))
    content = path.read_bytes()
    forged = [
        (what, operate)
        for what, operate in forgeries(path, home / "run")
        # Another value that a model may have makes another model, sealed as such.
        if not what.startswith(("forge delay", "forge engine", "forge dtype"))
    ]
    for what, operate in [*damages(path, [other], flips), *forged]:
        operate(path)
        tally.judge("model", what, lambda what=what: _judged_model(path, embedder, what))
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(content)
    for name, values in {"checkpoints": range(10**6), "deep": [[[[1]]]]}.items():
        metadata = embedder.to_parts()[1] | {name: list(values)}
        metadata["nested"] = json.loads("[" * 40 + "]" * 40)
        save_parts(path, embedder.to_parts()[0], metadata)
        began = time.perf_counter()
        tally.judge("model", name, lambda: load_again(path, ""))
        assert time.perf_counter() - began < 1


def _judged_model(path: Path, embedder: DegreeEmbedder, what: str) -> str:
    if not what.startswith("forge"):
        return load_again(path, embedder.identity)
    try:
        loaded = load_model(path, DegreeEmbedder.from_parts)
    except DDGKError as error:
        return "named" if str(path) in str(error) else "silent"
    # Sealed by who made it: a valid model, and its identity says that it is another one.
    same = [source.digest for source in loaded.sources] == [s.digest for s in embedder.sources]
    return "unchanged" if same == (loaded.identity == embedder.identity) else "silent"


def attack_outputs(home: Path, tally: Tally) -> None:
    """Send hostile names through tables, files of graphs, the terminal and messages."""
    from typer.testing import CliRunner

    from ddgk.cli import app

    for kind, text in TEXTS.items():
        names = [text, "plain"]
        table = Table(np.zeros((2, 1), np.float32), names, [text or "column"], None)
        graph = random_graph(3, labels=True).replace(
            name=text, node_labels=[text] * random_graph(3).n_nodes
        )

        def as_csv(table: Table = table, names: list[str] = names) -> str:
            write_table(home / "x.csv", table)
            written = (home / "x.csv").read_bytes().decode()
            rows = list(csv.reader(io.StringIO(written, newline="")))
            plain = [name.encode("utf-8", "backslashreplace").decode() for name in names]
            fine = len(rows) == 3 and all(len(row) == 2 for row in rows)
            found = [row[0].removeprefix("'") for row in rows[1:]]
            fine &= found == plain
            dangerous = any(field.startswith(("=", "+", "-", "@", "\t", "\r")) for field in rows[1])
            return "unchanged" if fine and not dangerous else "silent"

        def as_table(suffix: str, table: Table = table) -> str:
            write_table(home / f"x{suffix}", table)
            return "unchanged" if (home / f"x{suffix}").stat().st_size < 2**23 else "silent"

        def as_graphs(graph: Any = graph) -> str:
            (found,) = graphs_from_tensors(graphs_to_tensors([graph]))
            same = found == graph and found.name == graph.name
            return "unchanged" if same else "silent"

        def as_json(text: str = text) -> str:
            found = unseal_json("settings", seal_json("settings", {"a": text, "b": [text]}))
            return "unchanged" if found == {"a": text, "b": [text]} else "silent"

        def in_status(graph: Any = graph, text: str = text) -> str:
            folder = home / "hostile"
            shutil.rmtree(folder, ignore_errors=True)
            run = embed_into(folder, DegreeEmbedder(engine_name=text), [graph])
            with open(folder / "run.log", "ab") as log:
                log.write(text.encode("utf-8", "surrogatepass") + b"\n")
            said = CliRunner().invoke(app, ["status", "--verify", str(folder)]).output
            said += repr(run) + run.describe(0)
            fine = run.names == [text] and len(said) < 10**5
            return "unchanged" if fine and is_safe(said) else "silent"

        def in_messages(graph: Any = graph) -> str:
            embedder = DegreeEmbedder()
            embedder.failing[graph.name] = 99
            shutil.rmtree(home / "failing", ignore_errors=True)
            try:
                embed_into(home / "failing", embedder, [graph])
            except DDGKError as error:
                return "named" if is_safe(str(error)) and len(str(error)) < 5000 else "silent"
            return "silent"

        outputs = {
            "csv": as_csv,
            "npz": lambda: as_table(".npz"),
            "parquet": lambda: as_table(".parquet"),
            "graphs": as_graphs,
            "json": as_json,
            "terminal": in_status,
            "messages": in_messages,
        }
        for output, look in outputs.items():
            tally.judge(f"text, {output}", kind, look)


def attack_index(home: Path, tally: Tally, flips: int) -> None:
    """Damage and forge the file of a search index. Sealed again, its parts must fit together."""
    from ddgk import DDGK
    from ddgk.search import KIND, GraphIndex

    graphs = rings_and_stars()
    model = DDGK(2, random_state=0).fit(graphs)
    path, other = home / "index" / "a.ddgk", home / "other index" / "a.ddgk"
    for file, members in ((path, graphs), (other, graphs[::2])):
        file.parent.mkdir()
        GraphIndex.build(model, members).save(file)
    content = path.read_bytes()

    def answers(file: Path) -> list[Any]:
        index = GraphIndex.load(file)
        hits = [index.query(graph, k=3) for graph in graphs[:2]]
        return [[(h.id, h.name, h.distance, h.graph) for h in found] for found in hits]

    expected = answers(path)

    def look(same: bool = True) -> str:
        try:
            return "unchanged" if answers(path) == expected or not same else "silent"
        except (DDGKError, FileNotFoundError) as error:
            return "named" if str(path) in str(error) else "silent"

    plain, description = map_sealed(KIND, str(other))

    def sealed(said: Any, arrays: dict[str, Any]) -> Operation:
        return lambda p: save_sealed(p, KIND, arrays, said)

    forged = [
        (f"forge {field}={value!r}"[:60], sealed(description | {field: value}, plain))
        for field in description
        for value in FORGED
    ]
    forged += [
        (f"forge {name}: {what}", sealed(description, plain | {name: changed}))
        for name, array in plain.items()
        for what, changed in {
            "empty": array[:0],
            "shorter": array[:-1],
            "twice": np.concatenate([array, array]),
            "deep": np.frombuffer(b"[" * 10**5, np.uint8),
            "ones": np.full_like(array, 255 if array.dtype == np.uint8 else -1),
            "other numbers": array.astype(np.float64),
            "other shape": array[..., None],
            "nothing": np.empty((10**6, 0), array.dtype),
        }.items()
    ]
    forged += [
        (
            f"forge without {name}",
            sealed(description, {k: v for k, v in plain.items() if k != name}),
        )
        for name in plain
    ]
    for what, operate in [*damages(path, [], flips), *forged]:
        operate(path)
        # A forgery whose parts fit together is an index of its own, not this one.
        tally.judge("index", what, lambda what=what: look(not what.startswith("forge")))
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(content)
    shutil.copy(other, path)
    tally.judge("index", "another index", lambda: look(False))


def attack_molecules(home: Path, tally: Tally) -> None:
    """Send hostile names through files of molecules: read, shown, and written to a table."""
    from rdkit import Chem

    from ddgk import io as files

    block = Chem.MolToMolBlock(Chem.MolFromSmiles("CCO")).split("\n", 1)[1]
    (home / "plain.smi").write_text("CCO ethanol\n")
    (plain,) = files.read(home / "plain.smi").graphs
    for kind, text in TEXTS.items():
        quoted = text.replace('"', '""')
        contents = {
            "names.smi": f"CCO {text}\n",
            "names.sdf": f"{text}\n{block}> <{text}>\n{text}\n\n$$$$\n",
            "names.csv": f'name,smiles\n"{quoted}",CCO\n',
        }
        for name, content in contents.items():

            def look(name: str = name, content: str = content) -> str:
                path = home / name
                path.write_bytes(content.encode("utf-8", "surrogatepass"))
                smiles = "smiles" if path.suffix == ".csv" else None
                try:
                    graphs = files.read(path, smiles=smiles).graphs
                except DDGKError as error:
                    said = str(error)
                    short = is_safe(said) and len(said) < 5000
                    return "named" if short and str(path) in said else "silent"
                names = [str(graph.name) for graph in graphs]
                write_table(home / "x.csv", Table(np.zeros((len(names), 1)), names, ["x"], None))
                fine = all(graph == plain for graph in graphs) and is_safe(repr(graphs))
                return "unchanged" if fine and len(names) == 1 else "silent"

            tally.judge("molecules", f"{name}: {kind}", look)


def attack_figures(home: Path, tally: Tally) -> None:
    """Send hostile names and labels into figures and the explorer's page."""
    from xml.etree import ElementTree

    from ddgk import Graph, align, compare, plots
    from ddgk.explorer import make_atlas
    from ddgk.explorer.page import render_page

    for kind, text in TEXTS.items():
        graph = Graph(
            3, [(0, 1), (1, 2)], node_labels=[text, "b", "c"], edge_labels=[text, "x"],
            node_names=[text, "y\0", "z"], name=text,
        )  # fmt: skip

        def as_figure(suffix: str, graph: Any = graph, text: str = text) -> str:
            path = home / f"figure{suffix}"
            path.unlink(missing_ok=True)
            plots.alignment(align(graph, graph), title=text, path=path)
            if suffix == ".svg":
                found = path.read_text("utf-8")
                ElementTree.fromstring(found)
                return "unchanged" if is_safe(found) and "<script" not in found else "silent"
            return "unchanged" if 1000 < path.stat().st_size < 2**22 else "silent"

        def as_page(graph: Any = graph, text: str = text) -> str:
            others = rings_and_stars(2)
            found = compare([graph, *others], model=DegreeCounts(), classes=[text, *"abcd"])
            atlas = make_atlas(
                found, title=text, projection="pca", attributes={text: [text, *"abcd"]}
            )
            page = render_page(atlas)
            page.encode()
            fine = is_safe(page.replace("\t", "")) and "<script>alert" not in page
            return "unchanged" if fine and len(page) < 2**23 else "silent"

        tally.judge("text, svg", kind, lambda: as_figure(".svg"))
        tally.judge("text, png", kind, lambda: as_figure(".png"))
        tally.judge("text, html", kind, as_page)


def attack_server(tally: Tally) -> None:
    """Ask the explorer's server what a browser never would; every answer is JSON and bounded."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of another library that it would rather use
        from starlette.testclient import TestClient

    from ddgk import compare
    from ddgk.explorer import make_atlas
    from ddgk.explorer.server import make_app

    names = [*TEXTS.values()]
    graphs = [random_graph(i, labels=True).replace(name=name) for i, name in enumerate(names)]
    atlas = make_atlas(compare(graphs, model=DegreeCounts(), classes=names), projection="pca")
    ring = {"n_nodes": 5, "edges": [[i, (i + 1) % 5] for i in range(5)]}
    bodies: list[tuple[str, Any]] = []
    for value in (*FORGED, *TEXTS.values(), float("nan"), [[0, 1]], {"n_nodes": 2}):
        bodies += [(f"{key}={value!r}"[:40], {key: value}) for key in ("position", "graph", "k")]
        bodies += [
            (f"graph.{key}={value!r}"[:40], {"graph": ring | {key: value}, "k": 2})
            for key in (*ring, "name", "node_labels", "edge_weights", "node_attributes", "directed")
        ]
        pair = {"target": {"position": 0}, "source": {"position": 1}}
        bodies += [(f"{key}={value!r}"[:40], pair | {key: value}) for key in pair]
    with TestClient(make_app(atlas), base_url="http://127.0.0.1") as client:
        for what, body in bodies:
            content = json.dumps(body).encode()
            for route in ("similar", "embed", "align"):

                def ask(route: str = route, content: bytes = content) -> str:
                    head = {"content-type": "application/json"}
                    answer = client.post(f"/api/{route}", content=content, headers=head)
                    found = answer.json()
                    if answer.status_code == 200:
                        return "unchanged" if len(answer.content) < 2**23 else "silent"
                    fine = 400 <= answer.status_code < 500 and is_safe(found["error"])
                    return "named" if fine and len(found["error"]) < 5000 else "silent"

                tally.judge("server", f"{route}: {what}", ask)

        def health() -> str:
            page = client.get("/")
            fine = page.status_code == 200 and "<script>alert" not in page.text
            same = client.get("/health").json()["n_graphs"] == len(names)
            return "unchanged" if fine and same else "silent"

        tally.judge("server", "page and health afterwards", health)


def is_safe(text: str) -> bool:
    """Return whether text holds nothing that a terminal would obey."""
    return all(char.isprintable() or char == "\n" for char in text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--flips", type=int, default=60, help="places per file")
    arguments = parser.parse_args()
    tally, began = Tally(), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        home = Path(folder)
        attack_runs(home, tally, arguments.flips)
        attack_models(home, tally, arguments.flips)
        attack_index(home, tally, arguments.flips)
        attack_outputs(home, tally)
        attack_molecules(home, tally)
        attack_figures(home, tally)
        attack_server(tally)
    verdicts = ("named", "unchanged", "failed", "silent")
    print(f"{'area':16s} {'cases':>6s} {'held':>6s} " + " ".join(f"{v:>9s}" for v in verdicts))
    total: Counter[str] = Counter()
    for area, counts in [*tally.counts.items(), ("all", total)]:
        total.update(counts if area != "all" else {})
        held = counts["named"] + counts["unchanged"]
        cells = " ".join(f"{counts[verdict]:9d}" for verdict in verdicts)
        print(f"{area:16s} {sum(counts.values()):6d} {held:6d} {cells}")
    for line in tally.wrong[:40]:
        print(line)
    print(f"{sum(total.values())} cases in {time.perf_counter() - began:.0f} s")
    sys.exit(1 if tally.wrong else 0)


if __name__ == "__main__":
    main()
