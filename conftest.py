"""Kernels are compiled first; examples of optional libraries are tried where the library is."""

from importlib.util import find_spec

NEEDS = {
    "torch": ["src/ddgk/engine/torch.py", "src/ddgk/engine/equations.py"],
    "torch_geometric": ["src/ddgk/graphs/pyg.py"],
    "igraph": ["src/ddgk/graphs/igraph.py"],
    "matplotlib": ["src/ddgk/plots"],
    "rdkit": ["src/ddgk/graphs/rdkit.py"],
}
collect_ignore = [
    path for name, paths in NEEDS.items() if find_spec(name) is None for path in paths
]


def pytest_sessionstart(session):
    """Compile the kernels once, at the same time, before any worker needs them."""
    config = session.config
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    from ddgk.compiling import PARTS, prepare

    prepare(*PARTS)
