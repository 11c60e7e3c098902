"""Numbers that sum up posteriors, and simulated data."""

from __future__ import annotations

import numpy as np
import pytest

from tessera.decode import Environment, make_track_graph
from tessera.decode.analysis import (
    get_2D_distance,
    get_ahead_behind_distance,
    get_ahead_behind_distance2D,
    get_map_speed,
    get_speed,
    get_trajectory_data,
    get_velocity,
    make_2D_track_graph_from_environment,
    maximum_a_posteriori_estimate,
    sample_posterior,
)
from tessera.decode.likelihoods.common import (
    get_position_at_time,
    get_spikecount_per_time_bin,
    kde,
)
from tessera.decode.model_checking import (
    TimeRescaling,
    get_highest_posterior_threshold,
    get_HPD_spatial_coverage,
    posterior_consistency_hpd_overlap,
    posterior_consistency_kl_divergence,
)
from tessera.decode.simulate import clusterless_simulation as clusterless
from tessera.decode.simulate.simulate import simulate_position, simulate_position_with_pauses

POSTERIOR = np.array([[0.1, 0.6, 0.3, np.nan], [0.7, 0.2, 0.1, np.nan]])
CENTERS = np.array([1.0, 3.0, 5.0, 7.0])


def test_most_likely_position() -> None:
    assert maximum_a_posteriori_estimate(POSTERIOR, CENTERS).tolist() == [[3.0], [1.0]]
    with pytest.raises(ValueError, match="positions"):
        maximum_a_posteriori_estimate(POSTERIOR)


def test_most_likely_position_of_xarray() -> None:
    xr = pytest.importorskip("xarray")
    line = xr.DataArray(POSTERIOR, dims=("time", "position"), coords={"position": CENTERS})
    assert maximum_a_posteriori_estimate(line).tolist() == [[3.0], [1.0]]
    box = xr.DataArray(
        np.arange(12.0).reshape(2, 2, 3) % 7,
        dims=("time", "x_position", "y_position"),
        coords={"x_position": [0.0, 1.0], "y_position": [5.0, 6.0, 7.0]},
    )
    assert maximum_a_posteriori_estimate(box).tolist() == [[1.0, 7.0], [0.0, 5.0]]


def test_samples_follow_the_posterior() -> None:
    edges = np.array([0.0, 2.0, 4.0, 6.0, 8.0])
    samples = sample_posterior(POSTERIOR, edges, n_samples=20000, seed=0)
    share = np.histogram(samples[0], edges)[0] / 20000
    assert np.allclose(share, [0.1, 0.6, 0.3, 0], atol=0.015)
    with pytest.raises(ValueError, match="place_bin_edges"):
        sample_posterior(POSTERIOR, edges[:-1])


def test_highest_density() -> None:
    assert get_highest_posterior_threshold(POSTERIOR, 0.8).tolist() == [0.3, 0.2]
    threshold = get_highest_posterior_threshold(POSTERIOR, 0.95)
    covered = get_HPD_spatial_coverage(POSTERIOR, threshold, bin_size=2.0)
    assert covered.tolist() == [6.0, 6.0]


def test_consistency() -> None:
    p = np.array([[0.2, 0.8], [0.5, 0.5]])
    q = np.array([[0.2, 0.8], [0.9, 0.1]])
    divergence = posterior_consistency_kl_divergence(p, 3 * q)
    assert divergence == pytest.approx([0, 0.5 * np.log(0.25 / 0.09)])
    assert posterior_consistency_hpd_overlap(p, q, 0.7).tolist() == [1, 1]
    assert posterior_consistency_hpd_overlap(q[:1], q[1:], 0.7).tolist() == [0]


def corner() -> tuple[object, Environment]:
    graph = make_track_graph([(0, 0), (10, 0), (10, 10)], [(0, 1), (1, 2)])
    env = Environment(place_bin_size=1.0, track_graph=graph, edge_order=[(0, 1), (1, 2)])
    return graph, env.fit_place_grid()


def test_ahead_and_behind_on_a_track() -> None:
    graph, env = corner()
    posterior = np.zeros((4, 20))
    posterior[np.arange(4), [2, 8, 14, 14]] = 1
    place = np.array([[5.0, 0.0]] * 4)
    facing = np.array([0.0, 0.0, 0.0, np.pi])
    data = get_trajectory_data(posterior, graph, env, place, [0] * 4, facing)
    distance = get_ahead_behind_distance(graph, *data)
    # Bins at 2.5, 8.5 and 14.5 cm, the animal at 5 cm; last it faces the other way.
    assert distance == pytest.approx([-2.5, 3.5, 9.5, -9.5])


def test_speed_along_a_track() -> None:
    _, env = corner()
    posterior = np.eye(20)[[8, 9, 10, 11]]
    speed = get_map_speed(posterior, env, sampling_frequency=10.0, smooth_sigma=0.0)
    assert speed == pytest.approx([10, 10, 10, 10])


