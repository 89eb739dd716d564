"""A model as one safetensors file: arrays and a JSON description. Nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import FAMILIES, Alphabet, Attributes, Family, check_families
from ddgk.columns import source_columns
from ddgk.encoder import Encoder
from ddgk.engine.problem import Source, Weights
from ddgk.errors import DDGKError, LabelError, ModelFileError, ModelNotFoundError, shown
from ddgk.graphs.graph import Graph, describe, label_key
from ddgk.method import Method
from ddgk.reading import Reader
from ddgk.store.files import write_atomically

FORMAT = 1


@dataclass(frozen=True)
class StoredModel:
    """Everything a fitted model is.

    baselines: what eq. 10 subtracts, (n_sources, n_columns).
    """

    method: Method
    reader: Reader
    seed: int
    encoders: tuple[Encoder, ...]
    baselines: NDArray[np.float64]


def save_model(path: str | os.PathLike[str], model: StoredModel, parameters: Any) -> None:
    """Write a model and the estimator's parameters to a file."""
    from safetensors.numpy import save

    arrays = _all_arrays(model)
    description = {
        "format": FORMAT,
        "ddgk": version("ddgk"),
        "parameters": parameters,
        "method": model.method.as_json(),
        "seed": model.seed,
        "unseen": model.reader.unseen,
        "families": [_family_as_json(family) for family in model.reader.families],
        "sources": [_source_as_json(encoder) for encoder in model.encoders],
    }
    description["sha256"] = seal(description, arrays)
    write_atomically(Path(path), save(arrays, {"ddgk": json.dumps(description)}))


def identify_model(model: StoredModel) -> dict[str, Any]:
    """Return what two models must have in common to give the same bits, as plain values."""
    return {
        "method": json.loads(json.dumps(model.method.as_json())),
        "seed": model.seed,
        "unseen_labels": model.reader.unseen,
        "families": [_family_as_json(family) for family in model.reader.families],
        "sources": [encoder.graph.digest for encoder in model.encoders],
        "encoders": _checksum(_all_arrays(model)),
    }


def load_model(path: str | os.PathLike[str]) -> tuple[StoredModel, dict[str, Any]]:
    """Read a model and the estimator's parameters; refuse a file that is damaged or not ours."""
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import load_file

    # Opening a pipe would wait for a writer, and os.path answers False where pathlib raises.
    if not os.path.isfile(path):
        raise ModelNotFoundError(f"there is no model file {os.fspath(path)!r}")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            text = (file.metadata() or {}).get("ddgk")
        arrays = load_file(os.fspath(path)) if text is not None else {}
    # safetensors looks for kinds of numbers that numpy may lack, and fails in any of these ways.
    except (
        SafetensorError,
        OSError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a model file, or it is damaged ({shown(str(error))}); "
            "save it again"
        ) from error
    if text is None:
        raise ModelFileError(f"{os.fspath(path)!r} is a safetensors file, but not a ddgk model")
    try:
        description = json.loads(text)
        _check_format(description, path)
        if description["sha256"] != seal(description, arrays):
            raise ModelFileError(f"{os.fspath(path)!r} is damaged: its checksum does not match")
        return _model_from(description, arrays), _parameters_from(description["parameters"])
    except ModelFileError:
        raise
    except (
        DDGKError,
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is damaged: its description does not fit its arrays "
            f"({type(error).__name__}: {shown(str(error))})"
        ) from error


def _check_format(description: Any, path: str | os.PathLike[str]) -> None:
    number = description.get("format") if isinstance(description, dict) else None
    if type(number) is not int or number < 1:
        raise ModelFileError(f"{os.fspath(path)!r} is not a ddgk model: it names no format")
    if number > FORMAT:
        raise ModelFileError(
            f"{os.fspath(path)!r} was saved by ddgk {str(description.get('ddgk'))[:30]}, whose "
            f"format {str(number)[:30]} is newer than {FORMAT}; upgrade ddgk"
        )


