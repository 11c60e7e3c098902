"""Times in another unit than seconds are an error that says so; odd but possible times are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from decode_data import Spikes, make_spikes
from tessera.decode.exceptions import DataError

UNITS = {
    "milliseconds": 1e3,
    "microseconds": 1e6,
    "nanoseconds": 1e9,
    "samples at 20 kHz": 2e4,
    "samples at 25 kHz": 2.5e4,
    "samples at 30 kHz": 3e4,
}
CLOCKS = {"zero": 0.0, "later": 250.0, "unix": 1.7e9}


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes()


def at(spikes: Spikes, origin: float, factor: float = 1.0) -> list[Any]:
    return [(times + origin) * factor for times in spikes.spike_times]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("unit", UNITS)
def test_spikes_in_another_unit(spikes: Spikes, unit: str, clock: str) -> None:
    origin, factor = CLOCKS[clock], UNITS[unit]
    time = spikes.time + origin
    wrong = at(spikes, origin, factor)
    model = td.ClusterlessDecoder()
    with pytest.raises(DataError, match=f"look like {unit}"):
        model.fit(time, spikes.position, wrong, spikes.features)
    late = np.arange(len(time)) > 2000  # training on a part changes nothing
    with pytest.raises(DataError, match=f"look like {unit}"):
        model.fit(time, spikes.position, wrong, spikes.features, is_training=late)
    sorted_model = td.SortedSpikesDecoder()
    with pytest.raises(DataError, match=f"look like {unit}"):
        sorted_model.fit(time, spikes.position, wrong)
    model.fit(time, spikes.position, at(spikes, origin), spikes.features)
    with pytest.raises(DataError, match=f"look like {unit}"):
        model.predict(wrong, spikes.features, time)


@pytest.mark.parametrize("clock", ["zero", "later"])
def test_the_recording_in_another_unit(spikes: Spikes, clock: str) -> None:
    origin = CLOCKS[clock]
    time, times = spikes.time + origin, at(spikes, origin)
    model = td.ClusterlessDecoder()
    words = "position_time looks like milliseconds|in milliseconds"
    with pytest.raises(DataError, match=words):
        model.fit(1e3 * time, spikes.position, times, spikes.features)
    model.fit(time, spikes.position, times, spikes.features)
    words = "time looks like milliseconds|in milliseconds"
    with pytest.raises(DataError, match=words):
        model.predict(times, spikes.features, 1e3 * time[:200])


def accepted(model: Any, *args: Any, **settings: Any) -> None:
    assert np.isfinite(np.asarray(model.predict(*args, **settings)["acausal_posterior"])).all()


@pytest.mark.filterwarnings("ignore")
def test_what_may_look_like_it(spikes: Spikes) -> None:
    model = td.ClusterlessDecoder().fit(*spikes.fit_args())
    # A window of a thousandth of the recording, at its begin and elsewhere, with hardly a spike.
    for first in (0.0, 30.0):
        fine = first + np.arange(0, 0.06, 0.02)
        accepted(model, spikes.spike_times, spikes.features, fine)
    # Electrodes that are silent, or nearly, and a window without any spike.
    few = [spikes.spike_times[0][:1], np.zeros(0), spikes.spike_times[2]]
    marks = [spikes.features[0][:1], np.zeros((0, 4)), spikes.features[2]]
    accepted(td.ClusterlessDecoder().fit(spikes.time, spikes.position, few, marks), few, marks,
             spikes.time[:50])  # fmt: skip
    loud = [np.abs(times - 15) > 5 for times in spikes.spike_times]
    quiet = [times[keep] for times, keep in zip(spikes.spike_times, loud, strict=True)]
    kept = [marks[keep] for marks, keep in zip(spikes.features, loud, strict=True)]
    accepted(model, quiet, kept, spikes.time[600:800])
    # Twenty seconds of position in a recording of hours, at usual rates.
    rng = np.random.default_rng(0)
    hours = [np.sort(rng.uniform(0, 2e4, 60_000)) for _ in range(2)]
    long = [rng.normal(100, 20, (60_000, 2)) for _ in range(2)]
    short = td.ClusterlessDecoder().fit(spikes.time[:1000], spikes.position[:1000], hours, long)
    accepted(short, hours, long, spikes.time[:100])
    # Bins that are meant to be a thousand samples wide.
    wide = td.ClusterlessDecoder(bin_scale="auto").fit(*spikes.fit_args())
    accepted(wide, spikes.spike_times, spikes.features, np.arange(0, 60, 20.0))
