"""Every engine against numbers derived on paper: a 3-node path seen through a 2-node edge.

The encoder of the edge S has d = h = L = 1 and the weights

    E = (1, 0)^T    W_1 = ln 3    b_1 = 0    W_o = (2 ln 3, 0)    b_o = (0, ln 3)

so that a unit that attends equally to both source nodes has X_0 = 1/2, and then
X_1 = tanh(ln 3 / 2) = (3 - 1) / (3 + 1) = 1/2 and Z = (ln 3, ln 3).

The target T is the path 0 - 1 - 2: 4 of the 9 entries of B are 1. Node labels, where used, are
(a, b, a) on the target and (a, b) on the source.

Adam's first step moves every parameter by rate * g / (|g| + 1e-8), which is the rate against the
sign of the gradient; with learning rate ln(3) / 2, scores (-rate, rate) give attention (1/4, 3/4).
"""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest

from ddgk.config import Config
from ddgk.divergence import GlobalDivergences
from ddgk.encoder import Encoder
from ddgk.engine.arrays import (
    AttributeArrays,
    EncodedGraph,
    EncoderWeights,
    Source,
)
from ddgk.graphs import Graph
from ddgk.targets import Encoding

LN3 = log(3)
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
EDGE = np.array([[0, 1], [1, 0]], dtype=float)
WEIGHTS = EncoderWeights(
    np.array([[1.0], [0.0]]),
    ((np.array([[LN3]]), np.array([0.0])),),
    (np.array([[2 * LN3, 0.0]]), np.array([0.0, LN3])),
)
A, B = [1.0, 0.0], [0.0, 1.0]
LABELS = AttributeArrays(
    units=np.array([A, B, A]),
    neighbours=np.array([B, A, B]),
    nodes=np.array([A, B, A]),
)


@pytest.fixture
def torch64():
    """The reference engine, which has every option."""
    pytest.importorskip("torch", reason="the torch engine needs torch")
    from ddgk.engine.torch import TorchEngine

    return TorchEngine("float64")


def training(**changes) -> Config:
    settings = {
        "attention": "global",
        "learning_rate": LN3 / 2,
        "checkpoints": (0, 1),
        "smoothing": 0.0,
    }
    return Config(**{**settings, **changes})


def score(engine, settings: Config, *, labels: bool = False):
    graph = EncodedGraph(PATH, np.ones(3), np.ones(3), (LABELS,) if labels else ())
    source = Source(WEIGHTS, (np.array([A, B]),) if labels else ())
    return engine.train_pairs([(graph, source)], [0], settings, detail=True)[0]


def softplus(x: float) -> float:
    return log(1 + exp(x))


def test_tied_structure(torch64):
    """Tied, structure only.

    Start: P = 1/2, Y = Z P^T = ln 3, s(Y) = 3/4 at every entry.
        edges     = 4/9 * -log(3/4) = 4/9 ln(4/3)
        non_edges = 5/9 * -log(1/4) = 5/9 ln 4
    Gradient: dL/dY = (s - B) / 9 is -1/36 on edges and 1/12 elsewhere; its row sums are 5/36, 1/36,
    5/36, all positive. Through the columns of Y (P as reverse attention) the gradient of P is the
    same for both source nodes, which softmax ignores. Through the rows it is
    (row sum) * 1/2 * 2 ln 3 * (1 - 1/4) * ln 3 on source node 0 and 0 on source node 1. So A
    goes to (-rate, rate) in all rows, P to (1/4, 3/4).
    After one step: X_0 = 1/4, X_1 = tanh(ln 3 / 4) = (sqrt 3 - 1) / (sqrt 3 + 1) = 2 - sqrt 3,
        Z = (2 ln 3 (2 - sqrt 3), ln 3),  Y = Z . P = ln 3 (7/4 - sqrt 3 / 2) at every entry.
    """
    found = score(torch64, training())
    after = LN3 * (7 / 4 - sqrt(3) / 2)
    assert found.terms[0] == pytest.approx([4 / 9 * log(4 / 3), 5 / 9 * log(4)], abs=1e-12)
    assert found.terms[1] == pytest.approx(
        [4 / 9 * softplus(-after), 5 / 9 * softplus(after)], abs=1e-6
    )
    assert found.attention == pytest.approx(np.array([[1 / 4, 3 / 4]] * 3), abs=1e-6)


