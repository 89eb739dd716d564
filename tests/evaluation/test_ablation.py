from __future__ import annotations

import pytest

from ddgk.evaluation.ablation import LADDER, ablate, settings_of, summarise
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
    lines = ablate(rings_and_stars, base, folder=tmp_path)
    results = summarise(lines, rings_and_stars, base, "a command")
    ladder, single = results.tables
    assert len(ladder.rows) == len(LADDER)
    assert len(ladder.rows) + len(single.rows) == len(settings_of(base))
    assert ladder.rows[0][-1] == ""
    assert ablate(rings_and_stars, base, folder=tmp_path) == lines
