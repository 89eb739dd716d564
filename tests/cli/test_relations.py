from ddgk.relations import RELATIONS


def test_all_relations_are_listed(run):
    said = run("relations").stdout
    assert all(name in said for name in RELATIONS)


def test_a_barbell_or_another_graph_is_drawn(run, rings, folder):
    assert "wrote barbell.svg" in run("relations", "-o", "barbell.svg").stderr
    run("relations", f"{rings}/ring-5.edges", "-o", "ring.svg")
    barbell, ring = ((folder / name).read_text() for name in ("barbell.svg", "ring.svg"))
    assert "<svg" in barbell
    assert barbell != ring


def test_mistakes_are_told(run, fails, rings):
    assert "name one with -o" in run("relations", rings, code=2).stderr
    assert "'x.txt'" in run("relations", "-o", "x.txt", code=2).stderr
    assert "holds 4 graphs; pick one" in fails("relations", rings, "-o", "x.svg")
