"""`ddgk align`: which node of one graph corresponds to which of another."""

from __future__ import annotations

import csv
import json
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ddgk.cli import inputs, options
from ddgk.cli.inputs import InputOptions, takes_graphs
from ddgk.cli.options import check_output, option
from ddgk.errors import DatasetError, shown

if TYPE_CHECKING:
    from ddgk.alignment import Alignment, Orbit
    from ddgk.graphs import Graph


FIGURES = (".svg", ".png", ".pdf")
SUFFIXES = (".json", ".csv", *FIGURES)
OUT = f"A file to write: {', '.join(SUFFIXES)}. May be given several times."
PAIRS = "A .csv of pairs, a target and a source in each line, in place of A and B."

# More than these are counted, not listed.
MOST_ORBITS = 8
MOST_NAMES = 12
MOST_ROWS = 200
LONGEST = 60  # characters of a name
MOST_PAIRS = 1_000_000  # that a file may list
SUMMARY = ("target", "source", "n_matched", "n_kept_edges", "edge_correctness",
           "symmetric_edge_score", "is_isomorphism", "stopped_early")  # fmt: skip


@takes_graphs
def align_command(
    given: InputOptions,
    target: Annotated[
        str | None,
        typer.Argument(metavar="A", help=f"The target: {inputs.ONE_GRAPH}"),
    ] = None,
    source: Annotated[str | None, typer.Argument(metavar="B", help="The source, likewise.")] = None,
    out: Annotated[list[Path] | None, option("FILE", OUT, "-o", "--out")] = None,
    pairs: Annotated[Path | None, option("FILE", PAIRS)] = None,
    labels: Annotated[
        str,
        options.choice(
            "labels", "Different labels cost, exclude a pair, or do not count.", default="soft"
        ),
    ] = "soft",
    max_seconds: Annotated[
        float | None,
        option("SECONDS", "Return the best so far after this time, per pair."),
    ] = None,
    connected: Annotated[
        bool, option(None, "Keep only the largest connected common part.", "--connected")
    ] = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
) -> None:
    """Match the nodes of A to those of B, and say how sure each match is.

    \b
    ddgk align a.gml b.gml -o match.csv -o match.svg
    ddgk align MUTAG:3 MUTAG:7 --labels strict --connected
    ddgk align --pairs pairs.csv -o all.json --jobs 4
    """  # noqa: D301
    files = out or []
    for path in files:
        check_output(path, SUFFIXES, force=force)
    named = _named_pairs(target, source, pairs)
    if any(path.suffix.lower() in FIGURES for path in files):
        if pairs is not None:
            raise typer.BadParameter(
                "a figure shows one pair; with --pairs give .csv or .json files"
            )
        # A missing library should be said before the work, not after it.
        from ddgk.plots.canvas import style

        style()
    from ddgk.alignment import AlignmentOptions, align, align_many
    from ddgk.tables import print_parts

    graphs = [(given.read_one(a, quiet=quiet), given.read_one(b, quiet=quiet)) for a, b in named]
    chosen: dict[str, Any] = {
        "labels": labels,
        "max_seconds": max_seconds,
        "random_state": seed,
        "options": AlignmentOptions(connected=connected),
        "policies": given.policies,
    }
    if pairs is not None:
        every = align_many(graphs, n_jobs=jobs, **chosen)
        summaries = [
            (*names, len(found.pairs), *(getattr(found, field) for field in SUMMARY[3:]))
            for names, found in zip(named, every, strict=True)
        ]
        report = [_summary_table(summaries)]
        as_json = [
            found.as_json() | {"target": a, "source": b}
            for (a, b), found in zip(named, every, strict=True)
        ]
        for path in files:
            _write(path, as_json, [SUMMARY, *summaries])
    else:
        found = align(*graphs[0], n_jobs=jobs, verbose=not quiet, **chosen)
        report = _report(found)
        rows: list[Any] = [("target", "source", "confidence")]
        both = zip(found.matching.items(), found.sureness.tolist(), strict=True)
        rows += [(*pair, sure) for pair, sure in both]
        for path in files:
            if path.suffix.lower() in FIGURES:
                from ddgk import plots

                plots.alignment(found, path=path)
            else:
                _write(path, found.as_json(), rows)
    if not quiet:
        print_parts(*report, *(f"wrote {shown(str(path))}" for path in files))


