"""How far the represented position is ahead of the animal or behind it, in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats
from tessera.decode._data import position as as_points
from tessera.decode._smooth import gaussian_smooth
from tessera.decode.environment import Environment

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "get_2D_distance",
    "get_ahead_behind_distance2D",
    "get_map_estimate_direction_from_track_graph",
    "get_speed",
    "get_velocity",
    "head_direction_simliarity",
    "make_2D_track_graph_from_environment",
]


class GridGraph:
    """The bins of an environment, joined where both are interior and neighbours."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.distance = environment.distance_between_bins_

    def first_step(self, origin: Array, target: Array) -> Array:
        """Return the first bin on the way.

        Parameters
        ----------
        origin, target : ndarray of int, shape (n,)
            Bins.

        Returns
        -------
        ndarray of int, shape (n,)
            The target itself where there is no other.
        """
        shape = self.environment.centers_shape_
        best = np.asarray(target).copy()
        shortest = np.full(len(best), np.inf)
        here = np.array(np.unravel_index(origin, shape))
        for offset in np.ndindex(*(3,) * len(shape)):
            there = here + (np.array(offset) - 1)[:, np.newaxis]
            limit = np.array(shape)[:, np.newaxis]
            inside = ((there >= 0) & (there < limit)).all(axis=0)
            bins = np.ravel_multi_index(tuple(np.clip(there, 0, limit - 1)), shape)
            length = self.distance[origin, bins] + self.distance[bins, target]
            nearer = inside & (bins != origin) & (length < shortest - 1e-9)
            best[nearer], shortest[nearer] = bins[nearer], length[nearer]
        best[origin == target] = target[origin == target]
        return best


def make_2D_track_graph_from_environment(environment: Environment) -> GridGraph:  # noqa: N802
    """Return the graph of an environment's bins, for the functions of this module.

    Parameters
    ----------
    environment : Environment
        With bins.

    Returns
    -------
    GridGraph
        The bins, joined where both are interior and neighbours.
    """
    return GridGraph(environment)


def _graph(track_graph: Any) -> GridGraph:
    return GridGraph(track_graph) if isinstance(track_graph, Environment) else track_graph


def _rows(value: Any) -> Floats:
    return as_points(np.atleast_2d(np.asarray(value, dtype=np.float64)))


def get_2D_distance(  # noqa: N802
    position1: ArrayLike,
    position2: ArrayLike,
    track_graph: GridGraph | Environment | None = None,
    edges: ArrayLike | None = None,
    precomputed_distance: bool = True,
) -> Floats:
    """Return the distance of pairs of points.

    Parameters
    ----------
    position1, position2 : array, shape (n_time, 2)
        Cm.
    track_graph : GridGraph or Environment, optional
        Measure along its interior; default: straight.
    edges, precomputed_distance
        Accepted; the environment knows its bins.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm.
    """
    del edges, precomputed_distance
    first, second = _rows(position1), _rows(position2)
    if track_graph is None:
        straight: Floats = np.linalg.norm(first - second, axis=1)
        return straight
    return _graph(track_graph).environment.get_manifold_distances(first, second)


def get_map_estimate_direction_from_track_graph(
    head_position: ArrayLike,
    map_estimate: ArrayLike,
    track_graph: GridGraph | Environment,
    edges: ArrayLike | None = None,
    precomputed_distance: bool = False,
) -> Floats:
    """Return the direction in which the way to the estimate begins.

    Parameters
    ----------
    head_position, map_estimate : array, shape (n_time, 2)
        Cm.
    track_graph : GridGraph or Environment
        Whose bins lead the way.
    edges, precomputed_distance
        Accepted; the environment knows its bins.

    Returns
    -------
    ndarray, shape (n_time,)
        Radians.
    """
    del edges, precomputed_distance
    graph = _graph(track_graph)
    origin = graph.environment.get_bin_ind(_rows(head_position))
    target = graph.environment.get_bin_ind(_rows(map_estimate))
    step = graph.first_step(origin, target)
    centers = graph.environment.place_bin_centers_
    difference = centers[step] - centers[origin]
    return np.arctan2(difference[:, 1], difference[:, 0])


def head_direction_simliarity(
    head_position: ArrayLike,
    head_direction: ArrayLike,
    map_estimate: ArrayLike,
    track_graph: GridGraph | Environment | None = None,
    edges: ArrayLike | None = None,
    precomputed_distance: bool = False,
) -> Floats:
    """Return the cosine between where the head points and where the estimate is.

    Parameters
    ----------
    head_position, map_estimate : array, shape (n_time, 2)
        Cm.
    head_direction : array, shape (n_time,)
        Radians.
    track_graph : GridGraph or Environment, optional
        Look along its interior; default: straight.
    edges, precomputed_distance
        Accepted; the environment knows its bins.

    Returns
    -------
    ndarray, shape (n_time,)
        From -1 (behind) to 1 (ahead).
    """
    head, estimate = _rows(head_position), _rows(map_estimate)
    if track_graph is None:
        difference = estimate - head
        direction = np.arctan2(difference[:, 1], difference[:, 0])
    else:
        direction = get_map_estimate_direction_from_track_graph(
            head, estimate, track_graph, edges, precomputed_distance
        )
    cosine: Floats = np.cos(np.asarray(head_direction).squeeze() - direction)
    return cosine


def get_ahead_behind_distance2D(  # noqa: N802
    head_position: ArrayLike,
    head_direction: ArrayLike,
    map_position: ArrayLike,
    track_graph: GridGraph | Environment | None = None,
    edges: ArrayLike | None = None,
    precomputed_distance: bool = False,
) -> Floats:
    """Return the distance of the estimate, negative where it is behind the head.

    Parameters
    ----------
    head_position, head_direction, map_position
        As in :func:`head_direction_simliarity`.
    track_graph, edges, precomputed_distance
        Likewise.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm.
    """
    distance = get_2D_distance(head_position, map_position, track_graph)
    similarity = head_direction_simliarity(head_position, head_direction, map_position, track_graph)
    signed: Floats = np.where(np.sign(similarity) < 0, -distance, distance)
    return signed


def get_velocity(
    position: ArrayLike,
    time: ArrayLike | None = None,
    sigma: float = 0.0025,
    sampling_frequency: float = 500,
) -> Floats:
    """Return the smoothed velocity of a position series.

    Parameters
    ----------
    position : array, shape (n_time, n_dim)
        Cm.
    time : array, shape (n_time,), optional
        Seconds; default: from sampling_frequency.
    sigma : float, default 0.0025
        Seconds of Gaussian smoothing of the position.
    sampling_frequency : float, default 500
        Samples per second.

    Returns
    -------
    ndarray, shape (n_time, n_dim)
        Cm/s.
    """
    points = as_points(position)
    times = np.arange(len(points)) / sampling_frequency if time is None else np.asarray(time)
    smooth = gaussian_smooth(points, sigma, sampling_frequency)
    velocity: Floats = np.gradient(smooth, times, axis=0)
    return velocity


def get_speed(velocity: ArrayLike) -> Floats:
    """Return the length of velocities.

    Parameters
    ----------
    velocity : array, shape (n_time, n_dim)
        Cm/s.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm/s.

    Examples
    --------
    >>> from tessera.decode.analysis import get_speed
    >>> get_speed([[3.0, 4.0]])
    array([5.])
    """
    speed: Floats = np.sqrt((np.asarray(velocity, dtype=np.float64) ** 2).sum(axis=1))
    return speed