def seal(description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the checksum of a file: of its description, but for the checksum, and its arrays."""
    said = {name: value for name, value in description.items() if name != "sha256"}
    text = json.dumps(said, sort_keys=True) + _checksum(arrays)
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    content = hashlib.sha256()
    for name in sorted(arrays):
        content.update(f"{name}:{arrays[name].dtype}:{arrays[name].shape}:".encode())
        content.update(arrays[name].tobytes())
    return content.hexdigest()


def _all_arrays(model: StoredModel) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {"baselines": model.baselines}
    for place, encoder in enumerate(model.encoders):
        arrays |= {f"{place}.{name}": a for name, a in _arrays(encoder, model.method).items()}
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _arrays(encoder: Encoder, method: Method) -> dict[str, NDArray[Any]]:
    """Return what a source consists of, in the precision it was trained in."""
    kind = np.dtype(method.precision)
    graph = encoder.graph
    arrays: dict[str, NDArray[Any]] = {"edges": graph.edges}
    for side, own in enumerate(encoder.sides):
        before, weights = f"beside{side - 1}." if side else "", own.source.weights
        arrays |= {
            f"{before}order": own.order,
            f"{before}table": weights.table.astype(kind),
            f"{before}output.weight": weights.output[0].astype(kind),
            f"{before}output.bias": weights.output[1].astype(kind),
        }
        for place, (weight, bias) in enumerate(weights.hidden):
            arrays[f"{before}hidden{place}.weight"] = weight.astype(kind)
            arrays[f"{before}hidden{place}.bias"] = bias.astype(kind)
    if graph.node_attributes is not None:
        arrays["attributes"] = graph.node_attributes
    if graph.edge_weights is not None:
        arrays["weights"] = graph.edge_weights
    return arrays


def _source_as_json(encoder: Encoder) -> dict[str, Any]:
    graph = encoder.graph
    who = describe(graph.name)
    lists = {
        "node_names": graph.node_names,
        "node_labels": graph.node_labels,
        "edge_labels": graph.edge_labels,
    }
    described = {
        name: None if values is None else [label_as_json(value, who) for value in values]
        for name, values in lists.items()
    }
    seeds = {"beside": [own.seed for own in encoder.beside]} if encoder.beside else {}
    return {"name": graph.name, "seed": encoder.seed, **seeds, **described}


def _family_as_json(family: Family) -> dict[str, Any]:
    if isinstance(family, Attributes):
        return {"name": family.name, "width": family.width}
    labels = family.alphabet.labels  # type: ignore[attr-defined]
    return {"name": family.name, "labels": [label_as_json(label, "alphabet") for label in labels]}


def label_as_json(label: Hashable, who: str) -> Any:
    """Return a label as plain JSON values; other kinds of object cannot be kept in a file."""
    if isinstance(label, bool | int | float | str | type(None)):
        return label
    if isinstance(label, tuple):
        return {"tuple": [label_as_json(part, who) for part in label]}
    if isinstance(label, frozenset):
        return {"set": [label_as_json(part, who) for part in sorted(label, key=label_key)]}
    if isinstance(label, bytes):
        return {"bytes": label.hex()}
    raise LabelError(
        f"{who}: {label!r} is a {type(label).__name__}, which a model file cannot hold; "
        "use text, numbers, or tuples of them as labels and node names"
    )


def label_from_json(value: Any) -> Any:
    """Undo `label_as_json`."""
    if isinstance(value, bool | int | float | str | type(None)):
        return value
    if not isinstance(value, dict):
        raise TypeError(f"a label cannot be a {type(value).__name__}")
    ((kind, content),) = value.items()
    if kind == "bytes":
        return bytes.fromhex(content)
    parts = [label_from_json(part) for part in content]
    return {"tuple": tuple, "set": frozenset}[kind](parts)


def _model_from(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> StoredModel:
    method = Method.from_json(description["method"])
    families = tuple(_family_from_json(family) for family in description["families"])
    unseen, seed = str(description["unseen"]), int(description["seed"])
    reader = Reader(method.relations[0], families, unseen, method.surroundings, seed)
    # Once for all sources: a search per source would take the square of their number.
    own: defaultdict[str, dict[str, NDArray[Any]]] = defaultdict(dict)
    for name, array in arrays.items():
        place, _, part = name.partition(".")
        own[place][part] = array
    encoders = tuple(
        _encoder_from(source, own[str(place)], method, reader)
        for place, source in enumerate(description["sources"])
    )
    if not encoders:
        raise ValueError("it has no sources")
    n_columns = len(source_columns(method, reader.family_names))
    baselines = arrays["baselines"]
    if baselines.ndim == 3:  # written before images: channel and readout apart
        baselines = baselines.reshape(len(baselines), -1)
    if baselines.shape != (len(encoders), n_columns):
        raise ValueError(f"baselines of shape {baselines.shape} for {len(encoders)} sources")
    if baselines.dtype != np.float64 or not np.isfinite(baselines).all():
        raise ValueError("baselines must be finite numbers")
    return StoredModel(method, reader, seed, encoders, baselines)


def _parameters_from(described: Any) -> dict[str, Any]:
    """Take the estimator's parameters, which are plain values, out of a description."""
    parameters = dict(described)
    for name, value in parameters.items():
        if not isinstance(value, str | int | float | type(None)):
            raise TypeError(f"the parameter {name!r} cannot be a {type(value).__name__}")
    return parameters


def _family_from_json(described: dict[str, Any]) -> Family:
    kind = FAMILIES[described["name"]]
    if kind is Attributes:
        return Attributes(int(described["width"]))
    labels = tuple(label_from_json(label) for label in described["labels"])
    return kind(Alphabet(labels))  # type: ignore[arg-type]


def _encoder_from(
    described: dict[str, Any], own: dict[str, NDArray[Any]], method: Method, reader: Reader
) -> Encoder:
    def listed(name: str) -> list[Hashable] | None:
        values = described[name]
        return None if values is None else [label_from_json(value) for value in values]

    n_nodes = len(own["output.bias"])
    # An array of shape (10**12, 0) takes no room in a file, but its length is that of a graph.
    if own["order"].shape != (n_nodes,) or not own["table"].size:
        raise ValueError(f"an order of shape {own['order'].shape} for {n_nodes} nodes")
    graph = Graph(
        n_nodes,
        own["edges"],
        node_labels=listed("node_labels"),
        edge_labels=listed("edge_labels"),
        node_attributes=own.get("attributes"),
        edge_weights=own.get("weights"),
        name=described["name"],
        node_names=listed("node_names"),
    )
    check_families(graph, reader.families)
    seeds = [described["seed"], *described.get("beside", [])]
    sides = []
    for side, (relation, seed) in enumerate(zip(method.relations, seeds, strict=True)):
        before = f"beside{side - 1}." if side else ""
        arrays = {n.removeprefix(before): a for n, a in own.items() if n.startswith(before)}
        order = arrays["order"]
        carried, members = replace(reader, relation=relation).attended(graph.permuted(order))
        n_rows = n_nodes if members is None else len(members)
        weights = _weights_from(arrays, (n_rows, n_nodes), method)
        sides.append(Encoder(graph, order, int(seed), Source(weights, carried, members)))
    return replace(sides[0], beside=tuple(sides[1:]))


def _weights_from(own: dict[str, NDArray[Any]], shape: tuple[int, int], method: Method) -> Weights:
    """Take the layers out of a file, each of the shape the method says."""
    training, (n_rows, n_nodes) = method.encoder_training, shape

    def layer(name: str, *shape: int) -> NDArray[np.float64]:
        found = own[name]
        if found.shape != shape or found.dtype.kind != "f" or not np.isfinite(found).all():
            raise ValueError(
                f"{name} should be {shape} finite numbers, but is {found.dtype} {found.shape}"
            )
        return found.astype(np.float64)

    # A layer at a time: the depth is only a number in the file, the layers are really there.
    hidden = tuple(
        (
            layer(
                f"hidden{place}.weight",
                training.width if place else training.dimension,
                training.width,
            ),
            layer(f"hidden{place}.bias", training.width),
        )
        for place in range(training.depth)
    )
    output = (
        layer("output.weight", training.width, n_nodes),
        layer("output.bias", n_nodes),
    )
    return Weights(layer("table", n_rows, training.dimension), hidden, output)
