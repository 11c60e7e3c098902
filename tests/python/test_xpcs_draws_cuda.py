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
