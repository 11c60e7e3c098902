"""Contexts that calls share, default thread count and log level."""

from __future__ import annotations

from tessera._core import ArgumentError, Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    # threads, memory_limit, device, log_level, device_memory_limit
    _Key = tuple[int | None, int | str | None, str | None, int, int | str | None]

_LEVELS = {"ERROR": 0, "WARNING": 1, "INFO": 2, "DEBUG": 3}
_MAX_IDLE = 8


class _Defaults:
    threads: int | None = None
    device: str | None = None
    device_memory_limit: int | str | None = None
    log_level = _LEVELS["INFO"]
    comm: str | None = None  # as tessera.distributed.use() says


class _Log:
    """What a shared context says: to the logger, and its warnings to whoever holds the lease."""

    __slots__ = ("warnings",)

    def __init__(self) -> None:
        self.warnings: list[str] | None = None

    def __call__(self, level: int, line: str) -> None:
        if level == _LEVELS["WARNING"] and self.warnings is not None:
            self.warnings.append(line)
        else:
            _emit(level, line)


# Contexts at rest, by how they were made. A call takes one out, so that no two calls meet in one,
# and a forked child never sees one that was busy.
_idle: dict[_Key, list[tuple[Context, _Log]]] = {}
# All such stores: clifford's calls of tensors have one of their own.
_stores: list[dict[Any, Any]] = [_idle]


class Lease:
    """The context of one call: the user's, one at rest, or a new one.

    ranks: the call divides its work. Where ranks work together it has a context of its own, at
    whose end they hear how each other fared.
    """

    __slots__ = ("_comm", "_context", "_key", "_log")

    def __init__(
        self,
        context: Context | None = None,
        *,
        threads: int | None = None,
        memory_limit: int | str | None = None,
        device: str | None = None,
        ranks: bool = False,
    ) -> None:
        self._context = context
        self._comm = _Defaults.comm if ranks and context is None else None
        self._key: _Key | None = None
        self._log: _Log | None = None
        if context is None:
            if threads is None:
                threads = _Defaults.threads
            if device is None:
                device = _Defaults.device
            of_device = _Defaults.device_memory_limit
            self._key = (threads, memory_limit, device, _Defaults.log_level, of_device)
        elif (threads, memory_limit, device) != (None, None, None):
            raise ArgumentError(
                "context: it decides threads, memory_limit and device; give it or them"
            )

    def _rested(self) -> tuple[Context, _Log]:
        if self._comm is not None or self._key is None:
            raise LookupError
        return _idle[self._key].pop()

    def __enter__(self) -> Context:
        if self._key is None:
            assert self._context is not None
            return self._context
        try:
            self._context, self._log = self._rested()
        except LookupError:
            threads, memory_limit, device, log_level, of_device = self._key
            self._log = _Log()
            self._context = Context(
                threads=threads,
                memory_limit=memory_limit,
                device=device,
                log=self._log,
                log_level=log_level,
                device_memory_limit=of_device,
                comm=self._comm,
            )
        return self._context

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._key is None or self._context is None or self._log is None:
            return
        if self._comm is not None:
            with self._context:
                self._context.leave(error)
            return
        if self._key not in _idle and len(_idle) >= _MAX_IDLE:
            _idle.clear()
        waiting = _idle.setdefault(self._key, [])
        if len(waiting) < _MAX_IDLE:
            waiting.append((self._context, self._log))


def _emit(level: int, line: str) -> None:
    import logging

    logger = logging.getLogger("tessera")
    if not logger.handlers:
        # Without a handler of its own Python prints warnings; the library never prints.
        logger.addHandler(logging.NullHandler())
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    logger.log((logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)[level], "%s", line)


def set_num_threads(threads: int | None) -> None:
    """Set how many threads calls use that do not say so themselves.

    Parameters
    ----------
    threads : int or None
        None goes back to TESSERA_NUM_THREADS, OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, else all
        cores this process may use. Results do not depend on it.
    """
    if threads is not None:
        Context(threads=threads, device="cpu").close()  # refuses bad numbers
    if threads != _Defaults.threads:
        _Defaults.threads = threads
        for store in _stores:
            store.clear()  # ends the threads of contexts at rest


def set_default_device(device: str | None) -> None:
    """Set the device of calls that do not say so themselves; None goes back to TESSERA_DEVICE."""
    _Defaults.device = device


def set_device_memory_limit(limit: int | str | None) -> None:
    """Set how much of a GPU's own memory calls may take.

    Parameters
    ----------
    limit : int, str or None
        Bytes, or text such as '2G'. None goes back to TESSERA_DEVICE_MEMORY_LIMIT, else what is
        free there when a call first uses it, less a reserve. Results do not depend on it; what
        models keep there counts.

    Examples
    --------
    >>> import tessera
    >>> tessera.set_device_memory_limit("2G")
    >>> tessera.set_device_memory_limit(None)
    """
    if limit is not None:
        Context(threads=1, device="cpu", device_memory_limit=limit).close()  # refuses bad ones
    if limit != _Defaults.device_memory_limit:
        _Defaults.device_memory_limit = limit
        for store in _stores:
            store.clear()


def get_num_threads() -> int:
    """Return how many threads calls use that do not say so themselves.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> import tessera
    >>> tessera.set_num_threads(2)
    >>> tessera.get_num_threads()
    2
    >>> tessera.set_num_threads(None)
    """
    with Lease() as context:
        return context.info["threads"]


def set_log_level(level: str) -> None:
    """Set how much is written to the logger ``tessera``.

    Parameters
    ----------
    level : {'ERROR', 'WARNING', 'INFO', 'DEBUG'}
        The start value is INFO. Lines appear where the logger's handlers put them.
    """
    import logging

    name = level.upper()
    if name not in _LEVELS:
        raise ArgumentError(f"level: {level!r} does not exist; choose one of {', '.join(_LEVELS)}")
    _Defaults.log_level = _LEVELS[name]
    logging.getLogger("tessera").setLevel(name)
