from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddgk.errors import ParameterError
from ddgk.graphs import Graph, Policies
from ddgk.graphs.weights import MAX_KNOTS, WeightScale, learn_weight_scale

RULES = ("scale", "log", "rank")


def star(weights) -> Graph:
    return Graph(
        len(weights) + 1, [(0, i + 1) for i in range(len(weights))], edge_weights=list(weights)
    )


def test_values_computed_by_hand():
    graph = star([1.0, 3.0, 7.0])
    learned = {rule: learn_weight_scale([graph], Policies(weights=rule)) for rule in RULES}
    np.testing.assert_allclose(learned["scale"].apply(graph)[0], [1 / 7, 3 / 7, 1])
    np.testing.assert_allclose(learned["log"].apply(graph)[0], [1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(learned["rank"].apply(graph)[0], [1 / 3, 2 / 3, 1])


def test_the_limit_is_the_99th_percentile_and_larger_weights_are_clipped_and_counted():
    graph = star([*range(1, 200), 10**6])
    scale = learn_weight_scale([graph], Policies())
    assert scale.knots == (198,)
    values, n_clipped = scale.apply(graph)
    assert n_clipped == 2
    assert values.max() == 1
    assert values[97] == 98 / 198


@pytest.mark.parametrize("rule", RULES)
def test_a_graph_without_weights_has_weights_of_1(rule):
    plain = star([1, 1]).replace(edge_weights=None)
    scale = learn_weight_scale([plain, plain], Policies(weights=rule))
    assert scale.apply(plain)[0].tolist() == [1, 1]
    mixed = learn_weight_scale([plain, star([1, 4])], Policies(weights=rule))
    assert mixed.apply(plain)[0].tolist() == mixed.apply(star([1, 1]))[0].tolist()


def test_ignored_weights_and_sets_without_edges():
    graph = star([5.0, 9.0])
    ignored = learn_weight_scale([graph], Policies(weights="ignore"))
    assert ignored.apply(graph) == (pytest.approx([1, 1]), 0)
    nothing = learn_weight_scale([Graph(2, [])], Policies())
    assert nothing.apply(Graph(2, []))[0].shape == (0,)
    assert learn_weight_scale([star([0.0])]).apply(star([0.0]))[0].tolist() == [0]


@settings(deadline=None)
@given(
    weights=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30),
    other=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=10),
    rule=st.sampled_from(RULES),
    data=st.data(),
)
def test_values_lie_in_0_1_ascend_and_do_not_depend_on_order(weights, other, rule, data):
    policies = Policies(weights=rule)
    scale = learn_weight_scale([star(weights)], policies)
    mixed = data.draw(st.permutations(weights))
    assert learn_weight_scale([star(mixed[:1]), star(mixed[1:])] if mixed[1:] else [star(mixed)],
                              policies) == scale  # fmt: skip
    values, _ = scale.apply(star(other))
    assert ((values >= 0) & (values <= 1)).all()
    order = np.argsort(np.abs(other), kind="stable")
    assert (np.diff(values[order]) >= 0).all()
    assert WeightScale.from_json(json.loads(json.dumps(scale.as_json()))) == scale


def test_ranks_of_many_weights_take_bounded_room():
    graph = star(np.random.default_rng(0).random(5000))
    scale = learn_weight_scale([graph], Policies(weights="rank"))
    assert len(scale.knots) == MAX_KNOTS
    exact = (np.argsort(np.argsort(graph.edge_weights)) + 1) / 5000
    assert np.abs(scale.apply(graph)[0] - exact).max() < 2 / MAX_KNOTS


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"rule": "scale", "knots": ["x"]},
        {"rule": "scale", "knots": [0]},
        {"rule": "scale", "knots": [float("nan")]},
        {"rule": "scale", "knots": [1, 2]},
        {"rule": "no", "knots": [1]},
        {"rule": "rank", "knots": []},
        {"rule": "rank", "knots": [2, 1]},
        {"rule": "rank", "knots": [1] * (MAX_KNOTS + 1)},
    ],
)
def test_what_is_no_scale_is_refused(content):
    with pytest.raises(ParameterError, match="not a scale of edge weights"):
        WeightScale.from_json(content)
