"""A track with its bins as nodes: graphs of networkx and tables of pandas, as the original has.

Bins are made in the library; these are views of them for scripts that walk along the graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tessera.decode._data import Array, Floats, Mask
from tessera.decode._grid import get_centers
from tessera.decode._optional import needed
from tessera.decode.exceptions import ValidationError

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from tessera.decode._types import Graph
    from tessera.decode.environment import Environment

EdgeOrder: TypeAlias = Sequence[tuple[Hashable, Hashable]]

__all__ = [
    "extract_bin_info_from_track_graph",
    "get_track_grid",
    "get_track_segments_from_graph",
    "make_nD_track_graph_from_environment",
    "make_track_graph_with_bin_centers_edges",
    "project_points_to_segment",
]


class TrackGrid(NamedTuple):
    """Bins of a track and the graph and tables of its nodes; see :func:`get_track_grid`."""

    place_bin_centers: Floats
    place_bin_edges: Floats
    is_track_interior: Mask
    distance_between_nodes: dict[Hashable, dict[Hashable, float]]
    centers_shape: tuple[int]
    edges: list[Floats]
    track_graph_with_bin_centers_edges: nx.Graph
    original_nodes_df: pd.DataFrame
    place_bin_edges_nodes_df: pd.DataFrame
    place_bin_centers_nodes_df: pd.DataFrame
    nodes_df: pd.DataFrame


def get_track_segments_from_graph(track_graph: Graph) -> Floats:
    """Return where the edges of a track begin and end.

    Parameters
    ----------
    track_graph : networkx.Graph or TrackGraph
        With the attribute pos at every node.

    Returns
    -------
    ndarray, shape (n_edges, 2, n_space)
        Both ends of every edge, cm.

    Examples
    --------
    >>> from tessera.decode import TrackGraph
    >>> from tessera.decode.environment import get_track_segments_from_graph
    >>> get_track_segments_from_graph(TrackGraph([(0, 0), (0, 5)], [(0, 1)])).tolist()
    [[[0.0, 0.0], [0.0, 5.0]]]
    """
    place = {node: data["pos"] for node, data in track_graph.nodes(data=True)}
    pairs = [(place[a], place[b]) for a, b, _ in track_graph.edges(data=True)]
    return np.array(pairs, dtype=np.float64)


def project_points_to_segment(track_segments: ArrayLike, position: ArrayLike) -> Floats:
    """Return the nearest point of every edge.

    Parameters
    ----------
    track_segments : array, shape (n_edges, 2, n_space)
        Both ends of every edge, cm.
    position : array, shape (n_time, n_space)
        Cm.

    Returns
    -------
    ndarray, shape (n_time, n_edges, n_space)
        Cm.

    Examples
    --------
    >>> from tessera.decode.environment import project_points_to_segment
    >>> project_points_to_segment([[[0, 0], [0, 5]]], [[1, 2], [3, 9]]).tolist()
    [[[0.0, 2.0]], [[0.0, 5.0]]]
    """
    segments = np.asarray(track_segments, dtype=np.float64)
    points = np.asarray(position, dtype=np.float64)[:, np.newaxis]
    begin, way = segments[:, 0], segments[:, 1] - segments[:, 0]
    share = ((points - begin) * way).sum(axis=2) / (way**2).sum(axis=1)
    nearest: Floats = begin + np.clip(share, 0, 1)[:, :, np.newaxis] * way
    return nearest


def _unused(graph: Any, n: int) -> list[int]:
    """Return n numbers that are no node: the original's, unless one of these is taken."""
    numbers = itertools.count(len(graph.nodes))
    return list(itertools.islice((k for k in numbers if k not in graph), n))


def make_track_graph_with_bin_centers_edges(
    track_graph: nx.Graph, place_bin_size: float
) -> nx.Graph:
    """Put the edges and centres of the bins into a track graph as nodes.

    Parameters
    ----------
    track_graph : networkx.Graph
        With pos at the nodes, distance and edge_id at the edges.
    place_bin_size : float
        Upper bound of a bin's width, cm.

    Returns
    -------
    networkx.Graph
        Nodes have pos, edge_id and is_bin_edge (False: the centre of a bin), edges distance.

    Examples
    --------
    >>> from tessera.decode import make_track_graph
    >>> from tessera.decode.environment import make_track_graph_with_bin_centers_edges
    >>> line = make_track_graph([(0, 0), (0, 5)], [(0, 1)])
    >>> graph = make_track_graph_with_bin_centers_edges(line, 2.0)
    >>> graph.number_of_nodes()  # two ends, and four edges and three centres of bins
    9
    """
    nx = needed("networkx", "make_track_graph_with_bin_centers_edges()")
    graph = track_graph.copy()
    for number, (first, second) in enumerate(track_graph.edges):
        edge_id = track_graph.edges[first, second].get("edge_id", number)
        begin, end = (np.asarray(track_graph.nodes[n]["pos"], float) for n in (first, second))
        n_bins = int(np.ceil(np.linalg.norm(end - begin) / place_bin_size))
        points = np.linspace(begin, end, 2 * n_bins + 1)
        nodes = _unused(graph, len(points))
        step = float(np.linalg.norm(points[1] - points[0]))
        nx.add_path(graph, nodes, distance=step)
        graph.add_edge(first, nodes[0], distance=0)
        graph.add_edge(second, nodes[-1], distance=0)
        graph.remove_edge(first, second)
        for i, (node, point) in enumerate(zip(nodes, points, strict=True)):
            graph.nodes[node].update(pos=point, edge_id=edge_id, is_bin_edge=i % 2 == 0)
        for node in (first, second):
            graph.nodes[node].update(edge_id=edge_id, is_bin_edge=True)
    return graph


