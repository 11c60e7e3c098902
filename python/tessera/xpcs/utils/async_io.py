"""Reading ahead and writing behind, in threads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["AsyncWriter", "PrefetchLoader"]

_Item = TypeVar("_Item")
_Loaded = TypeVar("_Loaded")
_LONGEST_LOAD = 120.0  # seconds
_END = object()


class PrefetchLoader(Generic[_Item, _Loaded]):
    """Loads the next item while the caller works on this one.

    Parameters
    ----------
    source : iterator
        Items.
    load_fn : callable
        What makes of an item what is wanted.
    """

    def __init__(self, source: Iterator[_Item], load_fn: Callable[[_Item], _Loaded]) -> None:
        self._source, self._load = source, load_fn
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._next: Future[Any] | None = self._pool.submit(self._fetch)

    def _fetch(self) -> Any:
        item = next(self._source, _END)
        return _END if item is _END else self._load(item)  # type: ignore[arg-type]

    def __iter__(self) -> PrefetchLoader[_Item, _Loaded]:
        return self

    def __next__(self) -> _Loaded:
        if self._next is None:
            raise StopIteration
        waiting, self._next = self._next, None
        try:
            found: Any = waiting.result(timeout=_LONGEST_LOAD)
        except TimeoutError as error:
            raise RuntimeError(f"an item was not loaded within {_LONGEST_LOAD:g} s") from error
        except Exception:
            self._pool.shutdown(wait=False)
            raise
        if found is _END:
            self._pool.shutdown(wait=False)
            raise StopIteration
        self._next = self._pool.submit(self._fetch)
        result: _Loaded = found
        return result


class AsyncWriter:
    """Writes files while the caller works on.

    Parameters
    ----------
    max_workers : int, default 2
        Files at once.
    """

    def __init__(self, max_workers: int = 2) -> None:
        self._pool = ThreadPoolExecutor(max_workers=max_workers)
        self._waiting: list[Future[None]] = []
        self._lock = Lock()

    def submit_npz(self, path: Path, data: dict[str, npt.NDArray[Any]]) -> None:
        """Write arrays.

        Parameters
        ----------
        path : Path
            The file; its folder is made.
        data : dict
            Arrays by name.
        """
        self.submit_task(self._write_npz, Path(path), data)

    def submit_json(self, path: Path, data: dict[str, Any]) -> None:
        """Write a dict.

        Parameters
        ----------
        path : Path
            The file; its folder is made.
        data : dict
            What JSON cannot say is written as text.
        """
        self.submit_task(self._write_json, Path(path), data)

    def submit_task(self, fn: Callable[..., None], *args: object, **kwargs: object) -> None:
        """Call a function.

        Parameters
        ----------
        fn : callable
            The function.
        *args, **kwargs
            Its arguments.
        """
        future = self._pool.submit(fn, *args, **kwargs)
        with self._lock:
            self._waiting.append(future)

    def wait_all(self, timeout: float = 60.0) -> list[Exception]:
        """Wait until everything is written.

        Parameters
        ----------
        timeout : float, default 60
            Seconds for each.

        Returns
        -------
        list of Exception
            What went wrong.
        """
        with self._lock:
            waiting, self._waiting = self._waiting, []
        wrong: list[Exception] = []
        for future in waiting:
            try:
                future.result(timeout=timeout)
            except Exception as error:
                wrong.append(error)
        return wrong

    def shutdown(self) -> None:
        """Wait, and take no more."""
        self.wait_all()
        self._pool.shutdown(wait=True)

    @staticmethod
    def _write_npz(path: Path, data: dict[str, npt.NDArray[Any]]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(str(path), **data)  # type: ignore[arg-type]

    @staticmethod
    def _write_json(path: Path, data: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=2, default=str), encoding="utf-8")

    def __enter__(self) -> AsyncWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
