"""Exceptions of ddgk, and how text from outside is shown in messages.

Every exception is also the built-in one that a caller would expect to catch. Messages pass through
`escaped`, so that names, labels and file contents cannot send control sequences to a terminal.
"""

from __future__ import annotations

import os
import sys
import warnings

MAX_SHOWN = 300


class DDGKError(Exception):
    """Base class of every error that ddgk raises on purpose."""

    def __str__(self) -> str:
        return escaped(super().__str__())


class InputError(DDGKError, ValueError):
    """Base class of errors about graphs and files, which can name the option that helps.

    Parameters
    ----------
    problem : str
        The graph or file, and what was seen.
    advice : str
        What to change in the input.
    policy : str, optional
        The option that accepts such input, in the words of Python.
    choices : tuple of str
        Its values that do.
    call : str
        Where Python takes the option: "Policies", or a function such as "read".

    Examples
    --------
    >>> from ddgk.errors import GraphError, message
    >>> error = GraphError("graph 3: a self-loop", policy="self_loops", choices=("drop",))
    >>> print(error)
    graph 3: a self-loop; use Policies(self_loops="drop")
    >>> print(message(error, command_line=True))
    graph 3: a self-loop; use --self-loops drop
    """

    def __init__(
        self,
        problem: str,
        *,
        advice: str = "",
        policy: str | None = None,
        choices: tuple[str, ...] = (),
        call: str = "Policies",
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice
        self.policy = policy
        self.choices = choices
        self.call = call
        self.causes: tuple[InputError, ...] = ()

    def __str__(self) -> str:
        return message(self)

    def of_file(self, problem: str) -> DatasetError:
        """Return an error about a file with another text and the same fix."""
        return DatasetError(
            problem, advice=self.advice, policy=self.policy, choices=self.choices, call=self.call
        )


class GraphError(InputError):
    """A graph is malformed, or breaks a policy; the message names the graph and the fix."""


class LabelError(GraphError):
    """A graph's labels or attributes do not fit the model that should read them."""


class UnseenLabelWarning(UserWarning):
    """Graphs have labels that no graph of `fit` had."""


class ParameterError(DDGKError, ValueError):
    """A parameter has a value it cannot have; the message lists the ones it can."""


class DatasetError(InputError):
    """A file or data set is damaged, hostile, or not laid out as its format says."""


class DatasetNotFoundError(DDGKError, LookupError):
    """No data set of that name is known or stored here."""


class DownloadError(DDGKError, OSError):
    """A data set could not be fetched, or is not the file that was promised."""


class ModelFileError(DDGKError, ValueError):
    """A saved model is damaged, foreign, or from a newer version."""


class IndexFileError(DDGKError, ValueError):
    """A search index is damaged, foreign, or from a newer version."""


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


class ClusterError(DDGKError, ConnectionError):
    """The scheduler of a cluster cannot be reached, or went away; what is finished is kept."""


def message(error: Exception, *, command_line: bool = False) -> str:
    """Return the message of an error, with its fix in the words of Python or of the command line.

    Parameters
    ----------
    error : Exception
    command_line : bool
        Whether to write ``--self-loops drop`` in place of ``Policies(self_loops="drop")``.

    Returns
    -------
    str
        Without control characters, other than line ends.

    Examples
    --------
    >>> from ddgk.errors import DatasetError, message
    >>> error = DatasetError("a.csv: not edges", policy="smiles", choices=("COLUMN",), call="read")
    >>> message(error), message(error, command_line=True)
    ('a.csv: not edges; use read(..., smiles="COLUMN")', 'a.csv: not edges; use --smiles COLUMN')
    """
    if not isinstance(error, InputError):
        return escaped(str(error))
    if error.causes:
        parts = [message(cause, command_line=command_line) for cause in error.causes]
        return escaped("\n  ".join([error.problem, *parts]))
    fixes = [error.advice] if error.advice else []
    if error.policy is not None:
        options = [_option(error, value, command_line) for value in error.choices]
        fixes.append("use " + " or ".join(options))
    return escaped("; ".join([error.problem, ", or ".join(fixes)] if fixes else [error.problem]))


def _option(error: InputError, value: str, command_line: bool) -> str:
    policy = str(error.policy)
    if command_line:
        return f"--{policy.replace('_', '-')} {value}"
    leading = "" if error.call == "Policies" else "..., "
    return f'{error.call}({leading}{policy}="{value}")'


def escaped(text: str, keep: str = "\n") -> str:
    r"""Return text with everything that is not printable written as an escape.

    That is control characters, bidirectional marks, line separators and lone surrogates.

    >>> escaped("red \x1b[31m, turned \u202e, half \ud800")
    'red \\x1b[31m, turned \\u202e, half \\ud800'
    """
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char in keep
        else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def shown(text: object, limit: int = MAX_SHOWN, mark: str = " ... ") -> str:
    r"""Return text from outside as it is safe and short enough to show: one line, no controls.

    Every message, table and figure that shows names, labels or contents of files uses it. Long
    text is cut in the middle, where `mark` stands then.

    >>> shown("a short one"), shown("two\nlines")
    ('a short one', 'two\\nlines')
    >>> len(shown("x" * 10**6))
    300
    """
    whole = str(text)
    if len(whole) > limit:
        kept = limit - len(mark)
        whole = f"{whole[: kept - kept // 2]}{mark}{whole[len(whole) - kept // 2 :]}"
    return escaped(whole, keep="")


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called ddgk, however deep inside ddgk this is."""
    package = os.path.dirname(__file__)
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
