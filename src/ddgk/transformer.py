"""The interface of a scikit-learn transformer, without importing scikit-learn.

Importing scikit-learn takes longer than embedding a hundred molecules; hence no base class of it.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ddgk.config import Config
from ddgk.embedding.checks import check_choice
from ddgk.errors import MissingExtraError, ParameterError

CONTAINERS = ("default", "pandas", "polars")


class Transformer:
    """Base class with the methods that scikit-learn calls on a transformer.

    The parameters of a subclass are those of its constructor, kept under the same names. A
    parameter `config` has fields, which are parameters too: ``config__learning_rate``.
    """

    _sklearn_output_config: dict[str, str]  # under this name, scikit-learn's clone keeps it
    config: Any

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        return {name: own.default for name, own in inspect.signature(cls).parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters as they were given.

        Parameters
        ----------
        deep : bool
            Add the fields of the configuration, as ``config__NAME``.
        """
        found = {name: getattr(self, name) for name in self._defaults()}
        if deep:
            config = as_config(found["config"]).get_params()
            found |= {f"config__{name}": value for name, value in config.items()}
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; they count from the next `fit` on."""
        known = self._defaults()
        for name in parameters:
            if name not in known and not name.startswith("config__"):
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}, but {', '.join(known)}"
                )
        for name in known & parameters.keys():
            setattr(self, name, parameters[name])
        fields = {k.removeprefix("config__"): v for k, v in parameters.items() if k not in known}
        if fields:
            self.config = as_config(self.config).replace(**fields)
        return self

    def set_output(self, *, transform: str | None = None) -> Self:
        """Let `transform` return a data frame with named columns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            "default" is an array; None leaves it as it is.
        """
        if transform is not None:
            check_choice("transform", transform, CONTAINERS)
            self._sklearn_output_config = {"transform": transform}
        return self

    def arrange(self, rows: NDArray[Any], names: NDArray[np.object_]) -> Any:
        """Return rows in the container that `set_output` or scikit-learn's settings ask for."""
        asked = getattr(self, "_sklearn_output_config", {}).get("transform")
        if asked is None and "sklearn" in sys.modules:
            asked = sys.modules["sklearn"].get_config()["transform_output"]
        if asked in (None, "default"):
            return rows
        try:
            library = import_module(asked)
        except ImportError as error:
            raise MissingExtraError(
                f"set_output(transform={asked!r}) needs {asked}: pip install {asked}"
            ) from error
        if asked == "pandas":
            return library.DataFrame(rows, columns=names, copy=False)
        return library.DataFrame(rows, schema=names.tolist(), orient="row")

    def check_fitted(self) -> None:
        """Refuse what needs a fitted model."""
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            name = type(self).__name__
            raise NotFittedError(f"this {name} is not fitted yet; call fit with graphs first")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "sources_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
        )

    def __repr__(self) -> str:
        given, defaults = self.get_params(deep=False), self._defaults()
        changed = [f"{k}={v!r}" for k, v in given.items() if repr(v) != repr(defaults[k])]
        return f"{type(self).__name__}({', '.join(changed)})"


def as_config(config: Any) -> Config:
    """Return a configuration given as such or by the name of a preset.

    >>> as_config("paper").attention
    'global'
    """
    if isinstance(config, Config):
        return config
    if isinstance(config, str):
        return Config.preset(config)
    raise ParameterError(f"config must be a preset's name or a ddgk.Config, not {config!r}")


def draw_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn calls a random state.

    random_state: a whole number, an instance of numpy's RandomState or Generator, or None for
    numpy's global state.

    >>> draw_seed(0) == draw_seed(np.random.RandomState(0))
    True
    """
    if random_state is None:
        return int(np.random.randint(2**31 - 1))  # noqa: NPY002
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, int | np.integer) and 0 <= random_state < 2**32:
        return int(np.random.RandomState(int(random_state)).randint(2**31 - 1))
    raise ParameterError(
        "random_state must be a whole number from 0 to 2**32 - 1, a numpy random state or None, "
        f"not {random_state!r}"
    )
