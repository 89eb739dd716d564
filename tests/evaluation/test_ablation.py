from __future__ import annotations

import pytest

from ddgk.evaluation import by_relation
from ddgk.evaluation.ablation import LADDER, measure, settings_of, summarise
from ddgk.evaluation.classification import Setting
from ddgk.method import PRESETS


def test_the_ladder_leads_from_the_paper_to_the_default():
    lines = settings_of(Setting())
    assert lines[0][1].method == PRESETS["paper"]
    assert lines[len(LADDER) - 1][1].method == PRESETS["default"]
    methods = [(setting.method, setting.n_sources) for _, setting in lines]
    assert all(methods.count(method) == 1 for method in methods)


@pytest.mark.slow
def test_lines_are_measured_kept_and_put_into_tables(tmp_path, rings_and_stars):
    base = Setting(n_sources=3, repeats=1)
    lines = measure(rings_and_stars, settings_of(base), folder=tmp_path)
    results = summarise(lines, rings_and_stars, base, "a command")
    ladder, single = results.tables
    assert len(ladder.rows) == len(LADDER)
    assert len(ladder.rows) + len(single.rows) == len(settings_of(base))
    assert ladder.rows[0][-1] == ""
    assert measure(rings_and_stars, settings_of(base), folder=tmp_path) == lines


def test_relations_alone_and_together(tmp_path, rings_and_stars):
    base = Setting(n_sources=2, repeats=1)
    settings = by_relation.settings_of(base)
    assert settings[0][1].method == PRESETS["default"]
    methods = [setting.method.relations for _, setting in settings]
    assert len(set(methods)) == len(methods) == 8
    assert len(methods[-1]) == 4
    chosen = [settings[0], settings[2]]
    lines = measure(rings_and_stars, chosen, folder=tmp_path)
    (table,) = by_relation.summarise(lines, rings_and_stars, base, "a command").tables
    assert [row[0] for row in table.rows] == ["node_to_edges", "edge_to_nodes"]
    assert table.rows[0][-1] == "+0.0 (+0.0 to +0.0)"
