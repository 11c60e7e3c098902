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


def delinearize(track: TrackArrays, linear: Any) -> tuple[Floats, Ints]:
    """Return the point and the edge number of linear positions; gaps give NaN and -1."""
    values = np.asarray(linear, dtype=np.float64).ravel()
    edges = enumerate_edges(track)
    order = edges if track.edge_order is None else track.edge_order
    number = {frozenset(edge): i for i, edge in enumerate(edges.tolist())}
    gaps = np.zeros(max(len(order) - 1, 0))
    if track.edge_spacing is not None:
        gaps = np.broadcast_to(track.edge_spacing, gaps.shape)
    points = np.full((len(values), 2), np.nan)
    segment = np.full(len(values), -1, dtype=np.int64)
    start = 0.0
    for k, (a, b) in enumerate(order.tolist()):
        first, second = track.node_position[a], track.node_position[b]
        length = float(np.linalg.norm(second - first))
        here = (segment < 0) & (values >= start) & (values <= start + length)
        points[here] = first + (values[here, None] - start) / length * (second - first)
        segment[here] = number[frozenset((a, b))]
        start += length + (gaps[k] if k < len(gaps) else 0.0)
    return points, segment
