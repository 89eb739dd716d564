import inspect
import os
import sys

import pytest
import typer

from ddgk import tables
from ddgk.alignment.aligning import LABELS
from ddgk.attributes import UNSEEN
from ddgk.cli import options
from ddgk.cli.embed import embed
from ddgk.cli.options import TABLES, check_output
from ddgk.config import PRESETS, Config
from ddgk.embedding.checks import IF_BUSY
from ddgk.engine import ENGINES
from ddgk.errors import MissingExtraError
from ddgk.estimator import DDGK
from ddgk.explorer.atlas import METHODS
from ddgk.graphs import policies


def test_choices_are_those_of_the_library():
    library = {
        "preset": tuple(PRESETS),
        "unseen_labels": UNSEEN,
        "engine": ENGINES,
        "if_busy": IF_BUSY,
        "labels": LABELS,
        "projection": METHODS,
    } | policies.CHOICES
    assert tuple(tables.TABLES) == TABLES
    for name, allowed in options.CHOICES.items():
        assert sorted(allowed) == sorted(library[name]), name


def test_defaults_are_those_of_the_library():
    known = inspect.signature(embed).parameters
    assert DDGK().n_sources == known["sources"].default
    assert DDGK().n_features == known["features"].default


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--preset", "papers"), "'--preset': must be one of default, paper, authors"),
        (("--set", "lr=1"), "--set lr: there is no such field"),
        (("--set", "learning-rate=1"), "did you mean learning_rate?"),
        (("--set", "learning_rate"), "--set takes NAME=VALUE"),
        (("--set", "learning_rate="), "--set takes NAME=VALUE"),
        (("--set", "depth=1", "--set", "depth=2"), "--set gives depth twice"),
        (("--set", "learning_rate=fast"), "learning_rate must be a positive number, not 'fast'"),
        (("--set", "checkpoints=3,2"), "checkpoints must list steps in ascending order"),
        (("--set", "target=closeness"), 'needs attention="global"'),
        (("--sources", "0"), "'--sources'"),
        (("--jobs", "many"), "'--jobs'"),
        (("--jobs", "0"), "or -1 for all cores, not 0"),
        (("--unknown",), "No such option"),
        (("--add",), "--add is about a run: name its folder with --run"),
        (("--if-busy", "share"), "--if-busy is about a run"),
    ],
)
def test_values_that_cannot_be_are_mistakes_in_usage(words, message, fails, rings, folder):
    said = fails("embed", rings, "-o", "x.npy", *words, code=2)
    assert message in said
    assert said.endswith("; see ddgk embed --help")
    assert "\n" not in said
    assert not (folder / "x.npy").exists()


def test_every_field_can_be_set_to_its_own_value():
    from ddgk.cli.config import documented, values_of

    for preset, config in PRESETS.items():
        given = [
            f"{name}={values_of(name, {'default': config})['default']}" for name in documented()
        ]
        assert options.configured("default", options.settings(given)) == config, preset


def test_values_are_read_as_what_they_are():
    given = [
        "symmetric=true",
        "width=none",
        "attributes=node_labels,edge_labels",
        "size_weight=1e-2",
    ]
    config = options.configured("default", options.settings(given))
    assert config == Config(
        symmetric=True, attributes=("node_labels", "edge_labels"), size_weight=0.01
    )
    assert options.settings(["attributes=node_labels,"]) == {"attributes": "node_labels,"}


def test_jobs_are_all_cores_unless_said():
    assert options._threads(3) == 3
    assert 1 <= options._threads(-1) <= os.cpu_count()
    with pytest.raises(typer.BadParameter):
        options._threads(-2)


def test_parquet_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ddgk\[parquet\]'"):
        check_output(folder / "x.parquet", TABLES, force=False)


def test_outputs_are_refused_before_the_work(folder, monkeypatch):
    (folder / "x.csv").write_text("mine")
    (folder / "folder.csv").mkdir()
    with pytest.raises(FileExistsError, match="exists; choose another name, or pass --force"):
        check_output(folder / "x.csv", TABLES, force=False)
    check_output(folder / "x.csv", TABLES, force=True)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_output(folder / "folder.csv", TABLES, force=True)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_output(folder / "none" / "x.csv", TABLES, force=False)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="cannot be written into the folder"):
        check_output(folder / "y.csv", TABLES, force=False)
    with pytest.raises(typer.BadParameter, match="must end in one of"):
        check_output(folder / "x.xlsx", TABLES, force=False)
    assert (folder / "x.csv").read_text() == "mine"
