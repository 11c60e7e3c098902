"""Sorted spikes of an animal on a linear track that rests, with scripted events in the rests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera.decode._data import Floats, Mask
from tessera.decode.simulate.simulate import (
    get_trajectory_direction,
    simulate_neuron_with_place_field,
    simulate_place_field_firing_rate,
    simulate_poisson_spikes,
    simulate_position,
    simulate_position_with_pauses,
    simulate_time,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "create_place_field",
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
]

TRACK_HEIGHT = 170
SAMPLING_FREQUENCY = 1500
_DURATION = 65  # s
_PAUSE = 3  # s
_N_PAUSE = 5
_SILENCE = 0.5  # s
_FRAGMENT_SPEEDUP = 20

simulate_linear_distance_with_pauses = simulate_position_with_pauses


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
    place_field_means: ArrayLike, sampling_frequency: float, cont_replay_speed: float
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

    Returns
    -------
    ndarray, shape (n_time, n_neurons)
        1 where there is a spike.
    """
    means = np.asarray(place_field_means, dtype=np.float64)
    neurons = np.random.choice(len(means), len(means) // 2, replace=False)
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
    position = simulate_position(out + back, track_height, track_height / half)
    pauses: Floats = half + lap * np.arange(_N_PAUSE, dtype=np.float64)
    return position, pauses


def make_simulated_data(
    track_height: float = TRACK_HEIGHT,
    sampling_frequency: int = SAMPLING_FREQUENCY,
    replay_speed: float = 6.0,
    n_neurons: int = 25,
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
    time = simulate_time(sampling_frequency * _DURATION, sampling_frequency)
    position, pauses = _resting_animal(time, track_height)
    position = position + 1e-4 * np.random.randn(len(time))
    speed = np.concatenate(([0.0], np.abs(np.diff(position) / np.diff(time))))
    means = np.linspace(0, track_height, n_neurons)
    place_fields = np.stack([create_place_field(mean, position) for mean in means], axis=1)
    spikes = simulate_poisson_spikes(place_fields, sampling_frequency)
    step = int(np.diff(means)[0] / (100 * replay_speed) * sampling_frequency)
    silence = np.zeros((int(_SILENCE * sampling_frequency), n_neurons))
    events = [
        make_continuous_replay(n_neurons, step, is_outbound=True),
        make_fragmented_replay(means, sampling_frequency, replay_speed),
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
