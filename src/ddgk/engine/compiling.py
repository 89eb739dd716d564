"""How kernels outside the fused engine are compiled: as those of refinement are, rows below."""

from ddgk.compiling import compiled

__all__ = ["compiled"]
