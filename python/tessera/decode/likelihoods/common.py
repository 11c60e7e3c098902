"""What likelihoods share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode._foreign import traced_by

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike
    from tessera.decode.environment import Environment

__all__ = [
    "EPS",
    "LOG_EPS",
    "KDEModel",
    "as_std_array",
    "block_kde",
    "block_log_kde",
    "gaussian_pdf",
    "get_position_at_time",
    "get_spike_time_bin_ind",
    "get_spikecount_per_time_bin",
    "kde",
    "log_gaussian_pdf",
    "log_kde",
    "safe_divide",
    "safe_log",
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
        Seconds, within [time[0], time[-1]]; others count as in the first or last row with spikes.
    time : array, shape (n_time,)
        Left edges of the time bins.

    Returns
    -------
    ndarray of int, shape (n_spike,)
        Row of every spike; one at the last time belongs to the row before.

    Examples
    --------
    >>> from tessera.decode.likelihoods.common import get_spike_time_bin_ind
    >>> get_spike_time_bin_ind([0.0, 0.5, 2.0], [0.0, 1.0, 2.0])
    array([0, 0, 1])
    """
    rows: Array = np.digitize(
        _data.vector(spike_times, "spike_times"), _data.vector(time, "time")[1:-1]
    )
    return rows


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
    edges, spikes = _data.vector(time, "time"), _data.vector(spike_times, "spike_times")
    inside = spikes[(spikes >= edges[0]) & (spikes <= edges[-1])]
    return np.bincount(get_spike_time_bin_ind(inside, edges), minlength=len(edges))


def as_std_array(std: float | ArrayLike, n_dims: int) -> Floats:
    """Return one bandwidth per dimension.

    Parameters
    ----------
    std : float or array, shape (n_dims,)
        Bandwidth; one number is that of all dimensions.
    n_dims : int
        How many there are.

    Returns
    -------
    ndarray, shape (n_dims,)
        An array of several is returned as it is.
    """
    values = _data.reals(std, "std")
    return np.full(n_dims, values.item()) if values.size == 1 else values


def log_gaussian_pdf(x: ArrayLike, mean: ArrayLike, sigma: ArrayLike) -> Floats:
    """Return the logarithm of the normal density, element by element; also inside ``jax.jit``.

    Parameters
    ----------
    x, mean, sigma : array
        Where, centre and standard deviation; broadcast against each other.

    Returns
    -------
    ndarray
        Logarithms.
    """
    traced = traced_by(x, mean, sigma)
    if traced is not None:
        return _log_normal(traced, x, mean, sigma)
    return _log_normal(np, *(np.asarray(values, dtype=np.float64) for values in (x, mean, sigma)))


def _log_normal(xp: Any, x: Any, mean: Any, sigma: Any) -> Floats:
    u = (x - mean) / sigma
    found: Floats = -0.5 * u**2 - xp.log(sigma * np.sqrt(2 * np.pi))
    return found


def gaussian_pdf(x: ArrayLike, mean: ArrayLike, sigma: ArrayLike) -> Floats:
    """Return the normal density, element by element; also inside ``jax.jit``.

    Parameters
    ----------
    x, mean, sigma : array
        Where, centre and standard deviation; broadcast against each other.

    Returns
    -------
    ndarray
        Densities.

    Examples
    --------
    >>> from tessera.decode.likelihoods.common import gaussian_pdf
    >>> round(float(gaussian_pdf(0.0, 0.0, 1.0)), 6)
    0.398942
    """
    traced = traced_by(x, mean, sigma)
    xp: Any = np if traced is None else traced
    found: Floats = xp.exp(log_gaussian_pdf(x, mean, sigma))
    return found


def log_kernel(points: Floats, samples: Floats, std: Floats) -> Floats:
    """Return (n_samples, n_points): logarithm of the product of the kernels of all dimensions."""
    total = np.zeros((len(samples), len(points)))
    for point, sample, width in zip(points.T, samples.T, std, strict=False):
        u = (point[np.newaxis, :] - sample[:, np.newaxis]) / width
        total -= 0.5 * u**2 + np.log(width * np.sqrt(2 * np.pi))
    return total


def _inputs(
    eval_points: ArrayLike, samples: ArrayLike, std: float | ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats, Floats]:
    points, data = _data.position(eval_points), _data.position(samples)
    each = np.ones(len(data)) if weights is None else _data.vector(weights, "weights")
    return points, data, as_std_array(std, points.shape[1]), each


