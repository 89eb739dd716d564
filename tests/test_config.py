from __future__ import annotations

import copy
import json
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.base import clone

from ddgk.attributes import ATTRIBUTES
from ddgk.config import ATTRIBUTE_NAMES, PRESETS, Config
from ddgk.errors import ParameterError


def test_the_paper_and_the_authors():
    paper, authors = Config.preset("paper"), Config.preset("authors")
    for config in (paper, authors):
        assert config.attention == "global"
        assert (config.reverse, config.initialisation) == ("free", "glorot")
        assert (config.dimension, config.width, config.depth) == (4, None, 4)
        assert (config.encoder_epochs, config.encoder_learning_rate) == (600, 0.01)
        assert config.learning_rate == 0.01
        assert not config.torch_reason
    assert (paper.scores, paper.reduction, paper.output) == ("linear", "sum", "edges")
    assert (paper.checkpoints, paper.baseline) == ((600,), "source")
    assert (authors.scores, authors.reduction, authors.output) == ("tanh", "mean", "total")
    assert (authors.checkpoints, authors.baseline) == ((599,), "none")
    assert authors.coefficient("node_labels") == 0


def test_the_default_is_local_attention():
    config = Config.preset("default")
    assert config == Config()
    assert (config.attention, config.learning_rate) == ("local", 0.1)
    assert config.checkpoints == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": "both"}, "attention must be one of 'local', 'global', not 'both'"),
        ({"target": "distance"}, "target must be one of 'adjacency'.*not 'distance'"),
        ({"target": "closeness"}, "target='closeness' needs attention=\"global\""),
        ({"reverse": "free"}, "reverse='free' needs attention=\"global\""),
        ({"attention_layers": (4,)}, "attention_layers.*needs attention"),
        ({"dimension": 0}, "dimension must be a whole number from 1 to 4,096, not 0"),
        ({"depth": 0}, "depth must be a whole number from 1 to 64, not 0"),
        ({"width": True}, "width must be a whole number"),
        ({"encoder_epochs": -1}, "encoder_epochs must be a whole number"),
        ({"learning_rate": 0}, "learning_rate must be a positive number, not 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a positive number"),
        ({"encoder_learning_rate": "fast"}, "encoder_learning_rate must be a positive number"),
        ({"encoder_edge_dropout": 1.0}, "encoder_edge_dropout must be below 1"),
        ({"encoder_weight_decay": 100.0}, "encoder_weight_decay must be below 1 / encoder_learn"),
        ({"smoothing": -0.1}, "smoothing must be a number of at least 0"),
        ({"size_weight": 2.0}, "size_weight must be at most 1"),
        ({"checkpoints": ()}, "checkpoints must list steps in ascending order"),
        ({"checkpoints": (3, 3)}, "checkpoints must list steps in ascending order"),
        ({"checkpoints": (-1,)}, "checkpoints must list steps in ascending order"),
        ({"checkpoints": "12"}, "checkpoints must be whole numbers"),
        ({"checkpoints": (1.5,)}, "checkpoints must be whole numbers"),
        ({"checkpoints": range(10**6)}, "checkpoints must be at most 1,000 numbers"),
        ({"checkpoints": 100_001}, "checkpoints must end by step 100,000, not 100,001"),
        ({"attributes": ("colour",)}, "attributes must be 'auto', 'none' or different names"),
        ({"attributes": ("node_labels",) * 2}, "attributes must be 'auto', 'none' or different"),
        ({"coefficients": {"colour": 1.0}}, "coefficients names 'colour'"),
        ({"coefficients": -1.0}, "coefficients must be a number of at least 0"),
        ({"symmetric": 1}, "symmetric must be True or False"),
        ({"steps": 5}, "Config has no field 'steps'; it has attention, target, dimension"),
    ],
)
def test_bad_values(changes, message):
    with pytest.raises(ParameterError, match=message):
        Config().replace(**changes)


def test_unknown_preset():
    with pytest.raises(ParameterError, match="'default', 'paper', 'authors', not 'fast'"):
        Config.preset("fast")


def test_values_are_normalised():
    config = Config(checkpoints=7, attributes="node_labels", learning_rate=1)
    assert config.checkpoints == (7,)
    assert config.attributes == ("node_labels",)
    assert isinstance(config.learning_rate, float)
    assert Config(checkpoints=np.arange(3)).checkpoints == (0, 1, 2)
    assert Config(dimension=np.int64(3)).as_json()["dimension"] == 3


def test_coefficients_by_name():
    config = Config(coefficients={"node_labels": 2})
    assert (config.coefficient("node_labels"), config.coefficient("edge_labels")) == (2, 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_json_round_trip(preset):
    config = PRESETS[preset].replace(
        attributes=("node_labels",), coefficients={"node_labels": 0.5}, encoder_edge_dropout=0.3
    )
    values = json.loads(json.dumps(config.as_json()))
    assert Config.from_json(values) == config
    del values["target"]
    with pytest.raises(ParameterError, match="lacks 'target'"):
        Config.from_json(values)
    with pytest.raises(ParameterError, match="no field 'colour'"):
        Config.from_json({**config.as_json(), "colour": 1})


def test_it_is_frozen_copied_and_hashed():
    config = Config(coefficients={"node_labels": 0.5})
    with pytest.raises(FrozenInstanceError):
        config.dimension = 5
    assert copy.deepcopy(config) == config
    assert hash(copy.deepcopy(config)) == hash(config)
    assert Config(**config.get_params(deep=True)) == config


def test_scikit_learn_clones_it():
    config = Config(
        attention="global",
        checkpoints=np.arange(5),
        attention_layers=[3, 2],
        attributes=["node_labels"],
        coefficients={"node_labels": 1},
        learning_rate=1,
    )
    assert clone(config) == config


@pytest.mark.parametrize(
    "changes",
    [
        {"encoder_edge_dropout": 0.1},
        {"encoder_weight_decay": 0.1},
        {"attention": "global", "attention_layers": (3, 3)},
        {"attention": "global", "target": "neighborhood"},
        {"attention": "global", "reverse": "tied"},
    ],
    ids=str,
)
def test_options_that_need_torch(changes):
    config = Config(**changes)
    assert config.torch_reason.startswith(list(changes)[-1])


def test_closeness_and_the_presets_do_not_need_torch():
    free = Config(attention="global", target="closeness", reverse="free")
    assert not any(config.torch_reason for config in (free, *PRESETS.values()))


def test_every_field_is_documented():
    documented = Config.__doc__
    for field in fields(Config):
        assert f"    {field.name} : " in documented, field.name


def test_attributes_have_the_names_of_the_config():
    assert tuple(ATTRIBUTES) == ATTRIBUTE_NAMES


def test_hidden_layers_are_four_times_the_table_unless_given():
    assert (Config(dimension=3).hidden_width, Config(width=5).hidden_width) == (12, 5)
