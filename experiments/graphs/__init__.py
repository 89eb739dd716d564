"""Synthetic graphs that only experiments use."""
