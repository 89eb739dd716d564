import numpy as np
import pytest

from ddgk.tables import Table, text_table, write_table

VALUES = np.array([[0.1, 1 / 3], [2e-17, -4.0]], dtype=np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=[None, np.array([1, -1])], ids=["no classes", "classes"])
def table(request):
    return Table(VALUES, ["a,b", 'say "x"'], ["source0/edges/1", "source0/edges/2"], request.param)


def test_npy(table, folder):
    write_table(folder / "x.npy", table)
    np.testing.assert_array_equal(np.load("x.npy"), VALUES)
    assert np.load("x.npy").dtype == np.float32


def test_npz(table, folder):
    write_table(folder / "x.npz", table)
    with np.load("x.npz") as found:
        np.testing.assert_array_equal(found["embedding"], VALUES)
        assert found["embedding"].dtype == np.float32
        assert found["names"].tolist() == table.names
        assert found["columns"].tolist() == table.columns
        assert ("classes" in found) == (table.classes is not None)
        if table.classes is not None:
            np.testing.assert_array_equal(found["classes"], table.classes)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_read_back_to_the_same_bits(table, folder, suffix):
    pandas = pytest.importorskip("pandas")
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = folder / f"x{suffix}"
    write_table(path, table)
    found = (pandas.read_csv if suffix == ".csv" else pandas.read_parquet)(path)
    assert list(found.columns) == table.heading()
    assert found["name"].tolist() == table.names
    np.testing.assert_array_equal(found[table.columns].to_numpy().astype(np.float32), VALUES)
    assert suffix == ".csv" or set(map(str, found[table.columns].dtypes)) == {"float32"}
    if table.classes is not None:
        assert found["class"].tolist() == [1, -1]


HOSTILE = [
    "a\rb",
    "a\nb",
    "=1+1",
    "+cmd|'/C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "-12.5",
    "\ud800x",
]


def test_hostile_names_stay_one_field_and_are_no_formulas(folder):
    pandas = pytest.importorskip("pandas")
    table = Table(np.zeros((9, 1), np.float32), HOSTILE, ["=column"], None)
    write_table(folder / "x.csv", table)
    found = pandas.read_csv("x.csv", dtype={"name": str}, skipinitialspace=False)
    written = [name.replace("\ud800", "\\ud800") for name in HOSTILE]
    expected = [*written[:2], *("'" + name for name in written[2:7]), *written[7:]]
    assert found["name"].tolist() == expected
    assert found.columns.tolist() == ["name", "'=column"]


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_names_of_a_megabyte_and_halves_of_characters(folder, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    names = ["x" * 10**6, "\ud800", *map(str, range(500))]
    table = Table(np.zeros((502, 1), np.float32), names, ["c"], None)
    write_table(folder / f"x{suffix}", table)
    assert (folder / f"x{suffix}").stat().st_size < 10**5


def test_npz_and_parquet_are_compressed(folder):
    pytest.importorskip("pyarrow")
    table = Table(
        np.zeros((5000, 20), np.float32), ["g"] * 5000, list("abcdefghijklmnopqrst"), None
    )
    for suffix in (".npz", ".parquet"):
        write_table(folder / f"x{suffix}", table)
        assert (folder / f"x{suffix}").stat().st_size < 5000 * 20


def test_cells_of_a_table_in_the_terminal_are_text():
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    table = text_table(
        ("name", "n"), [("[red]x[/red]", 1)], right=("n",), title="[b]t", caption="c"
    )
    Console(file=out, width=60).print(table)
    assert "[red]x[/red]" in out.getvalue()
    assert "[b]t" in out.getvalue()
