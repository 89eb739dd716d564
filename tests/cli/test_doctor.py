import ddgk
from ddgk.cli import doctor


def test_it_says_what_is_there_and_where(run, tmp_path):
    said = run("doctor").stdout
    assert f"ddgk    {ddgk.__version__} in " in said
    assert str(tmp_path / "cache") in said
    assert "none: set DDGK_DATA to one" in said
    assert "DDGK_MIRROR        http://127.0.0.1:9" in said
    for name in ("numpy", "numba", "scipy", *doctor.EXTRAS):
        assert f"\n  {name}" in said


def test_what_is_missing_comes_with_its_fix(monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda _: None)
    rows = dict(doctor._extras())
    assert rows["plots"] == "matplotlib missing (figures); pip install 'ddgk[plots]'"


def test_kernels_of_every_module_are_counted():
    names = doctor._modules()
    assert {"ddgk.features", "ddgk.engine.local"} <= set(names)
    assert doctor._kernels("ddgk.engine.local")
    assert any(name.startswith("ddgk.alignment.") for name in names)


def test_hostile_text_of_the_environment_is_escaped(run, monkeypatch):
    monkeypatch.setenv("DDGK_MIRROR", "\x1b]0;pwned\x07")
    assert "\x1b" not in run("doctor").stdout
