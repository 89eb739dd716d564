"""What is kept on disk."""

from __future__ import annotations

from ddgk.store.files import write_atomically
from ddgk.store.models import (
    StoredModel,
    identify_model,
    label_as_json,
    label_from_json,
    load_model,
    save_model,
)

__all__ = [
    "StoredModel",
    "identify_model",
    "label_as_json",
    "label_from_json",
    "load_model",
    "save_model",
    "write_atomically",
]
