"""The keyword ``device``: where it is taken, what it changes, what it says where there is none."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
import tessera.decode as td
from decode_data import Spikes, make_spikes
from tessera.decode import events, likelihoods
from tessera.decode.exceptions import ValidationError

HAS_GPU = any(device["backend"] == "cuda" for device in tessera.devices())
needs_no_gpu = pytest.mark.skipif(HAS_GPU, reason="there is an NVIDIA GPU")
pytestmark = pytest.mark.filterwarnings("ignore")

MODELS = [name for name in td.__all__ if name.endswith(("Decoder", "Detector", "Classifier"))]
MODELS = [name for name in MODELS if name != "OnlineDecoder"]
METHODS = ("fit", "predict", "most_likely_sequence")
IN_KEYWORDS = ("compute_log_likelihood", "predict_file", "fit_predict", "estimate_parameters")


@pytest.fixture(scope="module")
def spikes() -> Spikes:
    return make_spikes(n_electrode=2, duration=20)


def is_sorted(model: Any) -> bool:
    return isinstance(model, td.SortedSpikesDetector)


def calls(model: Any, spikes: Spikes, folder: Path, **device: Any) -> dict[str, Callable[[], Any]]:
    """Every method that computes, by name; fit() goes first."""
    marks = [] if is_sorted(model) else [spikes.features]
    one = None if is_sorted(model) else spikes.features
    rows = spikes.time[:40]
    train = (spikes.time, spikes.position, spikes.spike_times, *marks)
    here: dict[str, Any] = {"position": spikes.position, "position_time": spikes.time}
    seen = (spikes.time, spikes.position, spikes.spike_times, *marks, rows)
    return {
        "fit": lambda: model.fit(*train, **device),
        "predict": lambda: model.predict(spikes.spike_times, *marks, rows, **here, **device),
        "predict_file": lambda: model.predict_file(
            folder / "out.h5", spikes.spike_times, *marks, rows, **here, overwrite=True, **device
        ),
        "compute_log_likelihood": lambda: model.compute_log_likelihood(
            rows, spikes.time, spikes.position, spikes.spike_times, *marks, **device
        ),
        "most_likely_sequence": lambda: model.most_likely_sequence(*seen, **device),
        "estimate_parameters": lambda: model.estimate_parameters(*seen, max_iter=1, **device),
        "fit_predict": lambda: model.fit_predict(*train, rows, **device),
        "events.score": lambda: events.score(
            model, [[1.0, 1.4]], spikes.spike_times, one, **here, **device
        ),
        "events.shuffle_test": lambda: events.shuffle_test(
            model, [[1.0, 1.4]], spikes.spike_times, one, **here, shuffles=3, **device
        ),
    }


@pytest.mark.parametrize("name", MODELS)
def test_keyword_only_and_last(name: str) -> None:
    cls = getattr(td, name)
    for method in ("__init__", *METHODS):
        found = inspect.signature(getattr(cls, method)).parameters
        assert found["device"].kind is inspect.Parameter.KEYWORD_ONLY
        assert found["device"].default is None
        assert list(found)[-1] == "device"
    for method in IN_KEYWORDS:
        assert "device" in inspect.getdoc(getattr(cls, method))  # type: ignore[operator]


def test_a_device_that_does_not_exist_is_named(spikes: Spikes, tmp_path: Path) -> None:
    known = ", ".join(["auto", *(device["id"] for device in tessera.devices())])
    words = f"device: 'gpu' does not exist; there are {known}"
    for make in (td.ClusterlessDecoder, td.SortedSpikesDecoder):
        with pytest.raises(ValidationError, match=words):
            make(device="gpu")
        model = make()
        for call in calls(model, spikes, tmp_path, device="gpu").values():
            with pytest.raises(ValidationError, match=words):
                call()
            if "encoding_model_" not in model.__dict__:
                calls(model, spikes, tmp_path)["fit"]()
    with pytest.raises(ValidationError, match=words):
        events.find(spikes.spike_times, device="gpu")
    with pytest.raises(ValidationError, match=words):
        likelihoods.predict_no_spike_log_likelihood([0.0, 1.0], [[0.5]], device="gpu")
    with pytest.raises(tessera.DeviceError, match="'gpu'"):
        td.tune(td.simulate_recording("tiny"), device="gpu")


@needs_no_gpu
@pytest.mark.parametrize("make", [td.ClusterlessDecoder, td.SortedSpikesDecoder])
def test_without_a_gpu_every_call_says_so(make: Any, spikes: Spikes, tmp_path: Path) -> None:
    model = make(device="cuda")  # whether there is one is asked when it is used
    for call in calls(model, spikes, tmp_path).values():
        with pytest.raises(tessera.DeviceError, match=r"device 'cuda' is not available: .*cpu"):
            call()
        calls(model, spikes, tmp_path, device="cpu")["fit"]()
    for call in calls(model, spikes, tmp_path, device="cpu").values():  # one call's own wins
        call()


@needs_no_gpu
def test_functions_without_a_gpu(spikes: Spikes) -> None:
    env = td.Environment(place_bin_size=4.0).fit_place_grid(spikes.position)
    rows = spikes.time[:20]
    train = (spikes.time, spikes.position, spikes.spike_times)
    kde = likelihoods.fit_clusterless_kde_encoding_model(*train, spikes.features, env)
    fields = likelihoods.fit_sorted_spikes_kde_encoding_model(*train, env)
    lines: list[Callable[..., Any]] = [
        lambda **k: likelihoods.fit_clusterless_kde_encoding_model(
            *train, spikes.features, env, **k
        ),
        lambda **k: likelihoods.fit_sorted_spikes_kde_encoding_model(*train, env, **k),
        lambda **k: likelihoods.fit_sorted_spikes_glm_encoding_model(*train, env, **k),
        lambda **k: likelihoods.predict_clusterless_kde_log_likelihood(
            rows, None, None, spikes.spike_times, spikes.features, encoding_model=kde, **k
        ),
        lambda **k: likelihoods.predict_sorted_spikes_kde_log_likelihood(
            rows, None, None, spikes.spike_times, encoding_model=fields, **k
        ),
        lambda **k: likelihoods.predict_no_spike_log_likelihood(rows, spikes.spike_times, **k),
        lambda **k: events.find(spikes.spike_times, **k),
    ]
    for line in lines:
        line(device="cpu")
        line(device="auto")
        with pytest.raises(tessera.DeviceError, match=r"device 'cuda:0' is not available: .*cpu"):
            line(device="cuda:0")


@needs_no_gpu
@pytest.mark.parametrize("name", ["NonLocalClusterlessDetector", "ContFragSortedSpikesClassifier"])
def test_results_do_not_depend_on_where_the_cpu_was_named(name: str, spikes: Spikes) -> None:
    found = []
    for device in (None, "cpu", "auto"):
        model = getattr(td, name)(device=device)
        marks = [] if is_sorted(model) else [spikes.features]
        results = model.fit_predict(spikes.time, spikes.position, spikes.spike_times, *marks)
        found.append(np.asarray(results["acausal_posterior"]))
    assert all(np.array_equal(found[0], each, equal_nan=True) for each in found)


def test_parameters_copies_and_files(spikes: Spikes, tmp_path: Path) -> None:
    model = td.ContFragClusterlessClassifier(device="cuda:3", threads=2)
    assert model.get_params()["device"] == "cuda:3"
    model.fit(*spikes.fit_args(), device="cpu")
    assert model.device == "cuda:3"
    again = type(model)(**model.get_params())
    for copy in (model.copy(), pickle.loads(pickle.dumps(model)), again):
        assert copy.device == "cuda:3"
    model.save_model(tmp_path / "there.npz")
    model.set_params(device="cpu").save_model(tmp_path / "here.npz")
    assert (tmp_path / "there.npz").read_bytes() == (tmp_path / "here.npz").read_bytes()
    loaded = td.ClusterlessDetector.load_model(tmp_path / "there.npz")
    assert loaded.device is None
    assert loaded.threads == 2
    rows = spikes.time[:50]
    want, got = (m.predict(spikes.spike_times, spikes.features, rows) for m in (model, loaded))
    assert np.array_equal(want["acausal_posterior"], got["acausal_posterior"], equal_nan=True)
    model.set_params(device="gpu")
    with pytest.raises(ValidationError, match="device: 'gpu'"):
        model.fit(*spikes.fit_args())