def test_sum_reduction(engine):
    """With sums in place of means: nine times as much as in `test_free_structure`."""
    found = score(engine, training(reverse="free", reduction="sum"))
    y = LN3 / 2 * (1 + 2 * LN3)
    assert found.terms[0] == pytest.approx([4 * log(2), 5 * log(2)], abs=1e-6)
    assert found.terms[1] == pytest.approx(
        [2 * softplus(-y) + 2 * softplus(y), softplus(y) + 4 * softplus(-y)], abs=1e-5
    )


def test_free_structure(engine):
    """Free, structure only.

    Start: R = r = 0, so Y = 0, s = 1/2; edges = 4/9 ln 2, non_edges = 5/9 ln 2.
    Gradient: dL/dY = (1/2 - B) / 9 has column sums 1/18, -1/18, 1/18. dR = Z^T dY = ln 3 * these in
    both rows; dr = these; dA = 0 since R is 0. So R and r go to (-rate, rate, -rate), A stays.
    After one step Y = 2 ln 3 (-+rate) -+ rate: -rate (1 + 2 ln 3) in columns 0 and 2, plus that in
    column 1. Column 1 has 2 edges and 1 non-edge, columns 0 and 2 together 2 edges and 4 non-edges.
    """
    found = score(engine, training(reverse="free"))
    y = LN3 / 2 * (1 + 2 * LN3)
    assert found.terms[0] == pytest.approx([4 / 9 * log(2), 5 / 9 * log(2)], abs=1e-6)
    assert found.terms[1] == pytest.approx(
        [(2 * softplus(-y) + 2 * softplus(y)) / 9, (softplus(y) + 4 * softplus(-y)) / 9], abs=1e-5
    )
    assert found.attention == pytest.approx(np.full((3, 2), 1 / 2), abs=1e-6)


def test_tanh_scores(engine):
    """With tanh on the scores, Z = tanh(ln 3) = (9 - 1) / (9 + 1) = 4/5 in place of ln 3."""
    found = score(engine, training(reverse="free", scores="tanh"))
    y = LN3 / 2 * (1 + 2 * 0.8)
    assert found.terms[1] == pytest.approx(
        [(2 * softplus(-y) + 2 * softplus(y)) / 9, (softplus(y) + 4 * softplus(-y)) / 9], abs=1e-5
    )


def test_labels(engine):
    """Free, with node labels and coefficient 1.

    Start: P Q_u = (1/2, 1/2), so the attention term is ln 2. s(Y) = 1/2 everywhere, so every
    neighbourhood is inferred as rownorm(s) C = (2/3, 1/3); observed are b, a, b, so the reverse
    term is (ln 3 + ln(3/2) + ln 3) / 3.
    Gradient of A: through R = 0 nothing comes back. The attention part is -(1/3) * 2 on the source
    node of the same label. So P goes to (3/4, 1/4) for nodes 0 and 2 and to (1/4, 3/4) for node 1,
    and the attention term to ln(4/3).
    Smoothed by e, the first is still ln 2 and the last -log((1 - e) 3/4 + e/2).
    """
    how = {"reverse": "free"}
    found = score(engine, training(**how), labels=True)
    assert found.terms[0, 2:] == pytest.approx([log(2), (2 * log(3) + log(3 / 2)) / 3], abs=1e-6)
    assert found.terms[1, 2] == pytest.approx(log(4 / 3), abs=1e-6)
    assert found.attention == pytest.approx(
        np.array([[3 / 4, 1 / 4], [1 / 4, 3 / 4], [3 / 4, 1 / 4]]), abs=1e-6
    )
    smoothed = score(engine, training(**how, smoothing=0.1), labels=True)
    assert smoothed.terms[0, 2] == pytest.approx(log(2), abs=1e-6)
    assert smoothed.terms[1, 2] == pytest.approx(-log(0.9 * 3 / 4 + 0.05), abs=1e-6)


def one_step(engine, **changes) -> EncoderWeights:
    initial = EncoderWeights(
        np.array([[1.0], [-1.0]]),
        ((np.array([[LN3 / 2]]), np.array([0.0])),),
        (np.array([[2 * LN3, 0.0]]), np.array([LN3, LN3])),
    )
    plain = Config(dimension=1, width=1, depth=1, encoder_epochs=1, encoder_learning_rate=0.1)
    graph = EncodedGraph(EDGE, np.ones(2), np.ones(2))
    (trained,) = engine.train_encoders([graph], [initial], plain.replace(**changes), [0])
    return trained


