"""Rates over places, as the original's simulation estimates them to check itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera.decode._data import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["estimate_position_density", "estimate_position_distance", "get_firing_rate"]


def estimate_position_distance(
    place_bin_centers: ArrayLike, positions: ArrayLike, position_std: float | ArrayLike
) -> Floats:
    """Return the kernel between every position and every bin.

    Parameters
    ----------
    place_bin_centers : array, shape (n_bins, n_dim)
        Centres of the bins.
    positions : array, shape (n_time, n_dim)
        Centres of the kernels.
    position_std : float or array, shape (n_dim,)
        Bandwidth.

    Returns
    -------
    ndarray, shape (n_time, n_bins)
        Products over dimensions of a normal density.
    """
    from tessera.decode.likelihoods.clusterless_kde import kde_distance

    return kde_distance(place_bin_centers, positions, np.asarray(position_std, dtype=np.float64))


def estimate_position_density(
    place_bin_centers: ArrayLike,
    positions: ArrayLike,
    position_std: float | ArrayLike,
    block_size: int | None = 100,
    sample_weights: ArrayLike | None = None,
) -> Floats:
    """Return the kernel density of positions at every bin.

    Parameters
    ----------
    place_bin_centers, positions, position_std
        As of :func:`estimate_position_distance`.
    block_size : int, default 100
        Bins at a time.
    sample_weights : array, shape (n_time,), optional
        Of the positions.

    Returns
    -------
    ndarray, shape (n_bins,)
        Densities.
    """
    from tessera.decode.likelihoods.common import block_kde

    size = block_size or 0
    return block_kde(place_bin_centers, positions, position_std, size, sample_weights)


def get_firing_rate(
    is_spike: ArrayLike,
    position: ArrayLike,
    place_bin_centers: ArrayLike,
    is_track_interior: ArrayLike,
    not_nan_position: ArrayLike,
    occupancy: ArrayLike,
    position_std: float | ArrayLike,
    block_size: int | None = None,
    weights: ArrayLike | None = None,
) -> Floats:
    """Return the rate of a neuron in every bin.

    Parameters
    ----------
    is_spike : array, shape (n_time,)
        Spikes of every sample.
    position : array, shape (n_time, n_dim)
        The animal.
    place_bin_centers : array, shape (n_bins, n_dim)
        Centres of the bins.
    is_track_interior : array of bool, shape (n_bins,)
        Where the animal can be.
    not_nan_position : array of bool, shape (n_time,)
        Where it was seen.
    occupancy : array, shape (n_bins,)
        Density of its positions.
    position_std, block_size
        As of :func:`estimate_position_density`.
    weights : array, shape (n_time,), optional
        Of the samples.

    Returns
    -------
    ndarray, shape (n_bins,)
        Spikes per sample; 0 of a neuron that never fires.
    """
    spikes, there = np.asarray(is_spike), np.asarray(occupancy, dtype=np.float64)
    if not spikes.sum() > 0:
        return np.zeros_like(there)
    each = np.ones(len(spikes)) if weights is None else np.asarray(weights, dtype=np.float64)
    used = spikes.astype(bool) & np.asarray(not_nan_position, dtype=bool)
    inside = np.asarray(is_track_interior, dtype=bool).ravel()
    density = np.zeros(len(inside))
    density[inside] = estimate_position_density(
        np.asarray(place_bin_centers)[inside],
        np.asarray(position)[used],
        position_std,
        block_size,
        each[used],
    )
    rate: Floats = np.spacing(1.0) + np.average(spikes, weights=each) * density / there
    return rate
