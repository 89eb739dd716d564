"""Is this the run that is meant? What differs is named, and nothing is touched."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from ddgk.errors import RunError
from ddgk.method import BEFORE
from ddgk.store.files import Folder
from ddgk.store.manifest import Manifest
from ddgk.store.run import Run


def refuse_other_identity(folder: Folder, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Refuse a run of another configuration; both as `identify_model` returns them."""
    differences = list(_differences(there, here))
    if differences:
        raise RunError(
            f"{folder.address} is a run of another configuration: {'; '.join(differences)}. Give "
            "the same options and graphs to continue it, or name a new folder"
        )


def _differences(there: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    for name, value in here.items():
        theirs = there.get(name)
        if name == "method" and isinstance(theirs, dict):
            theirs = BEFORE | theirs
        if theirs == value:
            continue
        if name == "method" and isinstance(theirs, dict):
            for key in value:
                if theirs.get(key) != value[key]:
                    yield f"{key} is {theirs.get(key)!r} there and {value[key]!r} here"
        elif name == "sources" and isinstance(theirs, list):
            yield (
                "the sources are other graphs"
                if len(theirs) == len(value)
                else f"there are {len(theirs)} sources there and {len(value)} here"
            )
        elif name == "unseen_labels":
            yield f"unseen_labels is {theirs!r} there and {value!r} here"
        else:
            yield f"the {name} differ" if name.endswith("s") else f"the {name} differs"


def refuse_other_engine(folder: Folder, manifest: Manifest, engine: str, device: str) -> None:
    """Refuse to mix rows of two engines in one grid."""
    here = {"name": engine, "device": device}
    if manifest.engine != here:
        theirs = f"{manifest.engine.get('name')} on {manifest.engine.get('device')}"
        raise RunError(
            f"{folder.address} was begun with the engine {theirs}, and this is {engine} on "
            f"{device}; engines round differently: continue with that one, or name a new folder"
        )


def refuse_other_version(run: Run) -> None:
    """Refuse to mix rows of two versions in one grid."""
    theirs, ours = run.manifest.versions.get("ddgk"), version("ddgk")
    if theirs != ours:
        raise RunError(
            f"{run.address} was begun by ddgk {theirs}, and this is {ours}, which may round "
            "differently; finish it with that version, or name a new folder"
        )
