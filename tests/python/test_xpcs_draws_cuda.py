"""Draws on a GPU: the same at every repeat, and of the posterior that the CPU draws from."""

from __future__ import annotations

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

TRUTH = (3000.0, -0.3, 100.0)
PRIOR = {"D0": (3000.0, 300.0), "alpha": (-0.3, 0.1), "D_offset": (100.0, 50.0)}
METHODS: dict[str, dict[str, Any]] = {
    "paths": {"surrogate": "off"},
    "surrogate": {"surrogate": "on"},
    "laplace": {"method": "laplace"},
    "consensus": {"method": "consensus", "n_shard": 2},
}


def draw(device: str, scaling: Any, options: dict[str, Any], n_draw: int) -> xpcs.Posterior:
    data = xpcs.simulate(
        TRUTH, mode="static_anisotropic", phi=(-30.0, 20.0, 70.0), n_frame=25, q=0.02, dt=0.1,
        sigma=0.01, dtype="f64",
    )
    fitted = xpcs.fit(data, mode="static_anisotropic", scaling=scaling, device="cpu")
    counts: dict[str, Any] = {"n_chain": 2, "n_warmup": 200, "n_draw": n_draw}
    return xpcs.sample(fitted, prior=PRIOR, device=device, **counts, **options)


@pytest.mark.parametrize("scaling", ["individual", "averaged", "constant"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_repeats_its_bits(method: str, scaling: Any) -> None:
    first, again = (draw("cuda", scaling, METHODS[method], 100) for _ in range(2))
    assert np.array_equal(first.theta, again.theta)
    assert np.array_equal(first.noise, again.noise)
    assert np.array_equal(first.contrast, again.contrast)


@pytest.mark.parametrize("method", METHODS)
def test_means_are_the_cpus(method: str) -> None:
    """Paths leave those of the CPU, whose last bits differ; what they are drawn from does not."""
    ours, there = (draw(d, "individual", METHODS[method], 500) for d in ("cpu", "cuda"))
    for name in [*PRIOR, "noise"]:
        x, y = ours[name], there[name]
        size = min(p.table[name]["ess_bulk"] for p in (ours, there))
        assert abs(x.mean() - y.mean()) < 4.5 * x.std() * np.sqrt(2 / size), name
        assert abs(x.std() / y.std() - 1) < 4.5 * np.sqrt(2 / size), name


def test_laplace_is_the_cpus() -> None:
    """It has no paths: rounding stays rounding."""
    ours, there = (draw(d, "individual", METHODS["laplace"], 200) for d in ("cpu", "cuda"))
    assert np.abs(ours.theta - there.theta).max(axis=(0, 1)) == pytest.approx(
        0, abs=1e-6 * ours.theta.std(axis=(0, 1)).min()
    )


TWO = (700.0, -0.6, 60.0, 1300.0, 0.7, -90.0, 330.0, 0.9, 40.0, 0.6, -0.4, 0.0, 0.2, -2.5)


def test_two_components_have_the_draws_of_the_cpu() -> None:
    data = xpcs.simulate(
        TWO, mode="two_component", phi=(-25.0, 8.0, 40.0), n_frame=41, q=0.0237, dt=0.1,
        sigma=0.003, dtype="f64",
    )
    fitted = xpcs.fit(data, mode="two_component", sigma=0.003, start=TWO, n_start=1, device="cpu")
    options: dict[str, Any] = {"method": "laplace", "n_chain": 2, "n_draw": 200}
    ours, there = (xpcs.sample(fitted, device=d, **options) for d in ("cpu", "cuda"))
    sd = ours.theta.std(axis=(0, 1))
    apart = np.abs(ours.theta - there.theta).max(axis=(0, 1))
    np.testing.assert_array_less(apart, 1e-4 * sd + 1e-300)
    counts: dict[str, Any] = {"n_chain": 2, "n_warmup": 60, "n_draw": 20}
    first, again = (xpcs.sample(fitted, device="cuda", **counts) for _ in range(2))
    np.testing.assert_array_equal(first.theta, again.theta)
    np.testing.assert_array_equal(first.contrast, again.contrast)
