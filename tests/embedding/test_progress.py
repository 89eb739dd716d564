from __future__ import annotations

import sys
import time

import pytest

from ddgk.embedding import progress

MODULE = sys.modules["ddgk.embedding.progress"]  # the function has the same name


def test_a_log_gets_a_line_every_few_seconds_and_one_at_the_end(capsys, monkeypatch):
    monkeypatch.setattr(MODULE, "LINE_EVERY", 0.05)
    with progress("Working", 5, "things", True) as advance:
        advance(2)
        time.sleep(0.2)
        advance(1)
    out, err = capsys.readouterr()
    assert out == ""
    first, *_, last = err.splitlines()
    assert first.startswith("Working: 2 of 5 things after 0.1 s, about 0.")
    assert last.startswith("Working: 3 of 5 things in ")


def test_unequal_costs(capsys, monkeypatch):
    monkeypatch.setattr(MODULE, "LINE_EVERY", 0.05)
    with progress("Working", 5, "things", True, work=10.0) as advance:
        advance(1, 9.5)
        time.sleep(0.1)
    err = capsys.readouterr().err
    assert err.startswith("Working: 1 of 5 things after 0.1 s, about 0.0 s left")
    assert "Working: 1 of 5 things in" in err


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_quick_shows_nothing(capsys, monkeypatch, terminal):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("Working", 5, "things", True, patience=60) as advance:
        advance(5)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_after_a_while(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("Working", 5, "things", True, patience=0.05) as advance:
        advance(2)
        time.sleep(0.5)
    assert "2 of 5 things" in capsys.readouterr().err


def test_without_verbose_nothing_is_shown(capsys):
    with progress("Working", 5, "things", False) as advance:
        advance(5)
    assert capsys.readouterr() == ("", "")


def test_an_error_passes_through():
    with pytest.raises(KeyError), progress("Working", 5, "things", True, patience=60):
        raise KeyError
