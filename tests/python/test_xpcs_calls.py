"""Calls with arguments by position: the original's order, for every name that is taken over."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs

# Parameters of homodyne 2.23.3 in their order with their defaults, `self` left out; of the device
# functions those of its last version for GPUs, 2.2.
ORIGINAL: dict[str, dict[str, Any]] = {
    "NLSQWrapper": {
        "enable_large_dataset": True,
        "enable_recovery": True,
        "enable_numerical_validation": True,
        "max_retries": 2,
        "fast_mode": False,
    },
    "NLSQWrapper.fit": {
        "data": ...,
        "config": ...,
        "initial_params": None,
        "bounds": None,
        "analysis_mode": "static_isotropic",
        "per_angle_scaling": True,
        "diagnostics_enabled": False,
        "shear_transforms": None,
        "per_angle_scaling_initial": None,
    },
    "fit_nlsq_jax": {
        "data": ...,
        "config": ...,
        "initial_params": None,
        "per_angle_scaling": True,
        "use_adapter": False,
        "_skip_global_selection": False,
    },
    "XPCSDataLoader": {
        "config_path": None,
        "config_dict": None,
        "configure_logging": True,
        "generate_quality_reports": False,
    },
    "XPCSDataLoader.load_experimental_data": {},
    "load_xpcs_data": {"config_path": None, "config_dict": None},
    "ConfigManager": {"config_file": "homodyne_config.yaml", "config_override": None},
    "ConfigManager.get_config": {},
    "ConfigManager.update_config": {"key": ..., "value": ...},
    "ConfigManager.is_static_mode_enabled": {},
    "ConfigManager.get_parameter_bounds": {"parameter_names": None},
    "ConfigManager.get_active_parameters": {},
    "ConfigManager.get_initial_parameters": {"use_midpoint_defaults": True},
    "get_device_status": {},
    "configure_optimal_device": {
        "prefer_gpu": True,
        "gpu_memory_fraction": 0.9,
        "cpu_threads": None,
        "force_cpu": False,
    },
    "benchmark_device_performance": {"device_type": None, "test_size": 5000},
}
# The configuration's mode holds where a call names none.
OTHER_DEFAULTS = {("NLSQWrapper.fit", "analysis_mode"): None}


def signature_of(path: str) -> dict[str, Any]:
    target: Any = xpcs
    for name in path.split("."):
        target = getattr(target, name)
    found = {}
    for parameter in inspect.signature(target).parameters.values():
        if parameter.name == "self" or parameter.kind is parameter.VAR_KEYWORD:
            continue
        assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        found[parameter.name] = ... if parameter.default is parameter.empty else parameter.default
    return found


@pytest.mark.parametrize("path", ORIGINAL)
def test_positions_and_defaults_are_the_originals(path: str) -> None:
    want = {
        name: OTHER_DEFAULTS.get((path, name), default) for name, default in ORIGINAL[path].items()
    }
    assert list(signature_of(path).items()) == list(want.items())


@pytest.fixture(scope="module")
def data() -> xpcs.Data:
    return xpcs.simulate(n_angle=3, n_frame=24, dt=0.1, gap=2e6, sigma=0.01, seed=3)


def test_a_mode_by_position_is_the_mode(data: xpcs.Data) -> None:
    wrapper = xpcs.NLSQWrapper(True, True)
    found = wrapper.fit(data, None, None, None, "static_anisotropic", True, sigma=0.01)
    assert found.mode == "static_anisotropic"
    with pytest.raises(tessera.ArgumentError, match=r"analysis_mode: .* got True"):
        wrapper.fit(data, None, None, None, True, "static_anisotropic")  # type: ignore[arg-type]
    with pytest.raises(tessera.ArgumentError, match="per_angle_scaling: expected True or False"):
        wrapper.fit(data, None, None, None, "static_anisotropic", "laminar_flow")  # type: ignore[arg-type]


def test_bounds_and_starts_of_whole_vectors(data: xpcs.Data) -> None:
    names = [p["name"] for p in xpcs.parameters("static_anisotropic")]
    lower = np.array([0.0] * 3 + [0.5] * 3 + [100.0, -2.0, -1e5])
    upper = np.array([0.9] * 3 + [1.5] * 3 + [1e5, 2.0, 1e5])
    scaling = {"contrast": [0.2, 0.3, 0.4], "offset": [1.0]}
    found = xpcs.NLSQWrapper().fit(
        data, None, None, (lower, upper), "static_anisotropic", True, False, None, scaling
    )
    assert list(found.physical) == names
    assert np.array_equal(found.lower, lower[6:])
    lower[0] = 0.1
    with pytest.raises(tessera.ArgumentError, match="bounds: contrast has other bounds"):
        xpcs.NLSQWrapper().fit(data, None, None, (lower, upper), "static_anisotropic")
    with pytest.raises(tessera.ArgumentError, match="per_angle_scaling_initial: 'contrasts'"):
        xpcs.NLSQWrapper().fit(data, None, per_angle_scaling_initial={"contrasts": 1})


def test_the_originals_other_names_of_data(data: xpcs.Data) -> None:
    plain = data.to_dict()
    direct = {
        "phi": plain["phi_angles_list"],
        "g2": plain["c2_exp"],
        "q": float(plain["wavevector_q_list"][0]),
        "t1": plain["t1"],
        "t2": plain["t2"],
        "L": 2e6,
    }
    want = xpcs.fit_nlsq_jax(plain | {"L": 2e6}, None)
    assert np.array_equal(xpcs.fit_nlsq_jax(direct, None).parameters, want.parameters)


def test_what_a_script_changes_in_a_manager_holds(data: xpcs.Data) -> None:
    manager = xpcs.ConfigManager(
        config_override={
            "analysis_mode": "static_isotropic",
            "analyzer_parameters": {"dt": 0.1},
            "model": {"sigma": {"mode": "constant", "value": 0.01}},
        }
    )
    assert manager.is_static_mode_enabled()
    assert manager.get_initial_parameters()["alpha"] == 0
    with pytest.raises(tessera.ConfigError, match=r"initial_parameters\.values"):
        manager.get_initial_parameters(False)
    manager.config["analysis_mode"] = "static_anisotropic"
    assert xpcs.fit(data, manager).mode == "static_anisotropic"
    manager.update_config("optimization.nlsq.loss", "huber")
    assert xpcs.fit(data, manager).loss == "huber"
    with pytest.raises(tessera.ConfigError, match="huber"):
        manager.update_config("optimization.nlsq.loss", "hubert")
    assert manager.config["optimization"]["nlsq"]["loss"] == "huber"
    manager.config["optimization"]["nlsq"]["los"] = "linear"
    with pytest.raises(tessera.ConfigError, match="did you mean"):
        xpcs.fit(data, manager)


def test_what_stands_in_a_wrong_place_is_refused(data: xpcs.Data) -> None:
    with pytest.raises(tessera.ArgumentError, match="prefer_gpu"):
        xpcs.configure_optimal_device("cuda")  # type: ignore[arg-type]
    with pytest.raises(tessera.ArgumentError, match="device_type"):
        xpcs.benchmark_device_performance("tpu")
    with pytest.raises(tessera.ArgumentError, match="give one of them"):
        xpcs.load_xpcs_data()
    with pytest.raises(tessera.ArgumentError, match="generate_quality_reports"):
        xpcs.XPCSDataLoader(None, {"a": {}}, True, 1)  # type: ignore[arg-type]
    with pytest.raises(tessera.ArgumentError, match="use_adapter"):
        xpcs.fit_nlsq_jax(data, None, None, True, "static")  # type: ignore[arg-type]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"bounds": (1, 2, 3)}, r"bounds: expected \(lower, upper\)"),
    ({"bounds": {"beta": 3}}, r"bounds\['beta'\]: expected \(lower, upper\), got 3"),
    ({"bounds": {"beta": ("a", 1)}}, r"bounds\['beta'\]: expected a number, got 'a'"),
    ({"bounds": {"beta": (-np.inf, 1)}}, "bounds of beta: -inf to 1"),
    ({"start": {"beta": "x"}}, r"start\['beta'\]: expected a number"),
    ({"fixed": "betta"}, "fixed: laminar_flow has no parameter 'betta'; did you mean 'beta'"),
    ({"fixed": ["beta"], "active": ["beta", "D0"]}, "fixed, active: both name 'beta'"),
    ({"fixed": {"beta": 0}, "start": {"beta": 1}}, "fixed, start: 'beta' is 0 in one and 1"),
    ({"resume": True}, "resume: .* without checkpoint"),
]


@pytest.mark.parametrize(("options", "text"), MISTAKES)
def test_mistakes_of_a_fit_are_named(data: xpcs.Data, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        xpcs.fit(data, **options)


def test_one_name_and_the_same_value_twice_are_fine(data: xpcs.Data) -> None:
    found = xpcs.fit(data, fixed="beta", start={"beta": 0.1})
    assert found.physical["beta"] == 0.1
    found = xpcs.fit(data, fixed={"beta": 0.1}, start={"beta": 0.1})
    assert found.physical["beta"] == 0.1


@pytest.mark.parametrize("angle", [-1, 3, 1.0, True])
def test_angles_that_are_not_there(data: xpcs.Data, angle: Any) -> None:
    found = xpcs.fit(data, mode="static_anisotropic")
    for call in (data.matrix, found.model, found.residuals):
        with pytest.raises(tessera.ArgumentError, match="angle: "):
            call(angle)
