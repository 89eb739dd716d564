from __future__ import annotations

import subprocess
import sys

import ddgk.graphs


def test_importing_loads_no_other_library_than_numpy():
    program = (
        "import sys, ddgk.graphs;"
        "print([m for m in ('networkx', 'scipy', 'torch', 'igraph', 'torch_geometric', 'sklearn')"
        " if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_all_public_names_exist():
    assert all(hasattr(ddgk.graphs, name) for name in ddgk.graphs.__all__)
