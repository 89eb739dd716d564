import json
import os
from dataclasses import replace

import pytest

from ddgk.errors import ResultsError
from ddgk.evaluation.results import Results, Table, load, render


def results():
    return Results(
        "classification",
        "ddgk experiment classification MUTAG",
        {"dataset": "MUTAG", "seed": 0, "baselines": ["wl"], "method": {"depth": 4}},
        [Table("Accuracy", ("method", "accuracy"), (("a|b", "1.0"),))],
        {"rows": [1.5]},
        [Table("Seconds", ("method", "s"), (("a", "2"),))],
    )


def test_a_file_reads_back(tmp_path):
    results().save(tmp_path / "r.json")
    found = load(tmp_path / "r.json")
    assert found == results()
    assert found.versions["ddgk"]


def test_a_page_has_the_command_the_setting_and_the_tables():
    page = render([results(), results()])
    assert page.count("ddgk experiment classification MUTAG\n```") == 2
    assert "| a\\|b | 1.0 |" in page
    assert "dataset MUTAG, seed 0, baselines (wl), method (depth 4)" in page
    assert page.index("**Accuracy**") < page.index("**Seconds**")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda _: [], "does not say"),
        (lambda c: c | {"format": "ddgk results 2"}, "does not say"),
        (lambda c: {k: v for k, v in c.items() if k != "tables"}, "damaged: 'tables'"),
        (lambda c: c | {"tables": {}}, "should be a list"),
        (lambda c: c | {"command": 7}, "7 should be a str"),
        (
            lambda c: c | {"tables": [{"title": "t", "columns": ["a"], "rows": [["x", "y"]]}]},
            "1 ce",
        ),
        (lambda c: c | {"tables": [{"title": "t", "columns": ["a"], "rows": [[3]]}]}, "3 should"),
        (lambda c: c | {"versions": {"ddgk": None}}, "should be a str"),
        (lambda c: c | {"command": "\ud800"}, "surrogates"),
        (lambda c: c | {"configuration": {"\ud800": 1}}, "surrogates"),
    ],
)
def test_damage_is_named(tmp_path, spoil, message):
    path = tmp_path / "r.json"
    results().save(path)
    path.write_text(json.dumps(spoil(json.loads(path.read_text()))))
    with pytest.raises(ResultsError, match=message) as found:
        load(path)
    assert str(path) in str(found.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000])
def test_files_that_are_no_results(tmp_path, content):
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(ResultsError):
        load(path)


def test_a_huge_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("ddgk.evaluation.results.MOST_BYTES", 10)
    results().save(tmp_path / "r.json")
    with pytest.raises(ResultsError, match="larger"):
        load(tmp_path / "r.json")


def test_what_is_no_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("pipe.json", ".", "nothing.json"):
        with pytest.raises(FileNotFoundError, match="no file"):
            load(tmp_path / name)


def test_a_page_holds_text_and_no_code():
    spoiled = replace(results(), command="a\n```\n<b>", experiment="<script>\n# x")
    page = render([spoiled])
    assert "<script>" not in page
    assert page.count("```") == 2
    assert "\n# x" not in page
