"""Examples of optional libraries are tried where the library is."""

from importlib.util import find_spec

NEEDS = {
    "torch": [
        "src/ddgk/engine/torch.py",
        "src/ddgk/engine/equations.py",
        "src/ddgk/engine/local_torch.py",
    ],
    "torch_geometric": ["src/ddgk/graphs/pyg.py"],
    "igraph": ["src/ddgk/graphs/igraph.py"],
    "matplotlib": ["src/ddgk/plots"],
    "rdkit": ["src/ddgk/graphs/rdkit.py"],
    "starlette": ["src/ddgk/explorer/server.py"],
}
collect_ignore = [
    path for name, paths in NEEDS.items() if find_spec(name) is None for path in paths
]
