from __future__ import annotations

import copy
import pickle

import pytest

from ddgk import errors
from ddgk.errors import DatasetError, DDGKError, GraphError, InputError, escaped, message, shown

HOSTILE = [
    "\x1b[31m",
    "\x07",
    "\u202e",
    "\u2066",
    "\u200f",
    "\ud800",
    "\x9b",
    "\u2028",
    "\r",
    "\x00",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_unprintable_is_shown(text):
    for found in (escaped(f"a{text}b"), shown(f"a{text}b"), str(DDGKError(f"a{text}b"))):
        assert found.isprintable()
        assert found.startswith("a\\")
        found.encode()
    assert str(GraphError("x", advice=text, policy="p", choices=(text,))).isprintable()


def test_line_ends_stay_in_messages_but_not_in_texts_from_outside():
    assert str(DDGKError("a\nb")) == "a\nb"
    assert shown("a\nb") == "a\\nb"


@pytest.mark.parametrize("size", [10, 300, 301, 10**6])
def test_long_texts_are_cut_in_the_middle(size):
    assert len(shown("x" * size)) == min(size, 300)


def test_every_error_takes_a_message_and_escapes_it():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = [kind for kind in kinds if issubclass(kind, DDGKError)]
    assert len(kinds) > 10
    for kind in kinds:
        assert str(kind("a \x1b b")) == "a \\x1b b"


@pytest.mark.parametrize("copied", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_with_fixes_can_be_copied(copied):
    error = GraphError("graph 1: odd", advice="mend it", policy="directed", choices=("keep",))
    assert str(copied(error)) == 'graph 1: odd; mend it, or use Policies(directed="keep")'
    assert message(copied(error), command_line=True) == (
        "graph 1: odd; mend it, or use --directed keep"
    )


def test_errors_with_causes_tell_each_in_the_same_words():
    error = DatasetError("2 files:")
    error.causes = (GraphError("a", policy="empty", choices=("skip",)), InputError("b"))
    assert str(error) == '2 files:\n  a; use Policies(empty="skip")\n  b'
    assert message(error, command_line=True) == "2 files:\n  a; use --empty skip\n  b"
