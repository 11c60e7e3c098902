"""The profiling sizes are what the original's script draws from NumPy, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tessera import decode

# Position samples, decoding times, electrodes, mean spikes of an electrode, position bins.
SIZES = {
    "tiny": (100, 50, 4, 20, 10, 100),
    "small": (500, 100, 8, 50, 30, 200),
    "medium": (2000, 500, 16, 200, 100, 500),
    "large": (5000, 1000, 32, 500, 300, 1000),
    "realistic": (10000, 2000, 64, 1000, 400, 2000),
}


def numpy_spikes(
    rng: np.random.Generator, n_electrode: int, mean: int, end: float
) -> tuple[list[Any], list[Any]]:
    """Return times and features as the original's profiling script draws them."""
    times, features = [], []
    for _ in range(n_electrode):
        n = int(rng.poisson(mean))
        times.append(np.sort(rng.uniform(0, end, n)))
        features.append(rng.normal(0, 1, (n, 2)))
    return times, features


@pytest.mark.parametrize("seed", [42, 7, 2**40 + 3])
@pytest.mark.parametrize("size", SIZES)
def test_profiling_sizes_equal_numpy(size: str, seed: int) -> None:
    n_position, n_time, n_electrode, encoding, decoding, n_bin = SIZES[size]
    recording = decode.simulate_recording(size, seed, generator="original")  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    for mean, end, got_times, got_features in (
        (
            encoding,
            100.0,
            recording.encoding_spike_times,
            recording.encoding_spike_waveform_features,
        ),
        (decoding, 20.0, recording.spike_times, recording.spike_waveform_features),
    ):
        times, features = numpy_spikes(rng, n_electrode, mean, end)
        for want, got in zip(times, got_times, strict=True):
            np.testing.assert_array_equal(got, want)
        for want, got in zip(features, got_features, strict=True):
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(recording.position_time, np.linspace(0, 100, n_position))
    np.testing.assert_array_equal(recording.position[:, 0], np.linspace(0, 100, n_position))
    np.testing.assert_array_equal(recording.time, np.linspace(0, 20, n_time))
    assert recording.interior_position is not None
    np.testing.assert_array_equal(recording.interior_position[:, 0], np.linspace(0, 100, n_bin))
    assert recording.place_bin_size == 100 / n_bin
    assert recording.position_std == np.sqrt(12.5)
    assert recording.waveform_std == 24
