"""Transforms, recovery, progress and files of fits by the original's names."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera import xpcs
from tessera.xpcs.cli import optimization_runner, result_saving, xla_config
from tessera.xpcs.optimization import nlsq
from tessera.xpcs.optimization.nlsq import progress, recovery, strategies, transforms

NAMES = xpcs.parameters("laminar_flow")
PHYSICAL = [entry["name"] for entry in NAMES]


def test_transforms_go_there_and_back() -> None:
    places = transforms.build_physical_index_map(True, 2, PHYSICAL)
    assert places["D0"] == 4
    config = transforms.parse_shear_transform_config(
        {"enable_gamma_dot_log": True, "enable_beta_centering": 1, "beta_reference": 0.25}
    )
    params = np.array([0.3, 0.3, 1, 1, 1e4, -0.5, 10, 2e-3, 0.2, 1e-4, 3.0])
    there, state = transforms.apply_forward_shear_transforms_to_vector(params, places, config)
    assert there[7] == pytest.approx(np.log(2e-3))
    assert there[8] == pytest.approx(-0.05)
    back = transforms.apply_inverse_shear_transforms_to_vector(there, state)
    np.testing.assert_allclose(back, params, rtol=1e-14)
    bounds = transforms.apply_forward_shear_transforms_to_bounds((params / 2, params * 2), state)
    assert bounds is not None
    np.testing.assert_allclose(np.asarray(bounds[1])[7] - np.asarray(bounds[0])[7], np.log(4))
    found = transforms.adjust_covariance_for_transforms(np.eye(11), there, params, state)
    assert found[7, 7] == pytest.approx(4e-6)
    model = transforms.wrap_model_function_with_transforms(lambda x, *p: x * p[7], state)
    assert model(3.0, *there) == pytest.approx(6e-3)
    residuals = transforms.wrap_stratified_function_with_transforms(np.sum, state)
    assert residuals(there) == pytest.approx(params.sum())
    assert transforms.apply_forward_shear_transforms_to_vector(params, places, {})[1] == {}
    with pytest.raises(ValueError, match="gamma_dot_t0"):
        transforms.apply_forward_shear_transforms_to_vector(-params, places, config)


def test_sizes_of_parameters() -> None:
    assert transforms.normalize_param_key(" gamma_dot_0 ") == "gamma_dot_t0"
    assert transforms.normalize_x_scale_map({"phi_0": "2", "x": "y"}) == {"phi0": 2.0}
    build = transforms.build_per_parameter_x_scale
    sizes = build(True, 2, PHYSICAL, "laminar_flow", {"phi_0": 3.0, "offset": 0.5})
    assert sizes is not None
    np.testing.assert_array_equal(sizes, [1, 1, 0.5, 0.5, 1, 1, 1, 524, 4, 771, 3])
    assert build(False, 2, PHYSICAL[:3], "static", {}) is None


@pytest.mark.parametrize(
    ("text", "kind", "action"),
    [
        ("Out of memory", "out_of_memory", "no_recovery_available"),
        ("max iterations", "convergence_failure", "perturb_initial_parameters_10pct"),
        ("outside bounds", "bounds_violation", "reset_to_bounds_center"),
        ("singular matrix", "ill_conditioned_jacobian", "scale_parameters_0.1x_for_conditioning"),
        ("NaN here", "numerical_instability", "reset_to_geometric_mean_of_bounds"),
        ("what?", "unknown_error", "generic_perturbation_5pct"),
    ],
)
def test_errors_have_a_meaning(text: str, kind: str, action: str) -> None:
    bounds = (np.array([1.0, 2.0]), np.array([4.0, 8.0]))
    found = recovery.diagnose_error(ValueError(text), np.array([2.0, 3.0]), bounds, 0)
    assert (found["error_type"], found["recovery_strategy"]["action"]) == (kind, action)
    start = found["recovery_strategy"].get("new_params")
    if start is not None:
        assert ((start >= bounds[0]) & (start <= bounds[1])).all()
    if action.startswith("reset_to_geo"):
        np.testing.assert_allclose(start, [2, 4])


def test_solvers_begin_anew() -> None:
    calls: list[list[float]] = []

    def solver(function: Any, x: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        calls.append(options["p0"])
        if len(calls) == 1:
            raise RuntimeError("max iterations reached")
        return np.array([1.5, 2.5]), 0.1 * np.eye(2)

    def run(solve: Any) -> Any:
        return recovery.execute_with_recovery(
            lambda x, a, b: a * x + b,
            np.arange(3.0),
            np.arange(3.0),
            np.array([1.0, 2.0]),
            None,
            "standard",
            logging.getLogger("test"),
            "linear",
            1.0,
            lambda answer, strategy: answer,
            solve,
            solve,
        )

    popt, _, facts, actions, word = run(solver)
    np.testing.assert_array_equal(popt, [1.5, 2.5])
    assert (actions, word) == (["perturb_initial_parameters_10pct"], "converged_with_recovery")
    assert facts["initial_cost"] == 4 + 9 + 16
    assert calls[0] != calls[1]

    def fails(*args: Any, **options: Any) -> Any:
        raise MemoryError("out of memory")

    with pytest.raises(RuntimeError, match="after 1 attempts: out_of_memory"):
        run(fails)


def test_progress_is_told(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("test.progress")
    lines = progress.HomodyneIterationLogger(2, 2, log)
    with caplog.at_level(logging.INFO):
        for k in range(5):
            lines(k, 1.0 / (k + 1), None, {})
        lines.close()
    assert sum("Iter" in text for text in caplog.messages) == 2
    assert "best cost: 2.0" in caplog.messages[-1]
    with progress.MultiStartProgressTracker(2, False, 0) as tracker:
        tracker.update(0, True, 5.0)
        tracker.update(1, False, 1.0, "bad")
    assert (tracker._best_start_idx, tracker._failed) == (0, 1)
    callback, own = progress.create_progress_callback(None, False, 0)
    assert (callback, own) == (None, None)
    batch = progress.create_streaming_progress_callback(10, 3, 2, False, 1)
    assert batch is not None
    assert not batch(0, None, 1.0)


def test_files_of_a_fit_are_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = xpcs.simulate(mode="static_isotropic", n_angle=2, n_frame=30, dt=0.1, sigma=0.01)
    fitted = xpcs.fit(data, mode="static_isotropic", sigma=0.01)
    result_saving.save_nlsq_results(fitted, {}, None, tmp_path)
    found = optimization_runner.load_nlsq_result_from_file(tmp_path)
    assert found is not None
    assert found["params"]["D0"] == pytest.approx(fitted.physical["D0"])
    assert found["uncertainties"]["D0"] == pytest.approx(fitted.physical_uncertainties["D0"])
    (tmp_path / "odd.json").write_text(json.dumps({"parameters": {}}))
    for name in ("none.json", "odd.json"):
        assert optimization_runner.load_nlsq_result_from_file(tmp_path / name) is None
    assert xla_config.set_mode("cmc")
    assert not xla_config.set_mode("gpu")
    assert "no effect" in capsys.readouterr().out
    assert xla_config.detect_optimal_devices() in (2, 4, 6, 8)


def test_packages_have_the_names_of_their_modules() -> None:
    assert nlsq.build_parameter_labels_utils is nlsq.parameter_utils.build_parameter_labels
    assert strategies.JAC_SAMPLE_SIZE > 0
    assert "get_executor" in dir(strategies)
    with pytest.raises(AttributeError, match="nothing"):
        nlsq.nothing  # noqa: B018
