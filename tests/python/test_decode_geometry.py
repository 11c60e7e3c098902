"""Grids, graphs and tables of environments by the names of the original.

The tables of CORNER were made once by non_local_detector 0.6.9 (networkx 3.6, pandas 2 rules):
Environment(track_graph, [(1, 0), (1, 2)], edge_spacing=5, place_bin_size=4).fit_place_grid().
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from typing import Any

import numpy as np
import pytest

from tessera.decode import Environment, TrackGraph, make_track_graph
from tessera.decode import environment as helpers
from tessera.decode._morphology import close, fill, grow
from tessera.decode.exceptions import ConfigurationError, ValidationError

nx = pytest.importorskip("networkx")
pd = pytest.importorskip("pandas")

CORNER: dict[str, list[Any]] = {
    "node_id": [8, 6, 4, -1, 11, 13, 15],
    "edge_id": [0, 0, 0, -1, 1, 1, 1],
    "is_bin_edge": [False] * 7,
    "x_position": [25 / 3, 5.0, 5 / 3, np.nan, 10.0, 10.0, 10.0],
    "y_position": [0.0, 0.0, 0.0, np.nan, 1.5, 4.5, 7.5],
    "linear_position": [5 / 3, 5.0, 25 / 3, 12.5, 16.5, 19.5, 22.5],
}
CORNER_EDGES: dict[str, list[Any]] = {
    "node_id": [9, 7, 5, 3, 10, 12, 14, 16],
    "linear_position": [0.0, 10 / 3, 20 / 3, 10.0, 15.0, 18.0, 21.0, 24.0],
}
CORNER_NODES = [9, 8, 7, 6, 5, 4, 0, 3, 1, 10, 11, 12, 13, 14, 15, 2, 16]
CORNER_FROM_4 = {0: 5 / 3, 1: 25 / 3, 2: 52 / 3, 8: 20 / 3, 11: 59 / 6, 15: 95 / 6}


def corner(**options: Any) -> Environment:
    graph = make_track_graph([(0, 0), (10, 0), (10, 9)], [(0, 1), (1, 2)])
    given: dict[str, Any] = {
        "edge_order": [(1, 0), (1, 2)],
        "edge_spacing": 5.0,
        "place_bin_size": 4.0,
    }
    return Environment(track_graph=graph, **(given | options))


def ring() -> Any:
    rng = np.random.default_rng(3)
    angle, radius = rng.uniform(0, 2 * np.pi, 6000), 20 + rng.normal(0, 1.5, 6000)
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)


def test_tables_of_a_track_are_the_originals() -> None:
    env = corner().fit_place_grid()
    table = env.place_bin_centers_nodes_df_
    assert table is not None
    assert list(table.columns) == list(CORNER)
    for name, values in CORNER.items():
        np.testing.assert_allclose(table[name].astype(float), values, atol=1e-12)
    edges = env.place_bin_edges_nodes_df_
    for name, values in CORNER_EDGES.items():
        np.testing.assert_allclose(edges[name], values, atol=1e-12)
    assert env.nodes_df_.node_id.tolist() == CORNER_NODES
    assert env.original_nodes_df_.linear_position.tolist() == [10.0, 15.0, 24.0]
    graph = env.track_graph_with_bin_centers_edges_
    assert graph.number_of_nodes() == 17
    assert graph.edges[3, 4]["distance"] == pytest.approx(5 / 3)
    assert graph.edges[0, 3]["distance"] == 0
    for node, way in CORNER_FROM_4.items():
        assert env.distance_between_nodes_[4][node] == pytest.approx(way)
    assert env.track_graphDD is None


def test_tables_agree_with_the_bins_of_the_library() -> None:
    env = corner(place_bin_size=1.7).fit_place_grid()
    grid = helpers.get_track_grid(env.track_graph, [(1, 0), (1, 2)], 5.0, 1.7)
    np.testing.assert_allclose(grid.place_bin_centers, env.place_bin_centers_, atol=1e-12)
    np.testing.assert_allclose(grid.place_bin_edges, env.place_bin_edges_, atol=1e-12)
    assert np.array_equal(grid.is_track_interior, env.is_track_interior_)
    nodes = env.place_bin_centers_nodes_df_.node_id.to_numpy()
    for a, b in ((0, 3), (2, 9), (1, len(nodes) - 1)):
        way = env.distance_between_nodes_[nodes[a]][nodes[b]]
        assert way == pytest.approx(env.distance_between_bins_[a, b])


def test_before_and_after_the_bins_are_made() -> None:
    env = corner()
    for name in (
        "edges_",
        "place_bin_centers_",
        "is_track_interior_",
        "nodes_df_",
        "track_graphDD",
    ):
        assert getattr(env, name) is None
    assert env.distance_between_nodes_ is None
    with pytest.raises(ConfigurationError, match="not been fitted"):
        env.get_bin_ind([[1.0]])
    with pytest.raises(RuntimeError, match="fit_place_grid"):
        env.get_distances_to_interior_bins([[1.0]])
    env.fit_place_grid()
    assert isinstance(env.distance_between_nodes_, dict)
    again = pickle.loads(pickle.dumps(env))
    assert again.distance_between_nodes_ == env.distance_between_nodes_


def test_a_graph_without_networkx_and_one_with_taken_numbers() -> None:
    plain = TrackGraph([(0, 0), (10, 0), (10, 9)], [(0, 1), (1, 2)])
    env = Environment("", 4.0, plain, [(1, 0), (1, 2)], 5.0).fit_place_grid()
    assert env.nodes_df_.node_id.tolist() == CORNER_NODES
    graph = nx.Graph()
    for name, pos in (
        (1, (0, 0)),
        (2, (6, 0)),
        (4, (6, 6)),
    ):  # the original's new 4 would be this 4
        graph.add_node(name, pos=pos)
    graph.add_edge(1, 2, distance=6.0, edge_id=0)
    graph.add_edge(2, 4, distance=6.0, edge_id=1)
    with_bins = helpers.make_track_graph_with_bin_centers_edges(graph, 3.0)
    assert with_bins.number_of_nodes() == 3 + 2 * 5
    assert nx.shortest_path_length(with_bins, 1, 4, "distance") == pytest.approx(12)


def test_bins_as_a_graph() -> None:
    env = Environment(place_bin_size=4.0).fit_place_grid(ring())
    graph = env.track_graphDD
    assert graph.number_of_nodes() == env.is_track_interior_.size
    interior = env.is_track_interior_.ravel()
    assert [data["is_track_interior"] for _, data in graph.nodes(data=True)] == interior.tolist()
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph, weight="distance"))
    for a in np.flatnonzero(interior)[::17]:
        for b in np.flatnonzero(interior)[::13]:
            assert env.distance_between_nodes_[a, b] == pytest.approx(lengths[a][b])
    assert [data["edge_id"] for *_, data in graph.edges(data=True)] == list(range(len(graph.edges)))


def test_distances_to_all_interior_bins() -> None:
    env = corner().fit_place_grid()
    ways = env.get_distances_to_interior_bins([[0.5], [12.5]])
    # From the first bin, and from the gap, which belongs to the nearest interior bin.
    np.testing.assert_allclose(ways[0], [0, 10 / 3, 20 / 3, 19 / 6, 37 / 6, 55 / 6])
    assert 0 in ways[1]
    assert env._bin_distance_matrix_.shape == (7, 7)
    assert np.isnan(env._bin_distance_matrix_[3]).all()
    env.fit_place_grid()
    assert not hasattr(env, "_bin_distance_matrix_")
    line = Environment(place_bin_size=1.0).fit_place_grid(np.linspace(0, 5, 50))
    line.distance_between_nodes_ = None  # straight lines then
    np.testing.assert_allclose(
        line.get_distances_to_interior_bins([[1.0]])[0], [0.5, 0.5, 1.5, 2.5, 3.5]
    )


def test_linear_positions_do_not_change_the_bins_of_a_track() -> None:
    want = corner().fit_place_grid().place_bin_centers_
    assert np.array_equal(corner().fit_place_grid(np.linspace(0, 24, 9)).place_bin_centers_, want)


@pytest.mark.parametrize(("size", "limits"), [(3.0, None), ((2.0, 5.0), [(-30, 30), (-25, 30)])])
def test_grid_steps_make_the_bins_of_the_library(size: Any, limits: Any) -> None:
    points = ring()
    points[::50] = np.nan
    env = Environment(place_bin_size=size, position_range=limits).fit_place_grid(points)
    edges, corners, centers, shape = helpers.get_grid(points, size, limits)
    for got, want in zip(edges, env.edges_, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)
    np.testing.assert_allclose(corners, env.place_bin_edges_, atol=1e-12)
    np.testing.assert_allclose(centers, env.place_bin_centers_, atol=1e-12)
    assert shape == env.centers_shape_
    interior = helpers.get_track_interior(points, edges)
    assert np.array_equal(interior, env.is_track_interior_)
    boundary = helpers.get_track_boundary(interior)
    assert np.array_equal(boundary, np.asarray(env.is_track_boundary_))


def test_the_padding_beyond_the_last_bin_is_never_interior() -> None:
    points = np.random.default_rng(0).uniform(0, 9, (4000, 2))
    edges = helpers.get_grid(points, 1.0)[0]
    interior = helpers.get_track_interior(points, edges, dilate=True)
    assert interior[:-1, :-1].sum() > interior[1:-1, 1:-1].sum()  # the first one may be
    assert not interior[-1].any()
    assert not interior[:, -1].any()
    few = helpers.get_track_interior(points[:30], edges, bin_count_threshold=1)
    assert few.sum() < helpers.get_track_interior(points[:30], edges).sum()


def test_a_bin_is_no_way_from_itself() -> None:
    env = Environment(place_bin_size=4.0).fit_place_grid(ring())
    assert not np.diag(env.distance_between_nodes_).any()
    assert np.isinf(env.distance_between_nodes_[0, 1])


def test_without_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Environment("", 4.0, ([(0, 0), (9, 0)], [(0, 1)]), [(0, 1)]).fit_place_grid()
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert env.distance_between_bins_.shape == (3, 3)
    assert env.get_distances_to_interior_bins([[1.0]]).tolist() == [[0.0, 3.0, 6.0]]
    with pytest.raises(ImportError, match="pip install networkx"):
        env.nodes_df_  # noqa: B018
    line = Environment().fit_place_grid(np.arange(9.0))
    assert line.distance_between_nodes_.shape == (4, 4)
    with pytest.raises(ImportError, match="pip install networkx"):
        line.track_graphDD  # noqa: B018


def test_number_of_bins() -> None:
    assert int(helpers.get_n_bins(np.array([0.0, 10.0]), 2.5)) == 4
    assert helpers.get_n_bins(np.zeros((3, 2)), 2.0, [(0, 9), (0, 4)]).tolist() == [5, 2]


def _flood(free: Any) -> Any:
    """Return what is reached from outside, bin by bin."""
    padded = np.pad(free, 1, constant_values=True)
    seen, ahead = np.zeros_like(padded), deque([(0, 0)])
    while ahead:
        x, y = ahead.popleft()
        inside = 0 <= x < len(padded) and 0 <= y < len(padded[0])
        if inside and padded[x, y] and not seen[x, y]:
            seen[x, y] = True
            ahead.extend([(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)])
    return seen[1:-1, 1:-1]


def test_morphology() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        mask = rng.random((9, 12)) < 0.5
        assert np.array_equal(fill(mask), ~_flood(~mask))
        for connectivity in (1, 2):
            want = np.zeros_like(mask)
            for x, y in np.argwhere(mask):
                for i, j in np.ndindex(9, 12):
                    away = np.abs([i - x, j - y])
                    want[i, j] |= away.max() <= 1 and away.sum() <= connectivity
            assert np.array_equal(grow(mask, connectivity), want)
        grown = np.pad(grow(mask), 1)
        inner = grown[1:-1, 1:-1] & grown[:-2, 1:-1] & grown[2:, 1:-1]
        assert np.array_equal(close(mask), inner & grown[1:-1, :-2] & grown[1:-1, 2:])


def test_boundary_is_a_line_around_the_track() -> None:
    interior = np.zeros((8, 7), dtype=bool)
    interior[1:-1, 1:-1] = True
    edges = [np.arange(9.0), np.arange(8.0)]
    points = helpers.get_track_boundary_points(interior, edges)
    assert len(points) == helpers.get_track_boundary(interior).sum() == 22
    assert len(np.unique(points, axis=0)) == 22
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).max() < 2


def test_projection_on_segments() -> None:
    graph = make_track_graph([(0, 0), (10, 0), (10, 9)], [(0, 1), (1, 2)])
    segments = helpers.get_track_segments_from_graph(graph)
    assert segments.tolist() == [[[0, 0], [10, 0]], [[10, 0], [10, 9]]]
    nearest = helpers.project_points_to_segment(segments, [[4, 3], [12, 20], [-5, -5]])
    assert nearest.tolist() == [[[4, 0], [10, 3]], [[10, 0], [10, 9]], [[0, 0], [10, 0]]]


def test_smoothing_is_cut_off() -> None:
    pulse = np.zeros(101)
    pulse[50] = 1
    wide, narrow = (helpers.gaussian_smooth(pulse, 0.1, 50.0, truncate=t) for t in (8, 1))
    assert np.count_nonzero(narrow) == 11
    assert np.count_nonzero(wide) == 81
    assert narrow.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"edge_order": None}, ConfigurationError, "edge_order"),
        ({"edge_spacing": None}, ConfigurationError, "edge_spacing"),
        ({"edge_order": (0, 1)}, ValidationError, "edge_order.*list"),
        ({"edge_order": [[0, 1]]}, ValidationError, r"edge_order\[0\].*2-tuple"),
        ({"edge_order": [(0, 2)]}, ValidationError, r"edge_order\[0\].*non-existent"),
        ({"edge_spacing": [1.0, 2.0, 3.0]}, ValidationError, "edge_spacing.*length"),
        ({"edge_spacing": [-1.0]}, ValidationError, r"edge_spacing\[0\]"),
        ({"track_graph": nx.Graph()}, ValidationError, "nodes"),
        ({"track_graph": nx.empty_graph(2)}, ValidationError, "edges"),
        ({"track_graph": {"a": 1}}, ValidationError, "networkx"),
        ({"track_graph": None, "place_bin_size": -1.0}, ValidationError, "positive"),
        ({"track_graph": None, "place_bin_size": (1.0, 0.0)}, ValidationError, r"size\[1\]"),
        ({"track_graph": None, "position_range": [("0", "1")]}, ValidationError, "numeric"),
        ({"track_graph": None, "position_range": [(5, 1)]}, ValidationError, "min < max"),
    ],
)
def test_bad_parameters_are_found_early(options: Any, kind: type[Exception], words: str) -> None:
    graph = make_track_graph([(0, 0), (10, 0), (10, 9)], [(0, 1), (1, 2)])
    given = {"track_graph": graph, "edge_order": [(0, 1), (1, 2)]} | options
    with pytest.raises(kind, match=words):
        Environment(**given)


@pytest.mark.parametrize("missing", ["pos", "distance", "edge_id"])
def test_graphs_lack_nothing(missing: str) -> None:
    graph = make_track_graph([(0, 0), (10, 0)], [(0, 1)])
    (graph.nodes[1] if missing == "pos" else graph.edges[0, 1]).pop(missing)
    with pytest.raises(ValidationError, match=f"attribute '{missing}'"):
        Environment(track_graph=graph, edge_order=[(0, 1)])


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (np.zeros((1, 2, 2)), "1D or 2D"),
        (np.zeros((0, 2)), "no time points"),
        (np.array([[0, 0], [np.inf, 1]]), "Inf"),
    ],
)
def test_bad_positions_are_found_early(position: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Environment().fit_place_grid(position)
