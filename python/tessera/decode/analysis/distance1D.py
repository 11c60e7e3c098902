"""How far the represented position is ahead of the animal or behind it, along a track."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats
from tessera.decode._plane import enumerate_edges
from tessera.decode._smooth import gaussian_smooth as _gaussian_smooth
from tessera.decode._track import track_arrays
from tessera.decode.analysis.posterior import flat_posterior
from tessera.decode.environment import Environment, find_environment
from tessera.decode.exceptions import ValidationError

if TYPE_CHECKING:
    import networkx as nx
    from numpy.typing import ArrayLike

    from tessera.decode._types import TrackLike
    from tessera.decode.models._detector import DetectorBase

__all__ = ["get_ahead_behind_distance", "get_map_speed", "get_trajectory_data"]


def _edges_of(track_graph: Any) -> tuple[Floats, Array, list[Any]]:
    """Return node positions, edges by number, and the graph's names of the nodes."""
    track = track_arrays(track_graph, None, None)
    names = [name for name, _ in track_graph.nodes(data=True)]
    return track.node_position, enumerate_edges(track), names


def _node_distances(points: Floats, edges: Array) -> Floats:
    """Return shortest paths between nodes (Floyd and Warshall; tracks are small)."""
    n = len(points)
    distance = np.full((n, n), np.inf)
    np.fill_diagonal(distance, 0)
    for a, b in edges:
        length = np.linalg.norm(points[a] - points[b])
        distance[a, b] = distance[b, a] = min(distance[a, b], length)
    for k in range(n):
        distance = np.minimum(distance, distance[:, k, None] + distance[None, k])
    return distance


def _bins_in_plane(environment: Any) -> tuple[Array, Array]:
    """Return the points and the edge numbers of bins; of the original's environments, too."""
    if hasattr(environment, "place_bin_center_2D_position_"):
        points = environment.place_bin_center_2D_position_
        return np.asarray(points), np.asarray(environment.place_bin_center_ind_to_edge_id_)
    table = environment.place_bin_centers_nodes_df_
    return np.asarray(table[["x_position", "y_position"]]), np.asarray(table["edge_id"])


def get_trajectory_data(
    posterior: ArrayLike,
    track_graph: TrackLike,
    decoder: DetectorBase | Environment,
    actual_projected_position: ArrayLike,
    track_segment_id: ArrayLike,
    actual_orientation: ArrayLike,
    environment_name: str = "",
) -> tuple[Array, Array, Array, Floats, Array]:
    """Collect what :func:`get_ahead_behind_distance` needs.

    Parameters
    ----------
    posterior : xarray.DataArray or array, shape (n_time, n_position_bins)
        Over the bins of the environment.
    track_graph : networkx.Graph or TrackGraph
        The track.
    decoder : fitted model or Environment
        Whose bins the posterior is over.
    actual_projected_position : array, shape (n_time, 2)
        The animal, projected on the track.
    track_segment_id : array, shape (n_time,)
        Edge the animal is on.
    actual_orientation : array, shape (n_time,)
        Direction of the head, radians.
    environment_name : str
        Where the decoder has several.

    Returns
    -------
    actual_projected_position, actual_edges, actual_orientation, mental_position_2d,
    mental_position_edges : ndarray
        Points and edges (pairs of nodes) of the animal and of the most likely position.
    """
    given: Any = decoder
    if hasattr(given, "environments"):
        environment = find_environment(given.environments, environment_name)
    else:
        environment = getattr(given, "environment", given)
    values, _ = flat_posterior(np.asarray(posterior))
    interior = environment.is_track_interior_.ravel()
    allowed = np.where(interior & ~np.isnan(values), values, -np.inf)
    best = allowed.argmax(axis=1)
    _, edges, names = _edges_of(track_graph)
    by_name = np.array([(names[a], names[b]) for a, b in edges])
    segment = np.asarray(track_segment_id).astype(int).reshape(-1)
    points, numbers = _bins_in_plane(environment)
    return (
        np.asarray(actual_projected_position),
        by_name[segment],
        np.asarray(actual_orientation),
        points[best],
        by_name[numbers[best]],
    )


