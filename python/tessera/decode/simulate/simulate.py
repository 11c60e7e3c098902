"""An animal on a linear track, and neurons with place fields.

Random numbers come from a generator or a seed that is given, else from ``numpy.random``, so that
``numpy.random.seed`` makes them repeatable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats, Mask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "get_trajectory_direction",
    "simulate_multiunit_with_place_fields",
    "simulate_neuron_with_place_field",
    "simulate_place_field_firing_rate",
    "simulate_poisson_spikes",
    "simulate_position",
    "simulate_position_with_pauses",
    "simulate_time",
]


def random_numbers(seed: int | None, rng: np.random.Generator | None) -> Any:
    """Return where random numbers come from: rng, else one of seed, else ``numpy.random``."""
    if rng is not None:
        return rng
    return np.random if seed is None else np.random.default_rng(seed)


def simulate_time(n_samples: int, sampling_frequency: float) -> Floats:
    """Return times from 0 on.

    Parameters
    ----------
    n_samples : int
        How many.
    sampling_frequency : float
        Samples per second.

    Returns
    -------
    ndarray, shape (n_samples,)
        Seconds.

    Examples
    --------
    >>> from tessera.decode.simulate.simulate import simulate_time
    >>> simulate_time(3, 10.0)
    array([0. , 0.1, 0.2])
    """
    times: Floats = np.arange(n_samples) / sampling_frequency
    return times


def simulate_position(time: ArrayLike, track_height: float, running_speed: float = 15) -> Floats:
    """Return the position of an animal that runs back and forth.

    Parameters
    ----------
    time : array, shape (n_time,)
        Seconds.
    track_height : float
        Length of the track, cm.
    running_speed : float
        Mean speed, cm/s.

    Returns
    -------
    ndarray, shape (n_time,)
        A sinusoid that begins at 0.
    """
    phase = np.pi * running_speed / track_height * np.asarray(time, dtype=np.float64)
    position: Floats = track_height / 2 * (1 + np.sin(phase - np.pi / 2))
    return position


def simulate_position_with_pauses(
    time: ArrayLike,
    track_height: float,
    running_speed: float = 15,
    pause: float = 0.5,
    sampling_frequency: float = 1,
) -> Floats:
    """Return the position of an animal that rests whenever it reaches the far end.

    Parameters
    ----------
    time : array, shape (n_time,)
        Seconds.
    track_height : float
        Length of the track, cm.
    running_speed : float, default 15
        Mean speed while it runs, cm/s.
    pause : float, default 0.5
        Seconds of a rest.
    sampling_frequency : float, default 1
        Samples per second.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm.
    """
    position = simulate_position(time, track_height, running_speed)
    at_end = np.isclose(position, track_height)
    repeats = np.where(at_end, 1 + int(pause * sampling_frequency), 1)
    return np.repeat(position, repeats)[: len(position)]


def simulate_poisson_spikes(
    rate: ArrayLike,
    sampling_frequency: float,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Let a neuron fire at random.

    Parameters
    ----------
    rate : array, shape (n_time,)
        Hz.
    sampling_frequency : float
        Samples per second.
    seed : int, optional
        Makes it repeatable.
    rng : numpy.random.Generator, optional
        Instead of a seed.

    Returns
    -------
    ndarray, shape (n_time,)
        1 where it fires at least once in a sample, else 0.
    """
    counts = random_numbers(seed, rng).poisson(np.asarray(rate) / sampling_frequency)
    return np.asarray(counts > 0, dtype=np.float64)


