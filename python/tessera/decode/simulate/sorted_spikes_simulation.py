"""Sorted spikes of an animal on a linear track that rests, with scripted events in the rests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera.decode._data import Array, Floats, Mask
from tessera.decode.simulate import simulate
from tessera.decode.simulate._rates import (
    estimate_position_density,
    estimate_position_distance,
    get_firing_rate,
)
from tessera.decode.simulate.simulate import (
    random_numbers,
    simulate_place_field_firing_rate,
    simulate_time,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "create_place_field",
    "estimate_position_density",
    "estimate_position_distance",
    "gaussian_pdf",
    "get_firing_rate",
    "get_trajectory_direction",
    "make_continuous_replay",
    "make_fragmented_replay",
    "make_simulated_data",
    "simulate_linear_distance_with_pauses",
    "simulate_neuron_with_place_field",
    "simulate_place_field_firing_rate",
    "simulate_poisson_spikes",
    "simulate_position",
    "simulate_time",
    "simulate_two_state_inhomogenous_poisson",
]

TRACK_HEIGHT = 170
SAMPLING_FREQUENCY = 1500
_PERIOD = 10.0  # s from one end to the other and back
_DURATION = 65  # s
_PAUSE = 3  # s
_N_PAUSE = 5
_SILENCE = 0.5  # s
_FRAGMENT_SPEEDUP = 20


def gaussian_pdf(x: ArrayLike, mean: ArrayLike, sigma: ArrayLike) -> Floats:
    """Return the normal density, element by element.

    Parameters
    ----------
    x, mean, sigma : array
        Where, centre and standard deviation; broadcast against each other.

    Returns
    -------
    ndarray
        Densities.
    """
    from tessera.decode.likelihoods import common

    return common.gaussian_pdf(x, mean, sigma)


def simulate_poisson_spikes(
    rate: ArrayLike,
    sampling_frequency: float,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
) -> Array:
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
    ndarray of int, shape (n_time,)
        How often it fires in every sample.
    """
    counts: Array = random_numbers(seed, rng).poisson(np.asarray(rate) / sampling_frequency)
    return counts


def simulate_position(
    time: ArrayLike, track_height: float, running_speed: float = _PERIOD
) -> Floats:
    """Return the position of an animal that runs back and forth.

    Parameters
    ----------
    time : array, shape (n_time,)
        Seconds.
    track_height : float
        Length of the track, cm.
    running_speed : float, default 10
        Seconds of a run there and back, whatever its name says.

    Returns
    -------
    ndarray, shape (n_time,)
        A sinusoid that begins at 0.
    """
    phase = 2 * np.pi * np.asarray(time, dtype=np.float64) / running_speed
    position: Floats = track_height / 2 * np.sin(phase - np.pi / 2) + track_height / 2
    return position


