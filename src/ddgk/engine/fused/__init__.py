"""The fused engine for CPUs: small kernels on eight numbers at a time, compiled by Numba."""

from __future__ import annotations

from ddgk.engine.fused.engine import FusedEngine

__all__ = ["FusedEngine"]
