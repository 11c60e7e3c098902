"""Where linear positions on a track are in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.decode._data import Floats
from tessera.decode._track import Ints, TrackArrays


def enumerate_edges(track: TrackArrays) -> Ints:
    """Return the edges in the order of their numbers: by lower node, then as given."""
    rows = [tuple(int(node) for node in edge) for edge in track.edges]
    seen: list[tuple[int, ...]] = []
    for node in range(len(track.node_position)):
        seen += [edge for edge in rows if node in edge and edge not in seen]
    return np.array(seen, dtype=np.int64).reshape(-1, 2)


def _spans(track: TrackArrays) -> list[tuple[int, int, float, float]]:
    """Return the nodes of every edge in order, and where it begins and ends on the line."""
    order = enumerate_edges(track) if track.edge_order is None else track.edge_order
    gaps = np.zeros(max(len(order) - 1, 0))
    if track.edge_spacing is not None:
        gaps = np.broadcast_to(track.edge_spacing, gaps.shape)
    found = []
    start = 0.0
    for k, (a, b) in enumerate(order.tolist()):
        length = float(np.linalg.norm(track.node_position[b] - track.node_position[a]))
        found.append((a, b, start, start + length))
        start += length + (gaps[k] if k < len(gaps) else 0.0)
    return found


def delinearize(track: TrackArrays, linear: Any) -> tuple[Floats, Ints]:
    """Return the point and the edge number of linear positions; gaps give NaN and -1."""
    values = np.asarray(linear, dtype=np.float64).ravel()
    number = {frozenset(edge): i for i, edge in enumerate(enumerate_edges(track).tolist())}
    points = np.full((len(values), 2), np.nan)
    segment = np.full(len(values), -1, dtype=np.int64)
    for a, b, start, end in _spans(track):
        first, second = track.node_position[a], track.node_position[b]
        here = (segment < 0) & (values >= start) & (values <= end)
        points[here] = first + (values[here, None] - start) / (end - start) * (second - first)
        segment[here] = number[frozenset((a, b))]
    return points, segment


def onto_track(track: TrackArrays, linear: Any) -> Floats:
    """Return the points of linear positions, (n, 2); those in gaps are at the nearest end."""
    values = np.asarray(linear, dtype=np.float64).ravel()
    nearest = np.full(values.shape, np.nan)
    for *_, start, end in _spans(track):
        here = np.clip(values, start, end)
        is_nearer = ~(np.abs(nearest - values) <= np.abs(here - values))
        nearest = np.where(is_nearer, here, nearest)
    return delinearize(track, nearest)[0]
