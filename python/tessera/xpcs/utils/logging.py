"""Loggers, decorators and summaries by the original's names.

Nothing happens to a program's logging on import; the first :func:`get_logger` sets the console up.
"""

from __future__ import annotations

import functools
import inspect
import logging
import time
import traceback
from collections.abc import Callable, Generator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tessera.xpcs._arguments import PathLike
from tessera.xpcs.io.json_utils import json_safe
from tessera.xpcs.utils._log_files import (
    DETAILED as DEFAULT_FORMAT_DETAILED,
)
from tessera.xpcs.utils._log_files import (
    SIMPLE as DEFAULT_FORMAT_SIMPLE,
)
from tessera.xpcs.utils._log_files import LogConfiguration, MinimalLogger

__all__ = [
    "DEFAULT_FORMAT_DETAILED",
    "DEFAULT_FORMAT_SIMPLE",
    "AnalysisSummaryLogger",
    "LogConfiguration",
    "MinimalLogger",
    "PhaseContext",
    "configure_logging",
    "get_logger",
    "log_calls",
    "log_exception",
    "log_operation",
    "log_performance",
    "log_phase",
    "with_context",
]

LoggerType = logging.Logger | logging.LoggerAdapter[logging.Logger]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _ContextAdapter(logging.LoggerAdapter[logging.Logger]):
    """Puts ``[key=value ...]`` before every message."""

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        said = [
            f"{key}={value}" for key, value in (self.extra or {}).items() if value not in (None, "")
        ]
        return (f"[{' '.join(said)}] {msg}" if said else msg), kwargs


def configure_logging(
    logging_config: Mapping[str, Any] | None,
    *,
    verbose: bool = False,
    quiet: bool = False,
    output_dir: PathLike | None = None,
    run_id: str | None = None,
) -> Path | None:
    """Set handlers and levels as section ``logging`` of a configuration asks.

    Parameters
    ----------
    logging_config : dict or None
        ``enabled``, ``level``, ``console``, ``file`` and ``modules``.
    verbose, quiet : bool
        DEBUG or ERROR on the console, whatever the section says.
    output_dir : path, optional
        Whose folder ``logs`` gets the file if the section names none.
    run_id : str, optional
        In the file's name; by default the second.

    Returns
    -------
    Path or None
        The file.
    """
    return MinimalLogger().configure_from_dict(
        logging_config, verbose=verbose, quiet=quiet, output_dir=output_dir, run_id=run_id
    )


def get_logger(name: str | None = None, *, context: Mapping[str, Any] | None = None) -> LoggerType:
    """Return a logger below 'homodyne'.

    Parameters
    ----------
    name : str, optional
        By default that of the calling module.
    context : dict, optional
        Put before every message.

    Returns
    -------
    Logger or LoggerAdapter
        The logger.
    """
    if name is None:
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        name = "unknown" if caller is None else caller.f_globals.get("__name__", "unknown")
    logger = MinimalLogger().get_logger(name or "unknown")
    return _ContextAdapter(logger, dict(context)) if context else logger


def with_context(logger: LoggerType, **context: object) -> logging.LoggerAdapter[logging.Logger]:
    """Return a logger that puts words before every message.

    Parameters
    ----------
    logger : Logger or LoggerAdapter
        Words it puts already stay.
    **context
        Values by name; None is left out.

    Returns
    -------
    LoggerAdapter
        The logger.
    """
    given = {key: value for key, value in context.items() if value is not None}
    if isinstance(logger, logging.LoggerAdapter):
        before = dict(logger.extra or {}) if isinstance(logger, _ContextAdapter) else {}
        return _ContextAdapter(logger.logger, {**before, **given})
    return _ContextAdapter(logger, given)


@dataclass
class PhaseContext:
    """What :func:`log_phase` measured.

    Parameters
    ----------
    name : str
        Of the phase.
    duration : float
        Seconds.
    memory_peak_gb, memory_delta_gb : float, optional
        Largest memory of the process, and how much it grew.
    """

    name: str
    duration: float = 0.0
    memory_peak_gb: float | None = None
    memory_delta_gb: float | None = None


def _memory_gb() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


