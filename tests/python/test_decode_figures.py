"""Figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tessera.decode as td
from decode_data import make_plane, make_spikes

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("agg")

from tessera.decode import visualization as vis  # noqa: E402


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def line() -> tuple[Any, ...]:
    data = make_spikes()
    model = td.ContFragClusterlessClassifier().fit(*data.fit_args())
    return data, model, model.predict(data.spike_times, data.features, data.time[:300])


@pytest.fixture(scope="module")
def plane() -> tuple[Any, ...]:
    data = make_plane()
    env = td.Environment(place_bin_size=4.0)
    model = td.ContFragClusterlessClassifier(environments=env).fit(*data.fit_args())
    return data, model, model.predict(data.spike_times, data.features, data.time[:100])


def test_results_on_a_line(line: tuple[Any, ...]) -> None:
    data, model, results = line
    axes = vis.plot_posterior(model, results, data.time, data.position)
    image = axes.collections[0]  # type: ignore[union-attr]
    # One cell per bin and time, the first column being the first time.
    assert image.get_array().size == 300 * 50  # type: ignore[union-attr]
    posterior = np.asarray(results["acausal_posterior"])
    wanted = posterior[:, :50] + posterior[:, 50:]
    assert np.allclose(np.reshape(image.get_array(), (50, 300)), wanted.T)  # type: ignore[arg-type]
    assert vis.plot_state_probabilities(model, results).lines
    assert vis.plot_error_histogram(model, results, data.time, data.position).patches
    assert len(vis.plot_calibration(model, results, data.time, data.position).lines) == 2
    assert len(vis.plot_raster(data.spike_times, (0, 6)).collections) == 3
    assert len(vis.plot_results(model, results, data.spike_times).axes) == 3


def test_results_in_the_plane(plane: tuple[Any, ...]) -> None:
    data, model, results = plane
    axes = vis.plot_posterior(model, results, data.time, data.position)
    assert len(axes) == 2  # type: ignore[arg-type]
    vis.plot_error_histogram(model, results, data.time, data.position)
    vis.plot_calibration(model, results, data.time, data.position)
    figure = vis.plot_results(model, results, data.spike_times, data.time, data.position)
    figure.canvas.draw()


def test_models(line: tuple[Any, ...], plane: tuple[Any, ...]) -> None:
    _, model, _ = line
    axes = model.plot_discrete_state_transition()
    assert [text.get_text() for text in axes.texts] == ["0.980", "0.020", "0.020", "0.980"]
    model.plot_discrete_state_transition(
        ax=plt.subplots()[1], convert_to_seconds=True, sampling_frequency=500
    )
    model.plot_continuous_state_transition().canvas.draw()
    model.plot_initial_conditions()
    model.environments[0].plot_grid()
    plane[1].environments[0].plot_grid()


def test_transitions_over_covariates() -> None:
    data = make_spikes(duration=24)
    speed = np.linspace(0, 30, 200)
    model = td.ContFragClusterlessClassifier(
        discrete_transition_type=td.DiscreteNonStationaryDiagonal([0.9, 0.9], "1 + speed")
    ).fit(*data.fit_args(), discrete_transition_covariate_data={"speed": speed})
    axes = model.plot_discrete_state_transition(covariate_data={"speed": np.arange(9.0)})
    assert len(axes) == 2  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="covariate_data"):
        model.plot_discrete_state_transition()


def test_multiunit_rate(line: tuple[Any, ...]) -> None:
    data, _, _ = line
    rate = np.asarray(vis.get_multiunit_firing_rate(data.spike_times, data.time)).squeeze()
    n_spike = sum(len(times) for times in data.spike_times)
    assert rate.mean() * 60 == pytest.approx(n_spike, rel=0.05)
