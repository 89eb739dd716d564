"""Worker processes with limits on time, memory and waiting requests."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from typing import Any

from ddgk.errors import DDGKError
from ddgk.graphs.convert import as_graph
from ddgk.plain import graph_from_plain

STARTUP_SECONDS = 120.0


class BusyServerError(DDGKError, RuntimeError):
    """Too many requests are waiting."""

    status_code = 429


class TooLongError(DDGKError, TimeoutError):
    """A request took longer than it may, and was stopped."""

    status_code = 503


class _WorkerError(DDGKError, ValueError):
    """What went wrong in a worker."""


def _serve(connection: Any, model: Any, max_memory: int) -> None:
    """Answer requests until the connection ends; runs in a process of its own."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (max_memory, max_memory))
    except (ImportError, ValueError, OSError):  # not every system has such limits
        pass
    from ddgk.explorer.atlas import drawing_values, match_values

    connection.send(("ready", None))
    while True:
        try:
            task, graphs = connection.recv()
        except EOFError:
            return
        try:
            made = [
                as_graph(graph["smiles"]) if graph.keys() == {"smiles"} else graph_from_plain(graph)
                for graph in graphs
            ]
            if task == "align":
                answer = match_values(made[0], made[1], model)
            else:
                row = [float(value) for value in model.transform(made)[0]]
                answer = {"row": row, "drawing": drawing_values(made[0])}
            connection.send(("done", answer))
        except DDGKError as error:
            connection.send(("refused", str(error)))
        except MemoryError:
            connection.send(("refused", "the graphs need more memory than a request may have"))
        except Exception as error:
            connection.send(("refused", f"internal error ({type(error).__name__})"))


class _Worker:
    """One process, which is started again after a request had to be stopped."""

    def __init__(self, model: Any, max_memory: int) -> None:
        self._model, self._max_memory = model, max_memory
        self._process: Any = None
        self._connection: Any = None
        self._lock = threading.Lock()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        how = (theirs, self._model, self._max_memory)
        self._process = context.Process(target=_serve, args=how, daemon=True)
        self._process.start()
        theirs.close()
        if not self._connection.poll(STARTUP_SECONDS) or self._connection.recv()[0] != "ready":
            self.stop()
            raise TooLongError("a worker process did not start")

    def call(self, task: str, graphs: list[Any], seconds: float) -> Any:
        with self._lock:
            if self._process is None or not self._process.is_alive():
                self.start()
            self._connection.send((task, graphs))
            if not self._connection.poll(seconds):
                self.stop()
                raise TooLongError(f"this took more than {seconds:g} s and was stopped")
            try:
                status, answer = self._connection.recv()
            except EOFError:
                self.stop()
                raise _WorkerError("the worker ended, perhaps for lack of memory") from None
        if status != "done":
            raise _WorkerError(answer)
        return answer

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


class Workers:
    """A fixed number of processes with copies of a model, and a bounded queue.

    max_waiting: requests that may wait; more are refused at once. seconds: of one request.
    max_memory: bytes of data of one process.
    """

    def __init__(
        self,
        model: Any,
        *,
        n_workers: int = 2,
        max_waiting: int = 32,
        seconds: float = 30.0,
        max_memory: int = 4 << 30,
    ) -> None:
        self._workers = [_Worker(model, max_memory) for _ in range(n_workers)]
        self._free: asyncio.Queue[_Worker]
        self._max_waiting, self._seconds = max_waiting, seconds
        self._inside = 0

    def start(self) -> None:
        """Start all processes; call it in the event loop that uses them."""
        self._free = asyncio.Queue()
        for worker in self._workers:
            worker.start()
            self._free.put_nowait(worker)

    def stop(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.stop()

    async def run(self, task: str, graphs: list[Any]) -> Any:
        """Run a task on plain graphs: "embed" one, or "align" two."""
        if self._inside >= self._max_waiting + len(self._workers):
            raise BusyServerError("too many requests are waiting; try again in a few seconds")
        self._inside += 1
        try:
            worker = await self._free.get()
            try:
                return await asyncio.to_thread(worker.call, task, graphs, self._seconds)
            finally:
                self._free.put_nowait(worker)
        finally:
            self._inside -= 1
