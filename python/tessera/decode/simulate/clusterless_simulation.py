"""Clusterless spikes of an animal on a linear track, and of scripted replays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats
from tessera.decode.environment import Environment
from tessera.decode.simulate.simulate import (
    get_trajectory_direction,
    random_numbers,
    simulate_multiunit_with_place_fields,
    simulate_position,
    simulate_time,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "ClusterlessSimOutput",
    "make_continuous_replay",
    "make_fragmented_continuous_fragmented_replay",
    "make_fragmented_hover_fragmented_replay",
    "make_fragmented_replay",
    "make_hover_continuous_hover_replay",
    "make_hover_replay",
    "make_simulated_run_data",
    "multiunits_to_spikes",
]

SAMPLING_FREQUENCY = 1000
TRACK_HEIGHT = 175
RUNNING_SPEED = 15
PLACE_FIELD_VARIANCE = 12.5
PLACE_FIELD_MEANS = np.arange(0, 200, 10)
N_RUNS = 15
REPLAY_SPEEDUP = 120.0
N_TETRODES = 5
N_FEATURES = 4
MARK_SPACING = 5
_RUN_MARK_SPACING = 10
_HOVER_SAMPLES = 50
_FRAGMENT_SAMPLES = 10


@dataclass(eq=False)
class ClusterlessSimOutput:
    """A simulated run, as models take it; also the five values that older versions returned.

    ``time, position, sampling_frequency, multiunits, multiunits_spikes = output`` works.

    Parameters
    ----------
    position_time : ndarray, shape (n_time,)
        Seconds.
    position : ndarray, shape (n_time, 1)
        Cm.
    edges : ndarray, shape (n_time,)
        Edges of time bins.
    spike_times : list of ndarray, shape (n_spike,)
        One per tetrode, seconds.
    spike_waveform_features : list of ndarray, shape (n_spike, n_features)
        One per tetrode.
    environment : Environment
        With bins of 1 cm.
    bin_widths : ndarray, shape (n_time - 1,), optional
        Between edges.
    sampling_frequency : int
        Samples per second.
    multiunits : ndarray, shape (n_time, n_features, n_tetrodes), optional
        Features of spikes; NaN where there is none.
    multiunits_spikes : ndarray of bool, shape (n_time, n_tetrodes), optional
        Where there is a spike.
    """

    position_time: Floats
    position: Floats
    edges: Floats
    spike_times: list[Floats]
    spike_waveform_features: list[Floats]
    environment: Environment
    bin_widths: Floats | None = None
    sampling_frequency: int = SAMPLING_FREQUENCY
    multiunits: Floats | None = None
    multiunits_spikes: Array | None = None

    def _values(self) -> tuple[Any, ...]:
        return (
            self.position_time,
            self.position[:, 0],
            self.sampling_frequency,
            self.multiunits,
            self.multiunits_spikes,
        )

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __getitem__(self, i: int) -> Any:
        return self._values()[i]


def make_simulated_run_data(
    sampling_frequency: int = SAMPLING_FREQUENCY,
    track_height: float = TRACK_HEIGHT,
    running_speed: float = RUNNING_SPEED,
    n_runs: int = N_RUNS,
    place_field_variance: float = PLACE_FIELD_VARIANCE,
    place_field_means: ArrayLike = PLACE_FIELD_MEANS,
    n_tetrodes: int = N_TETRODES,
    make_inbound_outbound_neurons: bool = False,
    seed: int | None = 0,
) -> ClusterlessSimOutput:
    """Simulate an animal that runs back and forth, recorded with tetrodes.

    Parameters
    ----------
    sampling_frequency : int
        Samples per second.
    track_height : float
        Length of the track, cm.
    running_speed : float
        Cm/s.
    n_runs : int
        Runs there and back.
    place_field_variance : float
        Cm^2.
    place_field_means : array, shape (n_neurons,)
        Centres of the place fields; consecutive neurons share a tetrode.
    n_tetrodes : int
        How many.
    make_inbound_outbound_neurons : bool
        One set of neurons, on tetrodes of its own, for each direction.

    seed : int, default 0
        Makes it repeatable; None: from ``numpy.random``.

    Returns
    -------
    ClusterlessSimOutput
        What models take, and features at every sample.
    """
    numbers = random_numbers(seed, None)
    n_samples = int(n_runs * sampling_frequency * 2 * track_height / running_speed)
    time = simulate_time(n_samples, sampling_frequency)
    position = simulate_position(time, track_height, running_speed)
    conditions: list[Any] = [None]
    if make_inbound_outbound_neurons:
        direction = get_trajectory_direction(position)
        conditions = [direction == name for name in np.unique(direction)]
    tetrodes = [
        simulate_multiunit_with_place_fields(
            means,
            position,
            mark_spacing=_RUN_MARK_SPACING,
            n_mark_dims=N_FEATURES,
            place_variance=place_field_variance,
            sampling_frequency=sampling_frequency,
            is_condition=condition,
            rng=numbers,
        )
        for condition in conditions
        for means in np.reshape(place_field_means, (n_tetrodes, -1))
    ]
    multiunits = np.stack(tetrodes, axis=-1)
    is_spike: Array = np.logical_not(np.isnan(multiunits).all(axis=1))
    spike_times, features = multiunits_to_spikes(time, multiunits)
    edges: Floats = np.arange(0.0, time[-1] + 1e-12, 1.0 / sampling_frequency)
    place = position[:, np.newaxis]
    return ClusterlessSimOutput(
        time,
        place,
        edges,
        spike_times,
        features,
        Environment(place_bin_size=1.0).fit_place_grid(place),
        np.diff(edges),
        sampling_frequency,
        multiunits,
        is_spike,
    )


def multiunits_to_spikes(
    time: ArrayLike, multiunits: ArrayLike
) -> tuple[list[Floats], list[Floats]]:
    """Turn features at every sample into what models take.

    Parameters
    ----------
    time : array, shape (n_time,)
        Seconds.
    multiunits : array, shape (n_time, n_features, n_tetrodes)
        NaN where there is no spike.

    Returns
    -------
    spike_times, spike_waveform_features : list of ndarray
        One array per tetrode.
    """
    times, marks = np.asarray(time), np.asarray(multiunits)
    spike_times, features = [], []
    for tetrode in range(marks.shape[2]):
        is_spike = ~np.isnan(marks[:, :, tetrode]).all(axis=1)
        spike_times.append(times[is_spike])
        features.append(marks[is_spike, :, tetrode])
    return spike_times, features


def _script(
    n_time: int,
    rows: Any,
    neurons: Any,
    place_field_means: Any,
    n_tetrodes: int,
    n_features: int,
    mark_spacing: float,
) -> Floats:
    """Let neurons fire at rows; all features of a neuron are the same."""
    n_neurons = np.size(place_field_means) // n_tetrodes
    multiunits = np.full((n_time, n_features, n_tetrodes), np.nan)
    for row, neuron in zip(rows, neurons, strict=True):
        tetrode, within = divmod(int(neuron), n_neurons)
        multiunits[row, :, tetrode] = within * mark_spacing
    return multiunits


def make_continuous_replay(
    sampling_frequency: int = SAMPLING_FREQUENCY,
    track_height: float = TRACK_HEIGHT,
    running_speed: float = RUNNING_SPEED,
    place_field_means: ArrayLike = PLACE_FIELD_MEANS,
    replay_speedup: float = REPLAY_SPEEDUP,
    n_tetrodes: int = N_TETRODES,
    n_features: int = N_FEATURES,
    mark_spacing: float = MARK_SPACING,
) -> tuple[Floats, Floats]:
    """Script a replay that runs along the track; every neuron fires once.

    Parameters
    ----------
    sampling_frequency : int
        Samples per second.
    track_height, running_speed : float
        Cm and cm/s.
    place_field_means : array, shape (n_neurons,)
        Centres of the place fields.
    replay_speedup : float
        How much faster than the animal.
    n_tetrodes, n_features : int
        How many.
    mark_spacing : float
        Distance between the features of consecutive neurons.

    Returns
    -------
    replay_time : ndarray, shape (n_time,)
        Seconds.
    test_multiunits : ndarray, shape (n_time, n_features, n_tetrodes)
        NaN where there is no spike.
    """
    speed = running_speed * replay_speedup
    n_samples = int(sampling_frequency * track_height / speed)
    time = simulate_time(n_samples, sampling_frequency)
    place = simulate_position(time, track_height, speed)
    means = np.ravel(place_field_means)
    rows = np.abs(place[:, np.newaxis] - means).argmin(axis=0)
    multiunits = _script(
        n_samples, rows, range(means.size), means, n_tetrodes, n_features, mark_spacing
    )
    return time, multiunits


def make_hover_replay(
    hover_neuron_ind: int | None = None,
    place_field_means: ArrayLike = PLACE_FIELD_MEANS,
    sampling_frequency: int = SAMPLING_FREQUENCY,
    n_tetrodes: int = N_TETRODES,
    n_features: int = N_FEATURES,
    mark_spacing: float = MARK_SPACING,
) -> tuple[Floats, Floats]:
    """Script a replay that stays: one neuron fires at every second sample.

    Parameters
    ----------
    hover_neuron_ind : int, optional
        Which neuron; default: the middle one.
    place_field_means, sampling_frequency, n_tetrodes, n_features, mark_spacing
        As in :func:`make_continuous_replay`.

    Returns
    -------
    replay_time, test_multiunits : ndarray
        As in :func:`make_continuous_replay`.
    """
    neuron = np.size(place_field_means) // 2 if hover_neuron_ind is None else hover_neuron_ind
    rows = range(0, _HOVER_SAMPLES, 2)
    multiunits = _script(
        _HOVER_SAMPLES,
        rows,
        [neuron] * len(rows),
        place_field_means,
        n_tetrodes,
        n_features,
        mark_spacing,
    )
    return simulate_time(_HOVER_SAMPLES, sampling_frequency), multiunits


def make_fragmented_replay(
    place_field_means: ArrayLike = PLACE_FIELD_MEANS,
    sampling_frequency: int = SAMPLING_FREQUENCY,
    n_tetrodes: int = N_TETRODES,
    n_features: int = N_FEATURES,
    mark_spacing: float = MARK_SPACING,
) -> tuple[Floats, Floats]:
    """Script a replay that jumps between far neurons.

    Parameters
    ----------
    place_field_means, sampling_frequency, n_tetrodes, n_features, mark_spacing
        As in :func:`make_continuous_replay`.

    Returns
    -------
    replay_time, test_multiunits : ndarray
        As in :func:`make_continuous_replay`.
    """
    n = np.size(place_field_means)
    multiunits = _script(
        _FRAGMENT_SAMPLES,
        range(1, _FRAGMENT_SAMPLES, 2),
        [1, n - 1, 10, n - 5, 8],
        place_field_means,
        n_tetrodes,
        n_features,
        mark_spacing,
    )
    return simulate_time(_FRAGMENT_SAMPLES, sampling_frequency), multiunits


def _join(parts: list[tuple[Floats, Floats]], sampling_frequency: int) -> tuple[Floats, Floats]:
    multiunits = np.concatenate([marks for _, marks in parts])
    return simulate_time(len(multiunits), sampling_frequency), multiunits


def make_hover_continuous_hover_replay(
    sampling_frequency: int = SAMPLING_FREQUENCY, place_field_means: ArrayLike = PLACE_FIELD_MEANS
) -> tuple[Floats, Floats]:
    """Script a replay that stays, runs along the track, and stays.

    Parameters
    ----------
    sampling_frequency : int
        Samples per second.
    place_field_means : array, shape (n_neurons,)
        Centres of the place fields.

    Returns
    -------
    replay_time : ndarray, shape (n_time,)
        Seconds.
    test_multiunits : ndarray, shape (n_time, n_features, n_tetrodes)
        NaN where there is no spike.
    """
    last = np.size(place_field_means) - 1
    parts = [make_hover_replay(0), make_continuous_replay(), make_hover_replay(last)]
    return _join(parts, sampling_frequency)


def make_fragmented_hover_fragmented_replay(
    sampling_frequency: int = SAMPLING_FREQUENCY,
) -> tuple[Floats, Floats]:
    """Script a replay that jumps, stays, and jumps.

    Parameters
    ----------
    sampling_frequency : int
        Samples per second.

    Returns
    -------
    replay_time : ndarray, shape (n_time,)
        Seconds.
    test_multiunits : ndarray, shape (n_time, n_features, n_tetrodes)
        NaN where there is no spike.
    """
    parts = [make_fragmented_replay(), make_hover_replay(6), make_fragmented_replay()]
    return _join(parts, sampling_frequency)


def make_fragmented_continuous_fragmented_replay(
    sampling_frequency: int = SAMPLING_FREQUENCY,
) -> tuple[Floats, Floats]:
    """Script a replay that jumps, runs along the track, and jumps.

    Parameters
    ----------
    sampling_frequency : int
        Samples per second.

    Returns
    -------
    replay_time : ndarray, shape (n_time,)
        Seconds.
    test_multiunits : ndarray, shape (n_time, n_features, n_tetrodes)
        NaN where there is no spike.
    """
    parts = [make_fragmented_replay(), make_continuous_replay(), make_fragmented_replay()]
    return _join(parts, sampling_frequency)
