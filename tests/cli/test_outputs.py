import sys

import numpy as np
import pytest
import typer

from ddgk.cli.outputs import TABLES, Table, check_output, write_table
from ddgk.errors import MissingExtraError

VALUES = np.array([[0.1, 1 / 3], [2e-17, -4.0]])


@pytest.fixture(params=[None, np.array([1, -1])], ids=["no classes", "classes"])
def table(request):
    return Table(VALUES, ["a,b", 'say "x"'], ["source0/edges/1", "source0/edges/2"], request.param)


def test_npy(table, folder):
    write_table(folder / "x.npy", table)
    np.testing.assert_array_equal(np.load("x.npy"), VALUES)


def test_npz(table, folder):
    write_table(folder / "x.npz", table)
    with np.load("x.npz") as found:
        np.testing.assert_array_equal(found["embedding"], VALUES)
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
    np.testing.assert_array_equal(found[table.columns].to_numpy(), VALUES)
    if table.classes is not None:
        assert found["class"].tolist() == [1, -1]


def test_parquet_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ddgk\[parquet\]'"):
        check_output(folder / "x.parquet", TABLES, force=False)


def test_outputs_are_refused_before_the_work(folder, monkeypatch):
    (folder / "x.csv").write_text("mine")
    (folder / "folder.csv").mkdir()
    with pytest.raises(FileExistsError, match="exists; choose another name, or pass --force"):
        check_output(folder / "x.csv", TABLES, force=False)
    check_output(folder / "x.csv", TABLES, force=True)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_output(folder / "folder.csv", TABLES, force=True)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        check_output(folder / "none" / "x.csv", TABLES, force=False)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="cannot be written into the folder"):
        check_output(folder / "y.csv", TABLES, force=False)
    with pytest.raises(typer.BadParameter, match="must end in one of"):
        check_output(folder / "x.xlsx", TABLES, force=False)
    assert (folder / "x.csv").read_text() == "mine"
