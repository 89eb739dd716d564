"""Feed spoiled inputs to every reader, each under guard, and count what comes of them.

    python benchmarks/fuzz.py                       100,000 inputs over all formats
    python benchmarks/fuzz.py gml model --inputs 5000
    python benchmarks/fuzz.py --replay gml:1234

An input may be accepted, or refused with one of ddgk's errors that names the file. All else is a
failure: another exception, a warning, more than 2 seconds or 64 MiB, a process that dies, a file
opened outside the folder of the input, a program started, anything compiled or unpickled. The input
number SEED of a format is always the same, so that FORMAT:SEED replays it; the files of failed
inputs are kept below --keep. Readers run in a process of their own with limited memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would reserve what is limited here

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fuzzing.guard import Guard, TooSlow
from fuzzing.runs import write_run
from fuzzing.specimens import warm_up, write_models
from fuzzing.targets import TARGETS, Case, check_result, write_case

from ddgk.errors import DDGKError

REPORT_EVERY = 500
HANG_SECONDS = 30.0
LONGEST_MESSAGE = 1500


@dataclass
class Count:
    """What became of the inputs of one format."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    messages: set[str] = field(default_factory=set)
    failures: list[tuple[int, str]] = field(default_factory=list)
    slowest: float = 0.0
    peak: int = 0

    def add(self, report: dict[str, Any]) -> None:
        """Take in what a child reported."""
        self.inputs += report["inputs"]
        self.accepted += report["accepted"]
        self.refused += report["refused"]
        self.messages |= set(report["messages"])
        self.failures += [tuple(failure) for failure in report["failures"]]
        self.slowest = max(self.slowest, report["slowest"])
        self.peak = max(self.peak, report["peak"])

    def as_json(self) -> str:
        """Return what a child reports."""
        return json.dumps(vars(self) | {"messages": sorted(self.messages)})


def make_case(name: str, seed: int, models: Path) -> tuple[Case, bool]:
    """Return the input of that number, and whether it is read with lenient policies."""
    rng = Random(f"{name}:{seed}")
    lenient = rng.random() < 0.5
    return TARGETS[name].make(rng, models), lenient


def shape_of(message: str) -> str:
    """Return a message without what differs from input to input."""
    message = re.sub(r"(['\"]).*\1|\(.*\)", "_", message, flags=re.DOTALL)
    return re.sub(r"-?[0-9][0-9.e+]*", "0", message)[:120]


