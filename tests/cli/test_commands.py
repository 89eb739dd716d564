import warnings

import pytest

from ddgk.cli import main
from ddgk.cli.commands import lines
from ddgk.errors import DatasetError, DownloadError, GraphError, ParameterError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (GraphError("graph 3:\n   it is empty"), "graph 3: it is empty"),
        (DatasetError("2 of 3 files:\n  a: bad\n  b: bad"), "2 of 3 files:\n  a: bad\n  b: bad"),
        (DownloadError("no server"), "no server"),
        (PermissionError(13, "Permission denied", "a.csv"), "a.csv: Permission denied"),
        (PermissionError(13, "Denied", "\x1b[31m.csv"), "\\x1b[31m.csv: Denied"),
        (FileExistsError("a\x1b.csv exists"), "a\\x1b.csv exists"),
        (OSError(), "OSError"),
        (
            GraphError("a loop", policy="self_loops", choices=("drop",)),
            "a loop; use --self-loops drop",
        ),
        (ParameterError("pass engine='torch'"), "pass --engine torch"),
        (ParameterError("n_jobs must be 1"), "--jobs must be 1"),
    ],
)
def test_an_error_is_told_in_the_words_of_the_command_line(error, text):
    assert lines(error) == text


def test_a_mistake_of_ours_is_not_hidden(run, monkeypatch):
    def breaks(*_, **__):
        raise AssertionError("a bug")

    monkeypatch.setattr("ddgk.io.list_datasets", breaks)
    with pytest.raises(AssertionError, match="a bug"):
        raise run("datasets", "list", code=1).exception


def test_an_interrupt_ends_with_130(run, monkeypatch):
    def stops(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ddgk.io.list_datasets", stops)
    assert run("datasets", "list", code=130).stderr == "stopped\n"


def test_an_interrupt_before_any_command_ends_with_130(monkeypatch, capsys):
    def stops(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ddgk.cli.app", stops)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "stopped\n"


def test_a_warning_is_one_escaped_line(run, monkeypatch):
    def warns():
        warnings.warn("two\nlines \x1b[31m", UserWarning, stacklevel=1)
        return []

    monkeypatch.setattr("ddgk.io.list_datasets", warns)
    shown = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        said = run("datasets", "list").stderr
    assert said == "warning: two lines \\x1b[31m\n"
    assert warnings.showwarning is shown
