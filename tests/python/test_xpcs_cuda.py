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
TWO = (700.0, -0.6, 60.0, 1300.0, 0.7, -90.0, 330.0, 0.9, 40.0, 0.6, -0.4, 0.0, 0.2, -2.5)
THETA = {"laminar_flow": LAMINAR, "static_anisotropic": STATIC, "two_component": TWO}
# What is visible of two components needs a larger q.
MORE: dict[str, dict[str, Any]] = {"two_component": {"q": 0.0237, "dt": 0.02}}


def simulated(mode: Any, seed: int, **more: Any) -> xpcs.Data:
    theta = THETA[mode]
    options: dict[str, Any] = {
        "n_angle": 5,
        "n_frame": 333,
        "sigma": 0.02,
        "seed": seed,
        "contrast_scatter": 0.1,
    }
    return xpcs.simulate(theta, mode=mode, **(options | MORE.get(mode, {}) | more))


def assert_alike(ours: Any, theirs: Any, tolerance: float = 1e-11) -> None:
    matrix = np.asarray(theirs["hessian"])
    scale = np.sqrt(np.diag(matrix))
    assert ours["cost"] == pytest.approx(theirs["cost"], rel=tolerance)
    size = scale * np.sqrt(theirs["cost"])
    np.testing.assert_array_less(np.abs(ours["gradient"] - theirs["gradient"]), tolerance * size)
    apart = np.abs(ours["hessian"] - matrix) / np.outer(scale, scale)
    np.testing.assert_array_less(apart, tolerance)


@pytest.mark.parametrize("mode", THETA)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_sums_are_the_cpus(mode: Any, dtype: str) -> None:
    data = simulated(mode, seed=3, dtype=dtype, nan_fraction=0.02)
    theta = np.array(THETA[mode]) * 1.1
    said = [
        xpcs.accumulate(data, theta, mode=mode, sigma=0.02, level=2, device=device)
        for device in ("cpu", "cuda", "cuda")
    ]
    assert_alike(said[1], said[0])
    np.testing.assert_array_equal(said[1]["hessian"], said[2]["hessian"])
    assert said[1]["cost"] == said[2]["cost"]


@pytest.mark.parametrize("mode", THETA)
def test_sums_with_weights_of_lags(mode: Any) -> None:
    data = simulated(mode, seed=4)
    options: dict[str, Any] = {"mode": mode, "sigma_mode": "per_lag", "level": 2}
    assert_alike(
        xpcs.accumulate(data, THETA[mode], device="cuda", **options),
        xpcs.accumulate(data, THETA[mode], device="cpu", **options),
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


@pytest.mark.parametrize("n_angle", [1, 3, 23, 60])
def test_sums_of_two_components_at_any_number_of_angles(n_angle: int) -> None:
    data = simulated("two_component", seed=8, n_angle=n_angle, n_frame=300)
    options: dict[str, Any] = {"mode": "two_component", "sigma": 0.02, "level": 2}
    ours, theirs = (xpcs.accumulate(data, TWO, device=d, **options) for d in ("cuda", "cpu"))
    assert_alike(ours, theirs)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_fit_of_two_components_is_the_cpus(loss: Any) -> None:
    data = simulated("two_component", seed=5, n_frame=150, nan_fraction=0.01, sigma=0.003)
    options: dict[str, Any] = {"mode": "two_component", "loss": loss, "sigma": 0.003}
    options |= {"start": TWO, "n_start": 1, "uncertainty": "covariance"}
    found = [xpcs.fit(data, device=device, **options) for device in ("cpu", "cuda", "cuda")]
    free = found[0].theta_uncertainties > 0
    apart = np.abs(found[1].theta - found[0].theta)[free] / found[0].theta_uncertainties[free]
    assert np.max(apart) < (1e-3 if loss == "linear" else 1e-2)
    np.testing.assert_array_equal(found[1].theta, found[2].theta)
    assert found[1].reduced_chi2 == pytest.approx(found[0].reduced_chi2, rel=1e-9)


def test_search_profile_and_bootstrap_of_two_components() -> None:
    data = simulated("two_component", seed=9, n_angle=3, n_frame=60, sigma=0.003, dt=0.1)
    options: dict[str, Any] = {"mode": "two_component", "sigma": 0.003}
    ours, there = (xpcs.fit(data, device=device, **options) for device in ("cpu", "cuda"))
    assert there.chi2 == pytest.approx(ours.chi2, rel=1e-6)
    for how in ("profile", "block_bootstrap"):
        more: dict[str, Any] = {"uncertainty": how, "start": there.theta, "n_start": 1}
        pair = [xpcs.fit(data, device=d, **options, **more) for d in ("cpu", "cuda")]
        sizes = [p.theta_uncertainties[p.theta_uncertainties > 0] for p in pair]
        np.testing.assert_allclose(sizes[1], sizes[0], rtol=0.02)


def test_values_of_two_components_are_the_cpus() -> None:
    said = []
    for device in ("cpu", "cuda"):
        with tessera.Context(device=device) as context:
            said.append(
                xpcs.model(
                    TWO,
                    300,
                    phi=[-25.0, 8.0, 90.0],
                    q=0.0237,
                    dt=0.02,
                    contrast=0.3,
                    offset=1.0,
                    context=context,
                )
            )
    np.testing.assert_allclose(said[1], said[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("mode", ["laminar_flow", "two_component"])
def test_sums_through_little_memory_have_the_same_bits(tmp_path: Path, mode: Any) -> None:
    data = simulated(mode, seed=6)
    path = data.save(tmp_path / "data.txc2")
    options: dict[str, Any] = {"mode": mode, "sigma": 0.02, "level": 2}
    whole = xpcs.accumulate(data, THETA[mode], device="cuda", **options)
    with tessera.Context(device="cuda", device_memory_limit="1M") as context:
        parts = xpcs.accumulate(path, THETA[mode], strategy="streaming", context=context, **options)
    assert parts["cost"] == whole["cost"]
    np.testing.assert_array_equal(parts["hessian"], whole["hessian"])


def test_too_little_memory_of_the_device_is_said() -> None:
    data = simulated("laminar_flow", seed=7)
    with (
        tessera.Context(device="cuda", device_memory_limit="100K") as context,
        pytest.raises(Exception, match="device memory"),
    ):
        xpcs.fit(data, mode="laminar_flow", context=context)


@pytest.mark.parametrize("mode", ["laminar_flow", "two_component"])
def test_simulations_differ_by_rounding_only(mode: Any) -> None:
    options: dict[str, Any] = {
        "n_angle": 3,
        "n_frame": 270,
        "nan_fraction": 0.05,
        "bad_frames": [4, 40],
    }
    said = []
    for device in ("cpu", "cuda"):
        with tessera.Context(device=device) as context:
            said.append(
                np.asarray(
                    xpcs.simulate(
                        THETA[mode], mode=mode, dtype="f64", context=context, **options
                    ).c2
                )
            )
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
