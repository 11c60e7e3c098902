"""Passes and fits of xpcs on an NVIDIA GPU: what the CPU says, at every repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs

HAS_GPU = any(device["backend"] == "cuda" for device in tessera.devices())
pytestmark = [
    pytest.mark.skipif(not HAS_GPU, reason="no NVIDIA GPU"),
    pytest.mark.filterwarnings("ignore"),
]

LAMINAR = (1e4, -0.3, 100.0, 2e-3, -0.2, -4e-4, 2.0)
STATIC = (1.7e4, -0.6, 3.0)


def simulated(mode: Any, seed: int, **more: Any) -> xpcs.Data:
    theta = LAMINAR if mode == "laminar_flow" else STATIC
    options: dict[str, Any] = {
        "n_angle": 5,
        "n_frame": 333,
        "sigma": 0.02,
        "seed": seed,
        "contrast_scatter": 0.1,
    }
    return xpcs.simulate(theta, mode=mode, **(options | more))


def assert_alike(ours: Any, theirs: Any, tolerance: float = 1e-11) -> None:
    matrix = np.asarray(theirs["hessian"])
    scale = np.sqrt(np.diag(matrix))
    assert ours["cost"] == pytest.approx(theirs["cost"], rel=tolerance)
    size = scale * np.sqrt(theirs["cost"])
    np.testing.assert_array_less(np.abs(ours["gradient"] - theirs["gradient"]), tolerance * size)
    apart = np.abs(ours["hessian"] - matrix) / np.outer(scale, scale)
    np.testing.assert_array_less(apart, tolerance)


@pytest.mark.parametrize("mode", ["laminar_flow", "static_anisotropic"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_sums_are_the_cpus(mode: Any, dtype: str) -> None:
    data = simulated(mode, seed=3, dtype=dtype, nan_fraction=0.02)
    theta = np.array(LAMINAR if mode == "laminar_flow" else STATIC) * 1.1
    said = [
        xpcs.accumulate(data, theta, mode=mode, sigma=0.02, level=2, device=device)
        for device in ("cpu", "cuda", "cuda")
    ]
    assert_alike(said[1], said[0])
    np.testing.assert_array_equal(said[1]["hessian"], said[2]["hessian"])
    assert said[1]["cost"] == said[2]["cost"]


def test_sums_with_weights_of_lags() -> None:
    data = simulated("laminar_flow", seed=4)
    options: dict[str, Any] = {"mode": "laminar_flow", "sigma_mode": "per_lag", "level": 2}
    assert_alike(
        xpcs.accumulate(data, LAMINAR, device="cuda", **options),
        xpcs.accumulate(data, LAMINAR, device="cpu", **options),
    )


@pytest.mark.parametrize("mode", ["laminar_flow", "static_anisotropic"])
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_fit_is_the_cpus(mode: Any, loss: Any) -> None:
    data = simulated(mode, seed=5, nan_fraction=0.01)
    found = [
        xpcs.fit(data, mode=mode, loss=loss, sigma=0.02, device=device)
        for device in ("cpu", "cuda", "cuda")
    ]
    apart = np.abs(found[1].theta - found[0].theta) / found[0].theta_uncertainties
    # Steps end where the cost falls by less than a part of it: not at the same place to the bit.
    assert np.max(apart) < (1e-6 if loss == "linear" else 1e-3)
    np.testing.assert_array_equal(found[1].theta, found[2].theta)
    assert found[1].reduced_chi2 == pytest.approx(found[0].reduced_chi2, rel=1e-9)


def test_sums_through_little_memory_have_the_same_bits(tmp_path: Path) -> None:
    data = simulated("laminar_flow", seed=6)
    path = data.save(tmp_path / "data.txc2")
    options: dict[str, Any] = {"mode": "laminar_flow", "sigma": 0.02, "level": 2}
    whole = xpcs.accumulate(data, LAMINAR, device="cuda", **options)
    with tessera.Context(device="cuda", device_memory_limit="1M") as context:
        parts = xpcs.accumulate(path, LAMINAR, strategy="streaming", context=context, **options)
    assert parts["cost"] == whole["cost"]
    np.testing.assert_array_equal(parts["hessian"], whole["hessian"])


def test_too_little_memory_of_the_device_is_said() -> None:
    data = simulated("laminar_flow", seed=7)
    with (
        tessera.Context(device="cuda", device_memory_limit="100K") as context,
        pytest.raises(Exception, match="device memory"),
    ):
        xpcs.fit(data, mode="laminar_flow", context=context)


def test_simulations_differ_by_rounding_only() -> None:
    options: dict[str, Any] = {
        "n_angle": 3,
        "n_frame": 270,
        "nan_fraction": 0.05,
        "bad_frames": [4, 40],
    }
    said = []
    for device in ("cpu", "cuda"):
        with tessera.Context(device=device) as context:
            said.append(np.asarray(xpcs.simulate(LAMINAR, dtype="f64", context=context,
                                                 **options).c2))
    np.testing.assert_allclose(said[1], said[0], rtol=0, atol=1e-13)
    assert np.isnan(said[0]).sum() > 0


def test_records_that_stayed_there_are_those_of_the_data() -> None:
    """Fits of data of one shape in turn: each has its own records, and the bits of its first."""
    data = [simulated("laminar_flow", seed=seed) for seed in (21, 22)]
    first = [xpcs.fit(d, mode="laminar_flow", sigma=0.02, device="cuda") for d in data]
    again = [xpcs.fit(d, mode="laminar_flow", sigma=0.02, device="cuda") for d in data]
    for before, after in zip(first, again, strict=True):
        np.testing.assert_array_equal(before.theta, after.theta)
        assert before.chi2 == after.chi2
    assert not np.array_equal(first[0].theta, first[1].theta)
