from __future__ import annotations

import dataclasses

import pytest

from ddgk.errors import DDGKError, ParameterError
from ddgk.graphs import Policies
from ddgk.graphs.policies import CHOICES, STRICT, chosen_policies


def test_every_default_is_an_error():
    assert set(dataclasses.asdict(Policies()).values()) == {"error"}
    assert Policies() == STRICT


@pytest.mark.parametrize(("field", "value"), [(f, v) for f, vs in CHOICES.items() for v in vs])
def test_every_choice_is_accepted(field, value):
    assert getattr(Policies(**{field: value}), field) == value


@pytest.mark.parametrize("field", CHOICES)
@pytest.mark.parametrize("value", ["yes", None, "DROP"])
def test_other_values_are_refused_and_the_choices_listed(field, value):
    listed = ", ".join(map(repr, CHOICES[field]))
    with pytest.raises(ParameterError) as caught:
        Policies(**{field: value})
    assert str(caught.value) == f"{field} must be one of {listed}, not {value!r}"
    assert isinstance(caught.value, DDGKError)
    assert isinstance(caught.value, ValueError)


def test_every_field_has_choices():
    assert {field.name for field in dataclasses.fields(Policies)} == set(CHOICES)


def test_policies_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        STRICT.directed = "undirected"


def test_something_else_in_place_of_policies_is_refused():
    with pytest.raises(ParameterError, match=r"policies must be given as Policies.*not 'drop'"):
        chosen_policies("drop")
