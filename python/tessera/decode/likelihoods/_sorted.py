"""Likelihoods of sorted units from the entries of an encoding model, whoever made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode.likelihoods._fitted import same_number
from tessera.decode.likelihoods.common import get_spikecount_per_time_bin


def times_log(counts: Floats, rates: Floats) -> Floats:
    """Return counts * log(rates); 0 where there is no spike, whatever the rate."""
    with np.errstate(divide="ignore"):
        logs = np.log(rates)
    counts, logs = np.broadcast_arrays(counts, logs)
    return np.multiply(counts, logs, out=np.zeros(counts.shape), where=counts != 0)


def _counts(spikes: Any, time: Floats) -> Floats:
    return get_spikecount_per_time_bin(spikes, time).astype(np.float64)


def non_local(
    time: Any, spike_times: Any, place_fields: Any, no_spike_part: Any, is_track_interior: Any
) -> Floats:
    """Return the log likelihood of every interior bin at every time."""
    rows = _data.vector(time, "time")
    inside = np.asarray(is_track_interior).astype(bool).ravel()
    fields = _data.reals(place_fields, "place_fields")
    same_number(len(fields), spike_times=spike_times)
    found = np.zeros((len(rows), int(inside.sum())))
    for spikes, field in zip(spike_times, fields, strict=True):
        found += times_log(_counts(spikes, rows)[:, np.newaxis], field[inside])
    found -= _data.vector(no_spike_part, "no_spike_part_log_likelihood")[inside]
    return found


def local(time: Any, spike_times: Any, rate_of: Callable[[int], Floats], n: int) -> Array:
    """Return the log likelihood at the animal's own position; (n_time, 1)."""
    rows = _data.vector(time, "time")
    same_number(n, spike_times=spike_times)
    found = np.zeros(len(rows))
    for unit, spikes in enumerate(spike_times):
        rate = rate_of(unit)
        found += times_log(_counts(spikes, rows), rate) - rate
    return found[:, np.newaxis]
