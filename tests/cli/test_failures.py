import pytest

from ddgk.cli import main
from ddgk.cli.failures import one_line
from ddgk.errors import DownloadError, GraphError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (GraphError("graph 3:\n   it is empty"), "graph 3: it is empty"),
        (DownloadError("no server"), "no server"),
        (PermissionError(13, "Permission denied", "a.csv"), "a.csv: Permission denied"),
        (FileExistsError("a.csv exists"), "a.csv exists"),
        (OSError(), "OSError"),
    ],
)
def test_an_error_is_a_line(error, line):
    assert one_line(error) == line


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
    def stops():
        raise KeyboardInterrupt

    monkeypatch.setattr("ddgk.cli.app", stops)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "stopped\n"
