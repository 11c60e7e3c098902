"""Contrast and offset read off the data, before any model is fitted."""

from __future__ import annotations

from collections.abc import Callable
from logging import Logger, LoggerAdapter
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

__all__ = [
    "compute_averaged_scaling",
    "estimate_contrast_offset_from_quantiles",
    "estimate_per_angle_scaling",
]

Bounds = tuple[float, float]
_FEWEST = 100  # points below which quantiles say nothing
_FEWEST_OF_A_REGION = 10


def _region(values: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    return values[mask] if np.count_nonzero(mask) >= _FEWEST_OF_A_REGION else values


def estimate_contrast_offset_from_quantiles(
    c2_data: npt.ArrayLike,
    delta_t: npt.ArrayLike,
    contrast_bounds: Bounds = (0.0, 1.0),
    offset_bounds: Bounds = (0.5, 1.5),
    lag_floor_quantile: float = 0.8,
    lag_ceiling_quantile: float = 0.2,
    value_quantile_low: float = 0.1,
    value_quantile_high: float = 0.9,
) -> tuple[float, float]:
    """Read contrast and offset off correlations at long and at short lags.

    Parameters
    ----------
    c2_data, delta_t : array, shape (n,)
        Correlations and lags; those that are not finite are left out.
    contrast_bounds, offset_bounds : (float, float)
        What is found is clipped to them; with fewer than 100 points their middle is returned.
    lag_floor_quantile, lag_ceiling_quantile : float
        Lags above the one show the offset, below the other the top.
    value_quantile_low, value_quantile_high : float
        Quantiles of the values there.

    Returns
    -------
    (float, float)
        Contrast and offset.
    """
    c2, lags = np.asarray(c2_data), np.asarray(delta_t)
    finite = np.isfinite(c2)
    c2, lags = c2[finite], lags[finite]
    if len(c2) < _FEWEST:
        return sum(contrast_bounds) / 2.0, sum(offset_bounds) / 2.0
    far = lags >= np.percentile(lags, lag_floor_quantile * 100)
    near = lags <= np.percentile(lags, lag_ceiling_quantile * 100)
    floor = np.percentile(_region(c2, far), value_quantile_low * 100)
    offset = float(np.clip(floor, *offset_bounds))
    top = np.percentile(_region(c2, near), value_quantile_high * 100)
    return float(np.clip(top - offset, *contrast_bounds)), offset


def estimate_per_angle_scaling(
    c2_data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    phi_indices: npt.ArrayLike,
    n_phi: int,
    contrast_bounds: Bounds,
    offset_bounds: Bounds,
    log: Logger | LoggerAdapter[Logger] | None = None,
) -> dict[str, float]:
    """Read contrast and offset of every angle off the data.

    Parameters
    ----------
    c2_data, t1, t2 : array, shape (n,)
        Correlations and their times.
    phi_indices : array of int, shape (n,)
        Which angle each point is of.
    n_phi : int
        Number of angles.
    contrast_bounds, offset_bounds : (float, float)
        See :func:`estimate_contrast_offset_from_quantiles`.
    log : Logger, optional
        Told what was found.

    Returns
    -------
    dict
        ``contrast_0``, ``offset_0`` and so on.
    """
    say: Callable[..., None] = (lambda *_: None) if log is None else log.debug
    c2, places = np.asarray(c2_data), np.asarray(phi_indices)
    lags = np.abs(np.asarray(t1) - np.asarray(t2))
    found: dict[str, float] = {}
    for place in range(n_phi):
        mask = places == place
        contrast, offset = estimate_contrast_offset_from_quantiles(
            c2[mask], lags[mask], contrast_bounds, offset_bounds
        )
        say("angle %d: contrast %.4f, offset %.4f", place, contrast, offset)
        found[f"contrast_{place}"] = contrast
        found[f"offset_{place}"] = offset
    return found


def compute_averaged_scaling(
    c2_data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    phi_indices: npt.ArrayLike,
    n_phi: int,
    contrast_bounds: Bounds,
    offset_bounds: Bounds,
    log: Logger | LoggerAdapter[Logger] | None = None,
) -> tuple[float, float, Floats, Floats]:
    """Read one contrast and offset for all angles off the data: the means over angles.

    Parameters
    ----------
    c2_data, t1, t2, phi_indices, n_phi, contrast_bounds, offset_bounds, log
        As in :func:`estimate_per_angle_scaling`.

    Returns
    -------
    contrast, offset : float
        Means.
    contrasts, offsets : ndarray, shape (n_phi,)
        Of each angle.
    """
    found = estimate_per_angle_scaling(
        c2_data, t1, t2, phi_indices, n_phi, contrast_bounds, offset_bounds, log
    )
    contrasts = np.array([found[f"contrast_{place}"] for place in range(n_phi)])
    offsets = np.array([found[f"offset_{place}"] for place in range(n_phi)])
    return float(np.nanmean(contrasts)), float(np.nanmean(offsets)), contrasts, offsets
