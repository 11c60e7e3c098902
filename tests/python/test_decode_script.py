"""Scripts written for non_local_detector, with the import lines changed and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

# ruff: noqa: I001
# --- the lines that change: non_local_detector -> tessera.decode
from tessera.decode import (
    ContFragClusterlessClassifier,
    ContFragSortedSpikesClassifier,
    DiscreteStationaryDiagonal,
    Environment,
    NonLocalClusterlessDetector,
    NonLocalSortedSpikesDetector,
    RandomWalk,
    Uniform,
    UniformInitialConditions,
)
from tessera.decode.analysis import maximum_a_posteriori_estimate
from tessera.decode.model_checking import get_highest_posterior_threshold, get_HPD_spatial_coverage
from tessera.decode.models.base import ClusterlessDetector
from tessera.decode.observation_models import ObservationModel
from tessera.decode.simulate.clusterless_simulation import (
    make_fragmented_continuous_fragmented_replay,
    make_simulated_run_data,
)
from tessera.decode.simulate.sorted_spikes_simulation import make_simulated_data
from tessera.decode.visualization import plot_non_local_model
# --- end

# The marks of the simulator lie far apart: many values are on the original's floor, which is said.
# So is an electrode that is silent in the short pieces that are decoded here.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*absolute floor:UserWarning"),
    pytest.mark.filterwarnings("ignore:no spike of electrode:UserWarning"),
]


@pytest.fixture(scope="module")
def run() -> dict[str, Any]:
    np.random.seed(3)
    time, position, sampling_frequency, multiunits, multiunits_spikes = make_simulated_run_data(
        n_runs=3, sampling_frequency=500
    )
    spike_times, spike_waveform_features = [], []
    for electrode in range(multiunits.shape[2]):
        is_spike = multiunits_spikes[:, electrode]
        spike_times.append(time[is_spike])
        spike_waveform_features.append(multiunits[is_spike, :, electrode])
    return {
        "time": time,
        "position": position,
        "sampling_frequency": sampling_frequency,
        "spike_times": spike_times,
        "spike_waveform_features": spike_waveform_features,
    }


def test_clusterless_tutorial(run: dict[str, Any], tmp_path: Path) -> None:
    detector = ContFragClusterlessClassifier(
        clusterless_algorithm_params={
            "waveform_std": 2.0,
            "position_std": np.sqrt(12.5),
            "block_size": 1000,
        },
        sampling_frequency=run["sampling_frequency"],
    )
    detector.fit(run["time"], run["position"], run["spike_times"], run["spike_waveform_features"])
    results = detector.predict(
        spike_times=run["spike_times"],
        spike_waveform_features=run["spike_waveform_features"],
        time=run["time"][:3000],
        position=run["position"][:3000],
        position_time=run["time"][:3000],
        n_chunks=2,
    )
    assert np.asarray(results.acausal_posterior).shape[0] == 3000
    env = detector.environments[0]
    posterior = np.asarray(results.acausal_posterior)
    total = sum(posterior[:, detector.state_ind_ == state] for state in range(2))
    estimate = env.place_bin_centers_[np.argmax(total, axis=1)].squeeze()
    assert np.median(np.abs(estimate - run["position"][:3000])) < 5
    threshold = get_highest_posterior_threshold(total)
    assert threshold.shape == (3000,)
    detector.save_model(tmp_path / "detector.pkl")
    detector = ContFragClusterlessClassifier.load_model(tmp_path / "detector.pkl")
    replay_time, test_multiunits = make_fragmented_continuous_fragmented_replay(500)
    is_spike = np.any(~np.isnan(test_multiunits), axis=1)
    replay = detector.predict(
        [replay_time[is_spike[:, e]] for e in range(5)],
        [test_multiunits[is_spike[:, e], :, e] for e in range(5)],
        replay_time,
    )
    assert np.asarray(replay.acausal_state_probabilities).shape == (len(replay_time), 2)


def test_xarray_habits(run: dict[str, Any]) -> None:
    pytest.importorskip("xarray")
    detector = ContFragClusterlessClassifier()
    detector.fit(run["time"], run["position"], run["spike_times"], run["spike_waveform_features"])
    time = detector.calculate_time_bins(run["time"][[100, 400]])
    results = detector.predict(run["spike_times"], run["spike_waveform_features"], time)
    posterior = results.acausal_posterior.unstack("state_bins").sum("state")
    estimate = maximum_a_posteriori_estimate(posterior)
    assert estimate.shape == (len(time), 1)
    coverage = get_HPD_spatial_coverage(posterior, get_highest_posterior_threshold(posterior))
    assert np.all(coverage > 0)
    assert results.acausal_state_probabilities.sel(states="Continuous").shape == (len(time),)
    assert results.sel(time=slice(0.3, 0.5)).sizes["time"] > 0


def test_a_model_of_ones_own(run: dict[str, Any]) -> None:
    environment = Environment(place_bin_size=2.5)
    detector = ClusterlessDetector(
        discrete_initial_conditions=np.array([0.5, 0.5]),
        continuous_initial_conditions_types=[UniformInitialConditions()] * 2,
        discrete_transition_type=DiscreteStationaryDiagonal(diagonal_values=np.array([0.95, 0.9])),
        discrete_transition_concentration=1.1,
        discrete_transition_stickiness=np.array([0.0, 0.0]),
        discrete_transition_regularization=1e-10,
        continuous_transition_types=[
            [RandomWalk(movement_var=4.0), Uniform()],
            [Uniform(), Uniform()],
        ],
        observation_models=[ObservationModel(), ObservationModel()],
        environments=environment,
        state_names=["slow", "jump"],
    )
    results = detector.estimate_parameters(
        position_time=run["time"],
        position=run["position"],
        spike_times=run["spike_times"],
        spike_waveform_features=run["spike_waveform_features"],
        time=run["time"][:1000],
        estimate_inital_conditions=True,
        estimate_discrete_transition=True,
        max_iter=2,
    )
    assert len(results.attrs["marginal_log_likelihoods"]) == 2
    assert detector.discrete_state_transitions_.shape == (2, 2)


def test_non_local_clusterless(run: dict[str, Any]) -> None:
    detector = NonLocalClusterlessDetector(environments=Environment(place_bin_size=5.0))
    is_training = np.ones_like(run["time"], dtype=bool)
    is_training[5000:6000] = False
    detector.fit(
        position_time=run["time"],
        position=run["position"],
        spike_times=run["spike_times"],
        spike_waveform_features=run["spike_waveform_features"],
        is_training=is_training,
    )
    results = detector.predict(
        spike_times=run["spike_times"],
        spike_waveform_features=run["spike_waveform_features"],
        time=run["time"][5000:5500],
        position=run["position"],
        position_time=run["time"],
    )
    probability = np.asarray(results.acausal_state_probabilities)
    # The animal runs: its spikes are local.
    assert probability[:, 0].mean() > 0.5


def test_sorted_spikes_tutorial() -> None:
    np.random.seed(1)
    (
        speed,
        position,
        spike_times,
        time,
        event_times,
        sampling_frequency,
        is_event,
        place_fields,
    ) = make_simulated_data(n_neurons=20, sampling_frequency=500)
    detector = NonLocalSortedSpikesDetector(
        sorted_spikes_algorithm="sorted_spikes_kde",
        sorted_spikes_algorithm_params={"position_std": 6.0, "block_size": 100},
    ).fit(time, position, spike_times, is_training=~is_event)
    results = detector.predict(
        spike_times=spike_times, time=time, position=position, position_time=time
    )
    probability = np.asarray(results.acausal_state_probabilities)
    first = (time >= event_times[0, 0]) & (time < event_times[0, 1])
    non_local = probability[:, 2:].sum(axis=1)
    assert non_local[first].mean() > 0.5
    assert non_local[~is_event].mean() < 0.2
    assert place_fields.shape == (len(time), 20)
    assert sampling_frequency == 500
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    plot_non_local_model(
        time, position, spike_times, speed, detector, results, time_slice=slice(5.0, 12.0)
    )
    plt.close("all")


def test_contfrag_sorted() -> None:
    np.random.seed(2)
    _, position, spike_times, time, *_ = make_simulated_data(n_neurons=15, sampling_frequency=250)
    classifier = ContFragSortedSpikesClassifier().fit(time, position, spike_times)
    results = classifier.predict(spike_times, time[:500])
    assert np.asarray(results.acausal_posterior).shape == (500, classifier.n_state_bins_)
