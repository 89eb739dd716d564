import subprocess
import sys

import pytest

from ddgk import plots
from ddgk.errors import MissingExtraError
from ddgk.graphs import Graph
from ddgk.graphs.display import PALETTE
from ddgk.plots.canvas import OTHER, assign_colours
from experiments.graphs.synthetic import barbell


@pytest.mark.parametrize(
    ("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".PDF", b"%PDF")]
)
def test_the_ending_names_the_format_and_a_figure_is_always_the_same_file(
    matched, tmp_path, suffix, start
):
    one, two = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    for path in (one, two):
        plots.alignment(matched(barbell()), path=path)
    assert one.read_bytes().startswith(start)
    assert one.read_bytes() == two.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_no_global_state_and_no_screen():
    code = (
        "import sys, ddgk.plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        "ddgk.plots.clusters([[0, 1], [1, 0]], 'ab', path=None)\n"
        "assert 'matplotlib.figure' in sys.modules\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_settings_are_left_as_they_were(matched):
    import matplotlib

    before = dict(matplotlib.rcParams)
    plots.alignment(matched(barbell()))
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_it_says_what_to_install(matched, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ddgk\[plots\]'"):
        plots.alignment(matched(barbell()))


def test_colours_are_few_and_the_rarest_share_grey():
    labels = [label for label in range(12) for _ in range(20 - label)]
    colours = assign_colours(labels)
    assert [colours[label] for label in range(7)] == list(PALETTE)
    assert {colours[label] for label in range(7, 12)} == {OTHER}


def test_numbers_come_in_their_own_order():
    assert list(assign_colours([10, 9, "a", None])) == [9, 10, None, "a"]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
@pytest.mark.parametrize(
    "text", ["$\\frac{$", "$x$", "a\x00\x08\x1b[31m", "\ud800", "\uffff", "--><script>", "&<\"'"]
)
def test_names_and_labels_are_text_whatever_they_hold(matched, tmp_path, suffix, text):
    from xml.etree import ElementTree

    graph = Graph(
        3,
        [(0, 1), (1, 2)],
        node_labels=[text, "b", "c"],
        edge_labels=[text, "x"],
        node_names=[text, "y", "z"],
        name=text,
    )
    paths = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    plots.alignment(matched(graph), title=text, path=paths[0])
    plots.clusters([[0, 1], [1, 0]], [text, "b"], [text, "b"], title=text, path=paths[1])
    for path in paths if suffix == ".svg" else ():
        ElementTree.parse(path)
    assert all(path.stat().st_size > 1000 for path in paths)