def get_ahead_behind_distance(
    track_graph: TrackLike,
    actual_projected_position: ArrayLike,
    actual_edges: ArrayLike,
    actual_orientation: ArrayLike,
    mental_position_2d: ArrayLike,
    mental_position_edges: ArrayLike,
    source: str = "actual_position",
) -> Floats:
    """Return the distance along the track, negative where the position is behind the animal.

    Parameters
    ----------
    track_graph : networkx.Graph or TrackGraph
        The track.
    actual_projected_position, actual_edges, actual_orientation : array
        Of the animal, from :func:`get_trajectory_data`.
    mental_position_2d, mental_position_edges : array
        Of the represented position, from the same.
    source : str, default 'actual_position'
        'head' begins at the head, from where everything is ahead.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm.
    """
    points, edges, names = _edges_of(track_graph)
    between = _node_distances(points, edges)
    number = {name: i for i, name in enumerate(names)}

    def ends(pairs: Any) -> Array:
        return np.array([[number[a], number[b]] for a, b in pairs]).reshape(-1, 2)

    actual, mental = ends(actual_edges), ends(mental_position_edges)
    here = np.asarray(actual_projected_position, dtype=np.float64).reshape(-1, 2)
    there = np.asarray(mental_position_2d, dtype=np.float64).reshape(-1, 2)
    angle = np.asarray(actual_orientation, dtype=np.float64).reshape(-1)
    head = np.stack((np.cos(angle), np.sin(angle)), axis=1)
    along = points[actual[:, 1]] - points[actual[:, 0]]
    faces_second = (along * head).sum(axis=1) >= 0
    ahead = np.where(faces_second, actual[:, 1], actual[:, 0])
    behind = np.where(faces_second, actual[:, 0], actual[:, 1])

    def by_way_of(node: Array) -> Floats:
        """Length of the path that leaves the animal's edge at node."""
        start = np.linalg.norm(here - points[node], axis=1)
        ways = [
            between[node, mental[:, k]] + np.linalg.norm(there - points[mental[:, k]], axis=1)
            for k in range(2)
        ]
        path: Floats = start + np.minimum(*ways)
        return path

    forward, backward = by_way_of(ahead), by_way_of(behind)
    signed = np.where(forward <= backward, forward, -backward)
    same = (np.sort(actual, axis=1) == np.sort(mental, axis=1)).all(axis=1)
    direct = np.linalg.norm(there - here, axis=1)
    nearer = np.linalg.norm(there - points[ahead], axis=1) <= np.linalg.norm(
        here - points[ahead], axis=1
    )
    distance: Floats = np.where(same, np.where(nearer, direct, -direct), signed)
    return np.abs(distance) if source == "head" else distance


def _steps(graph: nx.Graph, first: Array, second: Array) -> Floats:
    """Return how long the ways from node to node are."""
    from networkx import single_source_dijkstra_path_length

    found = np.full(len(first), np.inf)
    for start in set(first.tolist()):
        ways = single_source_dijkstra_path_length(graph, start, weight="distance")
        for i in np.flatnonzero(first == start):
            found[i] = ways.get(second[i], np.inf)
    return found


def get_map_speed(
    posterior: ArrayLike,
    track_graph_with_bin_centers_edges: nx.Graph | Environment,
    place_bin_center_ind_to_node: ArrayLike | None = None,
    sampling_frequency: float = 500.0,
    smooth_sigma: float = 0.0025,
) -> Floats:
    """Return the speed of the most likely position along the track.

    Parameters
    ----------
    posterior : xarray.DataArray or array, shape (n_time, n_position_bins)
        Over the bins of the environment.
    track_graph_with_bin_centers_edges : networkx.Graph or Environment
        The attribute of this name of an environment, or the environment itself.
    place_bin_center_ind_to_node : array, shape (n_position_bins,)
        Nodes of the bins: node_id of the environment's ``place_bin_centers_nodes_df_``. Not needed
        with an environment.
    sampling_frequency : float
        Time bins per second.
    smooth_sigma : float
        Seconds of Gaussian smoothing.

    Returns
    -------
    ndarray, shape (n_time,)
        Cm/s; NaN where there is one time alone.
    """
    values, _ = flat_posterior(np.asarray(posterior))
    given: Any = track_graph_with_bin_centers_edges
    is_environment = isinstance(given, Environment)
    allowed = ~np.isnan(values)
    if is_environment:
        allowed &= given.is_track_interior_.ravel()
    elif place_bin_center_ind_to_node is None:
        raise ValidationError("place_bin_center_ind_to_node: needed with a graph")
    best = np.where(allowed, values, -np.inf).argmax(axis=1)
    n = len(best)
    if n < 2:
        return np.full(n, np.nan)
    before = np.maximum(np.arange(n) - 1, 0)
    after = np.minimum(np.arange(n) + 1, n - 1)
    if is_environment:
        step = given.distance_between_bins_[best[before], best[after]]
    else:
        nodes = np.asarray(place_bin_center_ind_to_node)[best]
        step = _steps(given, nodes[before], nodes[after])
    speed = step / (after - before) * sampling_frequency
    return _gaussian_smooth(np.abs(speed), smooth_sigma, sampling_frequency)
