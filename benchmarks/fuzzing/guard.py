"""Watch what a reader does with a hostile input: time, memory, files, programs, warnings."""

from __future__ import annotations

import os
import re
import resource
import signal
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS = 2.0
MEMORY = 1 << 30
GROWTH = 1 << 26  # inputs have some kilobytes, the largest a megabyte

# Starting programs, opening connections, unpickling, loading machine code: never for an input.
FORBIDDEN = frozenset(
    {
        *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
        *("os.startfile", "pty.spawn", "subprocess.Popen", "socket.connect", "socket.bind"),
        *("socket.getaddrinfo", "urllib.Request", "webbrowser.open", "pickle.find_class"),
        *("ctypes.dlopen", "ctypes.dlsym", "code.__new__", "builtins.input"),
    }
)
# Changing files: only below the folder of the input.
CHANGES = frozenset(
    {
        *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink"),
        *("os.truncate", "os.chmod", "os.chown", "shutil.rmtree", "shutil.move"),
        *("shutil.copyfile", "shutil.copytree", "shutil.unpack_archive"),
    }
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class TooSlow(BaseException):
    """Raised in the middle of a reader; no `except Exception` of the reader may stop it."""


class Guard:
    """Limits this process, and keeps a list of what was done that must not be.

    Audit hooks cannot be removed, so that a process has one guard until it ends.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = os.path.realpath(folder)
        self.violations: list[str] = []
        self.is_armed = False
        self.taken = 0
        paths = sysconfig.get_paths()
        libraries = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
        source = Path(__file__).resolve().parents[2] / "src"
        self.libraries = tuple(
            os.path.realpath(path) + os.sep for path in {*libraries, str(source)}
        )
        sys.addaudithook(self._hear)
        # In time of the processor, which others may be using; who only waits is seen by the parent.
        signal.signal(signal.SIGPROF, self._ring)
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + MEMORY, in_use + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    @contextmanager
    def armed(self) -> Iterator[list[str]]:
        """Yield the list of complaints, complete when the block has ended.

        Afterwards `taken` says how much memory the block needed at most, in bytes.
        """
        self.violations = []
        modules, before = len(sys.modules), _start_measuring()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            self.is_armed = True
            try:
                yield self.violations
            except TooSlow:
                self.disarm()
            finally:
                self.is_armed = False
                signal.setitimer(signal.ITIMER_PROF, 0)
        self.violations += [f"warning: {warning.message}" for warning in said]
        if len(sys.modules) != modules:
            self.violations += [f"import: {name}" for name in self._odd_modules(modules)]
        self.taken = _memory("VmHWM") - before
        if self.taken > GROWTH:
            self.violations.append(f"memory: {self.taken >> 20} MiB for one input")

    def disarm(self) -> list[str]:
        """End the watch because it took too long, and return the complaints."""
        self.is_armed = False
        self.violations.append(f"time: more than {SECONDS:g} seconds")
        return self.violations

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_armed:
            raise TooSlow

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.is_armed:
            return
        complaint = self._complaint(event, details)
        if complaint is not None:
            self.violations.append(complaint)
            raise PermissionError(complaint)

    def _complaint(self, event: str, details: tuple[Any, ...]) -> str | None:
        if event in FORBIDDEN:
            return f"{event}: {details!r}"[:300]
        if event == "open":
            path, mode, flags = details
            writes = bool((flags or 0) & WRITING) or any(c in (mode or "") for c in "wax+")
            if isinstance(path, int) or self._is_below(path):
                return None
            if writes or not self._is_library(path):
                return f"open: {path!r} {mode!r} {flags!r}"
        if event in CHANGES and not all(map(self._is_below, details[:1])):
            return f"{event}: {details!r}"[:300]
        if event == "compile" and details[0] is not None and not self._is_library(details[1]):
            return f"compile: {details[0]!r}"[:300]
        if event == "exec" and not self._is_library(details[0].co_filename):
            return f"exec: {details[0]!r}"
        return None

    def _is_below(self, path: Any) -> bool:
        found = os.path.realpath(os.fsdecode(path))
        return found == self.folder or found.startswith(self.folder + os.sep)

    def _is_library(self, path: Any) -> bool:
        """Modules may still be loaded late; an input itself lies nowhere near them."""
        text = os.fsdecode(path)
        return text.startswith("<frozen") or os.path.realpath(text).startswith(self.libraries)

    def _odd_modules(self, since: int) -> list[str]:
        new = list(sys.modules)[since:]
        files = {name: getattr(sys.modules[name], "__file__", None) for name in new}
        return [name for name, file in files.items() if file and not self._is_library(file)]


def _start_measuring() -> int:
    """Let the system forget the largest size of this process, and return its size, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(kind: str) -> int:
    found = re.search(rf"{kind}:\s+([0-9]+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
