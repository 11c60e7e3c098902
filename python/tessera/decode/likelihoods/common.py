"""What likelihoods share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera import _core
from tessera.decode import _data
from tessera.decode._data import Array, Floats

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

__all__ = [
    "EPS",
    "LOG_EPS",
    "get_position_at_time",
    "get_spike_time_bin_ind",
    "get_spikecount_per_time_bin",
    "kde",
]

EPS = 1e-15
LOG_EPS = float(np.log(EPS))


def get_position_at_time(
    time: ArrayLike,
    position: ArrayLike,
    spike_times: ArrayLike,
    env: Environment | None = None,
) -> Floats:
    """Return the position at other times, interpolated; bin coordinates with an environment.

    Parameters
    ----------
    time : array, shape (n_sample,)
        Times of the positions.
    position : array, shape (n_sample, n_dim)
        Positions.
    spike_times : array, shape (n,)
        Where to evaluate; beyond the ends the last slope goes on.
    env : Environment, optional
        With a track graph: positions are mapped to the line.

    Returns
    -------
    ndarray, shape (n, n_dim)
        Positions.
    """
    points = np.asarray(
        _core.decode_position_at(
            _data.vector(time, "time"),
            _data.position(position),
            _data.vector(spike_times, "spike_times"),
        )
    )
    if env is not None and env.track_graph is not None and len(points):
        points = env.linearize(points)
    return points


def get_spike_time_bin_ind(spike_times: ArrayLike, time: ArrayLike) -> Array:
    """Find the rows of spikes.

    Parameters
    ----------
    spike_times : array, shape (n_spike,)
        Seconds.
    time : array, shape (n_time,)
        Left edges of the time bins.

    Returns
    -------
    ndarray of int
        Row of every spike that lies within [time[0], time[-1]].
    """
    rows = np.asarray(
        _core.decode_time_bin(_data.vector(time, "time"), _data.vector(spike_times, "spike_times"))
    )
    return rows[rows >= 0]


def get_spikecount_per_time_bin(spike_times: ArrayLike, time: ArrayLike) -> Array:
    """Count the spikes of every row.

    Parameters
    ----------
    spike_times : array, shape (n_spike,)
        Seconds.
    time : array, shape (n_time,)
        Left edges of the time bins.

    Returns
    -------
    ndarray of int, shape (n_time,)
        How many.

    Examples
    --------
    >>> from tessera.decode.likelihoods.common import get_spikecount_per_time_bin
    >>> get_spikecount_per_time_bin([0.1, 0.2, 1.5], [0.0, 1.0, 2.0])
    array([2, 1, 0])
    """
    rows = get_spike_time_bin_ind(spike_times, time)
    return np.bincount(rows, minlength=len(_data.vector(time, "time")))


def kde(eval_points: ArrayLike, samples: ArrayLike, std: ArrayLike) -> Floats:
    """Return the Gaussian kernel density of samples at points.

    Parameters
    ----------
    eval_points : array, shape (n_points, n_dim)
        Where.
    samples : array, shape (n_samples, n_dim)
        Of what.
    std : float or array, shape (n_dim,)
        Bandwidth.

    Returns
    -------
    ndarray, shape (n_points,)
        Densities; 0 without samples.
    """
    points, data = _data.position(eval_points), _data.position(samples)
    width = np.broadcast_to(_data.reals(std, "std"), (points.shape[1],))
    if not len(data):
        return np.zeros(len(points))
    density = np.empty(len(points))
    rows = max(1, 2**22 // len(data))
    for first in range(0, len(points), rows):
        u = (points[first : first + rows, None] - data[None]) / width
        density[first : first + rows] = np.exp(-0.5 * (u**2).sum(axis=2)).mean(axis=1)
    normal: Floats = density / np.prod(width * np.sqrt(2 * np.pi))
    return normal
