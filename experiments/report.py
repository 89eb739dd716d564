"""The summary page and README's table, made from the results files alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from experiments import storage
from experiments.catalogue import EXPERIMENTS, module_of
from experiments.classification import usual_repeats
from experiments.data import ATTRIBUTED_SETS, SETS
from experiments.methods import METHODS
from experiments.statistics import interval, lead, markdown, paired, seconds

README_ROWS = ("ddgk", "wl-oa", "wl", "wwl", "graph2vec", "dgk", "gin", "histogram", "sizes")
COUNTING = "histogram"


def page(folder: Path = storage.RESULTS) -> str:
    """Return the summary page."""
    sets = _read(SETS, folder)
    parts = [
        "# Results",
        "Written by `python -m experiments report` from the files in `experiments/results/`; each "
        "holds its command, protocol, seed, versions, seconds and fold accuracies. `python -m "
        "experiments classification SET --rows NAME` repeats one row. Protocols and methods: "
        "[docs/experiments.md](../docs/experiments.md).",
        "## Classification",
        "Accuracy in percent, protocol nested: mean over folds ± half of the 95 % interval "
        "(corrected for overlapping training parts), in brackets the figure of the DDGK paper, "
        "measured under other protocols, in parentheses the repeats where the time did not suffice "
        "for all (ten below 1,000 graphs, three above; supervised networks ten and one). "
        "s: supervised. Blank: not measured. " + _links(sets),
        accuracy_matrix(sets),
        "Lead over counting (label histogram with numbers of nodes and edges), paired on the same "
        "folds, in percentage points; **bold**: the interval excludes 0.",
        lead_matrix(sets),
    ]
    if attributed := _read(ATTRIBUTED_SETS, folder):
        parts += [
            "## Sets with real attributes",
            "As above. Attribute statistics: mean, standard deviation, minimum and maximum of "
            "every node attribute beside numbers of nodes, edges and labels. Lead: over these. "
            + _links(attributed),
            accuracy_matrix(attributed),
            lead_matrix(attributed, "attributes"),
        ]
    for name, experiment in EXPERIMENTS.items():
        files = sorted([*folder.glob(f"{name}.json"), *folder.glob(f"{name}-*.json")])
        contents = [content for file in files if (content := storage.read_results(file))]
        if contents:
            measured = [content["measured"] for content in contents]
            parts += [f"## {experiment.title}", module_of(name).table(measured)]
    return "\n\n".join(parts) + "\n"


def _read(names: Iterable[str], folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results of the sets that have some."""
    found = {name: storage.read_results(folder / f"{name}.json") for name in names}
    return {name: content for name, content in found.items() if content}


def _links(names: Iterable[str]) -> str:
    links = ", ".join(f"[{name}](results/{name}.md)" for name in names)
    return f"Full tables by set, with seconds: {links}."


def accuracy_matrix(sets: dict[str, dict[str, Any]]) -> str:
    """Return accuracies, a row per method and a column per set."""

    def cell(set_name: str, name: str, row: dict[str, Any]) -> str:
        if not row["accuracies"]:
            return str(row["problem"])
        found = interval(row["accuracies"])
        published = METHODS[name].published_on(set_name)
        ending = "" if published is None else f" [{published:.1f}]"
        if row["repeats"] < usual_repeats(sets[set_name], row):
            ending += f" ({row['repeats']} x 10 folds)"
        return f"{100 * found.mean:.1f} ± {100 * (found.high - found.mean):.1f}{ending}"

    return _matrix(sets, cell, other_seeds=True)


def lead_matrix(sets: dict[str, dict[str, Any]], over: str = COUNTING) -> str:
    """Return leads over one row, a row per method and a column per set."""

    def cell(set_name: str, name: str, row: dict[str, Any]) -> str:
        counting = sets[set_name]["rows"].get(over, {}).get("accuracies")
        if not row["accuracies"] or not counting or name == over:
            return ""
        found = paired(row["accuracies"], counting)
        text = f"{100 * found.mean:+.1f} ± {100 * (found.high - found.mean):.1f}"
        return f"**{text}**" if found.low > 0 or found.high < 0 else text

    return _matrix(sets, cell)


