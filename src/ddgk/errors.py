"""The ways things go wrong, each also the builtin a caller would expect to catch."""

from __future__ import annotations

MAX_SHOWN = 300


class DDGKError(Exception):
    """Every error ddgk raises on purpose."""


class GraphError(DDGKError, ValueError):
    """A graph is malformed, or breaks a policy; the message names the graph and the fix."""


class LabelError(GraphError):
    """A graph's labels or attributes do not fit the model that should read them."""


class UnseenLabelWarning(UserWarning):
    """Graphs have labels that no graph of `fit` had."""


class ParameterError(DDGKError, ValueError):
    """A parameter has a value it cannot have; the message lists the ones it can."""


class DatasetError(DDGKError, ValueError):
    """A data set is damaged, hostile, or not laid out as its format says."""


class DatasetNotFoundError(DDGKError, LookupError):
    """No data set of that name is known or stored here."""


class DownloadError(DDGKError, OSError):
    """A data set could not be fetched, or is not the file that was promised."""


class ModelFileError(DDGKError, ValueError):
    """A saved model is damaged, foreign, or from a newer version."""


class ModelNotFoundError(DDGKError, FileNotFoundError):
    """There is no model file of that name, or it is a folder, a pipe or a device."""


class NonFiniteLossError(DDGKError, FloatingPointError):
    """Training diverged to inf or nan; the message names the pair."""


class MissingExtraError(DDGKError, ImportError):
    """An optional library is needed; the message says what to install."""


class RunError(DDGKError, ValueError):
    """A run folder is damaged, of a newer version, or of another configuration or other graphs."""


class RunNotFoundError(DDGKError, FileNotFoundError):
    """There is no run in that folder."""


class BusyError(DDGKError, BlockingIOError):
    """Another process is working on the run folder."""


class TileError(DDGKError, RuntimeError):
    """Some tiles of a run could not be computed or stored; all others are kept."""


class ResultsError(DDGKError, ValueError):
    """A file of results is damaged, foreign, or from a newer version."""


class ClusterError(DDGKError, ConnectionError):
    """The scheduler of a cluster cannot be reached, or went away; what is finished is kept."""


def shown(text: str) -> str:
    """Return text from a file short enough for a message, its beginning and its end.

    >>> shown("a short one")
    'a short one'
    >>> len(shown("x" * 10**6))
    300
    """
    if len(text) <= MAX_SHOWN:
        return text
    half = (MAX_SHOWN - 5) // 2
    return f"{text[: MAX_SHOWN - 5 - half]} ... {text[-half:]}"
