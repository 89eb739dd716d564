"""The progress bar; what is embedded is tested with the estimator."""

from __future__ import annotations

import time

import pytest

from ddgk.embedding import progress


def test_a_log_gets_one_line_of_what_was_done(capsys):
    with progress("Working", 5, "things", True) as advance:
        advance(2)
        advance(1)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Working: 3 things in ")


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
    assert "Working" in capsys.readouterr().err


def test_nobody_asked(capsys):
    with progress("Working", 5, "things", False) as advance:
        advance(5)
    assert capsys.readouterr() == ("", "")


def test_an_error_passes_through():
    with pytest.raises(KeyError), progress("Working", 5, "things", True, patience=60):
        raise KeyError
