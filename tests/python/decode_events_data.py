"""Small recordings for tests of events: runs to train on, then rest with bursts of spikes."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np

import tessera.decode as td

EVENTS = np.array([[t, t + 0.2] for t in np.arange(41, 59, 2.0)])
RUN = 40.0


def _spikes(
    x: Any, time: Any, fields: Any, rng: np.random.Generator
) -> tuple[list[Any], list[Any]]:
    """Spikes of electrodes with a field each, and bursts of all of them at rest."""
    times, marks = [], []
    for e, field in enumerate(fields):
        near = np.exp(-0.5 * ((x - field) ** 2).sum(axis=1) / 8.0**2)
        run = time[(rng.random(len(time)) < 0.4 * near) & (time < RUN)]
        rest = np.concatenate([a + np.sort(rng.random(4)) * (b - a) for a, b in EVENTS])
        times.append(np.sort(np.concatenate([run, rest])))
        marks.append(rng.normal(60 + 15 * e, 10, (len(times[-1]), 2)))
    return times, marks


def recording(shape: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return a fitted model of a line, a track or a plane, and what is decoded.

    Options are those of the clusterless algorithm.
    """
    rng = np.random.default_rng(5)
    time = np.arange(0, 60, 0.01)
    if shape == "line":
        x = np.where(time < RUN, 30 + 30 * np.sin(time), 30.0)[:, None]
        fields = np.linspace(5, 55, 6)[:, None]
        environment = td.Environment(place_bin_size=4.0)
    elif shape == "plane":
        x = np.stack([30 + 30 * np.sin(time), 30 + 30 * np.cos(1.3 * time)], axis=1)
        x[time >= RUN] = 30
        fields = rng.random((6, 2)) * 60
        environment = td.Environment(place_bin_size=8.0)
    else:  # a T: three arms of 40 cm
        u = np.where(time < RUN, 40 * np.abs(np.sin(time)), 20.0)
        arm = np.where(time < RUN, time // np.pi, 0).astype(int) % 3
        ends = np.array([[0, -40], [-40, 0], [40, 0]])
        x = u[:, None] / 40 * ends[arm]
        fields = np.concatenate([ends * 0.35, ends * 0.8])
        graph = networkx.Graph()
        graph.add_nodes_from(
            (i, {"pos": tuple(p)}) for i, p in enumerate([(0, 0), *map(tuple, ends)])
        )
        graph.add_edges_from((0, k, {"distance": 40, "edge_id": k - 1}) for k in (1, 2, 3))
        environment = td.Environment(
            place_bin_size=4.0,
            track_graph=graph,
            edge_order=[(0, 1), (0, 2), (0, 3)],
            edge_spacing=[8, 8],
        )
    spikes, marks = _spikes(x, time, fields, rng)
    model = td.ContFragClusterlessClassifier(
        environments=environment,
        clusterless_algorithm_params={"position_std": 5.0, "waveform_std": 15.0, **options},
        sampling_frequency=100,
    )
    model.fit(time, x, spikes, marks, is_training=time < RUN)
    return model, {
        "spike_times": spikes,
        "spike_waveform_features": marks,
        "position_time": time,
        "position": x,
    }
