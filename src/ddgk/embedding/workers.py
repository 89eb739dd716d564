"""Who computes the tiles: threads of this process, a Dask cluster, or any backend of joblib.

joblib's own setting decides: `with joblib.parallel_config("dask")` and nothing else is said twice.
Every way takes a function of a tile's number and yields reports as they come.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from ddgk.embedding.tiles import Report
from ddgk.errors import ClusterError

Work = Callable[..., Report]
Pool = Callable[[Work, Iterable[int]], Iterator[Report]]

RETRIES = 2  # of a tile that failed
TILES_AT_ONCE = 8  # per worker of a backend that answers at the end
PATIENCE = 10.0  # seconds without a scheduler


def choose_pool(n_jobs: int | None) -> Pool:
    """Return what computes tiles, by joblib's present setting; n_jobs: threads, where it is us."""
    backend, _ = get_active_backend(prefer="threads")
    client = getattr(backend, "client", None)
    if type(backend).__name__ == "DaskDistributedBackend" and client is not None:
        return partial(on_dask, client)
    if getattr(backend, "uses_threads", False):
        return partial(in_threads, count_threads(n_jobs))
    return partial(through_joblib, n_jobs)


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads n_jobs asks for; a cluster's workers are none of ours."""
    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "client", None) is not None:
        with parallel_config("threading"):
            return max(1, int(effective_n_jobs(n_jobs)))
    return max(1, int(effective_n_jobs(n_jobs)))


def in_threads(n_threads: int, work: Work, tiles: Iterable[int]) -> Iterator[Report]:
    """Compute tiles in threads; who stops asking waits for the tiles that are being computed."""
    waiting = iter(tiles)
    with ThreadPoolExecutor(n_threads, thread_name_prefix="ddgk-tile") as pool:
        running: set[Future[Report]] = {
            pool.submit(work, tile) for tile in islice(waiting, n_threads)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(work, tile) for tile in islice(waiting, len(done))}
            for future in done:
                yield future.result()


def through_joblib(n_jobs: int | None, work: Work, tiles: Iterable[int]) -> Iterator[Report]:
    """Compute tiles on whatever backend joblib is set to: loky, ray, ..."""
    backend, _ = get_active_backend()
    if getattr(backend, "supports_return_generator", False):
        parallel = Parallel(
            n_jobs=n_jobs, batch_size=1, pre_dispatch="2*n_jobs", return_as="generator_unordered"
        )
        yield from parallel(delayed(work)(tile) for tile in tiles)
        return
    # Ray's backend answers when all is done, so it is asked for a few tiles at a time. They come
    # sorted by what they take, so workers wait little for each other.
    waiting = iter(tiles)
    at_once = TILES_AT_ONCE * max(1, int(effective_n_jobs(n_jobs)))
    with Parallel(n_jobs=n_jobs, batch_size=1) as parallel:
        while some := list(islice(waiting, at_once)):
            yield from parallel(delayed(work)(tile) for tile in some)


def on_dask(client: Any, work: Work, tiles: Iterable[int]) -> Iterator[Report]:
    """Compute tiles on a Dask cluster, which itself repeats what failed or whose worker died.

    joblib's backend catches errors before Dask sees them, so Dask could not repeat anything, and it
    waits for ever when the scheduler is gone. So tiles are handed to its client.
    """
    numbers = list(tiles)
    came: queue.SimpleQueue[Any] = queue.SimpleQueue()
    try:
        futures = client.map(
            partial(work, raising=True),
            numbers,
            pure=False,
            retries=RETRIES,
            key="ddgk-tile",
        )
        known = {future.key: number for future, number in zip(futures, numbers, strict=True)}
        for future in futures:
            future.add_done_callback(came.put)
    except (OSError, TimeoutError, RuntimeError) as error:
        raise _gone(client, error) from error
    try:
        missing, silence = len(futures), 0.0
        while missing:
            try:
                future = came.get(timeout=0.5)
            except queue.Empty:
                silence = 0.0 if client.status == "running" else silence + 0.5
                if client.status in ("closing", "closed") or silence >= PATIENCE:
                    raise _gone(client) from None
                continue
            if future.status not in ("finished", "error"):  # cancelled, or lost with the scheduler
                raise _gone(client)
            missing -= 1
            try:
                report = _report(future, known[future.key])
            except (OSError, TimeoutError, CancelledError) as error:  # between status and result
                raise _gone(client, error) from error
            yield report
    finally:
        if client.status == "running":
            client.cancel(futures, force=True)


def _report(future: Any, number: int) -> Report:
    if future.status == "finished":
        report: Report = future.result()
        future.release()
        return report
    error = future.exception()
    return Report(number, "failed", error=f"{type(error).__name__}: {error}", final=True)


def _gone(client: Any, error: Exception | None = None) -> ClusterError:
    address = getattr(getattr(client, "scheduler", None), "address", None) or "the cluster"
    why = f" ({error})" if error is not None else ""
    return ClusterError(f"the scheduler at {address} is gone{why}")