def _gaps(edge_spacing: Any, n_edges: int) -> Floats:
    given = 0.0 if edge_spacing is None else edge_spacing
    return np.broadcast_to(np.asarray(given, dtype=np.float64), max(n_edges - 1, 0))


def _linear(track_graph: Any, points: Floats, edge_id: Array, order: Any, spacing: Any) -> Floats:
    """Return linear positions of points whose edge is known."""
    length = np.array([track_graph.edges[edge]["distance"] for edge in order], dtype=np.float64)
    gaps = np.append(_gaps(spacing, len(order)), 0.0)
    begin = np.concatenate(([0.0], np.cumsum(length + gaps)[:-1]))
    place = {track_graph.edges[edge]["edge_id"]: k for k, edge in enumerate(order)}
    try:
        k = np.array([place[e] for e in edge_id.tolist()], dtype=np.int64)
    except KeyError as error:
        raise ValidationError(
            f"edge_order: the edge with edge_id {error.args[0]} is not in it"
        ) from None
    nearest = project_points_to_segment(get_track_segments_from_graph(track_graph), points)
    nearest = nearest[np.arange(len(points)), edge_id.astype(np.int64)]
    start = np.array([track_graph.nodes[a]["pos"] for a, _ in order], dtype=np.float64)
    linear: Floats = begin[k] + np.linalg.norm(nearest - start[k], axis=1)
    return linear


def extract_bin_info_from_track_graph(
    track_graph: nx.Graph,
    track_graph_with_bin_centers_edges: nx.Graph,
    edge_order: EdgeOrder,
    edge_spacing: float | ArrayLike | None,
) -> pd.DataFrame:
    """Return a table of the nodes of a track with bins, along the line.

    Parameters
    ----------
    track_graph : networkx.Graph
        The track.
    track_graph_with_bin_centers_edges : networkx.Graph
        Of :func:`make_track_graph_with_bin_centers_edges`.
    edge_order : sequence of (node, node)
        Order and direction of the edges on the line.
    edge_spacing : float or sequence of float
        Gaps between them, cm.

    Returns
    -------
    pandas.DataFrame
        edge_id, is_bin_edge, x_position, y_position and linear_position by node_id.

    Examples
    --------
    >>> from tessera.decode import make_track_graph
    >>> from tessera.decode import environment as env
    >>> line = make_track_graph([(0, 0), (0, 4)], [(0, 1)])
    >>> nodes = env.make_track_graph_with_bin_centers_edges(line, 2.0)
    >>> table = env.extract_bin_info_from_track_graph(line, nodes, [(0, 1)], 0.0)
    >>> table.linear_position.tolist()
    [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 4.0]
    """
    pd = needed("pandas", "extract_bin_info_from_track_graph()")
    rows = list(track_graph_with_bin_centers_edges.nodes(data=True))
    points = np.array([data["pos"] for _, data in rows], dtype=np.float64)
    edge_id = np.array([data["edge_id"] for _, data in rows])
    linear = _linear(track_graph, points, edge_id, edge_order, edge_spacing)
    table = pd.DataFrame(
        {
            "edge_id": edge_id,
            "is_bin_edge": [bool(data["is_bin_edge"]) for _, data in rows],
            "x_position": points[:, 0],
            "y_position": points[:, 1],
            "linear_position": linear,
        },
        index=pd.Index([node for node, _ in rows], name="node_id"),
    )
    # Edges one after the other, by their middles: where two meet, their nodes do not mix.
    middle = table.groupby("edge_id").linear_position.mean().loc[edge_id].to_numpy()
    return table.iloc[np.lexsort((linear, middle))]


