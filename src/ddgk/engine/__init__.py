"""Engines: arrays in, arrays out. An engine knows neither graphs nor files."""

from __future__ import annotations

from ddgk.engine.arrays import Engine
from ddgk.errors import MissingExtraError, ParameterError

ENGINES = ("auto", "fused", "torch")


def engine_name(name: str, device: str, reason: str = "") -> str:
    """Return the engine that "auto" selects.

    The fused engine on the CPU, torch on every other device and wherever `reason` says why torch is
    required (`ddgk.config.Config.torch_reason`, `ddgk.targets.Encoding.torch_reason`).

    >>> engine_name("auto", "cpu"), engine_name("auto", "cuda"), engine_name("torch", "cpu")
    ('fused', 'torch', 'torch')
    """
    if name != "auto":
        return name
    return "fused" if device == "cpu" and not reason else "torch"


def make_engine(
    name: str = "auto",
    *,
    device: str = "cpu",
    threads: int = 1,
    reason: str = "",
) -> Engine:
    """Return the engine of that name; its library is imported here and not before.

    name: "auto", "fused" or "torch". device: "cpu", or a device of torch such as "cuda". threads:
    number of batches that run at once; results do not depend on it. reason: why the torch engine is
    required; empty where it is not.

    >>> make_engine(threads=2)
    FusedEngine(threads=2)
    """
    if name not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(map(repr, ENGINES))}, not {name!r}")
    if name == "fused" and device != "cpu":
        raise ParameterError(
            f"the fused engine runs on the CPU, not on {device!r}; pass engine='torch'"
        )
    if name == "fused" and reason:
        raise ParameterError(f"{reason}; pass engine='auto' or engine='torch'")
    if engine_name(name, device, reason) == "torch":
        try:
            from ddgk.engine.torch import TorchEngine
        except ModuleNotFoundError as error:
            why = reason or "this engine needs torch"
            raise MissingExtraError(
                f"{why}; torch is not installed: pip install 'ddgk[torch]'"
            ) from error
        return TorchEngine(device=device, threads=threads)
    from ddgk.engine.fused import FusedEngine

    return FusedEngine(threads)