@contextmanager
def log_phase(
    name: str,
    logger: LoggerType | None = None,
    level: int = logging.INFO,
    track_memory: bool = False,
    threshold_s: float = 0.0,
) -> Generator[PhaseContext]:
    """Log begin and end of a phase with its time.

    Parameters
    ----------
    name : str
        Of the phase.
    logger : Logger, optional
        Default: that of this module.
    level : int, default logging.INFO
        Of the messages.
    track_memory : bool, default False
        Memory too.
    threshold_s : float, default 0
        Shorter phases are not mentioned.

    Yields
    ------
    PhaseContext
        Filled in at the end.
    """
    log = get_logger(__name__) if logger is None else logger
    phase = PhaseContext(name)
    before = _memory_gb() if track_memory else None
    if threshold_s <= 0:
        log.log(level, f"Phase '{name}' started")
    begin = time.perf_counter()
    try:
        yield phase
    finally:
        phase.duration = time.perf_counter() - begin
        said = f"Phase '{name}' completed in {phase.duration:.2f}s"
        if before is not None:
            phase.memory_peak_gb = _memory_gb() or before
            phase.memory_delta_gb = phase.memory_peak_gb - before
            said += f" (peak memory: {phase.memory_peak_gb:.1f} GB)"
        if phase.duration >= threshold_s:
            log.log(level, said)


def log_exception(
    logger: LoggerType,
    exc: BaseException,
    context: Mapping[str, Any] | None = None,
    level: int = logging.ERROR,
    include_traceback: bool = True,
) -> None:
    """Log an exception with the place it came from.

    Parameters
    ----------
    logger : Logger
        Where to.
    exc : BaseException
        What.
    context : dict, optional
        Values that matter.
    level : int, default logging.ERROR
        Of the message.
    include_traceback : bool, default True
        The whole way to it.
    """
    place = ""
    for frame, line in traceback.walk_tb(exc.__traceback__):
        module = frame.f_globals.get("__name__", "unknown")
        place = f" in {module}.{frame.f_code.co_name}:{line}"
    said = [f"Exception{place}: {type(exc).__name__}: {exc}"]
    if context:
        said.append("Context: " + ", ".join(f"{key}={value!r}" for key, value in context.items()))
    if include_traceback:
        said.append("Traceback:\n" + "".join(traceback.format_exception(exc)))
    logger.log(level, "\n".join(said))


def log_calls(
    logger: LoggerType | None = None,
    level: int = logging.DEBUG,
    include_args: bool = False,
    include_result: bool = False,
) -> Callable[[_Function], _Function]:
    """Return a decorator that logs calls of a function.

    Parameters
    ----------
    logger : Logger, optional
        Default: that of the function's module.
    level : int, default logging.DEBUG
        Of the messages.
    include_args, include_result : bool, default False
        Arguments and result too.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(func: _Function) -> _Function:
        name = f"{func.__module__}.{func.__qualname__}"

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            log = logger or get_logger(func.__module__)
            given = [*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())]
            log.log(level, "Calling %s%s", name, f"({', '.join(given)})" if include_args else "")
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                log.error("Exception in %s: %s", name, error)
                raise
            log.log(level, "Completed %s%s", name, f" -> {result!r}" if include_result else "")
            return result

        return wrapper  # type: ignore[return-value]

    return decorate


def log_performance(
    logger: LoggerType | None = None, level: int = logging.INFO, threshold: float = 0.1
) -> Callable[[_Function], _Function]:
    """Return a decorator that logs how long a function took.

    Parameters
    ----------
    logger : Logger, optional
        Default: that of the function's module.
    level : int, default logging.INFO
        Of the messages.
    threshold : float, default 0.1
        Seconds below which nothing is said.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(func: _Function) -> _Function:
        name = f"{func.__module__}.{func.__qualname__}"

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            log = logger or get_logger(func.__module__)
            begin = time.perf_counter()
            try:
                result = func(*args, **kwargs)
            except Exception as error:
                spent = time.perf_counter() - begin
                log.error("Performance: %s failed after %.3fs: %s", name, spent, error)
                raise
            spent = time.perf_counter() - begin
            if spent >= threshold:
                log.log(level, f"Performance: {name} completed in {spent:.3f}s")
            return result

        return wrapper  # type: ignore[return-value]

    return decorate


@contextmanager
def log_operation(
    operation_name: str, logger: LoggerType | None = None, level: int = logging.INFO
) -> Generator[LoggerType]:
    """Log begin and end of an operation, or that it failed.

    Parameters
    ----------
    operation_name : str
        What.
    logger : Logger, optional
        Default: that of this module.
    level : int, default logging.INFO
        Of the messages.

    Yields
    ------
    Logger
        The logger.
    """
    log = get_logger(__name__) if logger is None else logger
    log.log(level, f"Starting operation: {operation_name}")
    begin = time.perf_counter()
    try:
        yield log
    except Exception as error:
        spent = time.perf_counter() - begin
        log.error("Failed operation: %s after %.3fs: %s", operation_name, spent, error)
        raise
    spent = time.perf_counter() - begin
    log.log(level, f"Completed operation: {operation_name} in {spent:.3f}s")


@dataclass
class _Phase:
    start: float
    end: float | None = None
    memory_peak_gb: float | None = None

    @property
    def duration(self) -> float | None:
        return None if self.end is None else self.end - self.start


