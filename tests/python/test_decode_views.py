"""Model checks of clusterless models, distances along graphs, movies and packed views."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.decode import ClusterlessDecoder, Environment, make_track_graph
from tessera.decode.analysis import distance2D, get_map_speed, get_trajectory_data
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError, ValidationError
from tessera.decode.model_checking import clusterless, sorted_spikes
from tessera.decode.visualization import figurl_1D, figurl_2D, movie
from tessera.decode.visualization._parallel_video_writer import VideoConfig, create_parallel_video


def corner() -> Environment:
    graph = make_track_graph([(0, 0), (10, 0), (10, 10)], [(0, 1), (1, 2)])
    env = Environment(place_bin_size=1.0, track_graph=graph, edge_order=[(0, 1), (1, 2)])
    return env.fit_place_grid()


def test_speed_along_a_graph_of_nodes() -> None:
    pytest.importorskip("networkx")
    pytest.importorskip("pandas")
    env = corner()
    posterior = np.eye(20)[[3, 4, 8, 9, 19]]
    nodes = env.place_bin_centers_nodes_df_.node_id.to_numpy()
    graph = env.track_graph_with_bin_centers_edges_
    by_graph = get_map_speed(
        posterior,
        track_graph_with_bin_centers_edges=graph,
        place_bin_center_ind_to_node=nodes,
        sampling_frequency=1.0,
        smooth_sigma=0.0,
    )
    # Differences to the next and the last one at the ends, over two steps in between.
    assert by_graph == pytest.approx([1, 2.5, 2.5, 5.5, 10])
    assert get_map_speed(posterior, env, None, 1.0, 0.0) == pytest.approx(by_graph)
    assert np.isnan(get_map_speed(posterior[:1], env)).all()
    with pytest.raises(ValidationError, match="place_bin_center_ind_to_node"):
        get_map_speed(posterior, graph)


def test_environments_of_others_are_read_by_their_attributes() -> None:
    graph = make_track_graph([(0, 0), (10, 0), (10, 10)], [(0, 1), (1, 2)])
    points = np.array([[2.0, 0.0], [10.0, 6.0]])

    class Frame:
        def __getitem__(self, name: Any) -> Any:
            return points if isinstance(name, list) else np.arange(2)

    other: Any = types.SimpleNamespace(
        is_track_interior_=np.ones(2, dtype=bool), place_bin_centers_nodes_df_=Frame()
    )
    found = get_trajectory_data(np.eye(2)[::-1], graph, other, points, [0, 1], [0.0, 0.0])
    assert found[3].tolist() == points[::-1].tolist()
    assert found[4].tolist() == [[1, 2], [0, 1]]


def test_ways_along_a_graph_of_networkx() -> None:
    pytest.importorskip("networkx")
    points = np.random.default_rng(0).uniform(0, 10, (20000, 2))
    wall = (np.abs(points[:, 0] - 5) < 2.1) & (points[:, 1] < 7.9)
    env = Environment(place_bin_size=1.0).fit_place_grid(points[~wall])
    graph: Any = distance2D.make_2D_track_graph_from_environment(env)
    assert graph.number_of_nodes() == env.is_track_interior_.size
    here, there = [[2.5, 1.5], [2.5, 1.5]], [[8.0, 1.0], [2.5, 1.5]]
    for precomputed in (True, False):
        way = (graph, env.edges_, precomputed)
        length = distance2D.get_2D_distance(here, there, *way)
        assert length == pytest.approx(env.get_manifold_distances(here, there))
        assert length[1] == 0
        up = distance2D.get_map_estimate_direction_from_track_graph(here[:1], there[:1], *way)
        assert np.sin(up[0]) > 0.5
        ahead = distance2D.get_ahead_behind_distance2D(here[:1], [-np.pi / 2], there[:1], *way)
        assert ahead == pytest.approx(-length[:1])
    alone = graph.copy()
    del alone.graph["environment"]
    with pytest.raises(ValidationError, match="edges"):
        distance2D.get_2D_distance(here, there, alone)
    alone.remove_edges_from(list(alone.edges))
    assert np.isinf(distance2D.get_2D_distance(here[:1], there[:1], alone, env.edges_)).all()
    lost = distance2D.get_map_estimate_direction_from_track_graph(
        here[:1], there[:1], alone, env.edges_
    )
    assert np.isnan(lost).all()


def test_samples_on_edges() -> None:
    edges = [np.array([1.0, 2.0]), np.array([5.0])]
    points = [[0.0, 0.0], [1.0, 4.0], [2.0, 6.0], [3.0, 5.0], [1.5, 9.0]]
    # On an edge the bin above, on the last one the bin below; two bins per row.
    assert distance2D.get_bin_ind(points, edges).tolist() == [0, 2, 3, 4, 3]


def test_velocity_is_smoothed_after_the_difference() -> None:
    points = np.arange(40.0)[:, np.newaxis] ** 2
    want = np.gradient(points[:, 0], np.arange(40) / 10)
    got = distance2D.get_velocity(points, np.arange(40) / 10, sigma=0.1, sampling_frequency=10)
    kernel = np.exp(-0.5 * np.arange(-8, 9) ** 2.0)
    assert got[:, 0] == pytest.approx(np.convolve(want, kernel / kernel.sum(), "same"))


def test_marks_are_ranked_by_their_conditional_intensity() -> None:
    time, spikes = np.linspace(0, 1, 50), np.linspace(0, 1, 50)[[5, 20, 40]]
    ground = np.linspace(1, 3, 50)
    joint = np.array([[2.0, 12.0], [6.0, 8.0], [7.0, 4.0]])
    isi, marks = clusterless.interval_rescaling_transform(
        time, spikes, np.zeros((3, 2)), ground, joint
    )
    conditional = joint / np.interp(spikes, time, ground)[:, np.newaxis]
    ranks = (conditional[:, np.newaxis] >= conditional).mean(axis=1)
    assert marks == pytest.approx(ranks)
    passed = [np.trapezoid(ground[: k + 1]) for k in (5, 20, 40)]
    assert isi == pytest.approx(1 - np.exp(-np.diff(passed, prepend=0)))
    with pytest.raises(ShapeValidationError, match="joint_mark_intensity has 2 rows"):
        clusterless.interval_rescaling_transform(time, spikes, joint, ground, joint[:2])


def test_what_the_original_has_not_written_says_so() -> None:
    for call, instead in (
        (lambda: clusterless.ks_test([0.5]), "scipy.stats.kstest"),
        (lambda: clusterless.pearson_chi_squared_test([1], [1]), "scipy.stats.chisquare"),
        (lambda: clusterless.mark_conditional_intensity_transform([[1]]), "interval_rescaling"),
        (lambda: clusterless.distance_to_boundary_test([[1]], [[1]]), "get_track_boundary"),
        (lambda: clusterless.discrepency_test([1], [[1]]), "monte_carlo_test"),
        (lambda: clusterless.rippley_stats_test([[1]], [1], 1.0), "Ripley"),
        (lambda: clusterless.minimal_spanning_tree_test([[1]]), "minimum_spanning_tree"),
    ):
        with pytest.raises(NotImplementedError, match=instead):
            call()


def test_figures_of_rescaled_intervals() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    rng = np.random.default_rng(0)
    rescaling = sorted_spikes.TimeRescaling(np.full(4000, 0.05), rng.random(4000) < 0.05)
    values = np.sort(rescaling.uniform_rescaled_ISIs())
    uniform = (np.arange(len(values)) + 0.5) / len(values)
    for draw, x, y in (("plot_ks", values, uniform), ("plot_qq", uniform, values)):
        figure, box = plt.subplots()
        assert getattr(rescaling, draw)(ax=box, scatter_kwargs={"s": 3}) is box
        assert len(box.lines) == 3
        np.testing.assert_allclose(box.collections[0].get_offsets(), np.stack((x, y), axis=1))
        plt.close(figure)
    ax: Any = rescaling.plot_rescaled_ISI_autocorrelation(sampling_frequency=2.0, lag_max=5.0)
    assert ax.collections[0].get_offsets()[:, 0].tolist() == np.arange(-5, 5.5, 0.5).tolist()
    plt.close("all")


def test_residuals_end_at_the_surplus_of_spikes() -> None:
    residuals = sorted_spikes.point_process_residuals(np.full(5, 0.2), [0, 1, 0, 1, 0])
    assert residuals == pytest.approx([-0.2, 0.6, 0.4, 1.2, 1.0])
    assert np.isnan(sorted_spikes.ks_statistic([0.1, 0.2], [0.1]))


def _axes() -> tuple[Any, dict[str, Any]]:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(2, 2))
    return figure, {"bar": ax.bar([0], [0.0])[0], "ax": ax.set(ylim=(0, 5))}


def _frame(figure: Any, artists: dict[str, Any], frame: int, data: Any) -> None:
    del figure
    artists["bar"].set_height(data[frame])


def test_frames_become_a_video(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    what: Any = {"render_frame_func": _frame, "setup_figure_func": _axes}
    path = tmp_path / "bars.gif"
    config = VideoConfig(fps=20.0, dpi=72, max_workers=2)
    made = create_parallel_video(
        n_frames=5, output_path=path, frame_data=[1, 2, 3, 4, 5], config=config, **what
    )
    assert made == str(path)
    with image.open(path) as video:
        assert (video.n_frames, video.info["duration"]) == (5, 50)
        filled = []
        for frame in range(5):
            video.seek(frame)
            filled.append((np.asarray(video.convert("L")) < 150).sum())
    assert filled == sorted(filled)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileExistsError, match=r"bars\.gif"):
        create_parallel_video(
            n_frames=5, output_path=path, config=VideoConfig(overwrite=False), **what
        )
    with pytest.raises(FileNotFoundError, match="no such folder"):
        create_parallel_video(n_frames=5, output_path=tmp_path / "no" / "a.gif", **what)
    with pytest.raises(ValidationError, match="n_frames"):
        create_parallel_video(n_frames=0, output_path=path, **what)
    with pytest.raises(TypeValidationError, match="render_frame_func"):
        create_parallel_video(
            n_frames=1,
            output_path=path,
            render_frame_func=lambda *_: None,
            setup_figure_func=_axes,
        )


def test_a_video_needs_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="ffmpeg"):
        create_parallel_video(
            n_frames=1,
            output_path=tmp_path / "a.mp4",
            render_frame_func=_frame,
            setup_figure_func=_axes,
        )


def test_movie_shows_the_animal_and_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    pd = pytest.importorskip("pandas")
    plt = pytest.importorskip("matplotlib.pyplot")
    rng = np.random.default_rng(0)
    time = np.arange(0, 20, 0.02)
    position = np.stack((30 + 25 * np.cos(time), 30 + 25 * np.sin(1.3 * time)), axis=1)
    spikes = [np.sort(rng.uniform(0, 20, 300))]
    features = [np.stack([np.interp(spikes[0], time, p) for p in position.T], axis=1)]
    env = Environment(place_bin_size=5.0)
    model = ClusterlessDecoder(environments=env).fit(time, position, spikes, features)
    results = model.predict(spikes, features, time)
    info = pd.DataFrame(position, columns=["x", "y"], index=time).assign(angle=0.5)
    given: dict[str, Any] = {}
    monkeypatch.setattr(movie, "create_parallel_video", lambda **what: given.update(what))
    movie.make_single_environment_movie(
        slice(700, 706), model, results, info, spikes, "a.gif", 50, 5, ["x", "y"], "angle"
    )
    data = given["frame_data"]
    assert given["n_frames"] == 6
    assert given["config"].fps == 10
    assert np.nansum(data["posterior"], axis=(1, 2)) == pytest.approx(np.ones(6), abs=1e-5)
    assert np.array_equal(data["position"], position[700:706])
    error = np.linalg.norm(data["most_likely"] - position[700:706], axis=1)
    assert error.max() < 15
    figure, artists = given["setup_figure_func"]()
    for frame in (0, 5):
        given["render_frame_func"](figure, artists, frame, data)
    assert artists["animal"].get_offsets()[0].tolist() == position[705].tolist()
    assert artists["place"].get_title() == "time = 14.10"
    plt.close("all")
    line = ClusterlessDecoder().fit(time, position[:, 0], spikes, features)
    with pytest.raises(ShapeValidationError, match="1 coordinate"):
        movie.make_single_environment_movie(slice(0, 2), line, results, info, spikes)


class _View:
    """A stand-in of sortingview's classes that keeps what it is given."""

    def __init__(self, *_: Any, **given: Any) -> None:
        self.__dict__.update(given)

    def add_line_series(self, **given: Any) -> _View:
        self.__dict__.update(given)
        return self

    def url(self, label: str) -> str:
        return f"https://figurl.org/{label}"


