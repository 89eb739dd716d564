import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from ddgk import comparison as module
from ddgk.attributes import ATTRIBUTES
from ddgk.comparison import compare
from ddgk.config import CHOICES
from ddgk.divergence import loss_terms
from ddgk.engine.local import STRUCTURE_TERMS
from ddgk.errors import ParameterError
from ddgk.explanation import TERMS_IN_WORDS
from ddgk.graphs import Graph
from light_model import DegreeCounts, rings_and_stars


@pytest.fixture(scope="module")
def found():
    graphs = rings_and_stars()
    return compare(graphs, model=DegreeCounts(), classes=["r"] * 6 + ["s"] * 6)


def test_two_kinds_are_two_clusters(found):
    assert found.n_clusters == 2
    assert found.labels.tolist() == [0] * 6 + [1] * 6
    assert found.clusters[0].classes == {"r": 6}
    assert {trait.name for trait in found.clusters[1].traits} >= {"share of leaves"}
    assert found.silhouettes[2] == max(found.silhouettes.values())


def test_distances_are_euclidean_and_neighbours_follow_them(found):
    by_hand = np.linalg.norm(found.embedding[:, None] - found.embedding[None], axis=2)
    np.testing.assert_allclose(found.distances, by_hand, atol=1e-6)
    for place, others in enumerate(found.neighbors):
        assert place not in others
        assert len(set(others)) == 10
        np.testing.assert_allclose(found.neighbor_distances[place], by_hand[place, others])
        assert (np.diff(found.neighbor_distances[place]) >= 0).all()


def test_a_medoid_is_the_graph_nearest_to_the_mean(found):
    for own in found.clusters:
        rows = found.embedding[own.members]
        apart = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
        assert own.medoid == own.members[apart.argmin()]


def test_files(found, tmp_path):
    written = {path.name for path in found.to_files(tmp_path / "new")}
    assert written >= {"neighbors.csv", "clusters.csv", "distances.csv", "distances.npz"}
    with np.load(tmp_path / "new" / "distances.npz") as archive:
        np.testing.assert_array_equal(archive["distances"], found.distances)
    assert json.loads((tmp_path / "new" / "summary.json").read_text())["n_clusters"] == 2
    again = compare(rings_and_stars(), model=DegreeCounts(), classes=["r"] * 6 + ["s"] * 6)
    again.to_files(tmp_path / "again")
    for name in written:
        assert (tmp_path / "new" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_hostile_names_stay_text(tmp_path):
    graphs = rings_and_stars(2)
    names = ["=cmd|'/c calc'!A1", "\x1b]0;title\x07", "[red]x[/red]", "<script>a\r\nb"]
    found = compare(graphs, model=DegreeCounts(), names=names)
    found.to_files(tmp_path)
    for name in ("clusters.csv", "distances.csv", "neighbors.csv", "report.txt"):
        text = (tmp_path / name).read_bytes()
        assert b"\x1b" not in text
        assert b"\r" not in text
        assert not any(cell.startswith(b"=") for cell in text.replace(b"\n", b",").split(b","))
    assert "<script>" not in found._repr_html_()
    out = StringIO()
    Console(file=out, width=200, force_terminal=True).print(found)
    assert "\x1b]0" not in out.getvalue()
    assert "[red]x[/red]" in out.getvalue()


def test_a_graph_far_away_is_an_outlier():
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in range(5, 25)]
    graphs.append(Graph(200, [(0, i) for i in range(1, 200)], name="far"))
    found = compare(graphs, model=DegreeCounts(), n_neighbors=3)
    assert found.outliers.tolist() == [20]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_graphs(n, tmp_path):
    found = compare(rings_and_stars()[:n], model=DegreeCounts())
    assert found.neighbors.shape == (n, min(10, n - 1))
    assert found.to_files(tmp_path)
    assert repr(found).startswith(f"Comparison({n} graphs")


def test_equal_graphs_are_one_cluster():
    found = compare([rings_and_stars()[0]] * 6, model=DegreeCounts())
    assert found.n_clusters == 1
    assert found.distances.max() == 0


