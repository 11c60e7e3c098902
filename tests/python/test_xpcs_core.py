"""The model by the original's names: closed forms, our engine, differences, and its own numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tessera import xpcs
from tessera.xpcs import core
from tessera.xpcs.core import (
    diagonal_correction,
    fitting,
    jax_backend,
    numpy_gradients,
    physics,
    physics_cmc,
    physics_utils,
    scaling_utils,
)

THETA = np.array([4.8e4, -1.1, 1600.0, 0.0033, -0.25, -0.0004, 2.5])
T = np.arange(12) * 0.1
PHI = np.array([-12.0, 3.5, 87.0])
SETUP = (0.0054, 2e6)
SCALING = (0.3, 1.02)
GOLDEN_G2 = np.array([1.0293528023281904, 1.020261966024216])
GOLDEN_SLOPES = np.array(
    [
        -7.355103075751109e-07,
        0.005933334740347628,
        -6.126479815967081e-07,
        -26.688160183678615,
        0.014542185735565793,
        -25.611683707636818,
        -2.37096431003831e-05,
    ]
)
OWN = (T, T, PHI, *SETUP, *SCALING, 0.1)


def test_g1_of_constant_rates_is_the_closed_form() -> None:
    lag = np.abs(T[:, None] - T[None, :])
    d0, rate, phi0 = 2e4, 0.004, 10.0
    g1 = core.compute_g1_total(np.array([d0, 0, 0, rate, 0, 0, phi0]), T, T, PHI, *SETUP, 0.1)
    decay = np.exp(-0.5 * SETUP[0] ** 2 * d0 * lag)
    phase = SETUP[0] * SETUP[1] / (2 * np.pi) * rate * lag
    phases = phase * np.cos(np.deg2rad(phi0 - PHI))[:, None, None]
    np.testing.assert_allclose(g1, decay * np.sinc(phases / np.pi) ** 2, atol=2e-7)


def test_the_engine_computes_the_same() -> None:
    engine = xpcs.model(
        THETA, T, PHI, *SETUP, dt=0.1, contrast=SCALING[0], offset=SCALING[1], keep_t0=True
    )
    off = ~np.eye(len(T), dtype=bool)
    ours = core.compute_g2_scaled(THETA, *OWN)
    np.testing.assert_allclose(ours[:, off], np.asarray(engine)[:, off], atol=3e-7)


def test_numbers_of_the_original() -> None:
    # homodyne 2.23.3 with JAX in float64: c2 at two places, and its derivatives at a third.
    g2 = core.compute_g2_scaled(THETA, *OWN)
    np.testing.assert_allclose(g2[[0, 2], 0, [1, 11]], GOLDEN_G2, rtol=1e-12)
    slopes = core.gradient_g2(THETA, *OWN)[1, 8, 9]
    np.testing.assert_allclose(slopes, GOLDEN_SLOPES, rtol=1e-10)


@pytest.mark.parametrize("n_param", [3, 7])
def test_derivatives_are_those_of_differences(n_param: int) -> None:
    theta = THETA[:n_param]
    slopes = jax_backend.gradient_g2(theta, *OWN)
    curves = jax_backend.hessian_g2(theta, *OWN)
    for place in range(n_param):
        step = np.zeros(n_param)
        step[place] = 1e-5 * abs(theta[place])
        up, down = (core.compute_g2_scaled(theta + s * step, *OWN) for s in (1, -1))
        size = np.abs(slopes[..., place]).max()
        np.testing.assert_allclose(
            slopes[..., place], (up - down) / (2 * step[place]), atol=1e-5 * size
        )
        up, down = (jax_backend.gradient_g2(theta + s * step, *OWN) for s in (1, -1))
        size = np.abs(curves[..., place]).max(axis=(0, 1, 2))
        difference = (up - down) / (2 * step[place])
        assert np.all(np.abs(curves[..., place] - difference).max(axis=(0, 1, 2)) <= 1e-4 * size)


def test_chi_squared_and_its_derivatives() -> None:
    data = core.compute_g2_scaled(THETA * 1.02, *OWN)
    sigma = np.full_like(data, 0.01)
    own = (data, sigma, *OWN)
    value = jax_backend.compute_chi_squared(THETA, *own)
    assert value == pytest.approx(
        np.sum(((data - core.compute_g2_scaled(THETA, *OWN)) / 0.01) ** 2)
    )
    gradient = jax_backend.gradient_chi2(THETA, *own)
    step = np.zeros(7)
    step[1] = 1e-6
    up, down = (jax_backend.compute_chi_squared(THETA + s * step, *own) for s in (1, -1))
    assert gradient[1] == pytest.approx((up - down) / 2e-6, rel=1e-5)
    hessian = jax_backend.hessian_chi2(THETA, *own)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9)
    up, down = (jax_backend.gradient_chi2(THETA + s * step, *own) for s in (1, -1))
    np.testing.assert_allclose(hessian[1], (up - down) / 2e-6, rtol=1e-3)
    batch = jax_backend.batch_chi_squared(np.stack([THETA, THETA * 1.02]), *own)
    np.testing.assert_allclose(batch, [value, 0.0], atol=1e-20)


def test_pairs_are_the_matrix() -> None:
    first, second = np.triu_indices(len(T), 1)
    pairs = physics_cmc.compute_g1_total(THETA, T[first], T[second], PHI, *SETUP, 0.1)
    whole = core.compute_g1_total(THETA, T, T, PHI, *SETUP, 0.1)
    np.testing.assert_allclose(pairs, whole[:, first, second], rtol=1e-12)
    grid = physics_cmc.precompute_shard_grid(T, T[first], T[second], 0.1)
    factors = core.PhysicsFactors.from_config(*SETUP, dt=0.1).to_tuple()
    again = physics_cmc.compute_g1_total_with_precomputed(THETA, PHI, grid, *factors)
    np.testing.assert_allclose(again, pairs, rtol=1e-12)
    with pytest.raises(ValueError, match="same length"):
        physics_cmc.compute_g1_diffusion(THETA, T[:3], T[:2], 0.0054)


def test_jax_arrays_stay_jax_and_can_be_differentiated() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    xp = jax.numpy
    theta, times, phi = xp.asarray(THETA), xp.asarray(T), xp.asarray(PHI)

    def total(params: Any) -> Any:
        return core.compute_g2_scaled(params, times, times, phi, *SETUP, *SCALING, 0.1).sum()

    slopes = jax.jit(jax.grad(total))(theta)
    np.testing.assert_allclose(slopes, core.gradient_g2(THETA, *OWN).sum(axis=(0, 1, 2)), rtol=1e-9)


def test_models_and_engines() -> None:
    engine = core.TheoryEngine("laminar_flow")
    np.testing.assert_array_equal(
        engine.compute_g2(THETA, *OWN), core.compute_g2_scaled(THETA, *OWN)
    )
    assert engine.model.n_params == 7
    assert engine.get_model_info()["n_parameters"] == 7
    with pytest.raises(ValueError, match="q must be positive"):
        engine.compute_g1(THETA, T, T, PHI, -1.0, 2e6, 0.1)
    with pytest.raises(ValueError, match="explicit dt"):
        engine.compute_g2(THETA, T, T, PHI, *SETUP, *SCALING)
    checked = engine.model.validate_gradient_accuracy(THETA, tolerance=1e-4)
    assert checked["accuracy_assessment"]["max_relative_difference"] < 1e-4
    g1 = core.ShearModel().compute_g1(THETA[3:], T, T, PHI, *SETUP, 0.1)
    whole = core.compute_g1_shear(THETA, T, T, PHI, *SETUP, 0.1)
    np.testing.assert_array_equal(g1, whole)


def _config(mode: str) -> dict[str, Any]:
    return {
        "analysis_mode": mode,
        "analyzer_parameters": {
            "temporal": {"dt": 0.1, "start_frame": 1, "end_frame": 12},
            "scattering": {"wavevector_q": SETUP[0]},
            "geometry": {"stator_rotor_gap": SETUP[1]},
        },
    }


def test_model_of_a_configuration(tmp_path: Path) -> None:
    model = core.HomodyneModel(_config("laminar_flow"))
    c2 = model.compute_c2(THETA, PHI, *SCALING)
    np.testing.assert_allclose(c2, core.compute_g2_scaled(THETA, *OWN), rtol=1e-12)
    np.testing.assert_array_equal(model.compute_c2_single_angle(THETA, PHI[1], *SCALING), c2[1])
    pytest.importorskip("matplotlib")
    _, file = model.plot_simulated_data(THETA, PHI, tmp_path, *SCALING)
    np.testing.assert_array_equal(np.load(file)["c2_data"], c2)
    assert len(list(tmp_path.glob("*.png"))) == 3
    broken = _config("laminar_flow")
    broken["analyzer_parameters"]["temporal"]["end_frame"] = -1
    with pytest.raises(ValueError, match="end_frame=-1"):
        core.HomodyneModel(broken)


def test_bounds_and_checks() -> None:
    bounds = physics.parameter_bounds()["diffusion"]
    assert physics.validate_parameters([1e3, 0.0, 0.0], bounds)
    found = physics.validate_parameters_detailed([1.0, 0.0, 3e5], bounds, ["D0", "alpha"])
    assert not found.valid
    assert len(found.violations) == 2
    assert "D0" in found.violations[0]
    assert "below" in found.violations[0]
    clipped = physics.clip_parameters(np.array([1.0, 0.0, 3e5]), bounds)
    np.testing.assert_array_equal(clipped, [100.0, 0.0, 1e5])
    assert physics.validate_experimental_setup(0.0054, 2e6)
    assert not physics.validate_experimental_setup(54.0, 2e6)
    assert physics.estimate_correlation_time(1e4, 0.5, 0.01) == pytest.approx(1.5)


def test_diagonals_by_hand() -> None:
    matrix = np.arange(25.0).reshape(5, 5)
    matrix += matrix.T
    fixed = diagonal_correction.apply_diagonal_correction(matrix)
    assert fixed[0, 0] == matrix[0, 1]
    assert fixed[4, 4] == matrix[3, 4]
    assert fixed[2, 2] == 0.5 * (matrix[1, 2] + matrix[2, 3])
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(fixed[off], matrix[off])
    wide = diagonal_correction.apply_diagonal_correction(matrix, "statistical", window_size=1)
    assert wide[2, 2] == np.median([matrix[1, 2], matrix[2, 1], matrix[3, 2], matrix[2, 3]])
    batch = diagonal_correction.apply_diagonal_correction_batch(np.stack([matrix, 2 * matrix]))
    np.testing.assert_array_equal(batch, np.stack([fixed, 2 * fixed]))


def test_scaling_is_found() -> None:
    rng = np.random.default_rng(1)
    theory = rng.random((3, 400))
    contrast, offset = np.array([0.1, 0.3, 0.5]), np.array([0.9, 1.0, 1.1])
    data = offset[:, None] + contrast[:, None] * theory
    found = fitting.solve_least_squares_jax(theory, data)
    np.testing.assert_allclose(found, [contrast, offset], rtol=1e-10)
    one = fitting.solve_least_squares_chunked_jax(list(theory), list(0.3 * theory + 1.0))
    np.testing.assert_allclose(one, [0.3, 1.0], rtol=1e-10)
    lag = np.tile(np.linspace(0, 10, 400), (3, 1))
    decay = offset[:, None] + contrast[:, None] * np.exp(-lag)
    places = np.repeat(np.arange(3), 400)
    own = (decay.ravel(), lag.ravel(), np.zeros(1200), places, 3, (0.0, 1.0), (0.5, 1.5))
    mean, shift, contrasts, offsets = scaling_utils.compute_averaged_scaling(*own)
    np.testing.assert_allclose(offsets, offset, atol=1e-3)
    assert np.all(np.diff(contrasts) > 0)
    assert mean == pytest.approx(contrasts.mean())
    assert shift == pytest.approx(offsets.mean())


@pytest.mark.parametrize("method", ["adaptive", "complex_step", "richardson", "central"])
def test_differences(method: str) -> None:
    def function(x: npt.NDArray[Any]) -> Any:
        return x[0] ** 2 * x[1] + x[1] ** 3

    config = numpy_gradients.DifferentiationConfig(method=method)
    gradient = numpy_gradients.numpy_gradient(function, config=config)(np.array([1.5, -2.0]))
    np.testing.assert_allclose(gradient, [-6.0, 14.25], rtol=1e-6)
    hessian = numpy_gradients.numpy_hessian(function)(np.array([1.5, -2.0]))
    np.testing.assert_allclose(hessian, [[-4.0, 3.0], [3.0, -12.0]], rtol=1e-5)


def test_small_formulas() -> None:
    assert physics_utils.safe_len(np.float64(2.0)) == 1
    assert physics_utils.safe_len([1, 2]) == 2
    x = np.array([0.0, 1e-5, 1.0, -3.0])
    np.testing.assert_allclose(physics_utils.safe_sinc(x), np.sinc(x / np.pi), rtol=1e-14)
    assert np.isfinite(physics_utils.safe_exp(np.array([1e4, -1e4]))).all()
    np.testing.assert_allclose(physics_utils.trapezoid_cumsum(np.arange(4.0)), [0, 0.5, 2.0, 4.5])


def test_grids_are_kept() -> None:
    jax_backend.clear_meshgrid_cache()
    jax_backend.reset_cache_stats()
    take: Callable[..., Any] = jax_backend.get_cached_meshgrid
    assert take(T, T)[0] is take(T, T)[0]
    # Same ends, other middle: the original's key cannot tell these apart.
    other = T.copy()
    other[5] += 0.01
    assert take(other, other)[0] is not take(T, T)[0]
    assert jax_backend.get_cache_stats()["misses"] == 2
