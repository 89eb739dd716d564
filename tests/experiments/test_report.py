import re
from pathlib import Path

import numpy as np
import pytest

from experiments import report, storage
from experiments.classification import add_row
from experiments.data import SETS

README = Path(__file__).parents[2] / "README.md"


def row(title, mean, *, supervised=False, n=100):
    values = np.clip(np.random.default_rng(0).normal(mean, 0.05, n), 0, 1)
    return {
        "title": title,
        "supervised": supervised,
        "accuracies": values.tolist(),
        "describing": 1.25,
        "classifying": 0.5,
        "repeats": 10,
        "seed": 0,
    }


@pytest.fixture
def folder(tmp_path, rings_and_stars):
    for name, given in {
        "ddgk": row("DDGK", 0.9),
        "histogram": row("label histogram", 0.84),
        "gin": row("GIN", 0.95, supervised=True),
    }.items():
        add_row("MUTAG", name, given, data=rings_and_stars, folder=tmp_path)
    failed = {"title": "random walks", "supervised": False, "accuracies": [], "seed": 0}
    given = {**failed, "tried": 60, "problem": "not finished within 60 s"}
    add_row("MUTAG", "walks", given, data=rings_and_stars, folder=tmp_path)
    return tmp_path


def test_a_set_lists_methods_by_accuracy_with_leads(folder):
    text = report.set_page(storage.read_results(folder / "MUTAG.json"))
    titles = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    assert titles == ["| method", "| GIN", "| DDGK", "| label histogram", "| random walks"]
    ours = next(line for line in text.splitlines() if line.startswith("| DDGK"))
    assert "+6.0" in ours
    assert "91.6" in ours, "the paper's figure"
    assert "1.2 / 0.5" in ours
    assert "not finished within 60 s" in text


def test_the_page_has_accuracies_and_leads(folder):
    text = report.page(folder)
    ours = [line for line in text.splitlines() if line.startswith("| DDGK |")]
    assert len(ours) == 2
    assert "[91.6]" in ours[0]
    assert "**+6.0 ±" in ours[1]
    assert "| GIN (s) |" in text
    assert "not finished within 60 s" in text


def test_other_seeds_have_a_row_and_a_mean(folder, rings_and_stars):
    for seed, mean in ((1, 0.8), (2, 0.9)):
        given = row("DDGK", mean) | {"seed": seed, "accuracies": [mean] * 100}
        add_row("MUTAG", "ddgk", given, data=rings_and_stars, folder=folder)
    assert "| DDGK, mean of other seeds | 85.0 (2) |" in report.page(folder)
    text = report.set_page(storage.read_results(folder / "MUTAG.json"))
    assert "| DDGK, seed 1 | 80.0 (80.0 to 80.0) |  |" in text, "other folds: no paired lead"


def test_the_best_unsupervised_figure_is_bold(folder):
    text = report.readme_table(folder)
    bold = [line for line in text.splitlines() if "**" in line]
    assert [line.split(" | ")[0] for line in bold] == ["| DDGK"]
    assert "GIN, supervised" in text


def test_the_page_in_the_repository_is_what_the_files_give():
    page = storage.HERE / "RESULTS.md"
    if not page.is_file():
        pytest.skip("there is no summary page yet")
    assert page.read_text() == report.page()
    for name in SETS:
        content = storage.read_results(storage.RESULTS / f"{name}.json")
        if content:
            assert (storage.RESULTS / f"{name}.md").read_text() == report.set_page(content)


def test_readme_shows_the_generated_table():
    missing = [
        name
        for name in SETS
        if "ddgk"
        not in (storage.read_results(storage.RESULTS / f"{name}.json") or {"rows": {}})["rows"]
    ]
    if missing:
        pytest.skip(f"no result of the default embedding on {', '.join(missing)} yet")
    assert report.readme_table() in README.read_text()


def test_results_in_the_repository_are_complete_records():
    for path in sorted(storage.RESULTS.glob("*.json")):
        content = storage.read_results(path)
        assert content["protocol"], path.name
        for name, one in content.get("rows", {"": content}).items():
            assert {"command", "versions", "seed"} <= set(one), (path.name, name)
            assert re.match(r"python -m experiments \w+", one["command"]), (path.name, name)
