"""Checks after a fit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tessera.xpcs.utils.logging import get_logger

Bounds = tuple[npt.ArrayLike, npt.ArrayLike]


def _warn(text: str) -> bool:
    get_logger(__name__).warning(text)
    return False


def validate_optimized_params(
    params: npt.ArrayLike, bounds: Bounds | None, tolerance: float = 1e-10
) -> bool:
    """Return whether parameters are finite and within bounds."""
    values = np.asarray(params)
    if not np.isfinite(values).all():
        return _warn("parameters are not finite")
    if bounds is None:
        return True
    low, high = (np.asarray(side) for side in bounds)
    outside = np.flatnonzero((values < low - tolerance) | (values > high + tolerance))
    return not len(outside) or _warn(f"parameters outside bounds at {outside.tolist()}")


def validate_covariance(covariance: npt.ArrayLike, n_params: int) -> bool:
    """Return whether a covariance is a finite symmetric matrix of variances."""
    matrix = np.asarray(covariance)
    if matrix.shape != (n_params, n_params):
        return _warn(f"covariance of shape {matrix.shape} for {n_params} parameters")
    if not np.isfinite(matrix).all():
        return _warn("covariance is not finite")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10):
        return _warn("covariance is not symmetric")
    if np.any(np.diag(matrix) < 0):
        return _warn(f"variances below 0 at {np.flatnonzero(np.diag(matrix) < 0).tolist()}")
    return True


def validate_result_consistency(params: npt.ArrayLike, chi_squared: float) -> bool:
    """Return whether chi squared is a number of 0 or more."""
    if not np.isfinite(chi_squared) or chi_squared < 0:
        return _warn(f"chi squared is {chi_squared}")
    return True


class ResultValidator:
    """All checks after a fit; warns, or raises ValueError if it is strict."""

    def __init__(self, strict_mode: bool = False) -> None:
        self.strict_mode = strict_mode
        self._validation_warnings: list[str] = []

    def validate_all(
        self,
        params: npt.ArrayLike,
        covariance: npt.ArrayLike | None,
        bounds: Bounds | None,
        chi_squared: float | None = None,
    ) -> bool:
        """Return whether a result makes sense."""
        self._validation_warnings = wrong = []
        if not validate_optimized_params(params, bounds):
            wrong.append("Optimized parameters outside bounds")
        if covariance is not None and not validate_covariance(covariance, np.shape(params)[0]):
            wrong.append("Covariance matrix invalid")
        if chi_squared is not None and not validate_result_consistency(params, chi_squared):
            wrong.append("Result consistency check failed")
        if wrong and self.strict_mode:
            raise ValueError(f"Result validation failed: {'; '.join(wrong)}")
        return not wrong

    @property
    def validation_warnings(self) -> list[str]:
        """What was wrong."""
        return list(self._validation_warnings)
