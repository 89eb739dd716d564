"""`help` explains every parameter of what users call and configure."""

from __future__ import annotations

import inspect
import re

import pytest

import ddgk

CLASSES = ("DDGK", "Config", "Policies", "AlignmentOptions", "Graph")
FUNCTIONS = ("align", "compare", "open_run", "graphs.as_graph", "io.read")


def public() -> dict[str, object]:
    """Return the classes above and all public functions, by name."""
    found = {}
    for name in ddgk.__all__:
        value = getattr(ddgk, name)
        if inspect.ismodule(value):
            listed = getattr(value, "__all__", [])
            found |= {f"{name}.{inner}": getattr(value, inner) for inner in listed}
        else:
            found[name] = value
    return {n: v for n, v in found.items() if n in CLASSES or inspect.isfunction(v)}


def explained(text: str) -> set[str]:
    """Return the parameters, or fields of a data class, that a numpydoc docstring lists."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(text), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    lines = [
        *sections.get("Parameters", "").splitlines(),
        *sections.get("Attributes", "").splitlines(),
    ]
    listed = [line.split(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return {name.lstrip("*") for names in listed for name in re.split(r",\s*", names)}


def test_the_main_names_are_seen():
    assert {*CLASSES, *FUNCTIONS} <= set(public())


@pytest.mark.parametrize("name", sorted(public()))
def test_every_parameter_is_explained(name):
    value = public()[name]
    parameters = inspect.signature(value).parameters.values()
    wanted = {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}
    text = inspect.getdoc(value)
    if len(wanted) > 1 or name in CLASSES:
        assert wanted <= explained(text), f"{name} does not explain {wanted - explained(text)}"


def test_a_parameter_without_explanation_is_noticed():
    text = "Do.\n\nParameters\n----------\na, b : int\n    Both.\n\nReturns\n-------\nint\n"
    assert explained(text) == {"a", "b"}
