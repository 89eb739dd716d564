"""Labels as JSON values, which files, models and pages hold."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from ddgk.errors import LabelError, shown
from ddgk.graphs.graph import label_key

EXACT = 1 << 53  # whole numbers below are the same in every reader of JSON


def label_as_json(label: Hashable, who: str) -> Any:
    """Return a label as JSON; raise for kinds of object that no file can hold.

    who: whose label it is, for the message.

    >>> label_as_json(("C", 2), "graph")
    {'tuple': ['C', 2]}
    """
    if isinstance(label, np.generic):
        return label_as_json(label.item(), who)
    if isinstance(label, bool | str | type(None)):
        return label
    if isinstance(label, int):
        return label if abs(label) < EXACT else {"int": f"{label:x}"}
    if isinstance(label, float):
        return label if math.isfinite(label) else {"float": label.hex()}
    if isinstance(label, tuple):
        return {"tuple": [label_as_json(part, who) for part in label]}
    if isinstance(label, frozenset):
        return {"set": [label_as_json(part, who) for part in sorted(label, key=label_key)]}
    if isinstance(label, bytes):
        return {"bytes": label.hex()}
    raise LabelError(
        f"{who}: {shown(repr(label))} is a {type(label).__name__}, which no file can hold; "
        "use text, numbers, or tuples of them as labels and node names"
    )


def label_from_json(value: Any) -> Hashable:
    """Undo `label_as_json`."""
    if isinstance(value, bool | int | float | str | type(None)):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"a label cannot be a {type(value).__name__}")
    ((kind, content),) = value.items()
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "int":
        return int(content, 16)
    if kind == "float":
        return float.fromhex(content)
    if kind not in ("tuple", "set"):
        raise ValueError(f"a label cannot be a {shown(str(kind))!r}")
    parts = [label_from_json(part) for part in content]
    return tuple(parts) if kind == "tuple" else frozenset(parts)
