"""Processes that wait for tasks."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self

from tessera.xpcs.utils.logging import get_logger

__all__ = ["WorkerPool", "should_use_pool"]

logger = get_logger(__name__)
_Task = Mapping[str, Any]


def _estimate_physical_workers() -> int:
    """Return how many processes leave one core free."""
    with suppress(ImportError, OSError, RuntimeError):
        from tessera.xpcs.device import detect_cpu_info

        cores = detect_cpu_info().get("physical_cores")
        if cores is not None and cores >= 1:
            return max(1, int(cores) - 1)
    return max(1, (os.cpu_count() or 2) // 2 - 1)


def should_use_pool(n_shards: int, n_workers: int) -> bool:
    """Return whether processes that stay are worth starting.

    Parameters
    ----------
    n_shards : int
        Tasks.
    n_workers : int
        Accepted for scripts of the original.

    Returns
    -------
    bool
        Whether there are three or more tasks.
    """
    del n_workers
    return n_shards >= 3


def _failure(task: _Task, error: str, **more: str) -> dict[str, Any]:
    name = task.get("task_id", "unknown")
    return {"task_id": name, "success": False, "error": error, "worker_id": os.getpid(), **more}


def _work(
    worker_id: int,
    tasks: Any,
    results: Any,
    function: Callable[..., dict[str, Any] | None],
    init_kwargs: Mapping[str, Any],
    init_function: Callable[..., None] | None,
    ready: Any,
) -> None:
    """Take tasks until there is none; the process's whole life."""
    if init_function is not None:
        init_function(worker_id, **init_kwargs)
    ready.put(worker_id)
    while True:
        task = tasks.get()
        if task is None:
            return
        try:
            result = function(task, **init_kwargs)
            if result is not None:
                results.put({**result, "worker_id": os.getpid()})
        except MemoryError:
            results.put(_failure(task, "MemoryError: worker ran out of memory"))
            # Nobody else has this queue: what waits in it would never be answered.
            with suppress(queue.Empty, EOFError):
                while (left := tasks.get(block=False)) is not None:
                    results.put(_failure(left, "Worker terminated due to MemoryError"))
            return
        except Exception as error:
            results.put(_failure(task, str(error), error_type=type(error).__name__))


class WorkerPool:
    """Processes that are started once and get tasks in turn.

    Parameters
    ----------
    n_workers : int
        Processes.
    worker_fn : callable
        Called with a task and the next argument's entries; what it returns is a result.
    worker_init_kwargs : dict
        For every call.
    worker_init_fn : callable, optional
        Called once in every process, with its number.
    startup_timeout : float, default 120
        Seconds to wait for a process.
    """

    def __init__(
        self,
        n_workers: int,
        worker_fn: Callable[..., dict[str, Any] | None],
        worker_init_kwargs: Mapping[str, Any],
        worker_init_fn: Callable[..., None] | None = None,
        startup_timeout: float = 120.0,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._n_workers = n_workers
        self._tasks: list[Any] = [context.Queue() for _ in range(n_workers)]
        self._results: Any = context.Queue(maxsize=4 * n_workers)
        self._lock = threading.Lock()
        self._next = 0
        ready: Any = context.Queue()
        self._processes = [
            context.Process(
                target=_work,
                args=(
                    i,
                    self._tasks[i],
                    self._results,
                    worker_fn,
                    worker_init_kwargs,
                    worker_init_fn,
                    ready,
                ),
                daemon=True,
            )
            for i in range(n_workers)
        ]
        for process in self._processes:
            process.start()
        try:
            for _ in range(n_workers):
                ready.get(timeout=startup_timeout)
        except queue.Empty:
            logger.warning("not all of %d processes were ready in time", n_workers)
        ready.close()
        self._alive = True

    @property
    def n_workers(self) -> int:
        """Processes."""
        return self._n_workers

    @property
    def result_queue(self) -> Any:
        """Where results come."""
        return self._results

    def is_alive(self) -> bool:
        """Return whether any process lives.

        Returns
        -------
        bool
            Whether.
        """
        return self._alive and any(process.is_alive() for process in self._processes)

    def submit(self, task: _Task) -> None:
        """Give a task to the next process.

        Parameters
        ----------
        task : dict
            With ``task_id``.
        """
        with self._lock:
            self._tasks[self._next % self._n_workers].put(dict(task))
            self._next += 1

    def get_result(self, timeout: float = 300.0) -> dict[str, Any]:
        """Return the next result.

        Parameters
        ----------
        timeout : float, default 300
            Seconds to wait; then ``queue.Empty``.

        Returns
        -------
        dict
            The result, or ``success`` False and the error.
        """
        found: dict[str, Any] = self._results.get(timeout=timeout)
        return found

    def results_pending(self) -> bool:
        """Return whether a result waits.

        Returns
        -------
        bool
            Whether.
        """
        return not self._results.empty()

    def shutdown(self, timeout: float = 10.0) -> None:
        """End the processes.

        Parameters
        ----------
        timeout : float, default 10
            Seconds to wait for each before it is ended.
        """
        if not self._alive:
            return
        for tasks in self._tasks:
            with suppress(OSError, ValueError):
                tasks.put(None)
        for process in self._processes:
            process.join(timeout=timeout)
            if process.is_alive():
                process.terminate()
                process.join(timeout=15)
        for channel in (*self._tasks, self._results):
            with suppress(OSError, ValueError):
                channel.close()
        self._alive = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