def simulate_place_field_firing_rate(
    means: ArrayLike,
    position: ArrayLike,
    max_rate: float = 15.0,
    variance: float = 12.5,
    is_condition: ArrayLike | None = None,
) -> Floats:
    """Return the rate of a neuron with a Gaussian place field.

    Parameters
    ----------
    means : float or array, shape (n_dim,)
        Centre of the field.
    position : array, shape (n_time,) or (n_time, n_dim)
        The animal.
    max_rate : float
        Largest rate on this trajectory, Hz.
    variance : float
        Of the field, cm^2.
    is_condition : array of bool, shape (n_time,), optional
        The neuron is silent elsewhere.

    Returns
    -------
    ndarray, shape (n_time,)
        Hz.
    """
    points = np.asarray(position, dtype=np.float64)
    points = points[:, np.newaxis] if points.ndim == 1 else points
    log_rate = -0.5 * ((points - np.asarray(means)) ** 2).sum(axis=1) / variance
    rate: Floats = max_rate * np.exp(log_rate - log_rate.max())
    if is_condition is not None:
        rate[~np.asarray(is_condition, dtype=bool)] = 0.0
    return rate


def simulate_neuron_with_place_field(
    means: ArrayLike,
    position: ArrayLike,
    max_rate: float = 15.0,
    variance: float = 12.5,
    sampling_frequency: float = 500,
    is_condition: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Return the spikes of a neuron with a Gaussian place field.

    Parameters
    ----------
    means, position, max_rate, variance, is_condition
        As in :func:`simulate_place_field_firing_rate`.
    sampling_frequency : float, default 500
        Samples per second.
    rng : numpy.random.Generator, optional
        Makes it repeatable.

    Returns
    -------
    ndarray, shape (n_time,)
        1 where there is one, else 0.
    """
    rate = simulate_place_field_firing_rate(means, position, max_rate, variance, is_condition)
    return simulate_poisson_spikes(rate, sampling_frequency, rng=rng)


def simulate_multiunit_with_place_fields(
    place_means: ArrayLike,
    position: ArrayLike,
    mark_spacing: float = 5,
    n_mark_dims: int = 4,
    place_variance: float = 12.5,
    mark_variance: float = 1.0,
    max_rate: float = 100.0,
    sampling_frequency: float = 1000,
    is_condition: ArrayLike | None = None,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Return the features of the spikes of one tetrode.

    Parameters
    ----------
    place_means : array, shape (n_neuron,) or (n_neuron, n_dim)
        Centres of the place fields.
    position : array, shape (n_time,) or (n_time, n_dim)
        The animal.
    mark_spacing : float
        Distance between the features of consecutive neurons.
    n_mark_dims : int
        Features per spike.
    place_variance, mark_variance : float
        Of place fields and features.
    max_rate : float
        Hz.
    sampling_frequency : float
        Samples per second.
    is_condition : array of bool, shape (n_time,), optional
        Silent elsewhere.
    seed : int, optional
        Makes it repeatable.
    rng : numpy.random.Generator, optional
        Instead of a seed.

    Returns
    -------
    ndarray, shape (n_time, n_mark_dims)
        NaN where there is no spike; where two neurons fire, the later one counts.
    """
    numbers = random_numbers(seed, rng)
    marks = np.full((len(np.asarray(position)), n_mark_dims), np.nan)
    for k, mean in enumerate(np.asarray(place_means)):
        spikes = simulate_neuron_with_place_field(
            mean, position, max_rate, place_variance, sampling_frequency, is_condition, numbers
        )
        is_spike: Mask = spikes > 0
        shape = (int(is_spike.sum()), n_mark_dims)
        marks[is_spike] = numbers.normal(k * mark_spacing, np.sqrt(mark_variance), shape)
    return marks


def get_trajectory_direction(position: ArrayLike) -> Array:
    """Say which way the animal runs.

    Parameters
    ----------
    position : array, shape (n_time,)
        On a line.

    Returns
    -------
    ndarray of str, shape (n_time,)
        'Inbound' where position falls and 'Outbound' elsewhere.

    Examples
    --------
    >>> from tessera.decode.simulate.simulate import get_trajectory_direction
    >>> get_trajectory_direction([0.0, 1.0, 0.5]).tolist()
    ['Outbound', 'Outbound', 'Inbound']
    """
    places = np.asarray(position)
    falls = np.diff(places, prepend=places[0]) < 0
    return np.where(falls, "Inbound", "Outbound")
