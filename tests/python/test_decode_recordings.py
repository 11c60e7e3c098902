"""Recordings, simulations, files of results and the online decoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from decode_data import Spikes, make_spikes
from tessera.decode.likelihoods import (
    fit_clusterless_kde_encoding_model,
    predict_clusterless_kde_log_likelihood,
    predict_no_spike_log_likelihood,
)


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes()


def test_simulations_are_repeatable() -> None:
    one, two = td.simulate_recording("tiny", seed=3), td.simulate_recording("tiny", seed=3)
    other = td.simulate_recording("tiny", seed=4)
    assert len(one.spike_times) == 4
    assert len(one.time) == 50
    for a, b in zip(one.spike_times, two.spike_times, strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(one.spike_times[0], other.spike_times[0])
    assert "4 electrodes" in repr(one)
    with pytest.raises(ValueError, match="size"):
        td.simulate_recording("nonsense")  # type: ignore[arg-type]


def test_module_simulate_is_a_function() -> None:
    from tessera.decode import simulate

    called: Any = simulate
    assert len(called("tiny", seed=1).time) == 50


def test_arrays_outlive_their_recording() -> None:
    times = td.simulate_recording("small", seed=1).spike_times[0]
    copy = times.copy()
    for seed in range(5):
        td.simulate_recording("small", seed=seed)
    assert np.array_equal(times, copy)
    assert not times.flags.writeable


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_files(tmp_path: Path, suffix: str) -> None:
    recording = td.simulate_recording("tiny", seed=3)
    path = tmp_path / f"recording{suffix}"
    assert recording.save(path) == path
    again = td.read_recording(path)
    assert np.array_equal(again.time, recording.time)
    for a, b in zip(again.spike_waveform_features, recording.spike_waveform_features, strict=True):
        assert np.array_equal(a, b)
    with pytest.raises(tessera.OutputExistsError):
        td.save_recording(recording, path)
    td.save_recording(recording, path, overwrite=True)
    with pytest.raises(FileNotFoundError):
        td.read_recording(tmp_path / "nothing.npz")


def test_simulated_recordings_can_be_decoded() -> None:
    # The original's script has decoding bins narrower than position samples are apart.
    recording = td.simulate_recording("tiny", seed=3, generator="original")
    model = td.ClusterlessDecoder(
        environments=recording.environment(),
        clusterless_algorithm_params=recording.algorithm_params(),
    )
    model.fit(
        recording.position_time,
        recording.position,
        recording.encoding_spike_times,
        recording.encoding_spike_waveform_features,
    )
    with pytest.warns(UserWarning, match="bin_scale=0"):
        results = model.predict(
            recording.spike_times, recording.spike_waveform_features, recording.time
        )
    assert np.asarray(results["acausal_posterior"]).shape[0] == 50


def test_prediction_into_a_file(spikes: Spikes, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model = td.ContFragClusterlessClassifier().fit(*spikes.fit_args())
    args = (spikes.spike_times, spikes.features, spikes.time)
    results = model.predict(*args)
    path = tmp_path / "results.h5"
    report = model.predict_file(path, *args, n_chunks=5, return_outputs="filter")
    assert report["n_chunk"] == 5
    assert report["log_evidence"] == pytest.approx(results.attrs["marginal_log_likelihoods"])
    with h5py.File(path) as file:
        assert np.array_equal(file["acausal_posterior"][()], results["acausal_posterior"])
    with pytest.raises(tessera.OutputExistsError):
        model.predict_file(path, *args)


def test_path_into_a_file(spikes: Spikes, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model = td.ContFragClusterlessClassifier().fit(*spikes.fit_args())
    args = (spikes.spike_times, spikes.features, spikes.time)
    table = model.most_likely_sequence(None, None, *args)
    model.predict_file(tmp_path / "path.h5", *args, n_chunks=5, most_likely_path=True)
    with h5py.File(tmp_path / "path.h5") as file:
        assert np.array_equal(file["most_likely_position"][()], table["position"])
        states = file["states"].asstr()[()][file["most_likely_state"][()]]
    assert np.array_equal(states, np.asarray(table["state"]).astype(str))


def test_intervals_into_a_file(spikes: Spikes, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    model = td.ContFragClusterlessClassifier().fit(*spikes.fit_args())
    time = np.asarray(spikes.time)
    args = (spikes.spike_times, spikes.features)
    spans = [(time[40], time[70]), (time[5], time[11])]
    report = model.predict_file(tmp_path / "some.h5", *args, time, intervals=spans)
    assert (report["n_row"], report["n_interval"], report["n_empty"]) == (36, 2, 0)
    with h5py.File(tmp_path / "some.h5") as file:
        found = file["acausal_posterior"][()]
        assert np.array_equal(file["interval"][()], np.repeat([1, 0], [6, 30]))
        assert np.array_equal(file["time"][()], np.r_[time[5:11], time[40:70]])
    whole = np.asarray(model.predict(*args, time)["acausal_posterior"])
    assert not np.array_equal(found[:6], whole[5:11])
    table = np.array(spans)[:, :1]
    with pytest.raises(td.exceptions.ValidationError, match="shape \\(n, 2\\)"):
        model.predict_file(tmp_path / "none.h5", *args, time, intervals=table)


def test_likelihood_functions(spikes: Spikes) -> None:
    env = td.Environment().fit_place_grid(spikes.position)
    encoding = fit_clusterless_kde_encoding_model(*spikes.fit_args(), env, position_std=6.0)
    time = spikes.time[:60]
    likelihood = predict_clusterless_kde_log_likelihood(
        time, None, None, spikes.spike_times, spikes.features, **encoding
    )
    model = td.ClusterlessDecoder().fit(*spikes.fit_args())
    wanted = model.compute_log_likelihood(time, None, None, spikes.spike_times, spikes.features)
    assert np.allclose(likelihood, wanted, atol=1e-5)
    local = predict_clusterless_kde_log_likelihood(
        time,
        spikes.time,
        spikes.position,
        spikes.spike_times,
        spikes.features,
        is_local=True,
        **encoding,
    )
    assert local.shape == (60, 1)
    silent = predict_no_spike_log_likelihood(time, spikes.spike_times)
    assert silent.shape == (60, 1)
    assert set(encoding) > {"occupancy", "mean_rates", "summed_ground_process_intensity"}
    assert len(encoding["encoding_positions"]) == 3


def test_online_equals_the_causal_filter(spikes: Spikes) -> None:
    model = td.ContFragClusterlessClassifier().fit(*spikes.fit_args())
    n, width = 100, 0.02
    edges = np.arange(n + 1) * width
    results = model.predict(
        spikes.spike_times, spikes.features, edges, return_outputs=["filter", "log_likelihood"]
    )
    online = td.OnlineDecoder(model, start=0.0, bin_width=width)
    for electrode, times in enumerate(spikes.spike_times):
        inside = times < edges[-1]
        online.push_spikes(times[inside], electrode, spikes.features[electrode][inside])
    assert online.advance(edges[-1] + 1e-9) == n
    wanted = np.asarray(results["causal_posterior"])
    for k in (n - 40, n - 1):
        found = online.get(k)
        assert np.allclose(found["posterior"], wanted[k], atol=1e-4)
        assert found["state_probabilities"].sum() == pytest.approx(1)
        assert found["best_state"] in model.state_names
    stats = online.stats()
    assert stats["n_bin"] == n
    assert stats["n_late"] == 0
    online.push_spike(0.5, 0, spikes.features[0][0])
    online.advance(edges[-1] + 0.1)
    assert online.stats()["n_late"] == 1
    with pytest.raises(ValueError, match="electrode"):
        online.push_spike(9.0, 77, spikes.features[0][0])
    with pytest.raises(ValueError, match=r"bin|finished"):
        online.get(10**6)
    online.reset(5.0)
    assert online.stats()["n_bin"] == 0
