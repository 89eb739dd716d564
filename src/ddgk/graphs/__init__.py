"""The graph type, the policies for input, and converters from other libraries."""

from ddgk.graphs.convert import as_graph, as_graphs
from ddgk.graphs.edgelist import from_edges
from ddgk.graphs.grakel import from_grakel
from ddgk.graphs.graph import Graph
from ddgk.graphs.igraph import from_igraph
from ddgk.graphs.matrices import from_matrix
from ddgk.graphs.networkx import from_networkx, to_networkx
from ddgk.graphs.policies import Policies
from ddgk.graphs.pyg import from_pyg
from ddgk.graphs.rdkit import from_rdkit, from_smiles

__all__ = [
    "Graph",
    "Policies",
    "as_graph",
    "as_graphs",
    "from_edges",
    "from_grakel",
    "from_igraph",
    "from_matrix",
    "from_networkx",
    "from_pyg",
    "from_rdkit",
    "from_smiles",
    "to_networkx",
]
