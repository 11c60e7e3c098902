"""The original's simulators: seeds, results by either version's shape, formulas."""

from __future__ import annotations

import numpy as np
import pytest

from tessera import decode as td
from tessera.decode.simulate import clusterless_simulation as clusterless
from tessera.decode.simulate import simulate
from tessera.decode.simulate import sorted_spikes_simulation as by_unit


def test_seeds_and_generators_repeat() -> None:
    rate = np.full(400, 50.0)
    for function in (simulate.simulate_poisson_spikes, by_unit.simulate_poisson_spikes):
        a, b = (function(rate, 500, seed=3) for _ in range(2))
        assert np.array_equal(a, b)
        assert not np.array_equal(a, function(rate, 500, seed=4))
        given = function(rate, 500, rng=np.random.default_rng(3))
        assert np.array_equal(a, given)
    np.random.seed(5)
    a = simulate.simulate_poisson_spikes(rate, 500)
    np.random.seed(5)
    assert np.array_equal(a, simulate.simulate_poisson_spikes(rate, 500))
    counts = by_unit.simulate_poisson_spikes(np.full(2000, 1500.0), 500, seed=1)
    assert counts.max() > 1
    assert counts.mean() == pytest.approx(3, rel=0.1)
    flags = simulate.simulate_poisson_spikes(np.full(2000, 1500.0), 500, seed=1)
    assert set(np.unique(flags)) == {0.0, 1.0}
    position = simulate.simulate_position(np.arange(0, 20, 0.01), 100)
    marks, same = (
        simulate.simulate_multiunit_with_place_fields([20, 80], position, seed=7) for _ in "ab"
    )
    assert np.array_equal(marks, same, equal_nan=True)
    means = np.arange(0.0, 90, 10)
    replay, same = (by_unit.make_fragmented_replay(means, 1500, 6.0, seed=2) for _ in "ab")
    assert np.array_equal(replay, same)


def test_runs_as_models_take_them_and_as_before() -> None:
    run = clusterless.make_simulated_run_data(n_runs=1, seed=2)
    again = clusterless.make_simulated_run_data(n_runs=1, seed=2)
    other = clusterless.make_simulated_run_data(n_runs=1, seed=3)
    assert np.array_equal(run[3], again[3], equal_nan=True)
    assert not np.array_equal(run.spike_times[0], other.spike_times[0])
    time, position, frequency, marks, is_spike = run
    assert (len(run), frequency) == (5, 1000)
    assert np.array_equal(run[1], position)
    assert run.position.shape == (len(time), 1)
    for tetrode, (times, features) in enumerate(
        zip(run.spike_times, run.spike_waveform_features, strict=True)
    ):
        assert np.array_equal(times, time[is_spike[:, tetrode]])
        assert np.array_equal(features, marks[is_spike[:, tetrode], :, tetrode])
    assert run.bin_widths is not None
    assert np.allclose(run.bin_widths, 1 / frequency)
    assert run.environment.place_bin_centers_ is not None
    model = td.ClusterlessDecoder(environments=run.environment)
    model.fit(run.position_time, run.position, run.spike_times, run.spike_waveform_features)


def test_sorted_simulation() -> None:
    a, b = (by_unit.make_simulated_data(n_neurons=4, sampling_frequency=100, seed=1) for _ in "ab")
    assert np.array_equal(a[1], b[1])
    assert all(np.array_equal(x, y) for x, y in zip(a[2], b[2], strict=True))
    time = np.arange(0, 30, 0.5)
    position = by_unit.simulate_position(time, 100.0)
    assert np.allclose(position, 50 - 50 * np.cos(2 * np.pi * time / 10))
    resting = by_unit.simulate_linear_distance_with_pauses(
        time, 100.0, pause=2.0, sampling_frequency=2
    )
    assert np.array_equal(np.flatnonzero(resting[:20] == 100), np.arange(10, 15))
    direction, inbound = by_unit.get_trajectory_direction([0.0, 1.0, 0.5])
    assert direction.tolist() == ["Outbound", "Outbound", "Inbound"]
    assert inbound.tolist() == [False, False, True]
    time, where, spikes = by_unit.simulate_two_state_inhomogenous_poisson(seed=1)
    assert where.shape == (len(time), 1)
    way_out = np.append(False, np.diff(where[:, 0]) > 0)
    assert np.average(where[:, 0], weights=spikes * way_out) == pytest.approx(150, abs=3)
    assert np.average(where[:, 0], weights=spikes * ~way_out) == pytest.approx(50, abs=3)


def test_rates_over_places() -> None:
    rng = np.random.default_rng(1)
    position, centers = rng.uniform(0, 10, (200, 1)), np.arange(0.5, 10)[:, None]
    spikes, weights = rng.integers(0, 2, 200), rng.random(200)
    kernel = by_unit.gaussian_pdf(centers.T, position, 1.5)
    found = by_unit.estimate_position_distance(centers, position, 1.5)
    assert np.allclose(found, kernel)
    density = by_unit.estimate_position_density(centers, position, 1.5, 3, weights)
    assert np.allclose(density, np.average(kernel, axis=0, weights=weights))
    inside, seen = np.arange(10) < 8, np.arange(200) != 7
    rate = by_unit.get_firing_rate(
        spikes, position, centers, inside, seen, density, 1.5, None, weights
    )
    used = (spikes > 0) & seen
    of_spikes = np.average(kernel[used], axis=0, weights=weights[used])
    want = np.average(spikes, weights=weights) * of_spikes / density
    assert np.allclose(rate[inside], want[inside])
    assert np.allclose(rate[~inside], 0)
    none = by_unit.get_firing_rate(0 * spikes, position, centers, inside, seen, density, 1.5)
    assert np.array_equal(none, np.zeros(10))
