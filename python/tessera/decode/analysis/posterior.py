"""Numbers that sum up a posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Floats
from tessera.decode.exceptions import ShapeValidationError

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

__all__ = ["maximum_a_posteriori_estimate", "sample_posterior"]


def _is_xarray(posterior: Any) -> bool:
    return hasattr(posterior, "dims") and hasattr(posterior, "transpose")


def flat_posterior(posterior: Any) -> tuple[Floats, Floats | None]:
    """Return (n_time, n_bins) and the position of every bin, None where unknown."""
    if not _is_xarray(posterior):
        array = np.asarray(posterior, dtype=np.float64)
        return array.reshape(len(array), -1), None
    if "state_bins" in posterior.dims:
        posterior = posterior.unstack("state_bins")
        if "state" in posterior.dims:
            posterior = posterior.sum("state", min_count=1)
    axes = [str(dim) for dim in posterior.dims if str(dim).endswith("position")]
    if not axes:
        raise ShapeValidationError(f"posterior: no axis of positions among {posterior.dims}")
    ordered = posterior.transpose("time", *axes)
    mesh = np.meshgrid(*(ordered[axis].values for axis in axes), indexing="ij")
    places = np.stack([axis.ravel() for axis in mesh], axis=1)
    array = np.asarray(ordered.values, dtype=np.float64)
    known = ~np.isnan(places).any(axis=1)
    return array.reshape(len(array), -1)[:, known], places[known]


def maximum_a_posteriori_estimate(
    posterior: xr.DataArray | ArrayLike, positions: ArrayLike | None = None
) -> Floats:
    """Return the most likely position at every time.

    Parameters
    ----------
    posterior : xarray.DataArray or array, shape (n_time, n_bins)
        From ``results.acausal_posterior``, unstacked or not; states are summed.
    positions : array, shape (n_bins, n_dim), optional
        Bin centres, needed where posterior is a plain array.

    Returns
    -------
    ndarray, shape (n_time, n_dim)
        Centre of the bin with the largest value; NaN where all values are NaN.
    """
    values, places = flat_posterior(posterior)
    if places is None:
        if positions is None:
            raise ShapeValidationError("positions: needed with a plain array")
        places = np.asarray(positions, dtype=np.float64).reshape(values.shape[1], -1)
    unknown = np.isnan(values).all(axis=1)
    best = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=1)
    estimate: Floats = places[best].copy()
    estimate[unknown] = np.nan
    return estimate


def sample_posterior(
    posterior: xr.DataArray | ArrayLike,
    place_bin_edges: ArrayLike,
    n_samples: int = 1000,
    seed: int | np.random.Generator | None = None,
) -> Floats:
    """Draw positions from a posterior over one coordinate.

    Parameters
    ----------
    posterior : xarray.DataArray or array, shape (n_time, n_bins)
        Unnormalised is fine; NaN counts as 0.
    place_bin_edges : array, shape (n_bins + 1,)
        Edges of the bins; within a bin all positions are equally likely.
    n_samples : int
        How many per time.
    seed : int or numpy.random.Generator, optional
        For the same samples again.

    Returns
    -------
    ndarray, shape (n_time, n_samples)
        Positions.
    """
    values, _ = flat_posterior(posterior)
    edges = np.asarray(place_bin_edges, dtype=np.float64).squeeze()
    if edges.shape != (values.shape[1] + 1,):
        raise ShapeValidationError(
            f"place_bin_edges: {edges.size} edges for {values.shape[1]} bins; expected one more"
        )
    rng = np.random.default_rng(seed)
    weights = np.nan_to_num(values)
    cumulative = np.cumsum(weights, axis=1)
    cumulative /= cumulative[:, -1:]
    samples = np.empty((len(values), n_samples))
    for row, line in enumerate(cumulative):
        chosen = np.searchsorted(line, rng.random(n_samples), side="right")
        chosen = np.minimum(chosen, len(line) - 1)
        samples[row] = edges[chosen] + rng.random(n_samples) * np.diff(edges)[chosen]
    return samples