def _slices(n_points: int, n_samples: int, block_size: int | None) -> list[slice]:
    """Cut points such that no table grows beyond some 32 MB, nor beyond a block that is asked."""
    rows = max(1, 2**22 // max(n_samples, 1))
    if block_size:
        rows = min(rows, block_size)
    return [slice(first, first + rows) for first in range(0, n_points, rows)]


def kde(
    eval_points: ArrayLike,
    samples: ArrayLike,
    std: float | ArrayLike,
    weights: ArrayLike | None = None,
) -> Floats:
    """Return the Gaussian kernel density of samples at points.

    Parameters
    ----------
    eval_points : array, shape (n_points, n_dim)
        Where.
    samples : array, shape (n_samples, n_dim)
        Of what.
    std : float or array, shape (n_dim,)
        Bandwidth.
    weights : array, shape (n_samples,), optional
        Of the samples; only their ratios matter.

    Returns
    -------
    ndarray, shape (n_points,)
        Densities; 0 without samples or weight.
    """
    return block_kde(eval_points, samples, std, 0, weights)


def block_kde(
    eval_points: ArrayLike,
    samples: ArrayLike,
    std: float | ArrayLike,
    block_size: int = 100,
    weights: ArrayLike | None = None,
) -> Floats:
    """Do what :func:`kde` does, some points at a time.

    Parameters
    ----------
    eval_points, samples, std, weights
        As of :func:`kde`.
    block_size : int, default 100
        At most so many points at a time; 0: as many as fit some memory.

    Returns
    -------
    ndarray, shape (n_points,)
        Densities.
    """
    points, data, width, each = _inputs(eval_points, samples, std, weights)
    density = np.zeros(len(points))
    total = each.sum()
    if total > 0:
        for rows in _slices(len(points), len(data), block_size):
            density[rows] = each @ np.exp(log_kernel(points[rows], data, width)) / total
    return density


def log_kde(
    eval_points: ArrayLike,
    samples: ArrayLike,
    std: float | ArrayLike,
    weights: ArrayLike | None = None,
) -> Floats:
    """Return the logarithm of :func:`kde`, where that is 0 to rounding, too.

    Parameters
    ----------
    eval_points, samples, std, weights
        As of :func:`kde`.

    Returns
    -------
    ndarray, shape (n_points,)
        Logarithms.
    """
    return block_log_kde(eval_points, samples, std, 0, weights)


def block_log_kde(
    eval_points: ArrayLike,
    samples: ArrayLike,
    std: float | ArrayLike,
    block_size: int = 100,
    weights: ArrayLike | None = None,
) -> Floats:
    """Do what :func:`log_kde` does, some points at a time.

    Parameters
    ----------
    eval_points, samples, std, weights
        As of :func:`kde`.
    block_size : int, default 100
        At most so many points at a time; 0: as many as fit some memory.

    Returns
    -------
    ndarray, shape (n_points,)
        Logarithms; without samples, that of 1e-15.
    """
    points, data, width, each = _inputs(eval_points, samples, std, weights)
    found = np.full(len(points), LOG_EPS)
    if not len(data):
        return found
    logs = safe_log(each)
    for rows in _slices(len(points), len(data), block_size):
        table = log_kernel(points[rows], data, width) + logs[:, np.newaxis]
        found[rows] = np.logaddexp.reduce(table, axis=0)
    found -= np.logaddexp.reduce(logs)
    return found


@dataclass
class KDEModel:
    """A kernel density that is fitted once and evaluated anywhere.

    Parameters
    ----------
    std : float or array, shape (n_dim,)
        Bandwidth.
    block_size : int, optional
        At most so many points at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.decode.likelihoods.common import KDEModel
    >>> model = KDEModel(std=1.0).fit(np.zeros((5, 1)))
    >>> model.predict(np.zeros((1, 1))).round(6)
    array([0.398942])
    """

    std: float | ArrayLike
    block_size: int | None = None

    def fit(self, samples: ArrayLike, weights: ArrayLike | None = None) -> KDEModel:
        """Keep the samples.

        Parameters
        ----------
        samples : array, shape (n_samples, n_dim)
            Of what.
        weights : array, shape (n_samples,), optional
            Of the samples.

        Returns
        -------
        self
            With ``samples_`` and ``weights_``.
        """
        self.samples_ = _data.position(samples, "samples")
        self.weights_ = (
            np.ones(len(self.samples_)) if weights is None else _data.vector(weights, "weights")
        )
        return self

    def predict(self, eval_points: ArrayLike) -> Floats:
        """Return the density.

        Parameters
        ----------
        eval_points : array, shape (n_points, n_dim)
            Where.

        Returns
        -------
        ndarray, shape (n_points,)
            Densities.
        """
        size = self.block_size or 0
        return block_kde(eval_points, self.samples_, self.std, size, self.weights_)

    def predict_log(self, eval_points: ArrayLike) -> Floats:
        """Return the logarithm of the density.

        Parameters
        ----------
        eval_points : array, shape (n_points, n_dim)
            Where.

        Returns
        -------
        ndarray, shape (n_points,)
            Logarithms.
        """
        size = self.block_size or 0
        return block_log_kde(eval_points, self.samples_, self.std, size, self.weights_)


def safe_divide(
    numerator: ArrayLike,
    denominator: ArrayLike,
    eps: float = EPS,
    condition: ArrayLike | None = None,
) -> Floats:
    """Divide; where the denominator is next to 0 the result is eps.

    Parameters
    ----------
    numerator, denominator : array
        Broadcast against each other.
    eps : float, default 1e-15
        What is next to 0, and what comes out there.
    condition : array of bool, optional
        Where eps comes out, instead.

    Returns
    -------
    ndarray
        Ratios.
    """
    bottom = np.asarray(denominator, dtype=np.float64)
    tiny = np.abs(bottom) < eps if condition is None else np.asarray(condition, dtype=bool)
    ratio = np.asarray(numerator, dtype=np.float64) / np.where(tiny, 1.0, bottom)
    found: Floats = np.where(tiny, eps, ratio)
    return found


def safe_log(x: ArrayLike, eps: float = EPS, condition: ArrayLike | None = None) -> Floats:
    """Return logarithms; of what is next to 0 it is that of eps.

    Parameters
    ----------
    x : array
        Not negative.
    eps : float, default 1e-15
        What is next to 0.
    condition : array of bool, optional
        Where the logarithm of eps comes out, instead.

    Returns
    -------
    ndarray
        Logarithms.
    """
    values = np.asarray(x, dtype=np.float64)
    tiny = np.abs(values) < eps if condition is None else np.asarray(condition, dtype=bool)
    found: Floats = np.log(np.where(tiny, eps, values))
    return found