def test_many_graphs_have_no_matrix_and_the_same_clusters(monkeypatch, tmp_path):
    draw = np.random.default_rng(0)
    centres = 10 * draw.normal(size=(4, 8))
    kinds = draw.integers(4, size=400)
    rows = centres[kinds] + draw.normal(size=(400, 8))
    graphs = [Graph(2, [(0, 1)])] * 400
    exact = compare(graphs, embedding=rows)
    monkeypatch.setattr(module, "MAX_MATRIX", 100)
    monkeypatch.setattr(module, "N_PROTOTYPES", 40)
    monkeypatch.setattr(module, "N_SAMPLED", 100)
    found = compare(graphs, embedding=rows)
    assert found.distances is None
    assert found.n_clusters == exact.n_clusters == 4
    np.testing.assert_array_equal(found.labels, exact.labels)
    np.testing.assert_array_equal(found.neighbors, exact.neighbors)
    names = {path.name for path in found.to_files(tmp_path)}
    assert "distances.npz" not in names
    assert "clusters.svg" in names


def test_many_equal_graphs_are_one_cluster(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "MAX_MATRIX", 100)
    monkeypatch.setattr(module, "N_SAMPLED", 100)
    monkeypatch.setattr(module, "N_PROTOTYPES", 40)
    graphs, rows = [Graph(2, [(0, 1)])] * 400, np.ones((400, 3))
    for asked in ("auto", 3):
        found = compare(graphs, embedding=rows, n_clusters=asked)
        assert found.n_clusters == 1
        assert found.to_files(tmp_path)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_clusters": 0}, "between 1 and 12"),
        ({"n_clusters": "many"}, "'auto' or between"),
        ({"n_neighbors": 0}, "at least 1"),
        ({"names": ["a"]}, "12 graphs need as many names, not 1"),
        ({"classes": ["a"]}, "as many classes"),
        ({"embedding": np.full((12, 2), np.nan)}, "must be finite"),
    ],
)
def test_refusals(how, message):
    with pytest.raises(ParameterError, match=message):
        compare(rings_and_stars(), model=DegreeCounts(), **how)


def test_one_graph_cannot_be_compared():
    with pytest.raises(ParameterError, match="at least 2 graphs"):
        compare(rings_and_stars()[:1], model=DegreeCounts())


def test_clusters_are_described_by_loss_terms_and_sources(tmp_path):
    import ddgk

    graphs = rings_and_stars()
    model = ddgk.DDGK(n_sources=2, random_state=0).fit(graphs)
    found = compare(graphs, model=model, n_clusters=2)
    names = {trait.name for own in found.clusters for trait in own.divergences}
    assert any(name.startswith("mismatch with sources in ") for name in names)
    assert any(name.startswith("divergence from source ring") for name in names) or any(
        name.startswith("divergence from source star") for name in names
    )
    by_hand = model.divergences(graphs)[..., -1].mean(axis=1) / [[g.n_nodes] for g in graphs]
    trait = next(
        t for t in found.clusters[0].divergences if t.name == "mismatch with sources in edges"
    )
    np.testing.assert_allclose(trait.inside, by_hand[found.labels == 0, 0].mean())
    np.testing.assert_allclose(trait.outside, by_hand[found.labels == 1, 0].mean())
    found.to_files(tmp_path)
    assert "mismatch with sources in edges" in (tmp_path / "traits.csv").read_text()
    report = " ".join((tmp_path / "report.txt").read_text().replace("│", " ").split())
    assert "mismatch with sources in" in report
    assert not any(term in report for term in TERMS_IN_WORDS if "_" in term)


def test_every_loss_term_has_words():
    names = [*STRUCTURE_TERMS, *loss_terms(ATTRIBUTES), *CHOICES["output"][1:]]
    assert set(names) == set(TERMS_IN_WORDS)
    assert len(set(TERMS_IN_WORDS.values())) == len(TERMS_IN_WORDS)


def test_mixed_kinds_of_graphs_are_named(tmp_path):
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)], directed=n < 5) for n in range(3, 12)]
    graphs[3] = graphs[3].replace(edge_weights=[2.0] * graphs[3].n_edges)
    compare(graphs, model=DegreeCounts()).to_files(tmp_path)
    said = " ".join((tmp_path / "report.txt").read_text().split())
    assert "2 are directed" in said
    assert "1 have edge weights" in said


def test_of_many_graphs_the_closest_pairs_are_told(found, tmp_path):
    found.to_files(tmp_path)
    report = (tmp_path / "report.txt").read_text()
    assert "closest pairs" in report
    assert "mean silhouette of 2 to 3 clusters" in report