def judge(name: str, path: Path, lenient: bool, guard: Guard) -> tuple[str, str, list[str]]:
    """Read one input; return "accepted", "refused" or "failed", the message, and complaints."""
    verdict, message, wrong, unexpected = "accepted", "", None, None
    try:
        with guard.armed() as complaints:
            try:
                wrong = check_result(TARGETS[name].read(path, lenient))
            except DDGKError as error:
                verdict, message = "refused", str(error)
                if str(path) not in message:
                    wrong = f"message: does not name the file: {message[:200]}"
                elif len(message) > LONGEST_MESSAGE:
                    wrong = f"message: {len(message)} characters"
                cause: BaseException | None = error
                while cause is not None:
                    if isinstance(cause, MemoryError):
                        wrong = "memory: refused only when there was no more"
                    cause = cause.__cause__ or cause.__context__
            except Exception as error:
                verdict, unexpected = "failed", error
    except TooSlow:  # it rang when the reader had just come back
        complaints = guard.disarm()
    if unexpected is not None:
        place = traceback.extract_tb(unexpected.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        wrong = f"{type(unexpected).__name__} in {where}: {unexpected}"
    return verdict, message.replace(str(path.parent), ""), complaints + ([wrong] if wrong else [])


def work(name: str, first: int, last: int, home: Path) -> None:
    """Run in the child: read inputs, and tell the parent on stdout how it went."""
    folder = home / "input"
    folder.mkdir(exist_ok=True)
    warm_up()
    for valid in TARGETS[name].valid(home):
        write_case(valid, folder)
        # Also loads what is loaded late, before anything is limited. Strict policies may refuse it.
        TARGETS[name].read(folder / TARGETS[name].path, True)
        with contextlib.suppress(DDGKError):
            TARGETS[name].read(folder / TARGETS[name].path, False)
    guard = Guard(folder)
    count = Count()
    with (home / "position").open("r+b", buffering=0) as position:
        for seed in range(first, last):
            os.pwrite(position.fileno(), struct.pack("<q", seed), 0)
            case, lenient = make_case(name, seed, home)
            write_case(case, folder)
            before = listed(folder)
            began = time.process_time()
            verdict, message, complaints = judge(name, folder / TARGETS[name].path, lenient, guard)
            count.slowest = max(count.slowest, time.process_time() - began)
            if listed(folder) != before:
                complaints.append("files: the folder of the input was changed")
            count.peak = max(count.peak, guard.taken)
            count.inputs += 1
            count.accepted += verdict == "accepted"
            if verdict == "refused":
                count.refused += 1
                count.messages.add(shape_of(message))
            count.failures += [(seed, complaint[:300]) for complaint in complaints[:3]]
            if count.inputs == REPORT_EVERY or seed + 1 == last:
                print(count.as_json(), flush=True)
                count = Count()


def listed(folder: Path) -> list[str]:
    """Return all that lies below a folder, with sizes."""
    return sorted(f"{path} {path.lstat().st_size}" for path in folder.rglob("*"))


def supervise(name: str, inputs: int, first: int, home: Path) -> Count:
    """Run children until all inputs of a format are read; one that dies or hangs is replaced."""
    total, at, last = Count(), first, first + inputs
    position = home / "position"
    while at < last:
        position.write_bytes(struct.pack("<q", at - 1))
        command = [sys.executable, __file__, "--work", name, str(at), str(last), str(home)]
        # A file, not a pipe: a child must never wait for its parent to read.
        with (home / "reports").open("w+") as reports, (home / "errors").open("w+") as errors:
            child = subprocess.Popen(command, stdout=reports, stderr=errors, cwd=home)
            reason = _wait(child, position)
            reports.seek(0)
            done = 0
            for line in reports:
                report = json.loads(line)
                total.add(report)
                done += report["inputs"]
            if reason is None:
                return total
            (stopped,) = struct.unpack("<q", position.read_bytes())
            errors.seek(0)
            if stopped < at:
                sys.exit(
                    f"{name}: the readers, or specimens without a fault, fail\n{errors.read()}"
                )
            total.failures.append((stopped, f"{reason} {errors.read()[-300:]}"))
            total.inputs += stopped + 1 - at - done  # counted as read, though the report was lost
            at = stopped + 1
    return total


def _wait(child: subprocess.Popen[bytes], position: Path) -> str | None:
    """Return why the child ended too early, or None."""
    # Looks are counted, not seconds: both processes may have been stopped for a while.
    seen, looks = b"", 0
    while child.poll() is None:
        time.sleep(0.1)
        now = position.read_bytes()
        seen, looks = now, (looks + 1 if now == seen else 0)
        if looks > 10 * HANG_SECONDS:
            child.kill()
            child.wait()
            return f"hang: no answer for {HANG_SECONDS:g} seconds"
    return None if child.returncode == 0 else f"crash: the process ended with {child.returncode}"


def replay(what: str, home: Path) -> None:
    """Read one input again without limits, and show what happens."""
    name, _, seed = what.rpartition(":")
    case, lenient = make_case(name, int(seed), home)
    write_case(case, home / "input")
    for file, content in case.items():
        print(f"--- {file}: {content[:2000]!r}")
    result = TARGETS[name].read(home / "input" / TARGETS[name].path, lenient)
    print(f"accepted: {result!r}"[:2000], check_result(result) or "")


def keep(name: str, count: Count, home: Path, folder: Path) -> None:
    for seed, complaint in count.failures:
        kept = folder / f"{name.replace(' ', '-')}-{seed}"
        write_case(make_case(name, seed, home)[0], kept)
        (kept / "complaint.txt").write_text(complaint + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=", ".join(TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000, help="over all formats")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--keep", type=Path, help="folder for the inputs that failed")
    parser.add_argument("--replay", metavar="FORMAT:SEED")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        name, first, last, home = arguments.work
        work(name, int(first), int(last), Path(home))
        return
    names = arguments.formats or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no format {sorted(unknown)[0]!r}; there are {', '.join(TARGETS)}")
    share = -(-arguments.inputs // len(names))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        home = Path(folder)
        write_models(home)
        write_run(home / "run")
        if arguments.replay:
            replay(arguments.replay, home)
            return
        began = time.perf_counter()
        print(
            f"{'format':14s} {'inputs':>8s} {'accepted':>9s} {'refused':>8s} {'messages':>9s} "
            f"{'failures':>9s} {'slowest':>9s} {'peak memory':>12s}"
        )
        counts = []
        for name in names:
            count = supervise(name, share, arguments.first, home)
            counts.append(count)
            print(
                f"{name:14s} {count.inputs:8d} {count.accepted:9d} {count.refused:8d} "
                f"{len(count.messages):9d} {len(count.failures):9d} {count.slowest:7.3f} s "
                f"{count.peak / 2**20:8.0f} MiB",
                flush=True,
            )
            kinds = Counter(shape_of(complaint) for _, complaint in count.failures)
            for kind, times in kinds.most_common(20):
                seed, complaint = next(f for f in count.failures if shape_of(f[1]) == kind)
                print(f"  {times} x, first {name}:{seed}: {complaint}")
            if arguments.keep:
                keep(name, count, home, arguments.keep)
        inputs, failures = sum(c.inputs for c in counts), sum(len(c.failures) for c in counts)
        seconds = time.perf_counter() - began
        print(f"{inputs} inputs in {seconds:.0f} s, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
