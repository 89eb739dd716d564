from dataclasses import fields

from ddgk.cli.config import documented, values_of
from ddgk.config import CHOICES, PRESETS, Config


def test_every_field_is_documented_with_its_choices():
    found = documented()
    assert list(found) == [field.name for field in fields(Config)]
    for name, (kind, text) in found.items():
        assert kind
        assert text.endswith(".")
        for word in CHOICES.get(name, ()):
            assert f'"{word}"' in kind


def test_all_fields_are_listed_with_their_values(run):
    said = run("config").stdout
    for name in documented():
        for text in values_of(name, PRESETS).values():
            assert text in said
        assert f"\n{name}=" in f"\n{said}"


def test_one_field(run):
    said = run("config", "learning_rate").stdout.splitlines()
    assert said[0] == "learning_rate=0.1  (paper: 0.01; authors: 0.01)"
    assert len(said) == 2


def test_a_field_that_is_not(fails):
    assert "did you mean learning_rate?" in fails("config", "learning_rates", code=2)
