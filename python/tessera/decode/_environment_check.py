"""Parameters of environments that no bins can be made of, found when one is created."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array
from tessera.decode._options import flag, number, numbers
from tessera.decode._track import track_arrays
from tessera.decode.exceptions import (
    ConfigurationError,
    ShapeValidationError,
    TypeValidationError,
    ValidationError,
)

if TYPE_CHECKING:
    from tessera.decode.environment import Environment

_ATTRIBUTES = ("distance", "edge_id")


def check(environment: Environment) -> None:
    """Refuse parameters that no bins can be made of."""
    _sizes(environment.place_bin_size)
    number(environment.bin_count_threshold, "bin_count_threshold", 0)
    for name in ("infer_track_interior", "fill_holes", "dilate"):
        flag(getattr(environment, name), name)
    if environment.edge_spacing is not None:
        numbers(environment.edge_spacing, "edge_spacing", 0)
    if environment.track_graph is not None:
        _track(environment)
    interior = environment.is_track_interior
    if interior is not None and np.asarray(interior).dtype.kind not in "biuf":
        raise TypeValidationError(
            f"is_track_interior: expected a numpy array of booleans, got {type(interior).__name__}"
        )
    for k, pair in enumerate(range_rows(environment.position_range)):
        if pair is not None:
            _pair(pair, f"position_range[{k}]")


def _sizes(value: Any) -> None:
    try:
        numbers(value, "place_bin_size", 0, above=True)
    except TypeValidationError:
        raise
    except ValidationError as error:
        raise type(error)(f"{error} (widths of bins are positive, in cm)") from None


def _pair(pair: Any, name: str) -> None:
    if np.asarray(pair).dtype.kind not in "biuf":
        raise ValidationError(f"{name}: expected numeric values (min, max), got {pair!r:.60}")
    ends = _data.reals(pair, name)
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise ValidationError(
            f"{name}: {ends.tolist()} is not allowed; expected a 2-tuple (min, max) with "
            "min < max, in cm"
        )


def range_rows(position_range: Any) -> list[Any]:
    """Return position_range with one entry per coordinate; none is an empty list."""
    if position_range is None:
        return []
    try:
        rows: list[Any] = list(position_range)
    except TypeError:
        raise TypeValidationError(
            f"position_range: expected one (min, max) per coordinate, got {position_range!r:.60}"
        ) from None
    if len(rows) == 2 and np.ndim(rows[0]) == 0 and rows[0] is not None:
        rows = [rows]  # one coordinate, written as (low, high)
    return rows


def _track(environment: Environment) -> None:
    graph, order = environment.track_graph, environment.edge_order
    _parts(graph)
    track_arrays(graph, None, None)
    if order is None:
        raise ConfigurationError(
            "edge_order: a track_graph needs one",
            hint="list its edges in their order along the line, such as [(0, 1), (1, 2)]; "
            "list(track_graph.edges) is the graph's own",
        )
    if environment.edge_spacing is None:
        raise ConfigurationError(
            "edge_spacing: a track_graph needs it",
            hint="give the gaps between its edges along the line in cm, 0.0 for none",
        )
    track_arrays(graph, _edges(graph, order), environment.edge_spacing)
    spacing = np.asarray(environment.edge_spacing)
    if spacing.ndim == 1 and len(spacing) not in (1, len(order) - 1):
        raise ShapeValidationError(
            f"edge_spacing: a list of length {len(spacing)} for {len(order)} edges; expected "
            f"length {len(order) - 1}, one gap between two consecutive edges"
        )


def _parts(graph: Any) -> None:
    """Refuse graphs of networkx without what the bins need; our own class always has it."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
        return
    if len(graph.nodes) < 2:
        raise ValidationError(f"track_graph: {len(graph.nodes)} nodes; a track has two or more")
    if len(graph.edges) < 1:
        raise ValidationError("track_graph: no edges; a track has one or more")
    for name, data in graph.nodes(data=True):
        if "pos" not in data:
            raise ValidationError(f"track_graph: node {name!r} has no attribute 'pos'")
    for a, b, data in graph.edges(data=True):
        for wanted in _ATTRIBUTES:
            if wanted not in data:
                raise ValidationError(
                    f"track_graph: edge ({a!r}, {b!r}) has no attribute {wanted!r}",
                    hint="make_track_graph(node_positions, edges) adds it",
                )


def _edges(graph: Any, order: Any) -> list[tuple[Hashable, Hashable]]:
    """Return edge_order as pairs of nodes that the graph joins."""
    if isinstance(order, str) or not hasattr(order, "__len__"):
        raise TypeValidationError(f"edge_order: expected a list of 2-tuples, got {order!r:.60}")
    pairs = []
    for i, edge in enumerate(order.tolist() if isinstance(order, np.ndarray) else order):
        is_row = isinstance(order, np.ndarray) and len(edge) == 2
        if not is_row and (not isinstance(edge, tuple) or len(edge) != 2):
            raise TypeValidationError(
                f"edge_order[{i}]: expected a 2-tuple of nodes, got {edge!r:.60}; edge_order is a "
                "list such as [(0, 1), (1, 2)]"
            )
        pairs.append((edge[0], edge[1]))
    if hasattr(graph, "edges"):
        known = {frozenset((a, b)) for a, b, _ in graph.edges(data=True)}
        for i, (a, b) in enumerate(pairs):
            if frozenset((a, b)) not in known:
                raise ValidationError(
                    f"edge_order[{i}]: non-existent edge ({a!r}, {b!r}); the track graph has "
                    f"{list(graph.edges)!r:.120}"
                )
    return pairs


def positions(value: Any) -> Array | None:
    """Return positions to make bins of; None for None."""
    if value is None:
        return None
    given = _data.reals(value, "position")
    if given.ndim not in (1, 2):
        raise ShapeValidationError(
            f"position: expected 1D or 2D, (n_sample,) or (n_sample, n_dim), got {given.shape}"
        )
    if len(given) == 0:
        raise ShapeValidationError("position: no time points; there are no bins without positions")
    if np.isinf(given).any():
        raise ValidationError(
            f"position: {int(np.isinf(given).sum())} values are Inf; expected numbers, in cm, or "
            "NaN where the position is unknown"
        )
    return _data.position(given)
