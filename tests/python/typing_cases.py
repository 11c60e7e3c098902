"""A user's script as type checkers see it; never run, test_typing.py gives it to mypy.

``assert_type`` says what a call returns. A call that has to be refused carries an ignore with the
code of its error: under ``--strict`` an ignore that nothing needs is an error itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import xarray as xr

import tessera
from tessera import autoreject, clifford, decode, xpcs

Floats = npt.NDArray[np.float64]
Reals = npt.NDArray[np.floating[Any]]


def xpcs_results(data: xpcs.Data, flag: bool) -> None:
    result = xpcs.fit(data, mode="laminar_flow", sigma=0.01, progress="bar")
    assert_type(result, xpcs.Result)
    assert_type(result.physical, dict[str, float])
    assert_type(result.intervals, dict[str, tuple[float, float]])
    assert_type(result.basins[0]["chi2"], float)
    assert_type(result.model(), Floats)
    assert_type(xpcs.model([1.0, 0.0, 0.0], 9, [0.0], 0.005, dt=0.1), Floats)
    pairs = ([1.0, 0.0, 0.0], 9, [0.0], 0.005, [0], [1])
    assert_type(xpcs.model_pairs(*pairs, dt=0.1), tuple[Floats, Floats])
    assert_type(xpcs.model_pairs(*pairs, dt=0.1, jacobian=False), tuple[Floats, None])
    assert_type(xpcs.model_pairs(*pairs, dt=0.1, jacobian=flag), tuple[Floats, Floats | None])
    assert_type(xpcs.plan(data)["memory_bytes"], int)
    assert_type(xpcs.inspect("run.hdf")["bins"][0]["q"], float)
    assert_type(xpcs.parameters()[0]["unit"], str)
    assert_type(data.to_dict()["c2_exp"], Floats)
    assert_type(xpcs.fit_nlsq_jax(data.to_dict(), "run.yaml"), xpcs.Result)
    assert_type(xpcs.simulate_file("a.hdf", n_frame=9), Path)


def xpcs_mistakes(data: xpcs.Data) -> None:
    xpcs.fit(data, mod="laminar_flow")  # type: ignore[call-arg]
    xpcs.fit(data, mode="laminar")  # type: ignore[arg-type]
    xpcs.fit(data, sigma="0.01")  # type: ignore[arg-type]
    xpcs.fit(data, bounds=3)  # type: ignore[arg-type]
    xpcs.fit(data, progress="loud")  # type: ignore[arg-type]
    xpcs.plan(data, checkpoint="work")  # type: ignore[call-arg]
    xpcs.load("run.hdf", q_tol=0.1)  # type: ignore[call-arg]
    xpcs.simulate(frames=9)  # type: ignore[call-arg]
    xpcs.model([1.0, 0.0, 0.0], 9, [0.0], 0.005, kernl="physical")  # type: ignore[call-arg]
    xpcs.fit_nlsq_jax(data, None, sigmas=0.1)  # type: ignore[call-arg]
    xpcs.plan(data)["memory"]  # type: ignore[typeddict-item]


def decode_results(recording: decode.Recording, flag: bool) -> None:
    model = decode.ClusterlessDecoder(
        environments=recording.environment(place_bin_size=2.0), mode="fast"
    ).fit(
        recording.position_time,
        recording.position,
        recording.encoding_spike_times,
        recording.encoding_spike_waveform_features,
    )
    assert_type(model, decode.ClusterlessDecoder)
    spikes = (recording.spike_times, recording.spike_waveform_features)
    results = model.predict(*spikes, recording.time, return_outputs=["filter", "log_likelihood"])
    assert_type(results, xr.Dataset | decode.Results)
    results["acausal_posterior"].sum("state_bins")  # of a Dataset, and of the rest by name
    report = model.predict_file("day.h5", *spikes, recording.time, overwrite=flag)
    assert_type(report["log_evidence"], float)
    online = decode.OnlineDecoder(model)
    assert_type(online.advance(1.0), int)
    assert_type(online.get(0)["best_state"], str)
    assert_type(online.stats()["n_spike"], int)
    assert_type(decode.tune(recording, folds=3).position_std, float)
    assert_type(decode.simulate_recording("small", 1, drift=0.1), decode.Recording)


class OfAGpu:
    """An array of another library."""

    def __dlpack__(self, *, stream: Any = None, dl_device: Any = None) -> Any:
        return None

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def decode_elsewhere(recording: decode.Recording, x: OfAGpu) -> None:
    model = decode.ClusterlessDecoder(device="cuda").fit(x, x, [x], [x], device="cpu")
    assert_type(model.predict([x], [x], x, device="auto"), xr.Dataset | decode.Results)
    decode.events.score(model, x, [x], [x], device="cuda:1")
    decode.likelihoods.predict_no_spike_log_likelihood(x, [x], device="cpu")
    model.predict_file("day.h5", [x], [x], x, device="cuda")
    decode.ClusterlessDecoder(device=0)  # type: ignore[arg-type]
    model.predict([x], [x], x, devices="cuda")  # type: ignore[call-arg]


def decode_mistakes(recording: decode.Recording, model: decode.SortedSpikesDecoder) -> None:
    decode.ClusterlessDecoder(environment=recording.environment())  # type: ignore[call-arg]
    decode.ClusterlessDecoder(environments="track")  # type: ignore[arg-type]
    recording.environment(bin_size=2.0)  # type: ignore[call-arg]
    decode.simulate_recording("tiniest")  # type: ignore[arg-type]
    decode.simulate_recording("tiny", units=3)  # type: ignore[call-arg]
    decode.tune(recording, fold=3)  # type: ignore[call-arg]
    spikes = recording.spike_times
    model.predict(spikes, recording.time, return_outputs="filtr")  # type: ignore[arg-type]
    model.predict(spikes, recording.time, return_output="filter")  # type: ignore[call-arg]
    model.predict_file("a.h5", spikes, recording.time, overwritten=True)  # type: ignore[call-arg]
    model.fit_predict(
        recording.position_time,
        recording.position,
        spikes,
        is_trainig=None,  # type: ignore[call-arg]
    )
    model.estimate_parameters(
        recording.position_time,
        recording.position,
        spikes,
        recording.time,
        max_iters=3,  # type: ignore[call-arg]
    )


def autoreject_results(x: Floats, positions: Floats, flag: bool) -> None:
    ar = autoreject.AutoReject(cv=5, random_state=1, verbose=False)
    assert_type(ar.fit_array(x, positions), autoreject.AutoReject)
    assert_type(ar.transform_array(x), Reals)
    assert_type(ar.transform_array(x, return_log=True), tuple[Reals, autoreject.RejectLog])
    assert_type(ar.transform_array(x, return_log=flag), Reals | tuple[Reals, autoreject.RejectLog])
    epochs = autoreject.read_epochs("a-epo.fif")
    assert_type(epochs.get_data(), Floats)
    assert_type(ar.transform_file(epochs, "b-epo.fif"), Path)
    assert_type(ar.get_reject_log(epochs), autoreject.RejectLog)
    assert_type(autoreject.compute_thresholds(epochs), dict[str, float])
    assert_type(autoreject.simulate(epochs=3), Reals)
    assert_type(autoreject.simulate("a.npy"), Path)
    assert_type(autoreject.ptp_file("a.npy"), Reals)
    assert_type(autoreject.ptp_file("a.npy", "b.npy"), Path)
    assert_type(autoreject.validation_curve(epochs), tuple[Floats, Floats])


def autoreject_mistakes(x: Floats, positions: Floats, ar: autoreject.AutoReject) -> None:
    autoreject.AutoReject(n_interp=[1, 4])  # type: ignore[call-arg]
    autoreject.AutoReject(verbose="bar")  # type: ignore[arg-type]
    autoreject.fit_array(x, positions, consensuss=[0.1])  # type: ignore[call-arg]
    autoreject.fit_array(x, positions, search="all")  # type: ignore[arg-type]
    ar.transform_array(x, return_logs=True)  # type: ignore[call-overload]
    autoreject.ptp(x, nonfinite="drop")  # type: ignore[call-overload]
    autoreject.simulate(n_epochs=3)  # type: ignore[call-overload]


def clifford_results(x: npt.NDArray[np.float32]) -> None:
    algebra = clifford.Algebra("+++")
    assert_type(clifford.mv_gelu(x, algebra), npt.NDArray[np.float32])
    assert_type(algebra.geometric_product(x, x), npt.NDArray[np.float32])
    assert_type(algebra.norm(x), npt.NDArray[np.float32])
    assert_type(clifford.Op("sgp", "+++").forward(x, x), npt.NDArray[np.float32])
    assert_type(clifford.check("+++", rows=9)[0]["passed"], bool)
    assert_type(algebra.blades, list[str])


def clifford_mistakes(x: npt.NDArray[np.float32]) -> None:
    clifford.mv_gelu(x, "+++", activaton="relu")  # type: ignore[call-arg]
    clifford.mv_gelu(x, "+++", activation="cosh")  # type: ignore[arg-type]
    clifford.Algebra("+++").sgp(x, x, None, normalise=True)  # type: ignore[call-arg]
    clifford.Op("product", "+++")  # type: ignore[arg-type]
    clifford.Op("sgp", "+++", epsilon=1e-6)  # type: ignore[call-arg]
    clifford.check("+++", row=9)  # type: ignore[call-arg]
    clifford.Algebra(3)  # type: ignore[arg-type]


def engine() -> None:
    assert_type(tessera.get_num_threads(), int)
    assert_type(tessera.devices()[0]["id"], str)
    tessera.set_num_threads("2")  # type: ignore[arg-type]
