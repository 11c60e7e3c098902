"""Least squares of a model of the user's, by the names of the original's ways."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._curve_fit import as_residuals, minimise

STREAMING_AVAILABLE = True


@dataclass
class ExecutionResult:
    """What a way found."""

    popt: Floats
    pcov: Floats
    info: dict[str, Any]
    recovery_actions: list[str]
    convergence_status: str


class OptimizationExecutor(ABC):
    """A way."""

    @abstractmethod
    def execute(
        self,
        residual_fn: Callable[..., Any],
        xdata: npt.ArrayLike,
        ydata: npt.ArrayLike,
        initial_params: npt.ArrayLike,
        bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
        loss_name: str,
        x_scale_value: float | npt.ArrayLike | str,
        logger: Any,
    ) -> ExecutionResult:
        """Fit ``residual_fn(xdata, *params)`` to ``ydata``."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Of the way."""

    @property
    @abstractmethod
    def supports_progress(self) -> bool:
        """Whether the original shows how far it is."""


class StandardExecutor(OptimizationExecutor):
    """All points at once."""

    @property
    def name(self) -> str:
        """'standard'."""
        return "standard"

    @property
    def supports_progress(self) -> bool:
        """False."""
        return False

    def execute(
        self,
        residual_fn: Callable[..., Any],
        xdata: npt.ArrayLike,
        ydata: npt.ArrayLike,
        initial_params: npt.ArrayLike,
        bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
        loss_name: str,
        x_scale_value: float | npt.ArrayLike | str,
        logger: Any,
    ) -> ExecutionResult:
        """Fit; the loss is linear, whatever is asked for, and said so."""
        if loss_name != "linear" and logger is not None:
            logger.warning("loss %s of a user's model: linear is used", loss_name)
        start = np.asarray(initial_params, np.float64)
        open_sides = (np.full(len(start), -np.inf), np.full(len(start), np.inf))
        low, high = (np.asarray(side, np.float64) for side in bounds or open_sides)
        begin = time.perf_counter()
        residuals = as_residuals(residual_fn, xdata, ydata, None)
        found = minimise(residuals, start, low, high, most_steps=1000)
        return ExecutionResult(
            found.x,
            found.covariance(absolute=False),
            {
                "success": found.converged,
                "strategy": self.name,
                "nfev": found.n_call,
                "message": found.message,
                "duration_s": time.perf_counter() - begin,
            },
            [],
            "converged" if found.converged else "partial",
        )


class LargeDatasetExecutor(StandardExecutor):
    """The same: a function of Python takes its points at once."""

    @property
    def name(self) -> str:
        """'large'."""
        return "large"

    @property
    def supports_progress(self) -> bool:
        """True."""
        return True


class StreamingExecutor(StandardExecutor):
    """The same, with options of the original kept."""

    def __init__(self, checkpoint_config: dict[str, Any] | None = None) -> None:
        self.checkpoint_config = checkpoint_config or {}

    @property
    def name(self) -> str:
        """'streaming'."""
        return "streaming"

    @property
    def supports_progress(self) -> bool:
        """True."""
        return True


def get_executor(
    strategy_name: str, checkpoint_config: dict[str, Any] | None = None
) -> OptimizationExecutor:
    """Return a way by its name."""
    ways: dict[str, Callable[[], OptimizationExecutor]] = {
        "standard": StandardExecutor,
        "large": LargeDatasetExecutor,
        "chunked": LargeDatasetExecutor,
        "streaming": lambda: StreamingExecutor(checkpoint_config),
    }
    if strategy_name not in ways:
        raise ValueError(f"Unknown strategy: {strategy_name}. Available: {list(ways)}")
    return ways[strategy_name]()
