"""Numbers only: arrays in, arrays out. An engine knows no graph and no paper."""

from __future__ import annotations

from ddgk.engine.problem import Engine
from ddgk.errors import MissingExtraError, ParameterError

ENGINES = ("auto", "fused", "torch")


def engine_name(name: str, device: str) -> str:
    """Say which engine "auto" is: the fused one on the CPU, and torch on every other device.

    >>> engine_name("auto", "cuda"), engine_name("torch", "cpu")
    ('torch', 'torch')
    """
    if name != "auto":
        return name
    return "fused" if device == "cpu" else "torch"


def make_engine(
    name: str = "auto", *, precision: str = "float32", device: str = "cpu", threads: int = 1
) -> Engine:
    """Return the engine of that name; its library is imported here and not before.

    Examples
    --------
    >>> make_engine("auto", precision="float64")
    FusedEngine(precision='float64', threads=1)
    """
    if name not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(map(repr, ENGINES))}, not {name!r}")
    if name == "fused" and device != "cpu":
        raise ParameterError(
            f"the fused engine runs on the CPU, not on {device!r}; pass engine='torch'"
        )
    if engine_name(name, device) == "torch":
        try:
            from ddgk.engine.torch import TorchEngine
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                "this engine needs torch, which is not installed; pip install 'ddgk[torch]'"
            ) from error
        return TorchEngine(precision, device, threads)
    from ddgk.engine.fused import FusedEngine

    return FusedEngine(precision, threads)
