"""What an experiment has finished, kept in a folder: the same command goes on from there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ddgk.errors import RunError
from ddgk.store import write_atomically
from ddgk.store.files import naming_damage

CONFIGURATION = "configuration.json"
MOST_BYTES = 1 << 28


class Parts:
    """Named values, each computed once.

    folder: where they are kept; None keeps nothing. configuration: all that the values depend on;
    a folder of another one is refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = Parts(folder, {"steps": 5}).get("seed-0", lambda: [1.5])
    ...     again = Parts(folder, {"steps": 5}).get("seed-0", lambda: [2.5])
    >>> first, again
    ([1.5], [1.5])
    """

    def __init__(
        self, folder: str | PathLike[str] | None, configuration: Mapping[str, Any]
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        path, wanted = self.folder / CONFIGURATION, json.loads(json.dumps(configuration))
        if not path.exists():
            write_atomically(path, _text(wanted))
            return
        found = _read(path)
        if found != wanted:
            known = found if isinstance(found, dict) else {}
            differs = next(
                (name for name in wanted if known.get(name) != wanted[name]), "another experiment"
            )
            raise RunError(
                f"{self.folder} holds an experiment of another configuration ({differs}); "
                "name another folder"
            )

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return a value that is kept, or compute and keep it; what JSON cannot hold is an error.

        Either way it is what JSON made of it, so that going on gives the same bits as not stopping.
        """
        path = None if self.folder is None else self.folder / f"{name}.json"
        if path is not None and path.exists():
            return _read(path)
        value = json.loads(json.dumps(compute(), allow_nan=False))
        if path is not None:
            write_atomically(path, _text(value))
        return value


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def _read(path: Path) -> Any:
    if path.stat().st_size > MOST_BYTES:
        raise RunError(f"{path} is damaged: it is far too large")
    with naming_damage(str(path)):
        return json.loads(path.read_bytes())
