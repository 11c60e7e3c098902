"""autoreject on a GPU: the bits of the CPU for types, options and arrays. Skipped without one."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from autoreject_data import sphere
from tessera.autoreject import AutoReject, _gpu_arrays, backends

pytestmark = pytest.mark.skipif(
    not backends.detect_hardware()["cuda"], reason="there is no GPU that can be used"
)

LIBRARIES = ["torch", "cupy", "jax"]


def _recording(kind: str, n_epoch: int = 40, n_time: int = 70) -> tuple[Any, Any, list[str]]:
    """Make epochs with bad rows, of electrodes, MEG coils, both, or fNIRS."""
    rng = np.random.default_rng(len(kind))
    n_place = 12
    places = np.zeros((n_place, 12))
    places[:, :3] = sphere(n_place)
    out = places[:, :3] / 0.09
    side = np.cross(out, [0.3, 0.5, 0.8])
    side /= np.linalg.norm(side, axis=1)[:, None]
    coils = np.concatenate([0.11 * out + [0, 0, 0.04], side, np.cross(out, side), out], axis=1)
    parts: dict[str, Any] = {
        "eeg": (places, "eeg", 1e-5),
        "mag": (coils, "mag", 1e-12),
        "grad": (coils, "grad", 4e-11),
        "hbo": (places, "hbo", 1e-6),
    }
    chosen = kind.split("+")
    types = [parts[name][1] for name in chosen for _ in range(n_place)]
    positions = np.concatenate([parts[name][0] for name in chosen])
    scales = np.repeat([parts[name][2] for name in chosen], n_place)
    x = rng.standard_normal((n_epoch, len(types), n_time))
    x += rng.standard_normal((n_epoch, 1, n_time))
    x[rng.random(x.shape[:2]) < 0.06] *= 6
    x[::9] *= 4
    return x * scales[:, None], positions, types


def _fit(x: Any, positions: Any, types: list[str], device: str, **params: Any) -> AutoReject:
    keywords: dict[str, Any] = {"cv": 4, "random_state": 3, "verbose": False, **params}
    return AutoReject(device=device, **keywords).fit_array(x, positions, types)


def _assert_same(a: AutoReject, b: AutoReject) -> None:
    assert a.threshes_ == b.threshes_
    for kind in a.loss_:
        np.testing.assert_array_equal(a.loss_[kind], b.loss_[kind])
        assert a.consensus_[kind] == b.consensus_[kind]
        assert a.n_interpolate_[kind] == b.n_interpolate_[kind]


def _there(library: str, x: npt.NDArray[Any]) -> Any:
    """Copy an array to the GPU."""
    module = pytest.importorskip(library)
    if library == "torch":
        if not module.cuda.is_available():
            pytest.skip("this torch has no CUDA")
        return module.from_numpy(x).cuda()
    if library == "cupy":
        return module.asarray(x)
    if module.default_backend() != "gpu":
        pytest.skip("this JAX has no CUDA")
    module.config.update("jax_enable_x64", True)
    return module.device_put(x)


KINDS = ["eeg", "mag+grad", "eeg+mag+grad", "hbo", "eeg+hbo"]
SEARCHES = ["compat", "grid", "exact"]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_types_and_searches(kind: str, search: str) -> None:
    x, positions, types = _recording(kind)
    params = {"search": search, "n_interpolate": [1, 3]}
    want = _fit(x, positions, types, "cpu", **params)
    got = _fit(x, positions, types, "cuda", **params)
    _assert_same(want, got)
    wanted, wanted_log = want.transform_array(x, return_log=True)
    clean, log = got.transform_array(x, return_log=True)
    np.testing.assert_array_equal(clean, wanted)
    np.testing.assert_array_equal(log.labels, wanted_log.labels)


@pytest.mark.parametrize(
    "params",
    [
        {"rho_mode": "independent"},
        {"n_splits": 23},
        {"precision": "float32"},
        {"consensus": [0.3, 0.9], "n_interpolate": [2]},
        {"cv": 7},
        {"n_splits": "auto"},
        {"thresh_method": "random_search"},
        {"picks": list(range(1, 11))},
        {"origin": (0.0, 0.01, 0.0)},
        {"memory_limit": "64M"},
    ],
)
def test_options(params: dict[str, Any]) -> None:
    x, positions, types = _recording("eeg")
    _assert_same(
        _fit(x, positions, types, "cpu", **params), _fit(x, positions, types, "cuda", **params)
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_of_the_gpu(library: str, dtype: Any) -> None:
    x, positions, types = _recording("eeg+mag+grad")
    # Single precision holds volts and teslas alike.
    values = x.astype(dtype)
    there = _there(library, values)
    want = _fit(values, positions, types, "cpu", n_interpolate=[1, 3])
    got = _fit(there, positions, types, "cuda", n_interpolate=[1, 3])
    _assert_same(want, got)
    if library == "jax":
        with pytest.raises(ValueError, match="cannot be repaired where it is"):
            got.transform_array(there)
        return
    clean, log = got.transform_array(there, return_log=True)
    assert backends.is_on_device(clean)
    wanted, wanted_log = want.transform_array(values, return_log=True)
    np.testing.assert_array_equal(backends.to_host(clean), wanted)
    np.testing.assert_array_equal(log.labels, wanted_log.labels)


@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("axes", [(2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_arrays_of_the_gpu_in_any_order(library: str, axes: tuple[int, ...]) -> None:
    x, positions, types = _recording("eeg")
    there = _there(library, np.ascontiguousarray(x.transpose(axes)))
    back = np.argsort(axes).tolist()
    there = there.permute(back) if library == "torch" else there.transpose(back)
    for stride in (1, 3):
        want = _fit(x[:, :, ::stride], positions, types, "cpu")
        got = _fit(there[:, :, ::stride], positions, types, "cuda")
        _assert_same(want, got)
        clean = got.transform_array(there[:, :, ::stride])
        wanted = want.transform_array(x[:, :, ::stride])
        np.testing.assert_array_equal(backends.to_host(clean), wanted)


@pytest.mark.parametrize("library", LIBRARIES)
def test_samples_of_the_gpu_are_rounded_there(library: str) -> None:
    x, positions, types = _recording("eeg")
    want = _fit(x, positions, types, "cpu", precision="float32")
    _assert_same(
        want, _fit(_there(library, x), positions, types, "cuda", precision="float32")
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_operations(library: str) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 5, 8, 30))
    there, other = _there(library, x), _there(library, y)
    gpu, cpu = backends.Backend("cuda"), backends.Backend("cpu")
    assert gpu.is_on_device(there)
    assert not cpu.is_on_device(there)
    assert gpu.to_device(there).data is there
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(gpu.ptp(there, axis), cpu.ptp(x, axis))
        np.testing.assert_array_equal(gpu.median(there, axis), np.median(x, axis))
    np.testing.assert_array_equal(gpu.median(there), np.median(x))
    np.testing.assert_allclose(gpu.correlation(there, other), cpu.correlation(x, y), rtol=1e-13)
    product = gpu.matmul(there, _there(library, np.swapaxes(y, 1, 2)), keep_on_device=True)
    assert product.device == "cuda:0"
    np.testing.assert_allclose(product.numpy(), x @ np.swapaxes(y, 1, 2), rtol=1e-12, atol=1e-13)
    kept = gpu.median(gpu.ptp(there, keep_on_device=True), axis=0, keep_on_device=True)
    assert _gpu_arrays.library_of(kept.data) == library
    np.testing.assert_array_equal(kept.to_host(), np.median(np.ptp(x, axis=-1), axis=0))


def test_pipeline() -> None:
    if importlib.util.find_spec("cupy") is None:
        _there("torch", np.zeros(1))
    x, positions, types = _recording("eeg")
    params: dict[str, Any] = {"cv": 4, "random_state": 3, "verbose": False}
    want = backends.GPUPipeline("cpu", **params).load(x, positions, types).fit()
    steps = backends.GPUPipeline("cuda", **params).load(x, positions, types).fit()
    assert backends.is_on_device(steps.data)
    _assert_same(want.autoreject_, steps.autoreject_)
    clean = steps.transform(keep_on_device=True)
    assert clean.device == "cuda:0"
    np.testing.assert_array_equal(clean.numpy(), want.transform())
    np.testing.assert_array_equal(steps.transform(x[:9]), want.transform(x[:9]))
