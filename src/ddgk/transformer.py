"""The shape of a scikit-learn transformer, without loading scikit-learn.

Importing scikit-learn takes longer than embedding a hundred molecules, so only who uses it waits
for it. Pipelines, clones, searches and `set_output` find here what they ask an estimator for.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ddgk.errors import MissingExtraError, ParameterError

CONTAINERS = ("default", "pandas", "polars")


class Transformer:
    """What scikit-learn expects of an object that turns things into rows of numbers.

    The parameters of a subclass are those of its constructor, kept under the same names.
    """

    _sklearn_output_config: dict[str, str]  # under this name, scikit-learn's clone keeps it

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        given = list(inspect.signature(cls).parameters.values())
        return {parameter.name: parameter.default for parameter in given}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters as they were given.

        Parameters
        ----------
        deep : bool
            There is nothing further down; scikit-learn asks with it.
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; they count from the next `fit` on."""
        known = self._defaults()
        for name in parameters:
            if name not in known:
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}, but {', '.join(known)}"
                )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def set_output(self, *, transform: str | None = None) -> Self:
        """Let `transform` return a data frame with named columns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            "default" is an array; None leaves it as it is.
        """
        if transform is not None:
            if transform not in CONTAINERS:
                listed = ", ".join(map(repr, CONTAINERS))
                raise ParameterError(f"transform must be one of {listed}, not {transform!r}")
            self._sklearn_output_config = {"transform": transform}
        return self

    def arrange(self, rows: NDArray[np.float64], names: NDArray[np.object_]) -> Any:
        """Return rows in the container that was asked for here, or of scikit-learn as a whole."""
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
        raise NotImplementedError

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
        defaults = self._defaults()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name] and repr(value) != repr(defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


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
