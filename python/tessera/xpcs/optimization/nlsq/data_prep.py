"""Vectors of parameters and bounds, brought into the shape of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from logging import Logger
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

Bounds = tuple[Floats, Floats]


@dataclass
class PreparedData:
    """Points of a fit."""

    xdata: npt.NDArray[Any]
    ydata: npt.NDArray[Any]
    n_data: int
    n_phi: int
    phi_unique: npt.NDArray[Any]


@dataclass
class ExpandedParameters:
    """Parameters with one contrast and one offset an angle."""

    params: Floats
    bounds: Bounds | None
    n_params: int
    n_physical: int
    n_angles: int


def _expanded(vector: npt.ArrayLike, n_angles: int) -> Floats:
    values = np.asarray(vector, float)
    return np.concatenate([np.repeat(values[:2], n_angles), values[2:]])


def expand_per_angle_parameters(
    compact_params: npt.ArrayLike,
    compact_bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
    n_angles: int,
    n_physical: int,
    logger: Logger | None = None,
) -> ExpandedParameters:
    """Give every angle the one contrast and offset of a vector."""
    values = np.asarray(compact_params, float)
    if len(values) != n_physical + 2:
        raise ValueError(
            f"Parameter count mismatch for per-angle scaling: got {len(values)}, expected "
            f"{n_physical + 2}: contrast, offset and {n_physical} physical"
        )
    whole = _expanded(values, n_angles)
    bounds = None
    if compact_bounds is not None:
        low, high = (_expanded(side, n_angles) for side in compact_bounds)
        bounds = (low, high)
    return ExpandedParameters(whole, bounds, len(whole), n_physical, n_angles)


def validate_bounds(
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
    n_params: int,
    logger: Logger | None = None,
) -> Bounds | None:
    """Return bounds as arrays, or raise."""
    if bounds is None:
        return None
    low, high = (np.asarray(side, float) for side in bounds)
    if len(low) != n_params or len(high) != n_params:
        raise ValueError(
            f"Bounds dimension mismatch: expected {n_params}, got lower={len(low)}, "
            f"upper={len(high)}"
        )
    wrong = np.flatnonzero(low > high)
    if len(wrong):
        raise ValueError(
            f"Invalid bounds at indices {wrong}: lower > upper, {low[wrong]} > {high[wrong]}"
        )
    return low, high


def validate_initial_params(
    params: npt.ArrayLike,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
    logger: Logger | None = None,
) -> Floats:
    """Return parameters brought within bounds."""
    values = np.asarray(params, float)
    if bounds is None:
        return values
    clipped: Floats = np.clip(values, np.asarray(bounds[0]), np.asarray(bounds[1]))
    moved = int(np.sum(~np.isclose(values, clipped)))
    if moved and logger is not None:
        logger.warning("%d parameters were brought within their bounds", moved)
    return clipped


def convert_bounds_to_nlsq_format(
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
) -> Bounds | None:
    """Return bounds as arrays of double precision."""
    if bounds is None:
        return None
    low, high = bounds
    return np.asarray(low, np.float64), np.asarray(high, np.float64)


def build_parameter_labels(
    per_angle_scaling: bool, n_phi: int, physical_param_names: Sequence[str]
) -> list[str]:
    """Return the names of all places of a vector."""
    if not per_angle_scaling:
        return ["contrast", "offset", *physical_param_names]
    scaling = [f"{name}[{i}]" for name in ("contrast", "offset") for i in range(n_phi)]
    return [*scaling, *physical_param_names]


def classify_parameter_status(
    values: npt.ArrayLike,
    lower: npt.ArrayLike | None,
    upper: npt.ArrayLike | None,
    atol: float = 1e-9,
) -> list[str]:
    """Say of each parameter whether it is 'active', 'at_lower_bound' or 'at_upper_bound'."""
    found = np.atleast_1d(np.asarray(values, float))
    if lower is None or upper is None:
        return ["active"] * len(found)
    said = []
    for value, low, high in zip(found, np.asarray(lower), np.asarray(upper), strict=False):
        if np.isclose(value, low, atol=atol * (1.0 + abs(low))):
            said.append("at_lower_bound")
        elif np.isclose(value, high, atol=atol * (1.0 + abs(high))):
            said.append("at_upper_bound")
        else:
            said.append("active")
    return said
