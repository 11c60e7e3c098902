"""How far the represented position is ahead of the animal or behind it, in the plane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats
from tessera.decode._data import position as as_points
from tessera.decode._smooth import gaussian_smooth
from tessera.decode.environment import Environment, make_nD_track_graph_from_environment
from tessera.decode.exceptions import ValidationError

if TYPE_CHECKING:
    import networkx as nx
    from numpy.typing import ArrayLike

__all__ = [
    "get_2D_distance",
    "get_ahead_behind_distance2D",
    "get_bin_ind",
    "get_map_estimate_direction_from_track_graph",
    "get_speed",
    "get_velocity",
    "head_direction_simliarity",
    "make_2D_track_graph_from_environment",
]


class NetworkGraph:
    """A graph of networkx with a node for every bin, and the edges of these."""

    def __init__(self, graph: nx.Graph, edges: Sequence[Any]) -> None:
        self.graph = graph
        self.edges = [np.asarray(axis)[1:-1] for axis in edges]
        places = [data["pos"] for _, data in graph.nodes(data=True)]
        self.names = list(graph.nodes)
        self.centers: Floats = np.array(places, dtype=np.float64)

    def bins(self, points: Floats) -> Array:
        """Return the bins of points, interior or not.

        Parameters
        ----------
        points : ndarray, shape (n, n_dim)
            Cm.

        Returns
        -------
        ndarray of int, shape (n,)
            Bins.
        """
        return get_bin_ind(points, self.edges)

    def length(self, origin: Array, target: Array) -> Floats:
        """Return how long the ways are.

        Parameters
        ----------
        origin, target : ndarray of int, shape (n,)
            Bins.

        Returns
        -------
        ndarray, shape (n,)
            Cm; inf where there is none.
        """
        import networkx as nx

        found = np.full(len(origin), np.inf)
        for start in np.unique(origin):
            ways = nx.single_source_dijkstra_path_length(
                self.graph, self.names[start], weight="distance"
            )
            for i in np.flatnonzero(origin == start):
                found[i] = ways.get(self.names[target[i]], np.inf)
        return found

    def first_step(self, origin: Array, target: Array, together: bool = False) -> Array:
        """Return the first bin on the way.

        Parameters
        ----------
        origin, target : ndarray of int, shape (n,)
            Bins.
        together : bool
            Look for all ways from a bin at once. Among ways of one length it decides.

        Returns
        -------
        ndarray of int, shape (n,)
            The target itself where there is no other, -1 where there is no way.
        """
        number = {name: i for i, name in enumerate(self.names)}
        found = np.full(len(origin), -1)
        for start in np.unique(origin):
            here = origin == start
            for end, way in self._ways(start, np.unique(target[here]), together):
                found[here & (target == end)] = number[way[min(1, len(way) - 1)]]
        return found

    def _ways(self, start: int, ends: Array, together: bool) -> Iterator[tuple[int, list[Any]]]:
        import networkx as nx

        source = self.names[start]
        if together:
            ways = nx.single_source_dijkstra_path(self.graph, source, weight="distance")
            yield from ((end, ways[self.names[end]]) for end in ends if self.names[end] in ways)
            return
        for end in ends:
            try:
                yield end, nx.shortest_path(self.graph, source, self.names[end], weight="distance")
            except nx.NetworkXNoPath:
                continue


class GridGraph:
    """The bins of an environment, joined where both are interior and neighbours."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.distance = environment.distance_between_bins_
        self.centers = environment.place_bin_centers_

    def bins(self, points: Floats) -> Array:
        """Return the interior bins nearest to points; else as :meth:`NetworkGraph.bins`."""
        return self.environment.get_bin_ind(points)

    def length(self, origin: Array, target: Array) -> Floats:
        """Return how long the ways are, as :meth:`NetworkGraph.length`."""
        length: Floats = self.distance[origin, target]
        return length

    def first_step(self, origin: Array, target: Array, together: bool = False) -> Array:
        """Return the first bin on the way, as :meth:`NetworkGraph.first_step`; all are joined."""
        del together
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


def make_2D_track_graph_from_environment(  # noqa: N802
    environment: Environment,
) -> nx.Graph | GridGraph:
    """Return the graph of an environment's bins, for the functions of this module.

    Parameters
    ----------
    environment : Environment
        With bins.

    Returns
    -------
    networkx.Graph or GridGraph
        The bins, joined where both are interior and neighbours; the former where networkx is
        installed. It remembers the environment, so that the functions need no edges.
    """
    try:
        import networkx  # noqa: F401
    except ImportError:
        return GridGraph(environment)
    graph = make_nD_track_graph_from_environment(environment)
    graph.graph["environment"] = environment
    return graph