def simulate_linear_distance_with_pauses(
    time: ArrayLike,
    track_height: float,
    running_speed: float = _PERIOD,
    pause: float = 0.5,
    sampling_frequency: float = 1.0,
) -> Floats:
    """Return the position of an animal that rests whenever it reaches the far end.

    Parameters
    ----------
    time : array, shape (n_time,)
        Seconds.
    track_height : float
        Length of the track, cm.
    running_speed : float, default 10
        Seconds of a run there and back.
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
    rests = int(pause * sampling_frequency)
    repeats = np.where(position == track_height, 1 + rests, 1)
    return np.repeat(position, repeats)[: len(position)]


def simulate_neuron_with_place_field(
    means: ArrayLike,
    position: ArrayLike,
    max_rate: float = 15.0,
    variance: float = 12.5,
    sampling_frequency: float = 500.0,
    is_condition: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> Array:
    """Return how often a neuron with a Gaussian place field fires.

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
    ndarray of int, shape (n_time,)
        Spikes of every sample.
    """
    rate = simulate_place_field_firing_rate(means, position, max_rate, variance, is_condition)
    return simulate_poisson_spikes(rate, sampling_frequency, rng=rng)


def get_trajectory_direction(position: ArrayLike) -> tuple[Array, Mask]:
    """Say which way the animal runs.

    Parameters
    ----------
    position : array, shape (n_time,)
        On a line.

    Returns
    -------
    direction : ndarray of str, shape (n_time,)
        'Inbound' where position falls and 'Outbound' elsewhere.
    is_inbound : ndarray of bool, shape (n_time,)
        The same as flags.
    """
    direction = simulate.get_trajectory_direction(position)
    return direction, direction == "Inbound"


def simulate_two_state_inhomogenous_poisson(
    seed: int | None = None,
) -> tuple[Floats, Floats, Array]:
    """Simulate a neuron with one place field on the way there and another on the way back.

    Parameters
    ----------
    seed : int, optional
        Makes it repeatable.

    Returns
    -------
    time : ndarray, shape (n_time,)
        Four minutes at 500 Hz.
    position : ndarray, shape (n_time, 1)
        Cm.
    spikes : ndarray of int, shape (n_time,)
        Spikes of every sample.
    """
    numbers = random_numbers(seed, None)
    rate = 500
    time = simulate_time(rate * 240, rate)
    position = simulate_position(time, TRACK_HEIGHT)[:, np.newaxis]
    _, inbound = get_trajectory_direction(position[:, 0])
    spikes = simulate_neuron_with_place_field([50], position, 30, 36, rate, inbound, numbers)
    spikes = spikes + simulate_neuron_with_place_field(
        [150], position, 10, 36, rate, ~inbound, numbers
    )
    return time, position, spikes


def create_place_field(
    place_field_mean: float,
    position: ArrayLike,
    sampling_frequency: float = SAMPLING_FREQUENCY,
    is_condition: ArrayLike | None = None,
    place_field_std_deviation: float = 12.5**0.5,
    max_firing_rate: float = 20.0,
    baseline_firing_rate: float = 0.001,
) -> Floats:
    """Return the rate of a neuron with a place field and a baseline.

    Parameters
    ----------
    place_field_mean : float
        Centre of the field, cm.
    position : array, shape (n_time,)
        The animal, cm.
    sampling_frequency : float
        Accepted and not used.
    is_condition : array of bool, shape (n_time,), optional
        The field is silent elsewhere.
    place_field_std_deviation : float, default 3.5
        Width of the field, cm.
    max_firing_rate, baseline_firing_rate : float
        Hz, at the centre and everywhere.

    Returns
    -------
    ndarray, shape (n_time,)
        Hz.
    """
    del sampling_frequency
    rate = simulate_place_field_firing_rate(
        place_field_mean, position, max_firing_rate, place_field_std_deviation**2, is_condition
    )
    return baseline_firing_rate + rate


def make_continuous_replay(
    n_neurons: int = 8, n_samples_between_spikes: int = 20, is_outbound: bool = True
) -> Floats:
    """Script a replay in which neurons fire one after another.

    Parameters
    ----------
    n_neurons : int, default 8
        How many.
    n_samples_between_spikes : int, default 20
        Distance of their spikes.
    is_outbound : bool, default True
        Last to first, else first to last.

    Returns
    -------
    ndarray, shape (n_time, n_neurons)
        1 where there is a spike.
    """
    spikes = np.zeros(((n_neurons - 1) * n_samples_between_spikes + 1, n_neurons))
    order = np.arange(n_neurons)
    spikes[order * n_samples_between_spikes, order[::-1] if is_outbound else order] = 1
    return spikes


def make_fragmented_replay(
    place_field_means: ArrayLike,
    sampling_frequency: float,
    cont_replay_speed: float,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
) -> Floats:
    """Script a replay in which half of the neurons fire in random order.

    Parameters
    ----------
    place_field_means : array, shape (n_neurons,)
        Centres of the place fields, cm.
    sampling_frequency : float
        Samples per second.
    cont_replay_speed : float
        M/s of a continuous replay; this one is 20 times as fast.
    seed : int, optional
        Makes it repeatable.
    rng : numpy.random.Generator, optional
        Instead of a seed.

    Returns
    -------
    ndarray, shape (n_time, n_neurons)
        1 where there is a spike.
    """
    means = np.asarray(place_field_means, dtype=np.float64)
    numbers = random_numbers(seed, rng)
    neurons = numbers.choice(len(means), len(means) // 2, replace=False)
    speed = 100 * cont_replay_speed * _FRAGMENT_SPEEDUP  # cm/s
    steps = (np.abs(np.diff(means[neurons])) / speed * sampling_frequency).astype(int)
    rows = np.concatenate(([0], np.cumsum(steps)))
    spikes = np.zeros((rows[-1] + 1, len(means)))
    spikes[rows, neurons] = 1
    return spikes


def _resting_animal(time: Floats, track_height: float) -> tuple[Floats, Floats]:
    """Return the position, and the times at which the rests at the far end begin."""
    lap = _DURATION / _N_PAUSE
    running = lap - _PAUSE
    phase = time % lap
    half = running / 2
    out = np.minimum(phase, half)
    back = np.clip(phase - half - _PAUSE, 0, half)
    position = simulate_position(out + back, track_height, 2 * half)
    pauses: Floats = half + lap * np.arange(_N_PAUSE, dtype=np.float64)
    return position, pauses


def make_simulated_data(
    track_height: float = TRACK_HEIGHT,
    sampling_frequency: int = SAMPLING_FREQUENCY,
    replay_speed: float = 6.0,
    n_neurons: int = 25,
    seed: int | None = None,
) -> tuple[Floats, Floats, list[Floats], Floats, Floats, int, Mask, Floats]:
    """Simulate 65 s with five rests: two continuous replays, a fragmented one, silence, nothing.

    Parameters
    ----------
    track_height : float
        Length of the track, cm.
    sampling_frequency : int
        Samples per second.
    replay_speed : float
        M/s.
    n_neurons : int
        How many.
    seed : int, optional
        Makes it repeatable.

    Returns
    -------
    speed, linear_distance : ndarray, shape (n_time,)
        Cm/s and cm.
    spike_times : list of ndarray
        One per neuron, seconds.
    time : ndarray, shape (n_time,)
        Seconds.
    event_times : ndarray, shape (5, 2)
        Start and end of the events; the last is empty.
    sampling_frequency : int
        As given.
    is_event : ndarray of bool, shape (n_time,)
        Where there is an event.
    place_fields : ndarray, shape (n_time, n_neurons)
        Rates of the neurons at the animal's position, Hz.
    """
    numbers = random_numbers(seed, None)
    time = simulate_time(sampling_frequency * _DURATION, sampling_frequency)
    position, pauses = _resting_animal(time, track_height)
    position = position + 1e-4 * numbers.standard_normal(len(time))
    speed = np.concatenate(([0.0], np.abs(np.diff(position) / np.diff(time))))
    means = np.linspace(0, track_height, n_neurons)
    place_fields = np.stack([create_place_field(mean, position) for mean in means], axis=1)
    spikes = simulate_poisson_spikes(place_fields, sampling_frequency, rng=numbers)
    step = int(np.diff(means)[0] / (100 * replay_speed) * sampling_frequency)
    silence = np.zeros((int(_SILENCE * sampling_frequency), n_neurons))
    events = [
        make_continuous_replay(n_neurons, step, is_outbound=True),
        make_fragmented_replay(means, sampling_frequency, replay_speed, rng=numbers),
        make_continuous_replay(n_neurons, step, is_outbound=False),
        silence,
        np.zeros((0, n_neurons)),
    ]
    starts = pauses + _PAUSE / 2
    is_event = np.zeros(len(time), dtype=bool)
    for start, event in zip(starts, events, strict=True):
        first = int(np.searchsorted(time, start))
        spikes[first : first + len(event)] = event
        is_event[first : first + len(event)] = True
    ends = starts + np.array([len(event) for event in events]) / sampling_frequency
    return (
        speed,
        position,
        [time[column > 0] for column in spikes.T],
        time,
        np.stack((starts, ends), axis=1),
        sampling_frequency,
        is_event,
        place_fields,
    )