@pytest.fixture
def sortingview(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("sortingview", "sortingview.views", "sortingview.views.franklab")
    package, views, franklab = (types.ModuleType(name) for name in names)
    package.views, views.franklab = views, franklab  # type: ignore[attr-defined]
    for module in (views, franklab):
        module.__getattr__ = lambda _: _View  # type: ignore[method-assign]
    for name, module in zip(names, (package, views, franklab), strict=True):
        monkeypatch.setitem(sys.modules, name, module)


def _plane_posterior(n: int = 6) -> Any:
    xr = pytest.importorskip("xarray")
    values = np.random.default_rng(0).dirichlet(np.full(20, 0.2), n).reshape(n, 5, 4)
    values[:, 0, 0] = np.nan
    axes = {"time": 6000 + np.arange(n) / 500, "x_position": 2.0 * np.arange(5)}
    coords = axes | {"y_position": 1.0 + 3 * np.arange(4)}
    return xr.DataArray(values, dims=list(coords), coords=coords)


def test_views_need_sortingview(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sortingview", None)
    with pytest.raises(ImportError, match="pip install sortingview"):
        figurl_2D.create_track_animation_object(static_track_animation={})
    with pytest.raises(ImportError, match="pip install sortingview"):
        figurl_1D.create_1D_decode_view(_plane_posterior().isel(y_position=0))


def test_line_is_packed(sortingview: None) -> None:
    del sortingview
    xr = pytest.importorskip("xarray")
    values = np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.003], [np.nan, 0.0, 0.0]])
    coords = {"time": [10.0, 10.002, 10.004], "position": [1.0, 2.0, 3.0]}
    posterior = xr.DataArray(values, dims=("time", "position"), coords=coords)
    view = figurl_1D.create_1D_decode_view(posterior, [[1.0], [2.0], [3.0]], 4.0)
    assert view.values.tolist() == [127, 127, 255]
    assert view.positions.tolist() == [0, 2, 1]
    assert view.frame_bounds.tolist() == [2, 1, 0]
    assert (view.start_time_sec, view.sampling_frequency) == (6.0, pytest.approx(500))
    assert view.observed_positions.tolist() == [1.0, 2.0, 3.0]


