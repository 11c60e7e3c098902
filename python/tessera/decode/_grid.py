"""Grids of bins over positions, by the names of the original.

:class:`tessera.decode.Environment` makes the same bins in the library; these functions serve
scripts that ask for one step alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tessera.decode import _data
from tessera.decode._data import Array, Floats, Mask
from tessera.decode._morphology import close, fill, grow
from tessera.decode.exceptions import ShapeValidationError

Size: TypeAlias = float | Sequence[float]
Range: TypeAlias = Sequence[tuple[float, float]] | None

__all__ = [
    "get_centers",
    "get_grid",
    "get_n_bins",
    "get_track_boundary",
    "get_track_boundary_points",
    "get_track_interior",
    "order_boundary",
]


def get_centers(bin_edges: ArrayLike) -> Floats:
    """Return the middles between edges.

    Parameters
    ----------
    bin_edges : array, shape (n_edges,)
        Increasing.

    Returns
    -------
    ndarray, shape (n_edges - 1,)
        Centres.

    Examples
    --------
    >>> from tessera.decode.environment import get_centers
    >>> get_centers([0, 2, 6])
    array([1., 4.])
    """
    edges = np.asarray(bin_edges, dtype=np.float64)
    return edges[:-1] + np.diff(edges) / 2


def get_n_bins(
    position: ArrayLike, bin_size: Size = 2.5, position_range: Range = None
) -> NDArray[np.int32] | np.int32:
    """Return how many bins of at most a size cover the positions.

    Parameters
    ----------
    position : array, shape (n_time,) or (n_time, n_dim)
        Cm.
    bin_size : float or sequence of float
        Cm; one value or one per coordinate.
    position_range : sequence of (low, high), optional
        Cover these instead, one pair per coordinate.

    Returns
    -------
    int32 or ndarray of int32
        One number per coordinate.

    Examples
    --------
    >>> from tessera.decode.environment import get_n_bins
    >>> int(get_n_bins([0.0, 9.0], 2.0))
    5
    """
    if position_range is not None:
        extent = np.diff(np.asarray(position_range, dtype=np.float64), axis=1).squeeze()
    else:
        extent = np.ptp(np.asarray(position, dtype=np.float64), axis=0)
    found: NDArray[np.int32] | np.int32 = np.ceil(extent / np.asarray(bin_size)).astype(np.int32)
    return found


def get_grid(
    position: ArrayLike, bin_size: Size = 2.5, position_range: Range = None
) -> tuple[list[Floats], Floats, Floats, tuple[int, ...]]:
    """Return the bins over positions; in two coordinates and more with one more on every side.

    Parameters
    ----------
    position : array, shape (n_time, n_dim) or (n_time,)
        Cm; rows with NaN are ignored.
    bin_size : float or sequence of float
        Upper bound of a bin's width, cm.
    position_range : sequence of (low, high), optional
        Cover these instead.

    Returns
    -------
    edges : list of ndarray
        Of the bins along every coordinate.
    place_bin_edges : ndarray, shape (n_corners, n_dim)
        All corners.
    place_bin_centers : ndarray, shape (n_bins, n_dim)
        All centres, the last coordinate running fastest.
    centers_shape : tuple of int
        Bins along every coordinate.

    Examples
    --------
    >>> from tessera.decode.environment import get_grid
    >>> get_grid([[0.0, 0.0], [9.0, 4.0]], 2.0)[3]
    (7, 4)
    """
    points = _data.position(position)
    points = points[~np.isnan(points).any(axis=1)]
    n_bins = get_n_bins(points, bin_size, position_range)
    edges = [np.asarray(e) for e in np.histogramdd(points, bins=n_bins, range=position_range)[1]]
    if len(edges) > 1:
        edges = [np.concatenate(([2 * e[0] - e[1]], e, [e[-1] + e[1] - e[0]])) for e in edges]
    return edges, _mesh(edges), _mesh([get_centers(e) for e in edges]), _shape(edges)


def _mesh(axes: Sequence[Array]) -> Floats:
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def _shape(edges: Sequence[Array]) -> tuple[int, ...]:
    return tuple(len(axis) - 1 for axis in edges)


def get_track_interior(
    position: ArrayLike,
    bins: int | Sequence[int] | Sequence[ArrayLike],
    fill_holes: bool = False,
    dilate: bool = False,
    bin_count_threshold: int = 0,
) -> Mask:
    """Return which bins belong to the track: the visited ones, without small gaps.

    Parameters
    ----------
    position : array, shape (n_time, n_dim)
        Cm.
    bins : sequence of array, or int, or sequence of int
        Edges along every coordinate, or how many bins.
    fill_holes : bool
        Also bins that the others surround (two coordinates and more).
    dilate : bool
        Also the neighbours of these (two coordinates and more).
    bin_count_threshold : int
        A bin is visited with more samples than this.

    Returns
    -------
    ndarray of bool
        One value per bin. In two coordinates and more the last bin of each is never interior.

    Examples
    --------
    >>> from tessera.decode.environment import get_track_interior
    >>> get_track_interior([[0.5], [0.6], [2.5]], [[0, 1, 2, 3]]).tolist()
    [True, False, True]
    """
    points = _data.position(position)
    given: Any = bins
    counts = np.histogramdd(points[~np.isnan(points).any(axis=1)], bins=given)[0]
    interior: Mask = counts > bin_count_threshold
    if interior.ndim == 1:
        return interior
    interior = close(interior)
    if fill_holes:
        interior = fill(interior)
    if dilate:
        interior = grow(interior)
    for axis in range(interior.ndim):
        np.moveaxis(interior, axis, 0)[-1] = False
    return interior


def get_track_boundary(
    is_track_interior: ArrayLike, n_position_dims: int = 2, connectivity: int = 1
) -> Mask:
    """Return the bins around the track.

    Parameters
    ----------
    is_track_interior : array of bool
        One value per bin.
    n_position_dims : int
        Axes of is_track_interior.
    connectivity : int
        In how many coordinates neighbours may differ: 1 leaves diagonal ones out.

    Returns
    -------
    ndarray of bool
        Bins that are not interior and have an interior neighbour.

    Examples
    --------
    >>> from tessera.decode.environment import get_track_boundary
    >>> get_track_boundary([[0, 0, 0], [0, 1, 0], [0, 0, 0]]).astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    interior = np.asarray(is_track_interior, dtype=bool)
    if interior.ndim != n_position_dims:
        raise ShapeValidationError(
            f"is_track_interior has {interior.ndim} axes, n_position_dims is {n_position_dims}"
        )
    boundary: Mask = grow(interior, connectivity) & ~interior
    return boundary


