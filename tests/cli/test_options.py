import inspect

import pytest
from ddgk.alignment.views import VIEWS
from ddgk.evaluation.baselines import BASELINES
from ddgk.evaluation.classification import PROTOCOLS
from ddgk.evaluation.classifiers import CLASSIFIERS
from ddgk.method import CHOICES, PRESETS
from ddgk.relations import RELATIONS

from ddgk import plots, sources
from ddgk.attributes import FAMILIES, UNSEEN
from ddgk.cli import options
from ddgk.cli.embed import embed
from ddgk.embedding.runs import IF_BUSY
from ddgk.estimator import DDGK
from ddgk.graphs import policies


def test_choices_are_those_of_the_library():
    figures = {"detail": tuple(word for word in plots.CHOICES["detail"] if word != "auto")}
    library = CHOICES | policies.CHOICES | figures | {"unseen_labels": UNSEEN, "if_busy": IF_BUSY}
    library |= {"preset": tuple(PRESETS), "protocol": PROTOCOLS, "classifier": tuple(CLASSIFIERS)}
    library |= {"choose": sources.CHOICES}
    for name, allowed in options.CHOICES.items():
        if name not in ("attributes", "groups"):
            assert sorted(allowed) == sorted(library[name]), name
    assert set(options.FAMILIES) == set(FAMILIES)
    assert tuple(RELATIONS) == options.RELATIONS
    assert tuple(VIEWS) == options.VIEWS
    assert tuple(BASELINES) == options.BASELINES


def test_attribute_choices_are_those_of_the_reader():
    from ddgk.io.tu import read_tu

    said = inspect.getdoc(read_tu)
    assert all(f'"{word}"' in said for word in options.CHOICES["attributes"])


def test_options_of_embed_are_called_as_in_the_library():
    known = set(inspect.signature(DDGK).parameters)
    own = {"ctx", "graphs", "out", "seed", "jobs", "force", "quiet", "model", "save_model"}
    own |= {"run", "add", "if_busy", "cluster"}  # of a call, not of a model
    reading = {"node_labels", "edge_labels", "attributes"}
    named = set(inspect.signature(embed).parameters) - own - reading - {"sources", "choose"}
    assert named <= known


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--relation", "adjacency"), "edge_to_nodes, neighborhood, not 'adjacency'"),
        (("--relation", "closeness,closeness"), "must be different relations"),
        (("--relation", ""), "not ''"),
        (("--output", "x.npy"), "must be one of channels, total, edges"),
        (("--families", "node_labels,colours"), "not 'colours'"),
        (("--curve", "1,two"), "must be numbers such as 1,2,5, not '1,two'"),
        (("--sources", "0"), "'--sources'"),
        (("--jobs", "many"), "'--jobs'"),
    ],
)
def test_values_that_cannot_be_are_mistakes_in_usage(words, message, run, rings):
    assert message in run("embed", rings, "-o", "x.npy", *words, code=2).stderr
