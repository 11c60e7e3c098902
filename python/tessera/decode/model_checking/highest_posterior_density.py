"""Highest-density regions: the smallest set of bins that holds most of a posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Floats, Mask

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

__all__ = [
    "get_HPD_spatial_coverage",
    "get_highest_posterior_threshold",
    "isin_hpd",
]


def _rows(posterior: Any) -> Floats:
    array = np.asarray(posterior, dtype=np.float64)
    return array.reshape(len(array), -1)


def get_highest_posterior_threshold(posterior: ArrayLike, coverage: float = 0.95) -> Floats:
    """Return the smallest value inside the highest-density region at every time.

    Parameters
    ----------
    posterior : xarray.DataArray or array, shape (n_time, ...)
        Bins that are NaN at any time are left out; times at which all are NaN are not asked.
    coverage : float
        Share of the posterior the region holds.

    Returns
    -------
    ndarray, shape (n_time,)
        Bins of at least this value make up the region; NaN where there is no posterior.
    """
    rows = _rows(posterior)
    is_nan = np.isnan(rows)
    is_known = ~is_nan.all(axis=1)
    threshold = np.full(len(rows), np.nan)
    values = rows[is_known][:, ~is_nan[is_known].any(axis=0)]
    if values.size == 0:
        return threshold
    total = values.sum(axis=1, keepdims=True)
    descending = -np.sort(-values, axis=1)
    with np.errstate(invalid="ignore"):
        reached = np.cumsum(descending / total, axis=1) >= coverage
    last = np.where(reached.any(axis=1), np.argmax(reached, axis=1), values.shape[1] - 1)
    threshold[is_known] = descending[np.arange(len(values)), last]
    return threshold


def isin_hpd(posterior: ArrayLike, coverage: float = 0.95) -> Mask:
    """Say which bins are in the highest-density region.

    Parameters
    ----------
    posterior : array, shape (n_time, n_bins)
        Probabilities.
    coverage : float, default 0.95
        Share that the region holds.

    Returns
    -------
    ndarray of bool, shape (n_time, n_bins)
        True inside.
    """
    values = _rows(posterior)
    with np.errstate(invalid="ignore"):
        inside: Mask = values >= get_highest_posterior_threshold(values, coverage)[:, np.newaxis]
    return inside


def get_HPD_spatial_coverage(  # noqa: N802
    posterior: xr.DataArray | ArrayLike, hpd_threshold: ArrayLike, bin_size: float | None = None
) -> Floats:
    """Return the length (or area) of the highest-density region at every time.

    Parameters
    ----------
    posterior : xarray.DataArray or array, shape (n_time, ...)
        With coordinate ``position`` (or x_position and y_position) where bin_size is not given.
    hpd_threshold : array, shape (n_time,)
        From :func:`get_highest_posterior_threshold`.
    bin_size : float, optional
        Length or area of a bin.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm, or cm^2.
    """
    if bin_size is None:
        labelled: Any = posterior
        axes = [dim for dim in labelled.dims if str(dim).endswith("position")]
        bin_size = 1.0
        for axis in axes:
            bin_size *= float(np.diff(np.asarray(labelled[axis]))[0])
    with np.errstate(invalid="ignore"):
        inside = _rows(posterior) >= np.asarray(hpd_threshold)[:, np.newaxis]
    covered: Floats = inside.sum(axis=1) * bin_size
    return covered