def test_encoder_step(engine):
    """One Adam step of an encoder of the edge.

    E = (1, -1)^T, W_1 = ln(3)/2, b_1 = 0, W_o = (2 ln 3, 0), b_o = (ln 3, ln 3). Then
        X_1 = (1/2, -1/2),
        Z = [[2 ln 3, ln 3], [0, ln 3]],  s(Z) = [[9/10, 3/4], [1/2, 3/4]],
        dL/dZ = (s - B) / 4 = [[9/40, -1/16], [-1/8, 3/16]].
    db_o = column sums = (1/10, 1/8); dW_o = 1/2 (9/40 + 1/8, -1/16 - 3/16) = (7/40, -1/8);
    dX_1 = 2 ln 3 (9/40, -1/8), times 1 - 1/4: positive for node 0, negative for node 1, sum
    positive; so dE = (+, -), dW_1 = E . that = +, db_1 = +. Every parameter moves by the rate
    against its sign.
    """
    trained = one_step(engine)
    assert trained.table == pytest.approx(np.array([[0.9], [-0.9]]), abs=1e-6)
    assert trained.hidden[0][0] == pytest.approx(np.array([[LN3 / 2 - 0.1]]), abs=1e-6)
    assert trained.hidden[0][1] == pytest.approx(np.array([-0.1]), abs=1e-6)
    assert trained.output[0] == pytest.approx(np.array([[2 * LN3 - 0.1, 0.1]]), abs=1e-6)
    assert trained.output[1] == pytest.approx(np.array([LN3 - 0.1] * 2), abs=1e-6)


def test_encoder_step_with_weight_decay(torch64):
    """The same step with decay 2: at rate .1, weights are first taken times .8; biases are not."""
    trained = one_step(torch64, encoder_weight_decay=2.0)
    assert trained.table == pytest.approx(np.array([[0.7], [-0.7]]), abs=1e-6)
    assert trained.hidden[0][0] == pytest.approx(np.array([[0.4 * LN3 - 0.1]]), abs=1e-6)
    assert trained.hidden[0][1] == pytest.approx(np.array([-0.1]), abs=1e-6)
    assert trained.output[0] == pytest.approx(np.array([[1.6 * LN3 - 0.1, 0.1]]), abs=1e-6)
    assert trained.output[1] == pytest.approx(np.array([LN3 - 0.1] * 2), abs=1e-6)


def test_encoder_step_with_all_edges_hidden(torch64):
    """The same step, and no edge seen: dL/dZ = s / 2 on the diagonal, 0 elsewhere.

    db_o = (9/20, 3/8); dW_o = 1/2 (9/20, -3/8); dX_1 = 2 ln 3 (9/20, 0): the row of node 1 in the
    table has nothing to learn from, since the column it sees does not depend on it. It stays.
    Taken for non-edges, the entries off the diagonal would have moved it: dX_1 of node 1 were
    2 ln 3 (1/8).
    """
    trained = one_step(torch64, encoder_edge_dropout=0.999999)
    assert trained.table == pytest.approx(np.array([[0.9], [-1.0]]), abs=1e-6)
    assert trained.hidden[0][0] == pytest.approx(np.array([[LN3 / 2 - 0.1]]), abs=1e-6)
    assert trained.output[0] == pytest.approx(np.array([[2 * LN3 - 0.1, 0.1]]), abs=1e-6)
    assert trained.output[1] == pytest.approx(np.array([LN3 - 0.1] * 2), abs=1e-6)