def _named_pairs(
    target: str | None, source: str | None, pairs: Path | None
) -> list[tuple[str, str]]:
    """Return the pairs that are asked for, by the names of their graphs."""
    if pairs is None:
        if target is None or source is None:
            raise typer.BadParameter("give two graphs, A and B, or --pairs FILE.csv")
        return [(target, source)]
    if target is not None:
        raise typer.BadParameter("give either A and B or --pairs, not both")
    try:
        with pairs.open(newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{pairs} cannot be read as .csv: {error}") from None
    if rows and [cell.strip().lower() for cell in rows[0]] == ["target", "source"]:
        rows = rows[1:]
    if not 0 < len(rows) <= MOST_PAIRS:
        raise DatasetError(f"{pairs} has {len(rows)} pairs; it needs 1 to {MOST_PAIRS:,}")
    for number, row in enumerate(rows, start=1):
        if len(row) != 2:
            raise DatasetError(f"{pairs}, pair {number}: {len(row)} cells; give target,source")
    return [(row[0].strip(), row[1].strip()) for row in rows]


def _write(path: Path, as_json: Any, rows: list[Any]) -> None:
    """Write values as .json, or rows as .csv, as the ending of the name says."""
    from ddgk.plain import csv_bytes
    from ddgk.store import write_atomically

    is_json = path.suffix.lower() == ".json"
    write_atomically(path, json.dumps(as_json).encode() + b"\n" if is_json else csv_bytes(rows))


def _summary_table(summaries: list[tuple[Any, ...]]) -> Any:
    """Return a row for every pair of graphs."""
    from ddgk.tables import text_table

    headings = ("target", "source", "matched", "kept edges", "EC", "S3", "isomorphic")
    rows = [
        (_text(a), _text(b), matched, kept, f"{ec:.2f}", f"{s3:.2f}", "yes" if same else "no")
        for a, b, matched, kept, ec, s3, same, _ in summaries[:MOST_ROWS]
    ]
    return text_table(headings, rows, right=headings[2:6], caption=_hidden(len(summaries)))


def _report(found: Alignment) -> list[Any]:
    """Return the matching as a table, then what it is worth."""
    sizes = [f"{own.n_nodes} nodes, {own.n_edges} edges" for own in (found.target, found.source)]
    size = f"target ({sizes[0]}) onto source ({sizes[1]})"
    return [size, _pair_table(found), *_verdict(found), *_ties(found.orbits)]


def _pair_table(found: Alignment) -> Any:
    """Return a row for every node of the target, those without a partner last."""
    from ddgk.tables import text_table

    def labels(graph: Graph) -> dict[Hashable, str]:
        return dict(zip(graph.node_names, map(_text, graph.node_labels or ()), strict=False))

    matching, sure = found.matching, found.confidence
    mine, theirs = labels(found.target), labels(found.source)
    rows = [
        (_text(t), _text(s), f"{sure[t]:.2f}", f"{mine.get(t)} {theirs.get(s)}")
        for t, s in list(matching.items())[:MOST_ROWS]
    ]
    alone = found.unmatched_target[: MOST_ROWS - len(rows)]
    rows += [(_text(t), "-", "-", mine.get(t, "")) for t in alone]
    headings = [_text(found.target.name or "target"), _text(found.source.name or "source")]
    headings += ["confidence", "labels"] if mine and theirs else ["confidence"]
    caption = _hidden(found.target.n_nodes)
    cut = [row[: len(headings)] for row in rows]
    return text_table(headings, cut, right=("confidence",), caption=caption)


def _hidden(n_rows: int) -> str | None:
    more = n_rows - MOST_ROWS
    return f"and {more} more (all are in .csv and .json)" if more > 0 else None


def _text(value: object) -> str:
    """Return a name or label from a file as it is safe to print."""
    return shown(str(value), LONGEST)


def _verdict(found: Alignment) -> list[str]:
    n_edges = found.target.n_edges
    kept = found.n_kept_edges
    read = ", ".join(name.replace("_", " ") for name in found.attributes) or "structure alone"
    lines = [
        f"read: {read}",
        f"edge correctness {found.edge_correctness:.2f}: {kept} of {n_edges} edges of the target "
        f"fall on edges of the source; symmetric edge score {found.symmetric_edge_score:.2f}",
    ]
    if found.is_isomorphism:
        verdict = "the graphs are isomorphic: this matching keeps every edge and non-edge"
        lines.append(f"{verdict}, and all that was read" if found.attributes else verdict)
    elif (found.target.n_nodes, n_edges) != (found.source.n_nodes, found.source.n_edges):
        lines.append("not isomorphic: the numbers of nodes or edges differ")
    else:
        lines.append("no isomorphism found (which does not prove that there is none)")
    if found.proven and not found.is_isomorphism:
        lines.append("no matching can keep more edges")
    if found.stopped_early:
        lines.append("stopped early: this is the best until then")
    lonely = [len(found.unmatched_target), len(found.unmatched_source)]
    if any(lonely):
        lines.append(f"without a partner: {lonely[0]} of the target, {lonely[1]} of the source")
    return lines


def _ties(orbits: tuple[Orbit, ...]) -> list[str]:
    """Say which nodes could as well have each other's partners."""
    lines = []
    for orbit in orbits[:MOST_ORBITS]:
        names = ", ".join(map(_text, orbit.nodes[:MOST_NAMES]))
        if len(orbit.nodes) > MOST_NAMES:
            names += f" and {len(orbit.nodes) - MOST_NAMES} more"
        if orbit.exchanged:
            lines.append(f"tie: {names} can change places (checked)")
        else:
            lines.append(f"tie: {names} look alike to refinement, and may change places")
    if len(orbits) > MOST_ORBITS:
        lines.append(f"and {len(orbits) - MOST_ORBITS} more ties (all are in .json)")
    return lines
