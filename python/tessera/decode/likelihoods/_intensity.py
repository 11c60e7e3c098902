"""The intensity of spikes with marks over places, from tables of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Floats, Mask
from tessera.decode.exceptions import ValidationError
from tessera.decode.likelihoods.common import EPS, LOG_EPS, as_std_array, log_kernel, safe_log

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike

_TINY = 1e-280  # below, a sum of products may have lost terms to underflow


def log_kde_distance(eval_points: ArrayLike, samples: ArrayLike, std: ArrayLike) -> Floats:
    """Return the logarithm of the kernel between every sample and every point.

    Parameters
    ----------
    eval_points : array, shape (n_points, n_dim)
        Where.
    samples : array, shape (n_samples, n_dim)
        Centres of the kernels.
    std : array, shape (n_dim,)
        Bandwidth.

    Returns
    -------
    ndarray, shape (n_samples, n_points)
        Sums over dimensions of the logarithm of a normal density.
    """
    points, data = _data.position(eval_points), _data.position(samples)
    return log_kernel(points, data, as_std_array(std, points.shape[1]))


def log_kde_distance_streaming(
    eval_points: ArrayLike, samples: ArrayLike, std: ArrayLike
) -> Floats:
    """Do what :func:`log_kde_distance` does; bandwidths below 1e-15 count as that.

    Parameters
    ----------
    eval_points, samples, std
        As there.

    Returns
    -------
    ndarray, shape (n_samples, n_points)
        As there.
    """
    return log_kde_distance(eval_points, samples, np.maximum(_data.reals(std, "std"), EPS))


def kde_distance(eval_points: ArrayLike, samples: ArrayLike, std: ArrayLike) -> Floats:
    """Return the kernel between every sample and every point.

    Parameters
    ----------
    eval_points : array, shape (n_points, n_dim)
        Where.
    samples : array, shape (n_samples, n_dim)
        Centres of the kernels.
    std : array, shape (n_dim,)
        Bandwidth.

    Returns
    -------
    ndarray, shape (n_samples, n_points)
        Products over dimensions of a normal density.

    Examples
    --------
    >>> from tessera.decode.likelihoods.clusterless_kde import kde_distance
    >>> kde_distance([[0.0]], [[0.0], [1.0]], [1.0]).round(6).tolist()
    [[0.398942], [0.241971]]
    """
    return np.exp(log_kde_distance(eval_points, samples, std))


def log_sums(left: Floats, right: Floats) -> Floats:
    """Return log(exp(left).T @ exp(right)) without underflow."""
    if not len(left):
        return np.full((left.shape[1], right.shape[1]), -np.inf)
    high, top = left.max(axis=0), right.max(axis=0)
    high, top = (np.where(np.isfinite(peak), peak, 0.0) for peak in (high, top))
    with np.errstate(divide="ignore"):
        products = np.exp(left - high).T @ np.exp(right - top)
        found: Floats = np.log(products) + high[:, np.newaxis] + top
    lost: Mask = products < _TINY
    for row in np.flatnonzero(lost.any(axis=1)):
        columns = np.flatnonzero(lost[row])
        terms = left[:, row, np.newaxis] + right[:, columns]
        found[row, columns] = np.logaddexp.reduce(terms, axis=0)
    return found


def log_intensity(
    marks: ArrayLike,
    encoding_marks: ArrayLike,
    waveform_stds: ArrayLike,
    occupancy: ArrayLike,
    mean_rate: float,
    log_places: Floats,
    weights: ArrayLike | None = None,
) -> Floats:
    """Return (n_spikes, n_bins); minus infinity where the animal never was."""
    table = log_kde_distance(marks, encoding_marks, waveform_stds)
    if weights is None:
        table -= np.log(max(len(table), 1))
    else:
        each = _data.vector(weights, "encoding_weights")
        with np.errstate(divide="ignore"):
            table += np.log(each)[:, np.newaxis]
        table -= safe_log(each.sum())
    there = _data.vector(occupancy, "occupancy")
    logs = safe_log(mean_rate) + log_sums(table, log_places) - safe_log(there)
    found: Floats = np.where(there > 0, logs, -np.inf)
    return found


def estimate_log_joint_mark_intensity(
    decoding_spike_waveform_features: ArrayLike,
    encoding_spike_waveform_features: ArrayLike,
    waveform_stds: ArrayLike,
    occupancy: ArrayLike,
    mean_rate: float,
    position_distance: ArrayLike,
    encoding_weights: ArrayLike | None = None,
) -> Floats:
    """Compute how often spikes with these marks occur in every place, as a logarithm.

    Parameters
    ----------
    decoding_spike_waveform_features : array, shape (n_spikes, n_features)
        Marks.
    encoding_spike_waveform_features : array, shape (n_encoding_spikes, n_features)
        Marks of the spikes that were learned.
    waveform_stds : array, shape (n_features,)
        Bandwidth of the marks.
    occupancy : array, shape (n_bins,)
        Density of the animal's positions.
    mean_rate : float
        Spikes per time bin.
    position_distance : array, shape (n_encoding_spikes, n_bins)
        Kernel of the places, see :func:`kde_distance`.
    encoding_weights : array, shape (n_encoding_spikes,), optional
        Of the spikes that were learned.

    Returns
    -------
    ndarray, shape (n_spikes, n_bins)
        Log intensity; minus infinity where the animal never was.
    """
    with np.errstate(divide="ignore"):
        places = np.log(_data.reals(position_distance, "position_distance"))
    return log_intensity(
        decoding_spike_waveform_features,
        encoding_spike_waveform_features,
        waveform_stds,
        occupancy,
        mean_rate,
        places,
        encoding_weights,
    )


def block_estimate_log_joint_mark_intensity(
    decoding_spike_waveform_features: ArrayLike,
    encoding_spike_waveform_features: ArrayLike,
    waveform_stds: ArrayLike,
    occupancy: ArrayLike,
    mean_rate: float,
    position_distance: ArrayLike,
    block_size: int = 100,
    encoding_weights: ArrayLike | None = None,
) -> Floats:
    """Do what the other one does, some spikes at a time, and let no logarithm be below log(1e-15).

    Parameters
    ----------
    decoding_spike_waveform_features, encoding_spike_waveform_features, waveform_stds, occupancy
        As of :func:`estimate_log_joint_mark_intensity`.
    mean_rate, position_distance, encoding_weights
        As there.
    block_size : int, default 100
        Spikes at a time.

    Returns
    -------
    ndarray, shape (n_spikes, n_bins)
        Log intensity.
    """
    with np.errstate(divide="ignore"):
        places = np.log(_data.reals(position_distance, "position_distance"))
    marks = _data.position(decoding_spike_waveform_features)
    found = np.empty((len(marks), len(_data.vector(occupancy, "occupancy"))))
    for first in range(0, len(marks), block_size):
        rows = slice(first, first + block_size)
        found[rows] = log_intensity(
            marks[rows],
            encoding_spike_waveform_features,
            waveform_stds,
            occupancy,
            mean_rate,
            places,
            encoding_weights,
        )
    return np.maximum(found, LOG_EPS)


def check_streaming(
    enc_tile_size: int | None, n_encoding: int, needed: tuple[ArrayLike | None, ...]
) -> None:
    """Refuse what the original refuses of streaming."""
    if enc_tile_size is None or enc_tile_size >= n_encoding:
        raise ValidationError(
            "use_streaming=True requires enc_tile_size < n_encoding_spikes",
            got=f"enc_tile_size={enc_tile_size}, n_encoding_spikes={n_encoding}",
        )
    if any(each is None for each in needed):
        raise ValidationError(
            "use_streaming=True requires encoding_positions, position_eval_points and position_std"
        )
