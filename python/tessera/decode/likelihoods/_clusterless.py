"""Clusterless likelihoods from the entries of an encoding model, whoever made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode.likelihoods._fitted import same_number
from tessera.decode.likelihoods.common import (
    LOG_EPS,
    as_std_array,
    block_log_kde,
    get_position_at_time,
    get_spike_time_bin_ind,
    safe_log,
)

# From an electrode's marks, its number and its entries to (n_spikes, n_bins).
Intensity = Callable[[Floats, int, Mapping[str, Any]], Floats]


def inside(spikes: Any, marks: Any, time: Floats) -> tuple[Floats, Floats]:
    """Return the spikes of the time that is decoded, with their marks."""
    times, values = _data.vector(spikes, "spike_times"), _data.position(marks)
    kept = (times >= time[0]) & (times <= time[-1])
    return times[kept], values[kept]


def _weights(entries: Mapping[str, Any], electrode: int) -> Any:
    weights = entries.get("encoding_weights")
    return None if weights is None else weights[electrode]


def non_local(
    time: Any, spike_times: Any, features: Any, entries: Mapping[str, Any], intensity: Intensity
) -> Floats:
    """Return the log likelihood of every interior bin at every time."""
    rows = _data.vector(time, "time")
    ground = _data.vector(entries["summed_ground_process_intensity"], "ground intensity")
    found = np.repeat(-ground[np.newaxis], len(rows), axis=0)
    same_number(len(entries["mean_rates"]), spike_times=spike_times, features=features)
    for electrode, (spikes, marks) in enumerate(zip(spike_times, features, strict=True)):
        times, values = inside(spikes, marks, rows)
        if len(times):
            logs = intensity(values, electrode, entries)
            np.add.at(found, get_spike_time_bin_ind(times, rows), logs)
    return found


def local(
    time: Any,
    position_time: Any,
    position: Any,
    spike_times: Any,
    features: Any,
    entries: Mapping[str, Any],
    keeps_tails: bool,
) -> Array:
    """Return the log likelihood at the animal's own position; (n_time, 1)."""
    rows = _data.vector(time, "time")
    environment, occupancy_model = entries["environment"], entries["occupancy_model"]
    here = get_position_at_time(position_time, position, rows, environment)
    occupancy = np.asarray(occupancy_model.predict(here))
    same_number(len(entries["mean_rates"]), spike_times=spike_times, features=features)
    found = np.zeros(len(rows))
    for electrode, (spikes, marks) in enumerate(zip(spike_times, features, strict=True)):
        times, values = inside(spikes, marks, rows)
        rate = float(entries["mean_rates"][electrode])
        if len(times):
            there = get_position_at_time(position_time, position, times, environment)
            logs = safe_log(rate) + _at_spikes(there, values, electrode, entries)
            logs -= safe_log(occupancy_model.predict(there))
            if not keeps_tails:
                logs = np.maximum(logs, LOG_EPS)
            np.add.at(found, get_spike_time_bin_ind(times, rows), logs)
        density = np.asarray(entries["gpi_models"][electrode].predict(here))
        found -= rate * np.divide(
            density, occupancy, out=np.zeros_like(density), where=occupancy > 0
        )
    return found[:, np.newaxis]


def _at_spikes(there: Floats, marks: Floats, electrode: int, entries: Mapping[str, Any]) -> Floats:
    """Return the log density of place and mark together, at every spike."""
    places = _data.position(entries["encoding_positions"][electrode])
    learned = _data.position(entries["encoding_spike_waveform_features"][electrode])
    std = (
        as_std_array(entries["position_std"], places.shape[1]),
        as_std_array(entries["waveform_std"], learned.shape[1]),
    )
    return block_log_kde(
        np.concatenate((there, marks), axis=1),
        np.concatenate((places, learned), axis=1),
        np.concatenate(std),
        int(entries.get("block_size") or 0),
        _weights(entries, electrode),
    )


def interior_centers(environment: Any) -> Floats:
    """Return the centres of the bins the animal can be in."""
    inside = np.asarray(environment.is_track_interior_).ravel()
    centers: Floats = np.asarray(environment.place_bin_centers_)[inside]
    return centers
