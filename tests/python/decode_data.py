"""Small data for the tests of tessera.decode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import Floats


@dataclass
class Spikes:
    """An animal on a line, and electrodes whose spikes say where it is."""

    time: Floats
    position: Floats
    spike_times: list[Floats]
    features: list[Floats]

    def fit_args(self) -> tuple[Any, Any, Any, Any]:
        return self.time, self.position, self.spike_times, self.features


def make_spikes(
    n_electrode: int = 3, n_feature: int = 4, duration: float = 60.0, seed: int = 0
) -> Spikes:
    """Simulate place cells; the features of a spike tell its cell."""
    rng = np.random.default_rng(seed)
    time = np.arange(0, duration, 0.02)
    position = 50 * (1 - np.cos(2 * np.pi * time / 12))
    spike_times, features = [], []
    for _ in range(n_electrode):
        times, marks = [], []
        for center in rng.uniform(0, 100, 5):
            rate = 15 * np.exp(-0.5 * ((position - center) / 8) ** 2)
            fires = rng.random(len(time)) < rate * 0.02
            times.append(time[fires] + rng.uniform(0, 0.02, fires.sum()))
            shape = rng.uniform(50, 200, n_feature)
            marks.append(shape + rng.normal(0, 12, (fires.sum(), n_feature)))
        order = np.argsort(np.concatenate(times))
        spike_times.append(np.concatenate(times)[order])
        features.append(np.concatenate(marks)[order])
    return Spikes(time, position, spike_times, features)


def make_plane(seed: int = 0) -> Spikes:
    """Simulate an animal in a box of 40 by 24 cm and two electrodes without information."""
    rng = np.random.default_rng(seed)
    time = np.arange(0, 40, 0.02)
    x = 20 * (1 - np.cos(2 * np.pi * time / 7))
    y = 12 * (1 - np.cos(2 * np.pi * time / 5.3))
    times = [np.sort(rng.uniform(0, 39.9, 300)) for _ in range(2)]
    marks = [rng.normal(100, 30, (300, 3)) for _ in range(2)]
    return Spikes(time, np.stack((x, y), axis=1), times, marks)