def _neighbours(points: Floats) -> list[list[int]]:
    """Join every point with its two nearest others, both ways."""
    joined: list[list[int]] = [[] for _ in points]
    for i, point in enumerate(points):
        square = ((points - point) ** 2).sum(axis=1)
        square[i] = np.inf
        for j in np.argsort(square, kind="stable")[:2].tolist():
            if j not in joined[i]:
                joined[i].append(j)
                joined[j].append(i)
    return joined


def _walk(joined: list[list[int]], start: int) -> list[int]:
    """Return points in the order of a depth-first walk."""
    order, seen, ahead = [], set(), [start]
    while ahead:
        here = ahead.pop()
        if here not in seen:
            seen.add(here)
            order.append(here)
            ahead.extend(reversed(joined[here]))
    return order


def order_boundary(boundary: ArrayLike) -> Floats:
    """Return points in an order that makes a line of them.

    Parameters
    ----------
    boundary : array, shape (n_points, n_dim)
        Centres of the bins around a track.

    Returns
    -------
    ndarray, shape (n_ordered, n_dim)
        Walks go from neighbour to neighbour; of those that reach most points the shortest one.
        Points of another contour are not reached.

    Examples
    --------
    >>> from tessera.decode.environment import order_boundary
    >>> order_boundary([[0, 0], [2, 0], [1, 0]])[:, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    points = _data.position(boundary)
    joined = _neighbours(points)
    best: tuple[float, float, list[int]] = (1.0, 0.0, [])
    for start in range(len(points)):
        order = _walk(joined, start)
        length = float(np.linalg.norm(np.diff(points[order], axis=0), axis=1).sum())
        best = min(best, (-len(order), length, order))
    return points[best[2]]


def get_track_boundary_points(
    is_track_interior: ArrayLike, edges: Sequence[ArrayLike], connectivity: int = 1
) -> Floats:
    """Return the centres of the bins around a track as a line.

    Parameters
    ----------
    is_track_interior : array of bool
        One value per bin.
    edges : sequence of array
        Of the bins along every coordinate.
    connectivity : int
        See :func:`get_track_boundary`.

    Returns
    -------
    ndarray, shape (n_points, n_dim)
        See :func:`order_boundary`.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.decode.environment import get_track_boundary_points
    >>> interior = np.zeros((4, 3), dtype=bool)
    >>> interior[1:3, 1] = True
    >>> len(get_track_boundary_points(interior, [np.arange(5.0), np.arange(4.0)]))
    6
    """
    boundary = get_track_boundary(is_track_interior, len(edges), connectivity)
    centers = [get_centers(axis) for axis in edges]
    return order_boundary(
        np.stack([c[i] for c, i in zip(centers, np.nonzero(boundary), strict=True)], axis=1)
    )
