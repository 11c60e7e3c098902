"""Errors of fits by the original's names."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

__all__ = [
    "NLSQCheckpointError",
    "NLSQConvergenceError",
    "NLSQNumericalError",
    "NLSQOptimizationError",
]


def _with(context: dict[str, Any] | None, **more: object) -> dict[str, Any]:
    """Return a context with what is known added."""
    return {**(context or {}), **{key: value for key, value in more.items() if value is not None}}


class NLSQOptimizationError(Exception):
    """A fit went wrong.

    Parameters
    ----------
    message : str
        What.
    error_context : dict, optional
        Values that matter.
    """

    def __init__(self, message: str, error_context: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error_context = error_context or {}

    def __str__(self) -> str:
        said = ", ".join(f"{key}={value}" for key, value in self.error_context.items())
        return f"{super().__str__()} (context: {said})" if said else super().__str__()


class NLSQConvergenceError(NLSQOptimizationError):
    """A fit found no minimum.

    Parameters
    ----------
    message : str
        What.
    iteration_count : int, optional
        Steps.
    final_loss : float, optional
        Where it ended.
    parameters : array, optional
        Where it ended.
    error_context : dict, optional
        Values that matter.
    """

    def __init__(
        self,
        message: str,
        iteration_count: int | None = None,
        final_loss: float | None = None,
        parameters: npt.NDArray[Any] | None = None,
        error_context: dict[str, Any] | None = None,
    ) -> None:
        n_params = None if parameters is None else len(parameters)
        super().__init__(
            message,
            _with(
                error_context,
                iteration_count=iteration_count,
                final_loss=final_loss,
                n_params=n_params,
            ),
        )
        self.iteration_count = iteration_count
        self.final_loss = final_loss
        self.parameters = parameters


class NLSQNumericalError(NLSQOptimizationError):
    """A value is not a number.

    Parameters
    ----------
    message : str
        What.
    detection_point : str, optional
        Where it was seen.
    invalid_values : list, optional
        What was seen.
    error_context : dict, optional
        Values that matter.
    """

    def __init__(
        self,
        message: str,
        detection_point: str | None = None,
        invalid_values: list[str] | None = None,
        error_context: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            message,
            _with(
                error_context,
                detection_point=detection_point or None,
                n_invalid=len(invalid_values) if invalid_values else None,
            ),
        )
        self.detection_point = detection_point
        self.invalid_values = invalid_values or []


class NLSQCheckpointError(NLSQOptimizationError):
    """A checkpoint could not be written or read.

    Parameters
    ----------
    message : str
        What.
    checkpoint_path : str, optional
        Which.
    operation : str, optional
        What was tried.
    io_error : Exception, optional
        Why.
    error_context : dict, optional
        Values that matter.
    """

    def __init__(
        self,
        message: str,
        checkpoint_path: str | None = None,
        operation: str | None = None,
        io_error: Exception | None = None,
        error_context: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            message,
            _with(
                error_context,
                checkpoint_path=checkpoint_path or None,
                operation=operation or None,
                io_error_type=type(io_error).__name__ if io_error else None,
            ),
        )
        self.checkpoint_path = checkpoint_path
        self.operation = operation
        self.io_error = io_error
