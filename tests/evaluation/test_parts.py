import pytest

from ddgk.errors import RunError
from ddgk.evaluation.parts import Parts


def never():
    raise AssertionError("it is there already")


def test_a_value_is_computed_once_and_reads_back_to_the_same_bits(tmp_path):
    value = {"accuracies": [0.1 + 0.2, 1 / 3], "name": "a"}
    assert Parts(tmp_path / "run", {"a": (1, 2)}).get("one", lambda: value) == value
    assert Parts(tmp_path / "run", {"a": [1, 2]}).get("one", never) == value


def test_without_a_folder_nothing_is_kept():
    parts = Parts(None, {})
    assert parts.get("one", lambda: (1, 2)) == [1, 2], "as it would come from a file"
    assert parts.get("one", lambda: 3) == 3


def test_what_fails_is_not_kept(tmp_path):
    parts = Parts(tmp_path, {})
    with pytest.raises(ZeroDivisionError):
        parts.get("one", lambda: 1 / 0)
    with pytest.raises(ValueError, match="not JSON compliant"):
        parts.get("one", lambda: float("nan"))
    assert parts.get("one", lambda: 5) == 5


def test_another_configuration_is_refused(tmp_path):
    Parts(tmp_path, {"steps": 5, "seed": 0})
    with pytest.raises(RunError, match=r"another configuration \(seed\)"):
        Parts(tmp_path, {"steps": 5, "seed": 1})


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000])
def test_damage_is_named(tmp_path, content):
    Parts(tmp_path, {}).get("one", lambda: 1)
    (tmp_path / "one.json").write_bytes(content)
    with pytest.raises(RunError, match=r"one\.json is damaged"):
        Parts(tmp_path, {}).get("one", never)
    (tmp_path / "configuration.json").write_bytes(content)
    with pytest.raises(RunError, match=r"configuration\.json is damaged"):
        Parts(tmp_path, {})
