"""Recordings of a run back and forth, for the tests of decode."""

import json
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "decode"


def track(n_time=400, n_electrode=3, n_feature=2, seed=0):
    """A run back and forth on a line; each electrode has two units of clear amplitude and place."""
    rng = np.random.default_rng(seed)
    time = np.arange(2 * n_time) * 0.01
    position = 50 - 50 * np.cos(2 * np.pi * time / 4)
    times, marks, offsets = [], [], [0]
    for _ in range(n_electrode):
        centre = rng.uniform(0, 100, 2)
        rate = np.exp(-((position[:, None] - centre) ** 2) / 200) * 0.6
        fired = rng.random(rate.shape) < rate
        sample, unit = np.nonzero(fired)
        times.append(time[sample] + rng.uniform(0, 0.009, sample.size))
        order = np.argsort(times[-1], kind="stable")
        times[-1] = times[-1][order]
        amplitude = 80 + 120 * unit[order, None] + rng.normal(0, 12, (sample.size, n_feature))
        marks.append(amplitude)
        offsets.append(offsets[-1] + sample.size)
    return {
        "position_time": time,
        "position": position,
        "is_training": np.arange(2 * n_time) < n_time,
        "time": time[n_time:],
        "spike_times": np.concatenate(times),
        "spike_offsets": np.array(offsets),
        "marks": np.round(np.concatenate(marks) * 64) / 64,
    }


def run_json(tessera, *words, code=0):
    result = tessera(*words, "--json")
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout) if code == 0 else result


def bent_track(**changes):
    """The line of track() with a corner in its middle, as a graph, the second half backwards."""
    data = track()
    line = data["position"]
    data["position"] = np.stack([np.minimum(line, 50), np.maximum(line - 50, 0)], axis=1)
    graph = {
        "node_positions": np.array([[0.0, 0], [50, 0], [50, 50]]),
        "edges": np.array([[0, 1], [1, 2]]),
        "edge_order": np.array([[0, 1], [2, 1]]),
        "edge_spacing": 30.0,
    }
    return {**data, **graph, **changes}


def by_electrode(numbers, with_marks=True):
    """track() with a pair of arrays per electrode, under these numbers."""
    data = track()
    times, marks, offsets = (data.pop(name) for name in ("spike_times", "marks", "spike_offsets"))
    for number, first, end in zip(numbers, offsets[:-1], offsets[1:], strict=True):
        data[f"e{number}_times"] = times[first:end]
        if with_marks:
            data[f"e{number}_marks"] = marks[first:end]
    return data
