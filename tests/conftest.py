"""What many tests share: engines to run on, and where real data is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from ddgk.engine import make_engine

# How long an example takes depends on who else is on the machine.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

ENGINES = ("fused", "torch")


@pytest.fixture(params=ENGINES)
def engine(request):
    """Every engine."""
    if request.param == "torch":
        pytest.importorskip("torch", reason="the torch engine needs torch")
    return make_engine(request.param)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets, named by DDGK_DATA or beside the project; else skip."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DDGK_DATA", beside))
    if not (folder / "tu").is_dir():
        pytest.skip(f"real data sets are not here: set DDGK_DATA to a folder with tu/ ({folder})")
    return folder
