"""Workers: threads of this process, or a Dask cluster.

Both take a function of a tile's number and yield what it returns as tiles end.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import islice
from time import monotonic
from typing import Any, TypeVar

from ddgk.embedding.progress import tell
from ddgk.embedding.tiles import Report
from ddgk.errors import ClusterError, MissingExtraError, shown

Result = TypeVar("Result")

RETRIES = 2  # of a tile that failed
CONNECTING = 15.0  # seconds to reach a scheduler
WITHOUT_SCHEDULER = 10.0  # seconds after which a scheduler counts as gone
WARN_WITHOUT_WORKERS = 3.0  # seconds after which missing workers are reported
WITHOUT_WORKERS = 60.0  # seconds without workers after which a run ends


def in_threads(
    n_threads: int, work: Callable[[int], Result], tiles: Iterable[int]
) -> Iterator[Result]:
    """Compute tiles in threads; closing the iterator waits for the tiles being computed."""
    waiting = iter(tiles)
    with ThreadPoolExecutor(n_threads, thread_name_prefix="ddgk-tile") as pool:
        running: set[Future[Result]] = {
            pool.submit(work, tile) for tile in islice(waiting, n_threads)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(work, tile) for tile in islice(waiting, len(done))}
            for future in done:
                yield future.result()


@contextmanager
def connected(cluster: Any) -> Iterator[Any]:
    """Yield a Dask client: the one given, or one connected to an address; None for None.

    Raises
    ------
    ClusterError
        If no scheduler answers there, or the address cannot be one.
    """
    if cluster is None:
        yield None
        return
    try:
        from distributed import Client
        from distributed.comm.addressing import parse_address
        from distributed.comm.registry import backends, get_backend
    except ImportError as error:
        raise MissingExtraError(
            "a cluster needs dask.distributed: pip install 'ddgk[cluster]'"
        ) from error
    if not isinstance(cluster, str):
        yield cluster
        return
    try:
        # A client that cannot be made leaves threads behind, so the address is looked at first.
        get_backend(parse_address(cluster)[0])
    except ValueError:
        kinds = ", ".join(f"{kind}://" for kind in sorted(backends) if kind != "inproc")
        raise ClusterError(
            f"{shown(cluster)!r} is no address of a scheduler; one begins with {kinds}"
        ) from None
    try:
        client = Client(cluster, timeout=CONNECTING, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ClusterError(f"no scheduler answers at {shown(cluster)}: {shown(reason)}") from error
    try:
        yield client
    finally:
        client.close(timeout=2)


def on_dask(client: Any, work: Callable[[int], Report], tiles: Iterable[int]) -> Iterator[Report]:
    """Compute tiles on a Dask cluster, which repeats what failed or whose worker died."""
    numbers = list(tiles)
    came: queue.SimpleQueue[Any] = queue.SimpleQueue()
    try:
        futures = client.map(work, numbers, pure=False, retries=RETRIES, key="ddgk-tile")
        known = {future.key: number for future, number in zip(futures, numbers, strict=True)}
        for future in futures:
            future.add_done_callback(came.put)
    except (OSError, TimeoutError, RuntimeError) as error:
        raise _gone(client, error) from error
    patience = _Patience(client)
    try:
        for _ in futures:
            future = None
            while future is None:
                with suppress(queue.Empty):
                    future = came.get(timeout=0.5)
                if future is None:
                    patience.check()
            patience.forget()
            if future.status not in ("finished", "error"):  # cancelled, or lost with the scheduler
                raise _gone(client)
            try:
                yield _report(future, known[future.key])
            except (OSError, TimeoutError, CancelledError) as error:  # between status and result
                raise _gone(client, error) from error
    finally:
        if client.status == "running":
            client.cancel(futures, force=True)


class _Patience:
    """Notices that a scheduler is gone, or has no workers."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.forget()

    def forget(self) -> None:
        """Begin to count anew, since something came."""
        self.silent_since: float | None = None
        self.idle_since: float | None = None
        self.told = False

    def check(self) -> None:
        """Raise `ClusterError` after too long without a scheduler, or without workers."""
        now = monotonic()
        if self.client.status != "running":
            self.silent_since = self.silent_since or now
            if self.client.status in ("closing", "closed") or (
                now - self.silent_since >= WITHOUT_SCHEDULER
            ):
                raise _gone(self.client)
            return
        self.silent_since = None
        with suppress(OSError, TimeoutError, RuntimeError):
            if self.client.nthreads():
                self.idle_since, self.told = None, False
                return
        self.idle_since = self.idle_since or now
        idle = now - self.idle_since
        if idle >= WITHOUT_WORKERS:
            raise ClusterError(
                f"the cluster at {_address(self.client)} has had no workers for {idle:.0f} s; "
                "start some with `dask worker`"
            )
        if idle >= WARN_WITHOUT_WORKERS and not self.told:
            self.told = True
            tell(
                f"the cluster at {_address(self.client)} has no workers; waiting "
                f"{WITHOUT_WORKERS:.0f} s for some"
            )


def _report(future: Any, number: int) -> Report:
    if future.status == "finished":
        report: Report = future.result()
        future.release()
        return report
    error = future.exception()
    said = f"{type(error).__name__}: {shown(str(error))}"
    return Report(number, "failed", said, final=True)


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", None) or "its address")


def _gone(client: Any, error: Exception | None = None) -> ClusterError:
    why = f" ({shown(str(error))})" if error is not None else ""
    return ClusterError(f"the scheduler at {_address(client)} is gone{why}")
