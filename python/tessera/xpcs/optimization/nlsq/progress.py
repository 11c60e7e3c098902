"""How far fits are, by the original's names: lines of the log, and bars of tqdm where it is."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tessera.xpcs.utils.logging import get_logger

if TYPE_CHECKING:
    from tessera.xpcs.optimization.nlsq.config import NLSQConfig

__all__ = [
    "HomodyneIterationLogger",
    "MultiStartProgressTracker",
    "ProgressConfig",
    "create_progress_callback",
    "create_streaming_progress_callback",
]

logger = get_logger(__name__)

_MILESTONES = (1e-2, 1e-4, 1e-6, 1e-8)


def _bar(is_wanted: bool, **options: Any) -> Any:
    """Return a bar of tqdm, or None."""
    if not is_wanted or importlib.util.find_spec("tqdm") is None:
        return None
    return importlib.import_module("tqdm.auto").tqdm(**options)


@dataclass
class ProgressConfig:
    """What is shown of a fit.

    Parameters
    ----------
    enable_progress_bar : bool, default True
        A bar.
    verbose : int, default 1
        0: nothing, 1: milestones, 2: every some iterations.
    log_interval : int, default 10
        Iterations between lines.
    max_nfev : int, default 1000
        The end of the bar.
    description : str, default 'NLSQ Fitting'
        Beside the bar.
    """

    enable_progress_bar: bool = True
    verbose: int = 1
    log_interval: int = 10
    max_nfev: int = 1000
    description: str = "NLSQ Fitting"

    @classmethod
    def from_nlsq_config(
        cls,
        nlsq_config: NLSQConfig,
        max_nfev: int | None = None,
        description: str = "NLSQ Fitting",
    ) -> ProgressConfig:
        """Return what a configuration says.

        Parameters
        ----------
        nlsq_config : NLSQConfig
            The configuration.
        max_nfev : int, optional
            The end of the bar; by default the configuration's.
        description : str, default 'NLSQ Fitting'
            Beside the bar.

        Returns
        -------
        ProgressConfig
            What is shown.
        """
        return cls(
            nlsq_config.enable_progress_bar,
            nlsq_config.verbose,
            nlsq_config.log_iteration_interval,
            max_nfev or nlsq_config.max_iterations,
            description,
        )


class HomodyneIterationLogger:
    """Lines of the log on a fit's way; called with iteration, cost, parameters and facts.

    Parameters
    ----------
    verbose : int, default 1
        0: nothing, 1: milestones, 2: every some iterations.
    log_interval : int, default 10
        Iterations between lines.
    logger_instance : Logger, optional
        Where to.
    """

    def __init__(
        self,
        verbose: int = 1,
        log_interval: int = 10,
        logger_instance: logging.Logger | None = None,
    ) -> None:
        self.verbose = verbose
        self.log_interval = log_interval
        self._logger: Any = logger_instance or logger
        self._start_time: float | None = None
        self._best_cost = float("inf")
        self._last_logged_iter = -1
        self._passed_milestones: set[float] = set()

    def __call__(self, iteration: int, cost: float, params: Any, info: Mapping[str, Any]) -> None:
        """Take note of an iteration."""
        del params
        if self._start_time is None:
            self._start_time = time.perf_counter()
            if self.verbose >= 1:
                self._logger.info(f"NLSQ optimization started | initial cost: {cost:.6e}")
        self._best_cost = min(self._best_cost, cost)
        seconds = time.perf_counter() - self._start_time
        if self.verbose >= 2 and iteration - self._last_logged_iter >= self.log_interval:
            slope, count = info.get("gradient_norm", float("nan")), info.get("nfev", iteration + 1)
            self._logger.info(
                f"Iter {iteration:4d} | cost: {cost:.6e} | grad: {slope:.3e} | nfev: {count:4d} | "
                f"time: {seconds:.2f}s"
            )
            self._last_logged_iter = iteration
        elif self.verbose == 1:
            passed = [m for m in _MILESTONES if cost <= m and m not in self._passed_milestones]
            if passed:
                self._passed_milestones.add(passed[0])
                self._logger.info(
                    f"Milestone: cost reached {passed[0]:.0e} at iter {iteration} | "
                    f"time: {seconds:.2f}s"
                )

    def close(self) -> None:
        """Write the last line."""
        if self._start_time is not None and self.verbose >= 1:
            seconds = time.perf_counter() - self._start_time
            self._logger.info(
                f"NLSQ optimization complete | best cost: {self._best_cost:.6e} | "
                f"total time: {seconds:.2f}s"
            )


class _Both:
    """A bar and the lines of the log, as one callback."""

    def __init__(self, bar: Any, lines: HomodyneIterationLogger | None) -> None:
        self._bar, self._lines = bar, lines

    def __call__(self, iteration: int, cost: float, params: Any, info: Mapping[str, Any]) -> None:
        self._bar.update(1)
        self._bar.set_postfix(cost=f"{cost:.4e}")
        if self._lines is not None:
            self._lines(iteration, cost, params, info)

    def close(self) -> None:
        self._bar.close()
        if self._lines is not None:
            self._lines.close()


def create_progress_callback(
    config: ProgressConfig | None = None,
    enable_progress_bar: bool = True,
    verbose: int = 1,
    log_interval: int = 10,
    max_nfev: int = 1000,
    description: str = "NLSQ Fitting",
) -> tuple[Callable[..., None] | None, HomodyneIterationLogger | None]:
    """Return what a solver may call at every iteration.

    Parameters
    ----------
    config : ProgressConfig, optional
        Over all others.
    enable_progress_bar, verbose, log_interval, max_nfev, description
        As of :class:`ProgressConfig`.

    Returns
    -------
    (callable or None, HomodyneIterationLogger or None)
        Everything together, and the lines alone.
    """
    own = config or ProgressConfig(
        enable_progress_bar, verbose, log_interval, max_nfev, description
    )
    lines = None
    if own.verbose >= 1:
        lines = HomodyneIterationLogger(own.verbose, own.log_interval)
    bar = _bar(own.enable_progress_bar, total=own.max_nfev, desc=own.description)
    return (lines if bar is None else _Both(bar, lines)), lines


class MultiStartProgressTracker:
    """How far a search from many starts is.

    Parameters
    ----------
    n_starts : int
        Starts.
    enable_progress_bar : bool, default True
        A bar.
    verbose : int, default 1
        0: nothing, 1: better minima, 2: every start.
    description : str, default 'Multi-start NLSQ'
        Beside the bar.
    """

    def __init__(
        self,
        n_starts: int,
        enable_progress_bar: bool = True,
        verbose: int = 1,
        description: str = "Multi-start NLSQ",
    ) -> None:
        self.n_starts = n_starts
        self.enable_progress_bar = enable_progress_bar
        self.verbose = verbose
        self.description = description
        self._pbar = _bar(enable_progress_bar, total=n_starts, desc=description, unit="start")
        self._start_time = time.perf_counter()
        self._completed = self._successful = self._failed = 0
        self._best_chi_squared = float("inf")
        self._best_start_idx: int | None = None

    def update(
        self,
        start_idx: int,
        success: bool,
        chi_squared: float,
        message: str = "",
        wall_time: float | None = None,
    ) -> None:
        """Take note of a start that is done.

        Parameters
        ----------
        start_idx : int
            Which.
        success : bool
            Whether it led to a minimum.
        chi_squared : float
            Of that.
        message : str, optional
            Why it did not.
        wall_time : float, optional
            Seconds.
        """
        self._completed += 1
        is_best = success and chi_squared < self._best_chi_squared
        if success:
            self._successful += 1
        else:
            self._failed += 1
        if is_best:
            self._best_chi_squared, self._best_start_idx = chi_squared, start_idx
        if self._pbar is not None:
            done = f"{self._successful}/{self._completed}"
            self._pbar.set_postfix(ok=done, best=f"{self._best_chi_squared:.4e}")
            self._pbar.update(1)
        if self.verbose >= 2 or (self.verbose >= 1 and is_best):
            seconds = "" if wall_time is None else f", {wall_time:.1f} s"
            word = "OK" if success else "FAILED"
            logger.info(f"start {start_idx}: {word}, chi2 {chi_squared:.4e}{seconds}")
        if not success and self.verbose >= 1 and message:
            logger.warning(f"start {start_idx}: {message}")

    def close(self) -> None:
        """Write the last line."""
        if self._pbar is not None:
            self._pbar.close()
            self._pbar = None
        if self.verbose >= 1:
            seconds = time.perf_counter() - self._start_time
            logger.info(
                f"{self._successful} of {self._completed} starts in {seconds:.1f} s, best chi2 "
                f"{self._best_chi_squared:.4e} from start {self._best_start_idx}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def create_streaming_progress_callback(
    n_total_points: int,
    batch_size: int,
    max_epochs: int,
    enable_progress_bar: bool = True,
    verbose: int = 1,
) -> Callable[[int, Any, float], bool] | None:
    """Return what a streaming solver may call after every batch.

    Parameters
    ----------
    n_total_points, batch_size, max_epochs : int
        Points, points of a batch, and times all are gone through.
    enable_progress_bar : bool, default True
        A bar.
    verbose : int, default 1
        1: a line for every time.

    Returns
    -------
    callable or None
        Takes iteration, parameters and loss; returns False: go on.
    """
    if not enable_progress_bar and verbose == 0:
        return None
    batches = -(-n_total_points // batch_size)
    bar = _bar(enable_progress_bar, total=max_epochs * batches, desc="Streaming", unit="batch")
    best, last_epoch = float("inf"), -1

    def callback(iteration: int, params: Any, loss: float) -> bool:
        nonlocal best, last_epoch
        del params
        best = min(best, loss)
        if bar is not None:
            bar.update(1)
            bar.set_postfix(loss=f"{loss:.4e}", best=f"{best:.4e}")
        epoch = iteration // batches
        if epoch > last_epoch:
            last_epoch = epoch
            if verbose >= 1:
                logger.info(f"epoch {epoch}: loss {loss:.4e}, best {best:.4e}")
        return False

    return callback