class AnalysisSummaryLogger:
    """Collects what an analysis did and says it at the end.

    Parameters
    ----------
    run_id, analysis_mode : str
        Of the analysis.
    """

    def __init__(self, run_id: str, analysis_mode: str) -> None:
        self.run_id = run_id
        self.analysis_mode = analysis_mode
        self._begin = time.perf_counter()
        self._phases: dict[str, _Phase] = {}
        self._metrics: dict[str, float] = {}
        self._files: list[Path] = []
        self._status: str | None = None
        self._warnings = self._errors = 0
        self._config: dict[str, Any] = {}

    def start_phase(self, name: str) -> None:
        """Begin a phase.

        Parameters
        ----------
        name : str
            Of the phase.
        """
        self._phases[name] = _Phase(time.perf_counter())

    def end_phase(self, name: str, memory_peak_gb: float | None = None) -> None:
        """End a phase; one that was not begun is left.

        Parameters
        ----------
        name : str
            Of the phase.
        memory_peak_gb : float, optional
            Largest memory in it.
        """
        if name in self._phases:
            self._phases[name].end = time.perf_counter()
            self._phases[name].memory_peak_gb = memory_peak_gb

    def record_metric(self, name: str, value: float) -> None:
        """Keep a number.

        Parameters
        ----------
        name : str
            What it is.
        value : float
            The number.
        """
        self._metrics[name] = value

    def add_output_file(self, path: PathLike) -> None:
        """Keep the path of a file that was written.

        Parameters
        ----------
        path : path
            The file.
        """
        self._files.append(Path(path))

    def set_convergence_status(self, status: str) -> None:
        """Keep how the fit ended.

        Parameters
        ----------
        status : str
            A word.
        """
        self._status = status

    def increment_warning_count(self) -> None:
        """Count a warning."""
        self._warnings += 1

    def increment_error_count(self) -> None:
        """Count an error."""
        self._errors += 1

    def set_config_summary(
        self,
        optimizer: str | None = None,
        n_params: int | None = None,
        n_data_points: int | None = None,
        n_phi_angles: int | None = None,
        data_file: str | None = None,
        **kwargs: object,
    ) -> None:
        """Keep what was asked for.

        Parameters
        ----------
        optimizer, n_params, n_data_points, n_phi_angles, data_file : optional
            None is left out.
        **kwargs
            More values by name.
        """
        given = {
            "optimizer": optimizer,
            "n_params": n_params,
            "n_data_points": n_data_points,
            "n_phi_angles": n_phi_angles,
            "data_file": data_file,
        }
        self._config |= {key: value for key, value in given.items() if value is not None} | kwargs

    def _sections(self) -> Generator[str]:
        def number(value: Any) -> str:
            return f"{value:,}" if isinstance(value, int) and value > 1000 else str(value)

        if self._config:
            yield "\nConfiguration:"
            yield from (f"  {key}: {number(value)}" for key, value in self._config.items())
        if self._phases:
            yield "\nPhase Timings:"
            for name, phase in self._phases.items():
                if phase.duration is not None:
                    peak = phase.memory_peak_gb
                    memory = "" if peak is None else f" (peak: {peak:.1f} GB)"
                    yield f"  {name}: {phase.duration:.2f}s{memory}"
        if self._metrics:
            yield "\nMetrics:"
            yield from (f"  {name}: {value:.6g}" for name, value in self._metrics.items())
        if self._files:
            yield "\nOutput files:"
            yield from (f"  {path}" for path in self._files)
        if self._warnings or self._errors:
            yield f"\nWarnings: {self._warnings}, Errors: {self._errors}"

    def log_summary(self, logger: LoggerType) -> None:
        """Log all of it in one message.

        Parameters
        ----------
        logger : Logger
            Where to.
        """
        rule = "=" * 60
        head = [
            rule,
            "ANALYSIS SUMMARY",
            rule,
            f"Run ID: {self.run_id}",
            f"Mode: {self.analysis_mode}",
            f"Status: {self._status or 'unknown'}",
            f"Total runtime: {time.perf_counter() - self._begin:.2f}s",
        ]
        logger.info("\n".join([*head, *self._sections(), rule]))

    def as_dict(self) -> dict[str, Any]:
        """Return all of it.

        Returns
        -------
        dict
            What JSON can say.
        """
        return {
            "run_id": self.run_id,
            "analysis_mode": self.analysis_mode,
            "convergence_status": self._status,
            "total_runtime_s": time.perf_counter() - self._begin,
            "config_summary": self._config,
            "phases": {
                name: {"duration_s": phase.duration, "memory_peak_gb": phase.memory_peak_gb}
                for name, phase in self._phases.items()
            },
            "metrics": json_safe(self._metrics),
            "output_files": [str(path) for path in self._files],
            "warning_count": self._warnings,
            "error_count": self._errors,
        }
