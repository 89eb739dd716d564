"""A model as one safetensors file: its arrays with a JSON description. Nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddgk.attributes import FAMILIES, Alphabet, Attributes, Family
from ddgk.divergence import reported_channels
from ddgk.encoder import Encoder
from ddgk.engine.problem import Source, Weights
from ddgk.errors import DDGKError, LabelError, ModelFileError
from ddgk.graphs.graph import Graph, describe, label_key
from ddgk.method import Method
from ddgk.reading import Reader
from ddgk.store.files import write_atomically

FORMAT = 1


@dataclass(frozen=True)
class StoredModel:
    """Everything a fitted model is.

    baselines: what eq. 10 subtracts, (n_sources, n_channels, n_steps).
    """

    method: Method
    reader: Reader
    seed: int
    encoders: tuple[Encoder, ...]
    baselines: NDArray[np.float64]


def save_model(path: str | os.PathLike[str], model: StoredModel, parameters: Any) -> None:
    """Write a model and the estimator's parameters to a file."""
    from safetensors.numpy import save

    arrays: dict[str, NDArray[Any]] = {"baselines": model.baselines}
    for place, encoder in enumerate(model.encoders):
        arrays |= {f"{place}.{name}": a for name, a in _arrays(encoder, model.method).items()}
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    description = {
        "format": FORMAT,
        "ddgk": version("ddgk"),
        "parameters": parameters,
        "method": model.method.as_json(),
        "seed": model.seed,
        "unseen": model.reader.unseen,
        "families": [_family_as_json(family) for family in model.reader.families],
        "sources": [_source_as_json(encoder) for encoder in model.encoders],
        "sha256": _checksum(arrays),
    }
    write_atomically(Path(path), save(arrays, {"ddgk": json.dumps(description)}))


def load_model(path: str | os.PathLike[str]) -> tuple[StoredModel, dict[str, Any]]:
    """Read a model and the estimator's parameters; refuse a file that is damaged or not ours."""
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import load_file

    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no model file {os.fspath(path)!r}")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            text = (file.metadata() or {}).get("ddgk")
        arrays = load_file(os.fspath(path)) if text is not None else {}
    except (SafetensorError, UnicodeDecodeError) as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} is not a model file, or it is damaged ({error}); save it again"
        ) from error
    if text is None:
        raise ModelFileError(f"{os.fspath(path)!r} is a safetensors file, but not a ddgk model")
    try:
        description = json.loads(text)
        _check_format(description, path)
        if description["sha256"] != _checksum(arrays):
            raise ModelFileError(f"{os.fspath(path)!r} is damaged: its checksum does not match")
        return _model_from(description, arrays), dict(description["parameters"])
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
            f"{os.fspath(path)!r} is damaged: its description does not fit its arrays ({error!r})"
        ) from error


def _check_format(description: Any, path: str | os.PathLike[str]) -> None:
    if not isinstance(description, dict) or not isinstance(description.get("format"), int):
        raise ModelFileError(f"{os.fspath(path)!r} is not a ddgk model: it names no format")
    if description["format"] > FORMAT:
        raise ModelFileError(
            f"{os.fspath(path)!r} was saved by ddgk {description.get('ddgk')}, whose format "
            f"{description['format']} is newer than {FORMAT}; upgrade ddgk"
        )


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    content = hashlib.sha256()
    for name in sorted(arrays):
        content.update(f"{name}:{arrays[name].dtype}:{arrays[name].shape}:".encode())
        content.update(arrays[name].tobytes())
    return content.hexdigest()


def _arrays(encoder: Encoder, method: Method) -> dict[str, NDArray[Any]]:
    """Return what a source consists of, in the precision it was trained in."""
    kind = np.dtype(method.precision)
    weights, graph = encoder.source.weights, encoder.graph
    arrays: dict[str, NDArray[Any]] = {
        "order": encoder.order,
        "edges": graph.edges,
        "table": weights.table.astype(kind),
        "output.weight": weights.output[0].astype(kind),
        "output.bias": weights.output[1].astype(kind),
    }
    for place, (weight, bias) in enumerate(weights.hidden):
        arrays[f"hidden{place}.weight"] = weight.astype(kind)
        arrays[f"hidden{place}.bias"] = bias.astype(kind)
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
    return {"name": graph.name, "seed": encoder.seed, **described}


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
    reader = Reader(method.relation, families, str(description["unseen"]), method.surroundings)
    encoders = tuple(
        _encoder_from(source, place, arrays, method, reader)
        for place, source in enumerate(description["sources"])
    )
    channels = reported_channels(method, reader.family_names)
    baselines = arrays["baselines"]
    if baselines.shape != (len(encoders), len(channels), len(method.curve)):
        raise ValueError(f"baselines of shape {baselines.shape} for {len(encoders)} sources")
    return StoredModel(method, reader, int(description["seed"]), encoders, baselines)


def _family_from_json(described: dict[str, Any]) -> Family:
    kind = FAMILIES[described["name"]]
    if kind is Attributes:
        return Attributes(int(described["width"]))
    labels = tuple(label_from_json(label) for label in described["labels"])
    return kind(Alphabet(labels))  # type: ignore[arg-type]


def _encoder_from(
    described: dict[str, Any],
    place: int,
    arrays: dict[str, NDArray[Any]],
    method: Method,
    reader: Reader,
) -> Encoder:
    own = {n.partition(".")[2]: a for n, a in arrays.items() if n.partition(".")[0] == str(place)}

    def listed(name: str) -> list[Hashable] | None:
        values = described[name]
        return None if values is None else [label_from_json(value) for value in values]

    order = own["order"]
    graph = Graph(
        len(order),
        own["edges"],
        node_labels=listed("node_labels"),
        edge_labels=listed("edge_labels"),
        node_attributes=own.get("attributes"),
        edge_weights=own.get("weights"),
        name=described["name"],
        node_names=listed("node_names"),
    )
    source = Source(_weights_from(own, graph.n_nodes, method), _distributions(graph, order, reader))
    return Encoder(graph, order, int(described["seed"]), source)


def _distributions(
    graph: Graph, order: NDArray[np.int64], reader: Reader
) -> tuple[NDArray[np.float64], ...]:
    return reader.unit_distributions(graph.permuted(order))


def _weights_from(own: dict[str, NDArray[Any]], n_nodes: int, method: Method) -> Weights:
    """Take the layers out of a file, each of the shape the method says."""
    training = method.encoder_training

    def layer(name: str, *shape: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = own[name].astype(np.float64)
        if found.shape != shape or not np.isfinite(found).all():
            raise ValueError(f"{name} should be {shape} finite numbers, but is {found.shape}")
        return found

    inputs = [training.dimension] + [training.width] * (training.depth - 1)
    hidden = tuple(
        (
            layer(f"hidden{place}.weight", size, training.width),
            layer(f"hidden{place}.bias", training.width),
        )
        for place, size in enumerate(inputs)
    )
    output = (
        layer("output.weight", training.width, n_nodes),
        layer("output.bias", n_nodes),
    )
    return Weights(layer("table", n_nodes, training.dimension), hidden, output)