def test_divergence_and_its_baseline(engine):
    """D(T||S) = D'(T||S) - D'(S||S) at the start (eq. 10).

    Y = 0 everywhere, and 2 of 4 entries of the edge seen through itself are edges:
        D'(S||S) = (1/2 ln 2, 1/2 ln 2),  so D(T||S) = (-1/18 ln 2, 1/18 ln 2), D(S||S) = 0.
    """
    config = Config(
        attention="global",
        reverse="free",
        checkpoints=(0,),
        dimension=1,
        width=1,
        depth=1,
        baseline="source",
    )
    scorer = GlobalDivergences(config, Encoding(), engine, seed=0)
    path, edge = Graph(3, [(0, 1), (1, 2)]), Graph(2, [(0, 1)])
    encoders = [Encoder(edge, np.arange(2), 0, Source(WEIGHTS))]
    baselines = scorer.baselines(encoders)
    assert baselines[0, :, 0] == pytest.approx([log(2) / 2, log(2) / 2], abs=1e-6)
    found = scorer.divergences([path, edge], encoders, baselines)
    assert found[0, 0, :, 0] == pytest.approx([-log(2) / 18, log(2) / 18], abs=1e-6)
    assert (found[1] == 0).all()


def test_real_values(torch64):
    """Tied, with one real attribute: y = (0, 2, 0) on the target, (1, -1) on the source.

    Start: P y(S) = 0, so the attention term is (0 + 4 + 0) / 3. s(Y) = 3/4 everywhere, so the mean
    of the neighbours is inferred as 2/3 for every node; observed are 2, 0, 2: the reverse term is
    (16/9 + 4/9 + 16/9) / 3 = 4/3.
    Gradient: dL/dP of the attention term is -2/3 (y_i - 0) y_j(S), 0 for nodes 0 and 2 and
    -4/3 (1, -1) for node 1, which outweighs the structure; the reverse part has row sums 0. So
    node 1 goes to source node 0, P = (3/4, 1/4), inferred 1/2; its term is (2 - 1/2)^2. The others
    go to (1/4, 3/4) by the structure, inferred -1/2.
    """
    y, around = np.array([[0.0], [2.0], [0.0]]), np.array([[2.0], [0.0], [2.0]])
    graph = EncodedGraph(PATH, np.ones(3), np.ones(3), (AttributeArrays(y, around, y, True),))
    source = Source(WEIGHTS, (np.array([[1.0], [-1.0]]),))
    how = training()
    (found,) = torch64.train_pairs([(graph, source)], [0], how, detail=True)
    assert found.terms[0, 2:] == pytest.approx([4 / 3, 4 / 3], abs=1e-12)
    assert found.attention == pytest.approx(
        np.array([[1 / 4, 3 / 4], [3 / 4, 1 / 4], [1 / 4, 3 / 4]]), abs=1e-6
    )
    assert found.terms[1, 2] == pytest.approx((1 / 4 + 9 / 4 + 1 / 4) / 3, abs=1e-6)


def test_missing_values_cost_nothing(torch64):
    """As above, node 1 of the target and node 1 of the source unknown: P y(S) = 1 by node 0."""
    nan = np.nan
    y, around = np.array([[0.0], [nan], [0.0]]), np.array([[nan], [0.0], [nan]])
    arrays = AttributeArrays(y, around, y, True)
    graph = EncodedGraph(PATH, np.ones(3), np.ones(3), (arrays,))
    source = Source(WEIGHTS, (np.array([[1.0], [nan]]),))
    how = training(checkpoints=(0,))
    (found,) = torch64.train_pairs([(graph, source)], [0], how, detail=True)
    assert found.unit_terms[0, 2] * 3 == pytest.approx([1, 0, 1], abs=1e-12)
    assert found.terms[0, 3] == 0


def test_an_attention_network_of_two_layers(torch64):
    """A = tanh(U V_1) V_2, U = 0 at an equivariant initialisation: the first losses are as tied.

    The gradient of U is dL/dA V_2^T V_1^T; Adam's first step moves every entry of U by the rate.
    """
    found = score(torch64, training(attention_layers=(2, 3)))
    assert found.terms[0] == pytest.approx([4 / 9 * log(4 / 3), 5 / 9 * log(4)], abs=1e-12)
    from ddgk.engine.initialisation import initial_attention

    source = Source(WEIGHTS)
    left, between, right = initial_attention(
        (3, 3, 2, 2), source, 0, training(attention_layers=(2, 3))
    )
    assert not left.any()
    slopes = np.array([[1.0, -1.0]] * 3)  # dL/dA of every row, but for a positive factor
    moved = -LN3 / 2 * np.sign(slopes @ right.T @ between.T)
    scores = np.tanh(moved @ between) @ right
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert found.attention == pytest.approx(shares, abs=1e-4)
