from __future__ import annotations

import dataclasses

import pytest

from ddgk.errors import ParameterError
from ddgk.graphs import Policies
from ddgk.graphs.policies import CHOICES, DEFAULT, chosen_policies


def test_every_field_but_the_threshold_has_choices_and_a_default_among_them():
    names = {field.name for field in dataclasses.fields(Policies)}
    assert names - {"threshold"} == set(CHOICES)
    assert all(getattr(Policies(), name) in CHOICES[name] for name in CHOICES)


@pytest.mark.parametrize("name", CHOICES)
def test_each_choice_is_accepted_and_others_are_not(name):
    for value in CHOICES[name]:
        assert getattr(Policies(**{name: value}), name) == value
    for wrong in ("yes", None, True, [], ("keep",)):
        with pytest.raises(ParameterError, match=f"{name} must be one of '{CHOICES[name][0]}'"):
            Policies(**{name: wrong})


@pytest.mark.parametrize("threshold", [-1, float("nan"), float("inf"), "1", True, None])
def test_a_threshold_is_a_number_of_at_least_0(threshold):
    with pytest.raises(ParameterError, match="threshold must be a number of at least 0"):
        Policies(threshold=threshold)
    assert Policies(threshold=2).threshold == 2.0


def test_policies_cannot_be_changed_but_replaced():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Policies().directed = "error"
    assert dataclasses.replace(Policies(), empty="skip") == Policies(empty="skip")
    assert hash(Policies()) == hash(Policies())


def test_none_means_the_defaults():
    assert chosen_policies(None) is DEFAULT
    assert chosen_policies(Policies(empty="skip")).empty == "skip"
    with pytest.raises(ParameterError, match="policies must be given as Policies"):
        chosen_policies({"empty": "skip"})
