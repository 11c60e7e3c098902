"""Normalisations of correlation matrices."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

logger = logging.getLogger("tessera")

Matrix = npt.NDArray[Any]


def _shift_and_scale(matrix: Matrix, method: str, said: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what is taken away and what is divided by."""
    if method == "baseline":
        return 0.0, matrix[0, 0]
    if method == "statistical":
        return np.nanmean(matrix), np.nanstd(matrix)
    if method == "minmax":
        least = np.nanmin(matrix)
        return least, np.nanmax(matrix) - least
    if method == "robust":
        low, high = np.nanpercentile(matrix, said.get("percentile_range", [25, 75]))
        return np.nanmedian(matrix), high - low
    # physics_based: the largest value is 1, and so is the first where it would be below.
    most = np.nanmax(matrix)
    if most <= 0:
        return 0.0, 0.0
    return 0.0, matrix[0, 0] if matrix[0, 0] < most else most


def normalised(matrices: Any, method: str, said: Mapping[str, Any]) -> Matrix:
    """Return normalised matrices; one that cannot be is left as it is, with a warning."""
    found = np.array(matrices, np.float64)
    for place, matrix in enumerate(found):
        shift, scale = _shift_and_scale(matrix, method, said)
        if not abs(scale) > np.finfo(np.float64).eps * max(1.0, abs(float(shift))):
            logger.warning(
                "preprocessing.normalize_data: matrix %d cannot be divided by %.3g", place, scale
            )
            continue
        found[place] = (matrix - shift) / scale
    return found
