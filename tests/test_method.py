from __future__ import annotations

import json

import pytest

from ddgk.errors import ParameterError
from ddgk.method import BEFORE, CURVE, PRESETS, Method


def test_presets_are_what_they_say():
    default, paper, authors = (PRESETS[name] for name in ("default", "paper", "authors"))
    assert default == Method()
    assert (default.reverse, default.start, default.scores) == ("tied", "equivariant", "linear")
    assert (default.curve, default.rate, default.baseline) == (CURVE, 0.15, "source")
    assert (default.reduction, default.output) == ("both", "channels")
    for published in (paper, authors):
        assert (published.dimension, published.encoder_training.width, published.depth) == (
            4,
            16,
            4,
        )
        assert (published.encoder_epochs, published.encoder_rate, published.rate) == (
            600,
            0.01,
            0.01,
        )
        assert (published.reverse, published.start) == ("free", "glorot")
        assert (published.smoothing, published.surroundings) == (0, "two_hop")
    assert (paper.scores, paper.reduction, paper.output) == ("linear", "sum", "edges")
    assert (authors.scores, authors.reduction, authors.output) == ("tanh", "mean", "total")
    assert authors.coefficient("node_labels") == 0


def test_the_authors_average_the_losses_of_their_last_ten_steps():
    """Their loop notes the loss each of 600 updates starts from: after 0, 1, ..., 599 updates."""
    training = PRESETS["authors"].pair_training(("node_labels",))
    assert training.recorded == tuple(range(590, 600))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"relation": "walks"},
            "relation must be one of 'node_to_edges', 'closeness', 'edge_to_nodes', "
            "'neighborhood', or several different ones, not 'walks'",
        ),
        ({"relation": []}, r"or several different ones, not \[\]"),
        ({"relation": ["closeness", "closeness"]}, "or several different ones, not"),
        ({"relation": ["closeness", "walks"]}, "or several different ones, not"),
        ({"relation": [["closeness"]]}, "or several different ones, not"),
        ({"relation": 5}, "or several different ones, not 5"),
        ({"relation": ""}, "or several different ones, not ''"),
        ({"attention_size": -1}, "attention_size must be a whole number of at least 0, not -1"),
        ({"attention_size": 10**9}, "attention_size must be at most 4096, not 1000000000"),
        ({"regions": 257}, "regions must be at most 256, not 257"),
        ({"images": 9}, "images must be at most 8, not 9"),
        ({"images": -1}, "images must be a whole number of at least 0, not -1"),
        ({"attention_size": 2.5}, "attention_size must be a whole number"),
        ({"sampled_above": -1}, "sampled_above must be a whole number of at least 0, not -1"),
        ({"samples": 0}, "samples must be a whole number of at least 1, not 0"),
        ({"reverse": "loose"}, "reverse must be one of 'tied', 'free'"),
        ({"dimension": 0}, "dimension must be a whole number of at least 1, not 0"),
        ({"dimension": 2.5}, "dimension must be a whole number"),
        ({"depth": True}, "depth must be a whole number"),
        ({"width": 0}, "width must be a whole number"),
        ({"rate": 0}, "rate must be a number above 0, not 0"),
        ({"rate": float("nan")}, "rate must be a number above 0"),
        ({"encoder_rate": float("inf")}, "encoder_rate must be a number above 0"),
        ({"encoder_drop": 1.0}, "encoder_drop must be below 1, not 1.0"),
        ({"encoder_drop": -0.1}, "encoder_drop must be a number of at least 0"),
        ({"encoder_decay": -1}, "encoder_decay must be a number of at least 0"),
        ({"encoder_decay": 100}, "encoder_decay must be below 1 / encoder_rate = 100, not 100"),
        ({"encoder_patience": -1}, "encoder_patience must be a whole number of at least 0"),
        ({"encoder_patience": 2.5}, "encoder_patience must be a whole number"),
        ({"smoothing": 1.0}, "smoothing must be below 1"),
        ({"smoothing": -0.1}, "smoothing must be a number of at least 0"),
        ({"curve": ()}, "curve must list steps"),
        ({"curve": (5, 3)}, "ascending order"),
        ({"curve": (-1, 3)}, "curve must list steps"),
        ({"curve": "long"}, "curve must be whole numbers"),
        ({"families": ("colours",)}, "families must be 'auto', 'none' or a list of"),
        ({"coefficients": {"colours": 1}}, "coefficients names 'colours'"),
        ({"coefficients": {"node_labels": -1}}, "node_labels must be a number of at least 0"),
        ({"coefficients": -1}, "coefficients must be a number of at least 0"),
        ({"steps": 5}, "there is no parameter 'steps'; there are relation, dimension"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises(ParameterError, match=message):
        Method().changed(**changes)


def test_a_single_number_is_a_curve_and_a_name_a_family():
    assert Method(curve=7).curve == (7,)
    assert Method(families="node_labels").families == ("node_labels",)


def test_coefficients_by_name():
    method = Method(coefficients={"node_labels": 2})
    assert (method.coefficient("node_labels"), method.coefficient("edge_labels")) == (2, 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_json_round_trip(preset):
    method = PRESETS[preset].changed(families=("node_labels",), coefficients={"node_labels": 0.5})
    assert Method.from_json(json.loads(json.dumps(method.as_json()))) == method


def test_files_from_before_a_parameter_did_what_was_done_then():
    old = {name: value for name, value in Method().as_json().items() if name not in BEFORE}
    assert Method.from_json(old) == Method(regions=0, images=0)
    training = Method.from_json(old).encoder_training
    assert (training.drop, training.decay, training.patience) == (0, 0, 0)


def test_the_engine_is_told_how_encoders_are_regularised():
    training = Method(encoder_drop=0.1, encoder_decay=0.2, encoder_patience=3).encoder_training
    assert (training.drop, training.decay, training.patience) == (0.1, 0.2, 3)