def _matrix(
    sets: dict[str, dict[str, Any]],
    cell: Callable[[str, str, dict[str, Any]], str],
    *,
    other_seeds: bool = False,
) -> str:
    lines = []
    for name, method in METHODS.items():
        rows = {set_name: content["rows"].get(name) for set_name, content in sets.items()}
        cells = [cell(set_name, name, row) if row else "" for set_name, row in rows.items()]
        if any(cells):
            lines.append([method.title + (" (s)" if method.supervised else ""), *cells])
        if other_seeds and any(cells := [_other_seeds(c, name) for c in sets.values()]):
            lines.append([f"{method.title}, mean of other seeds", *cells])
    return markdown(["", *(name.replace("DD", "D&D") for name in sets)], lines)


def _other_seeds(content: dict[str, Any], name: str) -> str:
    """Return the mean accuracy over the seeds other than 0, and how many there are."""
    rows = [row for key, row in content["rows"].items() if key.startswith(f"{name}@")]
    means = [np.mean(row["accuracies"]) for row in rows if row["accuracies"]]
    return f"{100 * np.mean(means):.1f} ({len(means)})" if means else ""


def set_page(content: dict[str, Any]) -> str:
    """Return the full table of one set."""
    about = (
        f"{content['n_graphs']} graphs. Protocol {content['protocol']}. Accuracy: mean over folds "
        "with its 95 % interval. Lead: over the label histogram, paired. Paper: the figure of the "
        "DDGK paper. Seconds: describing all graphs once / choosing and fitting in one fold."
    )
    return f"# {content['set']}\n\n{about}\n\n{classification_table(content)}\n"


def write_pages(folder: Path = storage.RESULTS) -> list[Path]:
    """Write the summary page and a page per set; return their paths."""
    pages = {folder.parent / "RESULTS.md": page(folder)}
    for name, content in _read(dict.fromkeys([*SETS, *ATTRIBUTED_SETS]), folder).items():
        pages[folder / f"{name}.md"] = set_page(content)
    for path, text in pages.items():
        path.write_text(text)
    return list(pages)


def classification_table(content: dict[str, Any]) -> str:
    """Return one set's rows, best first."""
    rows = content["rows"]
    counting = rows.get(COUNTING, {}).get("accuracies")
    measured = [name for name in rows if rows[name]["accuracies"]]
    measured.sort(key=lambda name: -np.mean(rows[name]["accuracies"]))
    lines = []
    for name in measured:
        row = rows[name]
        same_folds = row["seed"] == 0 and name != COUNTING and counting
        ahead = lead(row["accuracies"], counting) if same_folds else ""
        published = METHODS[name].published_on(content["set"]) if name in METHODS else None
        lines.append(
            [
                row["title"] + (f", seed {row['seed']}" if row["seed"] else ""),
                interval(row["accuracies"]).percent(),
                ahead,
                "" if published is None else f"{published:.1f}",
                "yes" if row["supervised"] else "",
                str(row["repeats"]),
                f"{seconds(row['describing'])} / {seconds(row['classifying'])}",
            ]
        )
    lines += [
        [row["title"], row["problem"], "", "", "yes" if row["supervised"] else "", "", ""]
        for row in rows.values()
        if not row["accuracies"]
    ]
    heads = [
        "method",
        "accuracy",
        "lead over counting",
        "paper",
        "supervised",
        "repeats",
        "seconds",
    ]
    return markdown(heads, lines)


def readme_table(folder: Path = storage.RESULTS) -> str:
    """Return README's table: a few methods on all sets, best unsupervised figure in bold."""
    found = {name: storage.read_results(folder / f"{name}.json") for name in SETS}
    sets = [name for name, content in found.items() if content]
    lines = []
    best = {}
    for set_name in sets:
        rows = (found[set_name] or {})["rows"]
        means = [
            np.mean(rows[name]["accuracies"])
            for name in README_ROWS
            if name in rows and rows[name]["accuracies"] and not rows[name]["supervised"]
        ]
        best[set_name] = max(means, default=-1.0)
    for name in README_ROWS:
        cells = []
        for set_name in sets:
            row = (found[set_name] or {})["rows"].get(name)
            if not row or not row["accuracies"]:
                cells.append("")
                continue
            mean = np.mean(row["accuracies"])
            text = f"{100 * mean:.1f}"
            cells.append(f"**{text}**" if mean == best[set_name] else text)
        if any(cells):
            title = METHODS[name].title + (", supervised" if METHODS[name].supervised else "")
            lines.append([title, *cells])
    published = [METHODS["ddgk"].published_on(name) for name in sets]
    cells = ["" if value is None else f"{value:.1f}" for value in published]
    lines.append(["DDGK as published, another protocol", *cells])
    return markdown(["", *(name.replace("DD", "D&D") for name in sets)], lines)
