"""The command line: every command is documented, and mistakes are named."""

import inspect
import json
import re
from pathlib import Path

import pytest

from experiments.__main__ import main, parser
from experiments.catalogue import EXPERIMENTS, module_of
from experiments.table import OTHERS

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "experiments.md"


def commands():
    (action,) = [a for a in parser()._actions if a.choices and "table" in a.choices]
    return action.choices


def test_every_command_is_documented():
    text = DOCUMENTATION.read_text()
    documented = set(re.findall(r"`(\w+)(?: SET\.\.\.)?`", text))
    assert set(commands()) <= documented


def test_every_row_is_documented():
    from experiments.methods import METHODS

    documented = set(re.findall(r"^\| `([\w-]+)` \|", DOCUMENTATION.read_text(), re.MULTILINE))
    assert set(METHODS) <= documented


def test_the_table_runs_commands_that_exist():
    for given in OTHERS.values():
        assert parser().parse_args(given).run is not None


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_takes_the_options_of_its_command(name):
    about, module = EXPERIMENTS[name], module_of(name)
    taken = set(inspect.signature(module.measure).parameters)
    cached = {"cache_in"} if about.cached else set()
    assert {*about.options, "n_jobs", *cached} <= taken
    assert ("data" in taken) == bool(about.sets)
    assert callable(module.table)
    assert hasattr(module, "draw") == about.figures


def test_an_unknown_row_is_named():
    with pytest.raises(SystemExit, match="no row 'wlx'; there are ddgk"):
        main(["classification", "MUTAG", "--rows", "wlx"])


def test_attention_writes_a_complete_record(tmp_path):
    main(["attention", "--restarts", "1", "--results", str(tmp_path)])
    content = json.loads((tmp_path / "attention.json").read_text())
    assert {"command", "protocol", "seed", "versions", "seconds"} <= set(content)
    names = [pair["name"] for pair in content["measured"]["pairs"]]
    assert len(names) == 5
    labelled = content["measured"]["pairs"][2]
    assert labelled["symmetries"] == 1
    assert labelled["nodes_right"] == 10, "edge labels leave one automorphism"