def test_ahead_and_behind_in_the_plane() -> None:
    head, estimate = np.zeros((2, 2)), np.array([[3.0, 4.0], [-3.0, 4.0]])
    distance = get_ahead_behind_distance2D(head, np.array([0.0, 0.0]), estimate)
    assert distance == pytest.approx([5, -5])


def test_distances_go_around_walls() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 10, (20000, 2))
    wall = (np.abs(points[:, 0] - 5) < 2.1) & (points[:, 1] < 7.9)
    env = Environment(place_bin_size=1.0).fit_place_grid(points[~wall])
    graph = make_2D_track_graph_from_environment(env)
    straight = get_2D_distance([[2.0, 1.0]], [[8.0, 1.0]])
    around = get_2D_distance([[2.0, 1.0]], [[8.0, 1.0]], graph)
    assert straight == pytest.approx([6])
    assert around[0] > 12
    # The way to the other side begins upwards.
    ahead = get_ahead_behind_distance2D([[2.5, 1.5]], [np.pi / 2], [[8.0, 1.0]], graph)
    assert ahead[0] > 0


def test_velocity() -> None:
    points = np.stack((np.arange(200.0), np.zeros(200)), axis=1)
    speed = get_speed(get_velocity(points, sigma=0.002, sampling_frequency=500))
    assert speed[100] == pytest.approx(1)


def test_time_rescaling() -> None:
    rng = np.random.default_rng(0)
    rate = 0.05 * (1 + np.sin(np.arange(20000) / 300))
    good = TimeRescaling(rate, rng.random(20000) < rate)
    bad = TimeRescaling(np.full(20000, 0.05), rng.random(20000) < rate)
    assert good.ks_statistic() < 0.06
    assert bad.ks_statistic() > 2 * good.ks_statistic()
    assert good.rescaled_ISI_autocorrelation().max() == pytest.approx(1)


def test_helpers_of_likelihoods() -> None:
    time, position = np.arange(3.0), np.array([0.0, 1.0, 4.0])
    assert get_position_at_time(time, position, [0.5, 3.0])[:, 0].tolist() == [0.5, 7.0]
    counts = get_spikecount_per_time_bin([0.0, 0.5, 1.0, 1.9, 2.0, 5.0], time)
    assert counts.tolist() == [2, 3, 0]
    assert kde([0.0], [0.0], 2.0) == pytest.approx(1 / (2 * np.sqrt(2 * np.pi)))


def test_simulated_run() -> None:
    np.random.seed(0)
    time, position, frequency, marks, is_spike = clusterless.make_simulated_run_data(n_runs=1)
    assert (len(time), frequency, marks.shape) == (23333, 1000, (23333, 4, 5))
    assert position.min() == pytest.approx(0)
    assert np.array_equal(is_spike, ~np.isnan(marks[:, 0]))
    times, features = clusterless.multiunits_to_spikes(time, marks)
    assert [len(t) for t in times] == is_spike.sum(axis=0).tolist()
    assert features[0].shape == (len(times[0]), 4)
    both = clusterless.make_simulated_run_data(n_runs=1, make_inbound_outbound_neurons=True)
    assert both[3].shape[2] == 10


def test_scripted_replays() -> None:
    time, marks = clusterless.make_continuous_replay()
    assert marks.shape == (97, 4, 5)
    assert np.sum(~np.isnan(marks[:, 0])) == 19  # two cells beyond the end share its sample
    time, marks = clusterless.make_hover_replay()
    assert np.flatnonzero(~np.isnan(marks[:, 0, 2])).tolist() == list(range(0, 50, 2))
    assert marks[0, 0, 2] == 10
    time, marks = clusterless.make_fragmented_replay()
    assert len(time) == 10
    assert marks[1, 0, 0] == 5
    assert marks[3, 0, 4] == 15
    time, marks = clusterless.make_hover_continuous_hover_replay()
    assert len(time) == len(marks) == 197
    assert len(clusterless.make_fragmented_hover_fragmented_replay()[0]) == 70
    assert len(clusterless.make_fragmented_continuous_fragmented_replay()[0]) == 117


def test_animals() -> None:
    time = np.arange(0, 60, 0.01)
    position = simulate_position(time, 170, 17)
    assert position[0] == pytest.approx(0)
    assert position.max() == pytest.approx(170, rel=1e-4)
    pausing = simulate_position_with_pauses(time, 170, 17, pause=1.0, sampling_frequency=100)
    assert len(pausing) == len(position)
    assert np.isclose(pausing, 170).sum() > np.isclose(position, 170).sum()


def test_times_without_a_posterior_are_not_known() -> None:
    rng = np.random.default_rng(5)
    posterior, likelihood = rng.dirichlet(np.ones(9), 5), rng.dirichlet(np.ones(9), 5)
    whole = posterior_consistency_hpd_overlap(posterior, likelihood)
    posterior[2] = np.nan
    found = posterior_consistency_hpd_overlap(posterior, likelihood)
    assert np.isnan(found[2])
    assert np.array_equal(np.delete(found, 2), np.delete(whole, 2))
    assert np.isnan(posterior_consistency_hpd_overlap(posterior * np.nan, likelihood)).all()
