"""Checks before a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.utils.logging import get_logger

Bounds = tuple[npt.ArrayLike, npt.ArrayLike]
_SHOWN = 10


def _warn(text: str) -> bool:
    get_logger(__name__).warning(text)
    return False


def validate_array_dimensions(xdata: npt.ArrayLike, ydata: npt.ArrayLike) -> bool:
    """Return whether there are points, and as many of one as of the other."""
    n_x, n_y = np.shape(xdata)[0], np.shape(ydata)[0]
    if n_x == 0 or n_y == 0:
        return _warn(f"{'xdata' if n_x == 0 else 'ydata'} is empty")
    return n_x == n_y or _warn(f"xdata has {n_x} points, ydata {n_y}")


def validate_no_nan_inf(
    arr: npt.ArrayLike,
    name: str,
    iteration: int | None = None,
    context: dict[str, Any] | None = None,
) -> bool:
    """Return whether all values are finite."""
    values = np.asarray(arr)
    wrong = np.flatnonzero(~np.isfinite(values))
    if not len(wrong):
        return True
    when = "" if iteration is None else f" [iteration={iteration}]"
    what = f" [context={context}]" if context else ""
    return _warn(
        f"{name}: {int(np.isnan(values).sum())} NaN, {int(np.isinf(values).sum())} Inf, first at "
        f"{wrong[:_SHOWN].tolist()}{when}{what}"
    )


def validate_bounds_consistency(bounds: Bounds, initial_params: npt.ArrayLike) -> bool:
    """Return whether there is a pair of bounds for every parameter, the lower below the upper."""
    low, high = (np.asarray(side) for side in bounds)
    n = np.shape(initial_params)[0]
    if len(low) != n or len(high) != n:
        return _warn(f"bounds of {len(low)} and {len(high)} values for {n} parameters")
    crossed = np.flatnonzero(~(low <= high))
    return not len(crossed) or _warn(f"lower bounds above upper ones at {crossed.tolist()}")


def validate_initial_params(initial_params: npt.ArrayLike, bounds: Bounds | None) -> bool:
    """Return whether parameters lie within bounds."""
    if bounds is None:
        return True
    values = np.asarray(initial_params)
    for word, outside in (
        ("below", values < np.asarray(bounds[0])),
        ("above", values > np.asarray(bounds[1])),
    ):
        if np.any(outside):
            return _warn(f"initial parameters {word} bounds at {np.flatnonzero(outside).tolist()}")
    return True


class InputValidator:
    """All checks before a fit; raises ValueError, or warns if it is not strict."""

    def __init__(self, strict_mode: bool = True) -> None:
        self.strict_mode = strict_mode
        self._validation_errors: list[str] = []

    def validate_all(
        self,
        xdata: npt.ArrayLike,
        ydata: npt.ArrayLike,
        initial_params: npt.ArrayLike,
        bounds: Bounds | None,
    ) -> bool:
        """Return whether a fit can begin."""
        self._validation_errors = wrong = []
        if not validate_array_dimensions(xdata, ydata):
            wrong.append(
                f"Array dimension mismatch: {np.shape(xdata)[0]} points in xdata, "
                f"{np.shape(ydata)[0]} in ydata"
            )
        for name, values in (
            ("xdata", xdata),
            ("ydata", ydata),
            ("initial_params", initial_params),
        ):
            if not validate_no_nan_inf(values, name):
                wrong.append(f"{name} contains NaN or Inf values")
        fitting = bounds is None or validate_bounds_consistency(bounds, initial_params)
        if not fitting:
            wrong.append("Bounds are inconsistent with initial parameters")
        elif not validate_initial_params(initial_params, bounds):
            wrong.append("Initial parameters outside bounds")
        if wrong and self.strict_mode:
            raise ValueError(f"Input validation failed: {'; '.join(wrong)}")
        return not wrong

    @property
    def validation_errors(self) -> list[str]:
        """What was wrong."""
        return list(self._validation_errors)
