"""What the three methods that use gensim share."""

from __future__ import annotations

from typing import Any
from zlib import crc32


def import_gensim() -> Any:
    """Import gensim's models, or say how to install it."""
    try:
        import gensim.models
    except ImportError as error:
        raise ImportError("this row needs gensim: pip install gensim") from error
    return gensim.models


def stable_hash(text: str) -> int:
    """Hash text the same way in every process; gensim initialises vectors by it."""
    return crc32(text.encode())
