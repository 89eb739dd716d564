from __future__ import annotations

from ddgk import DDGK
from ddgk.evaluation.invariance import measure_noise, relabelling_noise, summarise
from specimens import random_graph

GRAPHS = [random_graph(seed, labels=True) for seed in range(6)]
QUICK = {"n_sources": 2, "encoder_epochs": 20, "random_state": 0}


def test_the_default_start_knows_no_numbering_and_a_random_one_does():
    plain = DDGK(**QUICK, curve=(1, 5)).fit(GRAPHS)
    assert relabelling_noise(plain, GRAPHS) == 0
    drawn = DDGK(**QUICK, curve=(1, 5), start="glorot").fit(GRAPHS)
    assert relabelling_noise(drawn, GRAPHS) > 0.001


def test_graphs_that_are_all_alike_have_no_noise():
    model = DDGK(**QUICK, curve=(1, 5)).fit(GRAPHS)
    assert relabelling_noise(model, [GRAPHS[0], GRAPHS[0]]) == 0


def test_a_table_has_a_line_per_set(rings_and_stars):
    noise = measure_noise([rings_and_stars], ["default"], n_graphs=4, n_sources=2, seed=0)
    setting = {"graphs": 4, "sources": 2, "seed": 0}
    results = summarise(noise, [rings_and_stars], ["default"], setting, "a command")
    assert results.tables[0].rows == ((rings_and_stars.name, "4", "0"),)