def test_plane_is_packed_and_can_be_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = _plane_posterior()
    monkeypatch.setattr(figurl_2D, "_FRAMES", 4)  # more than one piece
    packed = figurl_2D.process_decoded_data(posterior)
    frame = np.repeat(np.arange(6), packed["frameBounds"])
    y, x = np.divmod(packed["locations"], packed["xcount"])
    again = np.zeros((6, 5, 4))
    again[frame, x, y] = packed["values"]
    assert np.array_equal(again, np.floor(np.nan_to_num(posterior.values) * 255))
    assert [packed[k] for k in ("xmin", "binWidth", "ymin", "binHeight")] == [0, 2, 1, 3]
    grid = np.arange(300.0)
    wide = posterior.isel(time=[0]).reindex(x_position=grid, y_position=grid, fill_value=0.0)
    with pytest.raises(ShapeValidationError, match="300 x 300 bins"):
        figurl_2D.process_decoded_data(wide)


def test_pages(sortingview: None) -> None:
    del sortingview
    xr = pytest.importorskip("xarray")
    posterior = _plane_posterior()
    time = posterior["time"].values
    results = xr.Dataset(
        {"acausal_state_probabilities": (("time", "states"), np.full((6, 2), 0.5))},
        coords={"time": time, "states": ["Still", "Moving"]},
    )
    env: Any = types.SimpleNamespace(
        place_bin_centers_=np.zeros((20, 2)), is_track_interior_=np.ones((5, 4), dtype=bool)
    )
    spikes = [time[:3] + 1e-4]
    address = figurl_2D.create_interactive_2D_decoding_figurl(
        time, np.zeros((6, 2)), env, results, posterior, spikes, np.zeros(6), np.ones(6)
    )
    assert address.endswith("2D Decoding")
    view = figurl_2D.create_2D_decode_view(
        time, np.zeros((6, 2)), np.array([[4.0, 4.0]]), (2.0, 3.0), posterior, np.zeros(6)
    )
    assert view.timestamp_start == 6000
    assert view.track_bin_ul_corners.tolist() == [[3.0], [5.5]]
    assert view.timestamps == pytest.approx(np.arange(6) / 500, abs=1e-6)
    with pytest.raises(ShapeValidationError, match="position_time has 5 times"):
        figurl_2D.create_2D_decode_view(time[:5], np.zeros((6, 2)), [[0, 0]], (1, 1), posterior)
    index = [(s, float(p)) for s in ("Local", "Moving") for p in range(3)]
    pd = pytest.importorskip("pandas")
    bins = pd.MultiIndex.from_tuples(index, names=("state", "position"))
    coords = xr.Coordinates.from_pandas_multiindex(bins, "state_bins")
    line = results.assign_coords(coords).assign(
        acausal_posterior=(("time", "state_bins"), np.full((6, 6), 1 / 6))
    )
    address = figurl_1D.create_interactive_1D_decoding_figurl(np.ones(6), np.ones(6), spikes, line)
    assert address.endswith("1D Decoding")


def test_tracks_are_rectangles() -> None:
    rng = np.random.default_rng(0)
    width, height, corners = figurl_2D.make_track(rng.uniform(0, 20, (400, 2)), 5.0)
    env = Environment(place_bin_size=5.0)
    env.fit_place_grid(np.random.default_rng(0).uniform(0, 20, (400, 2)))
    inside = env.place_bin_centers_[env.is_track_interior_.ravel()]
    centers = np.add(corners.T, (width / 2, -height / 2))
    np.testing.assert_allclose(centers, inside, atol=1e-12)
