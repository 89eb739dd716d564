"""Ground floor: the graph type, and doors for other libraries' graphs."""

from ddgk.graphs.graph import Graph
from ddgk.graphs.policies import Policies

__all__ = ["Graph", "Policies"]