def get_bin_ind(sample: ArrayLike, edges: Sequence[ArrayLike]) -> Array:
    """Find the bins of samples between edges.

    Parameters
    ----------
    sample : array, shape (n_time, n_dim), or (n_time,) for one coordinate
        Cm.
    edges : sequence of array
        Inner edges of the bins along every coordinate: n edges are between n + 1 bins.

    Returns
    -------
    ndarray of int, shape (n_time,)
        Numbers of bins. A sample on an edge belongs to the bin above, on the last edge to the bin
        below.

    Examples
    --------
    >>> from tessera.decode.analysis.distance2D import get_bin_ind
    >>> get_bin_ind([0.5, 1.0, 2.0, 2.5], [[1.0, 2.0]]).tolist()
    [0, 1, 1, 2]
    """
    points = as_points(sample)
    inner = [np.asarray(axis, dtype=np.float64) for axis in edges]
    found = []
    for values, axis in zip(points.T, inner, strict=True):
        number = np.searchsorted(axis, values, side="right")
        found.append(number - (values == axis[-1]) if axis.size else number)
    return np.asarray(np.ravel_multi_index(tuple(found), [len(axis) + 1 for axis in inner]))


def _graph(track_graph: Any, edges: Any) -> GridGraph | NetworkGraph:
    """Return what finds ways: over an environment's bins, or along a graph of networkx."""
    if isinstance(track_graph, GridGraph):
        return track_graph
    if isinstance(track_graph, Environment):
        return GridGraph(track_graph)
    environment = track_graph.graph.get("environment")
    if edges is None and environment is not None:
        return GridGraph(environment)
    if edges is None:
        raise ValidationError("edges: needed with a graph that no environment is known of")
    return NetworkGraph(track_graph, edges)


def _rows(value: Any) -> Floats:
    return as_points(np.atleast_2d(np.asarray(value, dtype=np.float64)))


def get_2D_distance(  # noqa: N802
    position1: ArrayLike,
    position2: ArrayLike,
    track_graph: nx.Graph | GridGraph | Environment | None = None,
    edges: Sequence[ArrayLike] | None = None,
    precomputed_distance: bool = True,
) -> Floats:
    """Return the distance of pairs of points.

    Parameters
    ----------
    position1, position2 : array, shape (n_time, 2)
        Cm.
    track_graph : networkx.Graph, GridGraph or Environment, optional
        Measure along its interior; default: straight.
    edges : sequence of array, optional
        Of the bins along every coordinate, the outermost ones, too. Needed with a graph of
        networkx that :func:`make_2D_track_graph_from_environment` has not made.
    precomputed_distance : bool
        Without effect; no way is looked for twice.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm.
    """
    del precomputed_distance
    first, second = _rows(position1), _rows(position2)
    if track_graph is None:
        straight: Floats = np.linalg.norm(first - second, axis=1)
        return straight
    graph = _graph(track_graph, edges)
    return graph.length(graph.bins(first), graph.bins(second))


def get_map_estimate_direction_from_track_graph(
    head_position: ArrayLike,
    map_estimate: ArrayLike,
    track_graph: nx.Graph | GridGraph | Environment,
    edges: Sequence[ArrayLike] | None = None,
    precomputed_distance: bool = False,
) -> Floats:
    """Return the direction in which the way to the estimate begins.

    Parameters
    ----------
    head_position, map_estimate : array, shape (n_time, 2)
        Cm.
    track_graph : networkx.Graph, GridGraph or Environment
        Whose bins lead the way.
    edges : sequence of array, optional
        As in :func:`get_2D_distance`.
    precomputed_distance : bool
        Which of several shortest ways is taken along a graph of networkx: that of a search from
        one end, or, if not, from both.

    Returns
    -------
    ndarray, shape (n_time,)
        Radians; NaN where there is no way.
    """
    graph = _graph(track_graph, edges)
    origin, target = graph.bins(_rows(head_position)), graph.bins(_rows(map_estimate))
    step = graph.first_step(origin, target, precomputed_distance)
    difference = graph.centers[step] - graph.centers[origin]
    direction = np.arctan2(difference[:, 1], difference[:, 0])
    return np.where(step < 0, np.nan, direction)


def head_direction_simliarity(
    head_position: ArrayLike,
    head_direction: ArrayLike,
    map_estimate: ArrayLike,
    track_graph: nx.Graph | GridGraph | Environment | None = None,
    edges: Sequence[ArrayLike] | None = None,
    precomputed_distance: bool = False,
) -> Floats:
    """Return the cosine between where the head points and where the estimate is.

    Parameters
    ----------
    head_position, map_estimate : array, shape (n_time, 2)
        Cm.
    head_direction : array, shape (n_time,)
        Radians.
    track_graph : networkx.Graph, GridGraph or Environment, optional
        Look along its interior; default: straight.
    edges, precomputed_distance
        As in :func:`get_map_estimate_direction_from_track_graph`.

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
    track_graph: nx.Graph | GridGraph | Environment | None = None,
    edges: Sequence[ArrayLike] | None = None,
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
    way = (track_graph, edges, precomputed_distance)
    distance = get_2D_distance(head_position, map_position, *way)
    similarity = head_direction_simliarity(head_position, head_direction, map_position, *way)
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
        Seconds; default: the numbers of the samples.
    sigma : float, default 0.0025
        Seconds of Gaussian smoothing of the velocity.
    sampling_frequency : float, default 500
        Samples per second.

    Returns
    -------
    ndarray, shape (n_time, n_dim)
        Cm/s; cm per sample where time is not given.
    """
    points = as_points(position)
    times = np.arange(len(points)) if time is None else np.asarray(time)
    velocity = np.gradient(points, times, axis=0)
    return gaussian_smooth(velocity, sigma, sampling_frequency)


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
