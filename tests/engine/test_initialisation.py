"""Initial parameters of attention networks of fixed size."""

import numpy as np
import pytest

from ddgk.config import Config
from ddgk.engine.arrays import EncoderWeights, Source
from ddgk.engine.initialisation import directions, glorot, initial_attention, source_features

N_ROWS, N_NODES, WIDTH = 30, 30, 5
SHAPE = (7, 7, N_ROWS, N_NODES)


def source(members=None, attributes=()):
    n_nodes = N_NODES if members is None else members.shape[1]
    output = (glorot(1, 2, WIDTH, n_nodes), np.zeros(n_nodes))
    return Source(EncoderWeights(glorot(1, 0, N_ROWS, 3), (), output), attributes, members)


def training(initialisation, reverse="tied", layers=(4,)):
    return Config(
        attention="global",
        reverse=reverse,
        initialisation=initialisation,
        attention_layers=layers,
    )


def test_directions_are_combinations_of_features_of_one_scale():
    features = glorot(5, 0, 40, 6) + 3.0
    found = directions(features, 4, 9, 1)
    assert found.shape == (4, 40)
    assert found.mean(axis=1) == pytest.approx(0)
    assert found.std(axis=1) == pytest.approx(0.5)
    centred = features - features.mean(axis=0)
    left = found.T - centred @ np.linalg.lstsq(centred, found.T, rcond=None)[0]
    assert np.abs(left).max() < 1e-12


def test_nodes_that_nothing_tells_apart_have_no_direction():
    assert not directions(np.ones((5, 3)), 2, 0, 0).any()
    assert not directions(np.ones((1, 3)), 2, 0, 0).any()


def test_an_equivariant_initialisation_knows_the_source_and_no_target():
    left, right = initial_attention(SHAPE, source(), 3, training("equivariant"))
    assert not left.any()
    assert right.any()
    larger = initial_attention((50, 50, N_ROWS, N_NODES), source(), 3, training("equivariant"))
    np.testing.assert_array_equal(larger[1], right)
    again = initial_attention(SHAPE, source(), 4, training("equivariant"))
    assert not np.array_equal(again[1], right)


def test_attributes_are_among_the_features():
    labels = np.eye(2)[np.arange(N_ROWS) % 2]
    plain, labelled = source_features(source()), source_features(source(attributes=(labels,)))
    assert labelled.shape[1] == plain.shape[1] + 2
    np.testing.assert_array_equal(labelled[:, : plain.shape[1]], plain)


def test_nodes_have_features_of_their_own_where_edges_attend():
    members = np.zeros((N_ROWS, 12))
    members[np.arange(N_ROWS), np.arange(N_ROWS) % 12] = 0.5
    members[np.arange(N_ROWS), (np.arange(N_ROWS) + 1) % 12] = 0.5
    given = source(members, attributes=(np.ones((N_ROWS, 1)),))
    assert source_features(given).shape == (N_ROWS, 3 + WIDTH + 1)
    assert source_features(given, of_nodes=True).shape == (12, WIDTH)
    start = initial_attention((7, 9, N_ROWS, 12), given, 0, training("equivariant", "free"))
    assert [part.shape for part in start] == [(7, 4), (4, N_ROWS), (9, 4), (4, 12), (1, 9)]


def test_a_random_initialisation_draws_both_factors():
    left, right = initial_attention(SHAPE, source(), 3, training("glorot"))
    assert left.any()
    assert right.any()


@pytest.mark.parametrize("initialisation", ["equivariant", "glorot"])
def test_deeper_networks_have_a_matrix_between_their_layers(initialisation):
    how = training(initialisation, "free", (4, 3))
    drawn = initial_attention(SHAPE, source(), 3, how)
    shapes = [(7, 4), (4, 3), (3, N_ROWS), (7, 4), (4, 3), (3, N_NODES), (1, 7)]
    assert [part.shape for part in drawn] == shapes
    for place in (1, 2, 4, 5):
        assert drawn[place].any()
    assert drawn[0].any() == drawn[3].any() == (initialisation == "glorot")
    assert not np.array_equal(drawn[1], drawn[4])
