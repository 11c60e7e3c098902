"""How well a fitted surface follows the diagonal of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DiagonalOverlayResult", "compute_diagonal_overlay_stats"]


@dataclass
class DiagonalOverlayResult:
    """Diagonals of data and two surfaces.

    Parameters
    ----------
    phi_index : int
        Which angle.
    raw_diagonal, solver_diagonal, posthoc_diagonal : ndarray
        Of the data, of the solver's surface, of the one scaled afterwards.
    raw_variance, solver_variance, posthoc_variance : float
        Of each.
    solver_rmse, posthoc_rmse : float
        Root mean square distance from the data.
    """

    phi_index: int
    raw_diagonal: npt.NDArray[Any]
    solver_diagonal: npt.NDArray[Any]
    posthoc_diagonal: npt.NDArray[Any]
    raw_variance: float
    solver_variance: float
    posthoc_variance: float
    solver_rmse: float
    posthoc_rmse: float


def compute_diagonal_overlay_stats(
    c2_exp: npt.NDArray[Any],
    c2_solver: npt.NDArray[Any] | None,
    c2_posthoc: npt.NDArray[Any],
    *,
    phi_index: int = 0,
) -> DiagonalOverlayResult:
    """Compare the diagonals of two fitted surfaces with that of the data.

    Parameters
    ----------
    c2_exp, c2_solver, c2_posthoc : array, shape (n_angle, n, n)
        Data, the solver's surface, the one scaled afterwards.
    phi_index : int, default 0
        Which angle.

    Returns
    -------
    DiagonalOverlayResult
        Diagonals with their variances and distances.
    """
    if c2_solver is None:
        raise ValueError("c2_solver array is required for diagonal overlay diagnostics")
    raw, solver, posthoc = (np.diag(c2[phi_index]) for c2 in (c2_exp, c2_solver, c2_posthoc))
    return DiagonalOverlayResult(
        phi_index,
        raw,
        solver,
        posthoc,
        *(float(np.nanvar(values)) for values in (raw, solver, posthoc)),
        *(float(np.sqrt(np.nanmean((values - raw) ** 2))) for values in (solver, posthoc)),
    )
