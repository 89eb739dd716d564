"""A run of another configuration, engine, version or owner is refused, and nothing is touched."""

from __future__ import annotations

import json

import pytest

import ddgk
from ddgk.errors import RunError
from ddgk.method import BEFORE
from specimens import contents

pytestmark = pytest.mark.usefixtures("small_tiles")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 0.2}, "rate is 0.15 there and 0.2 here"),
        ({"curve": (1, 4)}, r"curve is \[1, 3\] there and \[1, 4\] here"),
        ({"n_sources": 4}, "there are 3 sources there and 4 here"),
        ({"random_state": 1}, "the seed differs; the sources are other graphs"),
        ({"families": "none"}, "families is 'auto' there and 'none' here"),
        ({"unseen_labels": "ignore"}, "unseen_labels is 'error' there and 'ignore' here"),
        ({"precision": "float64"}, "precision"),
    ],
    ids=str,
)
def test_another_configuration_is_refused_and_nothing_touched(
    make, example, tmp_path, changes, message
):
    make().fit_transform(example.graphs, run=tmp_path)
    before = contents(tmp_path)
    with pytest.raises(RunError, match=f"another configuration: .*{message}"):
        make(**changes).fit_transform(example.graphs, run=tmp_path)
    assert contents(tmp_path) == before


def test_a_run_from_before_a_parameter_goes_on(make, example, tmp_path):
    make(regions=0, images=0).fit_transform(example.graphs, run=tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    for name in BEFORE:
        del manifest["identity"]["method"][name]
    path.write_text(json.dumps(manifest))
    make(regions=0, images=0).fit_transform(example.graphs, run=tmp_path)
    with pytest.raises(RunError, match=r"encoder_drop is 0\.0 there and 0\.5 here"):
        make(regions=0, images=0, encoder_drop=0.5).fit_transform(example.graphs, run=tmp_path)


def test_another_engine_another_model_and_other_graphs_are_refused(make, example, tmp_path):
    make().fit_transform(example.graphs, run=tmp_path)
    before = contents(tmp_path)
    other = make().fit(example.graphs[:30])
    with pytest.raises(RunError, match="sources"):
        other.transform(example.graphs, run=tmp_path)
    with pytest.raises(RunError, match="sources"):
        make().fit_transform(example.graphs[1:], run=tmp_path)
    torch = make().fit(example.graphs).set_params(engine="torch")
    with pytest.raises(RunError, match="begun with the engine fused on cpu, and this is torch"):
        torch.transform(example.graphs, run=tmp_path)
    assert contents(tmp_path) == before


def test_folders_of_others_are_left_alone(make, example, tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(RunError, match=r"is not empty: it holds 'letter\.txt'; name a new folder"):
        make().fit_transform(example.graphs, run=tmp_path)
    other = tmp_path / "other"
    make().fit_transform(example.graphs, run=other)
    (other / "manifest.json").unlink()
    with pytest.raises(RunError, match=r"holds tiles, but no manifest\.json"):
        make().fit_transform(example.graphs, run=other)


def test_a_newer_manifest_and_a_newer_version_are_named(make, example, tmp_path):
    make().fit_transform(example.graphs, run=tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"format": 4, "versions": {"ddgk": "9.1"}}))
    for call in (
        lambda: make().fit_transform(example.graphs, run=tmp_path),
        lambda: ddgk.open_run(tmp_path),
    ):
        with pytest.raises(
            RunError, match=r"by ddgk 9\.1, whose format 4 is newer than 3; upgrade"
        ):
            call()
    path.write_text(json.dumps(manifest | {"format": 1}))
    with pytest.raises(RunError, match=r"is of format 1, .* begin a new run in another folder"):
        ddgk.open_run(tmp_path)
    path.write_text(json.dumps(manifest | {"versions": {"ddgk": "0.0.1"}}))
    make().fit_transform(example.graphs, run=tmp_path)  # what is finished can be read
    (tmp_path / "divergences" / "c.0.0.0").unlink()
    with pytest.raises(RunError, match=r"begun by ddgk 0\.0\.1"):
        make().fit_transform(example.graphs, run=tmp_path)
