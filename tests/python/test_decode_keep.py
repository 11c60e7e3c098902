"""predict(keep_on_device=True): results that stay where they were computed.

On the CPU that is host memory; tests of a GPU compare with what comes down by itself.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tessera
from decode_matrix import ENVIRONMENTS, MODELS, N_TIME, Kind, Place, Session, session
from tessera.decode.exceptions import ValidationError

HAS_GPU = any(device["backend"] == "cuda" for device in tessera.devices())
pytestmark = pytest.mark.filterwarnings("ignore")
on_gpu = pytest.mark.skipif(not HAS_GPU, reason="no NVIDIA GPU")

# Of probabilities, whose rows the CPU filters where they do not stay.
POSTERIOR = {"exact": 1e-9, "fast": 2e-3}
MISSING = np.arange(N_TIME) % 7 == 3


def fitted(place: Place, kind: Kind, mode: str, device: str) -> tuple[Any, Session]:
    data = session(place, kind)
    model = Kind(kind.cls, kind.make, (*kind.settings, ("mode", mode))).build(place)
    model.fit(data.position_time, data.position, *data.spikes, **data.labels,
              **data.covariates(N_TIME), device=device)  # fmt: skip
    return model, data


def predict(model: Any, data: Session, **options: Any) -> Any:
    return model.predict(*data.spikes, data.time, **data.where, **data.covariates(N_TIME),
                         return_outputs="all", **options)  # fmt: skip


def here(results: Any) -> dict[str, Any]:
    return {name: np.asarray(array.to_host()) for name, array in results.data_vars.items()}


def usual(model: Any, results: Any) -> dict[str, Any]:
    """Rows over interior bins, as they are kept."""
    inside = model.is_track_interior_state_bins_
    found = {}
    for name in results.data_vars:
        rows = np.asarray(results[name]).reshape(N_TIME, -1)
        found[name] = rows if name.endswith("state_probabilities") else rows[:, inside]
    return found


def check_keep(model: Any, data: Session, mode: str, device: str) -> None:
    for missing in (None, MISSING):
        results = predict(model, data, is_missing=missing, device=device, keep_on_device=True)
        assert all(array.device.startswith(device) for array in results.data_vars.values())
        kept = here(results)
        again = here(predict(model, data, is_missing=missing, device=device, keep_on_device=True,
                             n_chunks=7))  # fmt: skip
        down = predict(model, data, is_missing=missing, device=device)
        want = usual(model, down)
        assert set(kept) == set(want)
        by_state = model._by_state(kept.pop("log_likelihood"))
        assert np.array_equal(by_state, want.pop("log_likelihood"))
        again.pop("log_likelihood")
        for name, rows in kept.items():
            assert np.array_equal(rows, again[name]), name
            apart = np.abs(rows - want[name])
            assert apart.max() <= (0 if device == "cpu" else POSTERIOR[mode]), (name, apart.max())
        evidence = down.attrs["marginal_log_likelihoods"]
        assert np.isclose(results.attrs["marginal_log_likelihoods"], evidence,
                          rtol=1e-12 if mode == "exact" else 1e-6)  # fmt: skip


@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("name", ["decoder", "non-local-bins", "sorted-no-spike"])
def test_on_the_cpu_they_are_in_host_memory(name: str, mode: str) -> None:
    model, data = fitted(ENVIRONMENTS["track-gaps"], MODELS[name], mode, "cpu")
    results = predict(model, data, device="cpu", keep_on_device=True)
    rows = np.asarray(results.acausal_posterior)
    want = usual(model, predict(model, data, device="cpu"))
    assert np.array_equal(rows, want["acausal_posterior"])
    states = np.asarray(results["acausal_state_probabilities"])
    assert states.dtype == np.float64
    assert np.allclose(states, want["acausal_state_probabilities"], atol=1e-6)
    assert np.from_dlpack(results.acausal_posterior).ctypes.data == results.acausal_posterior.ptr
    assert results.acausal_posterior.to_host() is results.acausal_posterior
    assert len(results.coords["state_bins"]) == rows.shape[1]
    assert results.dims["log_likelihood"] == ("time", "columns")
    assert "acausal_posterior" in repr(results) + results._repr_html_()


def check_path(model: Any, data: Session, device: str) -> None:
    call = (data.position_time, data.position, *data.spikes, data.time)
    kept = model.most_likely_sequence(*call, device=device, keep_on_device=True)
    assert kept.most_likely_bin.device.startswith(device)
    path = np.asarray(kept.most_likely_bin.to_host())
    table = model.most_likely_sequence(*call, device=device)
    assert np.array_equal(kept.coords["state_bins"]["state"][path], np.asarray(table["state"]))
    assert kept.dims["most_likely_bin"] == ("time",)


@pytest.mark.parametrize("name", ["cont-frag", "sorted-no-spike"])
def test_a_path_is_kept_as_bins(name: str) -> None:
    check_path(*fitted(ENVIRONMENTS["track-gaps"], MODELS[name], "exact", "cpu"), "cpu")


@on_gpu
def test_a_path_is_kept_on_a_gpu() -> None:
    check_path(*fitted(ENVIRONMENTS["track-gaps"], MODELS["cont-frag"], "exact", "cuda"), "cuda")


def test_a_likelihood_is_cached_in_host_memory_only() -> None:
    model, data = fitted(ENVIRONMENTS["line"], MODELS["decoder"], "fast", "cpu")
    with pytest.raises(ValidationError, match="leave it out"):
        predict(model, data, cache_likelihood=True, keep_on_device=True)


def test_results_outlive_the_model() -> None:
    model, data = fitted(ENVIRONMENTS["line"], MODELS["decoder"], "fast", "cpu")
    results = predict(model, data, keep_on_device=True, device="cpu")
    want = np.array(results.acausal_posterior)
    kept = np.from_dlpack(results.acausal_posterior)
    del model, results
    gc.collect()
    assert np.array_equal(kept, want)


@on_gpu
@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("where", ENVIRONMENTS)
def test_on_a_gpu_they_are_what_comes_down(where: str, name: str, mode: str) -> None:
    model, data = fitted(ENVIRONMENTS[where], MODELS[name], mode, "cuda")
    check_keep(model, data, mode, "cuda")


@on_gpu
@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_other_libraries_take_them_where_they_are(library: str, mode: str) -> None:
    there = pytest.importorskip(library)
    if library == "torch" and not there.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    if library == "jax" and there.default_backend() != "gpu":
        pytest.skip("this JAX has no CUDA")
    model, data = fitted(ENVIRONMENTS["box"], MODELS["non-local"], mode, "cuda")
    results = predict(model, data, device="cuda", keep_on_device=True)
    for name, want in here(results).items():
        array = results[name]
        if library == "jax":
            there.config.update("jax_enable_x64", True)
            taken = there.dlpack.from_dlpack(array)
            pointer = taken.unsafe_buffer_pointer()
        else:
            taken = there.from_dlpack(array)
            pointer = taken.data_ptr() if library == "torch" else taken.data.ptr
        assert pointer == array.ptr, name
        got = taken.cpu().numpy() if library == "torch" else (
            taken.get() if library == "cupy" else np.asarray(taken))  # fmt: skip
        assert got.dtype == want.dtype
        assert np.array_equal(got, want), name


@on_gpu
def test_nothing_is_left_behind() -> None:
    model, data = fitted(ENVIRONMENTS["box"], MODELS["non-local-bins"], "fast", "cuda")

    def free() -> int:
        return next(d["memory_free_bytes"] for d in tessera.devices() if d["backend"] == "cuda")

    for _ in range(3):
        predict(model, data, device="cuda", keep_on_device=True)
    before = free()
    for _ in range(50):
        predict(model, data, device="cuda", keep_on_device=True)
    assert before - free() < 4 << 20
