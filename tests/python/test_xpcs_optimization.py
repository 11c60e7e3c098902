"""Fits by the original's names: starts, searches, points, and what stands around them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tessera
from tessera import xpcs
from tessera.xpcs import optimization
from tessera.xpcs.optimization import exceptions
from tessera.xpcs.optimization.checkpoint_manager import CheckpointManager
from tessera.xpcs.optimization.nlsq import cmaes_wrapper, memory, multistart
from tessera.xpcs.optimization.nlsq.adaptive_regularization import (
    AdaptiveRegularizationConfig,
    AdaptiveRegularizer,
)
from tessera.xpcs.optimization.nlsq.config import NLSQConfig
from tessera.xpcs.optimization.nlsq.fourier_reparam import (
    FourierReparamConfig,
    FourierReparameterizer,
)
from tessera.xpcs.optimization.nlsq.hierarchical import HierarchicalConfig, HierarchicalOptimizer
from tessera.xpcs.optimization.nlsq.validation import validate_fit_quality

STATIC = {"analysis_mode": "static_isotropic"}


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    made = xpcs.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    return {**made.to_dict(), "sigma": 0.01}


@pytest.fixture(scope="module")
def best(data: dict[str, Any]) -> xpcs.Result:
    return xpcs.fit_nlsq_jax(data, STATIC)


def test_many_starts_end_where_one_does(data: dict[str, Any], best: xpcs.Result) -> None:
    config = {**STATIC, "optimization": {"nlsq": {"multi_start": {"enable": True, "n_starts": 6}}}}
    found = optimization.fit_nlsq_multistart(data, config)
    assert found.best.chi_squared == pytest.approx(best.chi_squared, rel=1e-9)
    assert found.screening_costs is not None
    assert len(found.screening_costs) == 7  # and the start of the configuration
    assert len(found.all_results) == 3
    assert isinstance(found.result, xpcs.Result)
    record = found.to_optimization_result()
    assert record.success
    np.testing.assert_allclose(record.parameters, best.parameters, rtol=1e-4)


def test_the_search_ends_where_the_fit_does(data: dict[str, Any], best: xpcs.Result) -> None:
    config = {**STATIC, "optimization": {"nlsq": {"cmaes": {"enable": True, "popsize": 10}}}}
    found = optimization.fit_nlsq_cmaes(data, config, {"D0": 9e4, "alpha": 1.5, "D_offset": 9e4})
    assert found.chi_squared == pytest.approx(best.chi_squared, rel=1e-9)
    assert "CMA-ES" in found.recovery_actions[-1]


def test_points_are_fitted_as_matrices_are(data: dict[str, Any], best: xpcs.Result) -> None:
    times = np.asarray(data["t1"], float)
    times = times[:, 0] if times.ndim == 2 else times
    phi = np.asarray(data["phi_angles_list"])
    angle, first, second = np.meshgrid(phi, times, times, indexing="ij")
    rows = np.stack([first.ravel(), second.ravel(), angle.ravel()], axis=1)
    values = np.asarray(data["c2_exp"]).ravel()
    q = float(np.ravel(data["wavevector_q_list"])[0])
    wrapper = xpcs.NLSQWrapper(enable_large_dataset=True)
    p0 = np.concatenate([[0.3, 0.3, 1.0, 1.0], best.theta * 1.01])
    found = wrapper.fit(rows, values, p0, None, q=q, L=2e6, dt=0.1, sigma=0.01)  # type: ignore[call-arg]
    np.testing.assert_allclose(found.theta, best.theta, rtol=1e-3)
    assert found.n_batches == found.passes
    assert found.success_rate == 1.0
    with pytest.raises(tessera.ArgumentError, match=r"q, L, dt is missing"):
        wrapper.fit(rows, values, p0, None)


def test_objects_of_a_script(data: dict[str, Any], best: xpcs.Result) -> None:
    class Measured:
        g2, phi, t1, t2 = (data[n] for n in ("c2_exp", "phi_angles_list", "t1", "t2"))
        q, L, dt, sigma = data["wavevector_q_list"][0], 2e6, 0.1, 0.01

    class Manager:
        config = STATIC

    found = xpcs.fit_nlsq_jax(Measured(), Manager())  # type: ignore[arg-type]
    np.testing.assert_array_equal(found.theta, best.theta)
    assert isinstance(found, optimization.OptimizationResult)


def test_halves_that_differ_are_averaged(data: dict[str, Any], best: xpcs.Result) -> None:
    c2 = np.array(data["c2_exp"])
    tilt = np.triu(np.full(c2.shape[1:], 0.02), 1)
    with pytest.warns(Warning, match="halves"):
        found = xpcs.fit_nlsq_jax({**data, "c2_exp": c2 + tilt - tilt.T}, STATIC)
    np.testing.assert_allclose(found.theta, best.theta, rtol=1e-6)


def test_a_users_model_is_found_from_afar() -> None:
    x = np.linspace(0, 4, 60)

    def wave(x: npt.NDArray[Any], size: float, rate: float, shift: float) -> npt.NDArray[Any]:
        return np.asarray(size * np.exp(-rate * x) * np.cos(shift * x))

    truth = (2.0, 0.7, 5.0)
    bounds = (np.array([0.1, 0.0, 0.5]), np.array([10.0, 5.0, 12.0]))
    config = cmaes_wrapper.CMAESWrapperConfig(preset="cmaes-global", popsize=20, max_restarts=1)
    found = cmaes_wrapper.fit_with_cmaes(
        wave, x, wave(x, *truth), np.array([9.0, 4.0, 11.0]), bounds, config=config
    )
    np.testing.assert_allclose(found.parameters, truth, rtol=1e-5)
    assert found.nlsq_refined
    assert found.chi_squared < 1e-12


def test_starts_are_a_latin_square() -> None:
    bounds = np.array([[0.0, 1.0], [-5.0, 5.0], [1e2, 1e5]])
    starts = multistart.generate_lhs_starts(bounds, 10, seed=3)
    strips = np.floor((starts - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0]) * 10).astype(int)
    np.testing.assert_array_equal(np.sort(strips, axis=0), np.arange(10)[:, None] * [1, 1, 1])
    kept, costs = multistart.screen_starts(lambda s: float(s[0]), starts, 0.3)
    assert len(costs) == 10
    np.testing.assert_array_equal(kept[:, 0], np.sort(starts[:, 0])[:3])


def test_options_go_there_and_back() -> None:
    config = NLSQConfig.from_dict(
        {
            "loss": "huber",
            "cmaes": {"sigma": "0.2"},
            "anti_degeneracy": {"hierarchical": {"enable": 0}},
        }
    )
    assert (config.loss, config.cmaes_sigma, config.enable_hierarchical) == ("huber", 0.2, 0)
    assert NLSQConfig.from_dict(config.to_dict()) == config
    config.cmaes_sigma, config.loss = 2.0, "hubert"
    assert sorted(line.split()[0] for line in config.validate()) == ["cmaes_sigma", "loss"]


def test_memory_of_the_original() -> None:
    assert memory.estimate_peak_memory_gb(10**8, 53) == pytest.approx(256.7, rel=1e-3)
    way = memory.select_nlsq_strategy(1000, 9)
    assert way.strategy is memory.NLSQStrategy.STANDARD


def test_checkpoints_are_data(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    manager = CheckpointManager(tmp_path, keep_last_n=2)
    state = {"step": 3, "velocity": np.arange(3.0), "names": ["a", "b"]}
    for batch in range(4):
        manager.save_checkpoint(batch, np.ones(3) * batch, state, 0.5, {"note": "x"})
    assert len(manager.cleanup_old_checkpoints()) == 2
    latest = manager.find_latest_checkpoint()
    assert latest is not None
    found = manager.load_checkpoint(latest)
    assert found["batch_idx"] == 3
    np.testing.assert_array_equal(found["optimizer_state"]["velocity"], state["velocity"])
    latest.write_bytes(latest.read_bytes()[:300])
    assert not manager.validate_checkpoint(latest)
    with pytest.raises(exceptions.NLSQCheckpointError):
        manager.load_checkpoint(latest)


def test_regularization_has_the_slopes_of_its_value() -> None:
    rng = np.random.default_rng(2)
    params = rng.random(11) + 0.5
    for mode in ("relative", "absolute"):
        penalty = AdaptiveRegularizer(AdaptiveRegularizationConfig(mode=mode), 4)
        slopes = penalty.compute_regularization_gradient(params, 0.3, 1000)
        for place in range(11):
            step = np.zeros(11)
            step[place] = 1e-6
            up, down = (
                penalty.compute_regularization(params + s * step, 0.3, 1000) for s in (1, -1)
            )
            assert slopes[place] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-4)


def test_series_of_angles() -> None:
    phi = np.deg2rad(np.arange(8) * 40.0)
    series = FourierReparameterizer(phi, FourierReparamConfig("fourier", 2))
    contrast, offset = 0.3 + 0.1 * np.cos(2 * phi), 1.0 + 0.05 * np.sin(phi)
    coefficients = series.per_angle_to_fourier(contrast, offset)
    assert coefficients[3] == pytest.approx(0.1)
    np.testing.assert_allclose(series.fourier_to_per_angle(coefficients)[1], offset)
    slopes = series.get_jacobian_transform()
    np.testing.assert_allclose(slopes @ coefficients, np.concatenate([contrast, offset]))


def test_turns_reach_the_minimum() -> None:
    target = np.array([0.3, 0.4, 1.0, 1.1, 5.0, -2.0])

    def loss(x: npt.NDArray[Any]) -> float:
        return float(np.sum((x - target) ** 2) + 0.3 * (x[0] - 0.3) * (x[4] - 5.0))

    solver = HierarchicalOptimizer(HierarchicalConfig(max_outer_iterations=30), 2, 2)
    bounds = (np.full(6, -10.0), np.full(6, 10.0))
    found = solver.fit(loss, None, np.zeros(6), bounds)
    assert found.success
    np.testing.assert_allclose(found.x, target, atol=1e-4)


def test_judgement(best: xpcs.Result, caplog: pytest.LogCaptureFixture) -> None:
    low, high = best.parameters - 1e9, best.parameters + 1e9
    with caplog.at_level(logging.ERROR, logger="homodyne"):
        report = validate_fit_quality(best, (low, high))
        assert report.checks_performed["reduced_chi_squared"]
        assert report.checks_performed["physical_bounds"]
        low[-1] = best.parameters[-1]
        report = validate_fit_quality(best, (low, high), param_labels=best.names)
    assert not report.passed
    assert any(best.names[-1] in line for line in report.warnings)
