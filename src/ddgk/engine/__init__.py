"""Numbers only: arrays in, arrays out. An engine knows no graph and no paper."""

from __future__ import annotations

from ddgk.engine.problem import Engine
from ddgk.errors import MissingExtraError, ParameterError

ENGINES = ("auto", "torch")


def make_engine(
    name: str = "auto", *, precision: str = "float32", device: str = "cpu", threads: int = 1
) -> Engine:
    """Return the engine of that name; its library is imported here and not before.

    Examples
    --------
    >>> make_engine("torch", precision="float64").precision
    'float64'
    """
    if name not in ENGINES:
        raise ParameterError(f"engine must be one of {', '.join(map(repr, ENGINES))}, not {name!r}")
    try:
        from ddgk.engine.torch import TorchEngine
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "training needs torch, which is not installed; pip install 'ddgk[torch]'"
        ) from error
    return TorchEngine(precision, device, threads)