def get_track_grid(
    track_graph: nx.Graph,
    edge_order: EdgeOrder,
    edge_spacing: float | ArrayLike | None,
    place_bin_size: float,
) -> TrackGrid:
    """Return the bins of a track, with the graph and the tables of its nodes.

    Parameters
    ----------
    track_graph : networkx.Graph
        With pos at the nodes, distance and edge_id at the edges.
    edge_order : sequence of (node, node)
        Order and direction of the edges on the line.
    edge_spacing : float or sequence of float
        Gaps between them, cm.
    place_bin_size : float
        Upper bound of a bin's width, cm.

    Returns
    -------
    place_bin_centers : ndarray, shape (n_bins, 1)
        Linear positions.
    place_bin_edges : ndarray, shape (n_bins + 1, 1)
        Linear positions.
    is_track_interior : ndarray of bool, shape (n_bins,)
        False in gaps.
    distance_between_nodes : dict
        Of dicts: the shortest way from node to node, cm.
    centers_shape : tuple
        (n_bins,).
    edges : list
        Of one array, the edges of the bins.
    track_graph_with_bin_centers_edges : networkx.Graph
        See :func:`make_track_graph_with_bin_centers_edges`.
    original_nodes_df, place_bin_edges_nodes_df, place_bin_centers_nodes_df : pandas.DataFrame
        The nodes of the track, of the edges of bins and of their centres. In the last one rows
        of gaps have node_id and edge_id -1.
    nodes_df : pandas.DataFrame
        All nodes.

    Examples
    --------
    >>> from tessera.decode import make_track_graph
    >>> from tessera.decode.environment import get_track_grid
    >>> corner = make_track_graph([(0, 0), (0, 4), (4, 4)], [(0, 1), (1, 2)])
    >>> get_track_grid(corner, [(0, 1), (1, 2)], 5.0, 2.0)[0].ravel()
    array([ 1. ,  3. ,  6.5, 10. , 12. ])
    """
    nx, pd = (needed(name, "get_track_grid()") for name in ("networkx", "pandas"))
    graph = make_track_graph_with_bin_centers_edges(track_graph, place_bin_size)
    nodes = extract_bin_info_from_track_graph(track_graph, graph, edge_order, edge_spacing)
    original = list(track_graph.nodes)
    is_edge = nodes.is_bin_edge & ~nodes.index.isin(original)
    bin_edges, bin_centers = nodes.loc[is_edge].reset_index(), nodes.loc[~nodes.is_bin_edge]
    linear = bin_edges.linear_position.to_numpy()
    # Without a gap the end of one edge of the track is the beginning of the next.
    kept = np.append(~np.isclose(np.diff(linear), 0.0), True)
    edges = linear[kept]
    changes = np.flatnonzero(np.diff(bin_edges.edge_id.to_numpy()[kept]))
    centers = get_centers(edges)
    interior: Mask = np.ones(len(centers), dtype=bool)
    interior[changes[_gaps(edge_spacing, len(edge_order)) > 0]] = False
    gaps = pd.DataFrame({"linear_position": centers[~interior], "node_id": -1, "edge_id": -1})
    gaps["is_bin_edge"] = False
    return TrackGrid(
        centers[:, np.newaxis],
        edges[:, np.newaxis],
        interior,
        dict(nx.all_pairs_dijkstra_path_length(graph, weight="distance")),
        (len(centers),),
        [edges],
        graph,
        nodes.loc[original].reset_index(),
        bin_edges,
        pd.concat((bin_centers.reset_index(), gaps))
        .sort_values("linear_position")
        .reset_index(drop=True),
        nodes.reset_index(),
    )


def _pairs(interior: Mask) -> Iterator[Array]:
    """Return pairs of interior neighbours, also diagonal ones, by their numbers."""
    number = np.arange(interior.size).reshape(interior.shape)
    for step in itertools.product((-1, 0, 1), repeat=interior.ndim):
        if step <= (0,) * interior.ndim:
            continue  # each pair once
        here = tuple(
            slice(max(0, -d), n - max(0, d)) for d, n in zip(step, interior.shape, strict=True)
        )
        there = tuple(
            slice(max(0, d), n - max(0, -d)) for d, n in zip(step, interior.shape, strict=True)
        )
        both = interior[here] & interior[there]
        yield np.stack((number[here][both], number[there][both]), axis=1)


def make_nD_track_graph_from_environment(environment: Environment) -> nx.Graph:  # noqa: N802
    """Return the bins of an environment as a graph.

    Parameters
    ----------
    environment : Environment
        With bins.

    Returns
    -------
    networkx.Graph
        A node for every bin, with pos and is_track_interior; an edge between interior neighbours,
        also diagonal ones, with distance and edge_id.

    Examples
    --------
    >>> from tessera.decode import Environment
    >>> from tessera.decode.environment import make_nD_track_graph_from_environment
    >>> line = Environment(place_bin_size=2.0).fit_place_grid([0.0, 2.0, 4.0, 6.0])
    >>> make_nD_track_graph_from_environment(line).number_of_edges()
    2
    """
    nx = needed("networkx", "make_nD_track_graph_from_environment()")
    centers = environment.place_bin_centers_
    if centers is None:
        raise ValidationError("environment: it has no bins yet; call fit_place_grid()")
    interior = np.asarray(environment.is_track_interior_, dtype=bool)
    graph = nx.Graph()
    for node, (point, inside) in enumerate(zip(centers, interior.ravel(), strict=True)):
        graph.add_node(node, pos=tuple(point.tolist()), is_track_interior=bool(inside))
    pairs = np.concatenate(list(_pairs(interior)))
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    length = np.linalg.norm(centers[pairs[:, 0]] - centers[pairs[:, 1]], axis=1)
    for number, ((a, b), distance) in enumerate(zip(pairs.tolist(), length.tolist(), strict=True)):
        graph.add_edge(a, b, distance=distance, edge_id=number)
    return graph
