"""The original's modules of configurations: names, bounds, priors, the manager."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

import tessera
from tessera import xpcs
from tessera.xpcs import config as names
from tessera.xpcs.config import parameter_names, types


def test_the_registry_knows_what_the_library_knows() -> None:
    registry = names.get_registry()
    assert registry is names.ParameterRegistry()
    for entry in xpcs.parameters("laminar_flow"):
        info = registry.get_param_info(entry["name"])
        assert (info.lower_bound, info.upper_bound) == (entry["lower"], entry["upper"])
        assert (info.prior_mean, info.prior_std) == (entry["prior_mean"], entry["prior_sd"])
    assert names.get_param_names("laminar_flow") == types.LAMINAR_FLOW_PARAM_NAMES
    assert names.get_all_param_names("static", 2)[:4] == [
        "contrast_0", "contrast_1", "offset_0", "offset_1",
    ]  # fmt: skip
    assert registry.get_num_params("laminar_flow", 3) == 13
    assert registry.get_param_info("contrast_12").name == "contrast"
    with pytest.raises(KeyError, match="Unknown parameter: gamma"):
        registry.get_param_info("gamma")
    with pytest.raises(ValueError, match="out of bounds"):
        registry.validate_param_values({"alpha": 3.0}, "static")
    expanded = registry.expand_initial_values({"contrast": 0.2, "D0": 5.0}, 2)
    assert expanded["contrast_1"] == 0.2
    assert expanded["offset_0"] == 1.0


def test_names_of_modes() -> None:
    assert parameter_names.get_num_parameters("static_anisotropic") == 5
    assert parameter_names.get_physical_param_names("laminar_flow")[-1] == "phi0"
    with pytest.raises(ValueError, match="Unknown analysis mode"):
        parameter_names.get_parameter_names("turbulent")
    with pytest.raises(ValueError, match="expected order"):
        parameter_names.validate_parameter_names(["D0"], "static")
    with pytest.raises(KeyError, match="offset"):
        parameter_names.verify_samples_dict({"contrast": []}, "static")


def test_bounds_of_a_configuration_hold() -> None:
    said = {
        "parameter_space": {"bounds": [{"name": "gamma_dot_0", "min": "1e-5", "max": 0.1}]},
        "initial_parameters": {"fixed_parameters": {"phi_0": 2.0}},
    }
    manager = names.ParameterManager(said, "laminar_flow")
    low, high = manager.get_bounds_as_arrays(["gamma_dot_t0", "alpha"])
    assert np.array_equal(low, [1e-5, -2])
    assert np.array_equal(high, [0.1, 2])
    # The order asked for, whatever was asked before.
    assert manager.get_bounds_as_tuples(["alpha", "gamma_dot_t0"]) == [(-2, 2), (1e-5, 0.1)]
    assert not manager.is_parameter_active("phi0")
    assert manager.get_parameter_bounds(["contrast[3]"])[0]["name"] == "contrast[3]"
    assert not manager.validate_parameters(np.array([3.0]), ["alpha"]).valid
    found = manager.validate_physical_constraints({"D0": -1.0, "gamma_dot_t0": 0.01})
    assert found.violations == ["D0 = -1.000e+00: non-positive diffusion coefficient "
                                "(physically impossible) [error]"]  # fmt: skip


def test_priors() -> None:
    space = names.ParameterSpace.from_defaults("static")
    prior = space.convert_to_beta_scaled_priors().get_prior("alpha")
    assert prior.alpha is not None
    assert prior.beta is not None
    # Mean and variance of a beta distribution, scaled to the bounds.
    total = prior.alpha + prior.beta
    mean = prior.min_val + (prior.max_val - prior.min_val) * prior.alpha / total
    width = (prior.max_val - prior.min_val) * np.sqrt(
        prior.alpha * prior.beta / (total**2 * (total + 1))
    )
    assert np.allclose([mean, width], [prior.mu, prior.sigma], rtol=1e-12)
    assert space.clamp_to_open_interval("alpha", 5.0) == 2 - 1e-6
    assert space.validate_values({"alpha": 5.0})[1] == [
        "alpha = 5.000e+00 > max (2.000e+00) by 3.000e+00"
    ]
    assert space.with_single_angle_stabilization().get_bounds("offset") == (0.9, 1.1)
    with pytest.raises(ValueError, match="finite bounds"):
        names.PriorDistribution("Uniform", max_val=np.inf)
    # homodyne 2.23.3 for D0 with mean 1000 and deviation 500 between 100 and 1e5.
    entry = {"name": "D0", "min": 100, "max": 1e5, "prior_mu": 1000, "prior_sigma": 500}
    mine = names.ParameterSpace.from_config({"parameter_space": {"bounds": [entry]}}, "static")
    geometry = mine.get_single_angle_geometry_config()
    assert geometry["log_center_loc"] == np.log(1000)
    assert np.isclose(geometry["log_center_scale"], np.log1p(50.5), rtol=1e-14)
    assert np.isclose(geometry["delta_loc"], np.log(np.expm1(1)), rtol=1e-14)


def test_the_manager_keeps_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "base: &base {dt: 0.5, start_frame: 1}\n"
        "analysis_mode: STATIC_ISOTROPIC\n"
        "analyzer_parameters:\n  <<: *base\n  end_frame: -1\n"
        "experimental_data: {data_folder_path: ./d, data_file_name: a.hdf}\n"
    )
    manager = names.ConfigManager(path)
    assert manager.config["analysis_mode"] == "static"
    assert manager.config["experimental_data"]["file_path"] == "d/a.hdf"
    assert manager.config["analyzer_parameters"]["dt"] == 0.5
    assert names.load_xpcs_config(path) == manager.config
    assert manager.get_target_angle_ranges() == {}
    # What was said of the mode is what is fitted, not the word the original makes of it.
    other = names.ConfigManager(config_override={"analysis_mode": "static_isotropic"})
    assert other.settings.model["mode"] == "static_isotropic"
    other.update_config("optimization.nlsq.loss", "huber")
    assert other.settings.model["mode"] == "static_isotropic"
    with pytest.raises(FileNotFoundError):
        names.ConfigManager(tmp_path / "none.yaml")
    path.write_text("a: [1\n")
    with pytest.raises(tessera.ConfigError, match=r"c\.yaml"):
        names.ConfigManager(path)


def test_a_file_no_fit_takes_is_told_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("analysis_mode: laminar_flow\nmetadata: {config_version: 99.1}\n")
    with caplog.at_level(logging.WARNING, "tessera"):
        manager = names.ConfigManager(path)
    assert "stator_rotor_gap" in caplog.text
    assert "version mismatch" in caplog.text
    assert len(manager.get_active_parameters()) == 7
    with pytest.raises(tessera.ConfigError, match="stator_rotor_gap"):
        manager.settings_in_force()


def test_starts_and_scaling_of_a_manager() -> None:
    said = {
        "analysis_mode": "static",
        "initial_parameters": {
            "parameter_names": ["D0", "alpha", "D_offset"],
            "values": [1000, "-1.2", 0],
            "fixed_parameters": {"alpha": -1.2},
            "per_angle_scaling": {"contrast": [0.2, 0.3], "offset": [1.0]},
        },
        "optimization": {"cmc": {"sharding": {"num_shards": 4}}},
    }
    manager = names.ConfigManager(config_override=said)
    assert manager.get_initial_parameters() == {
        "D0": 1000, "D_offset": 0, "contrast_0": 0.2, "contrast_1": 0.3, "offset": 1.0,
    }  # fmt: skip
    assert manager.validate_per_angle_scaling(2) == [
        "per_angle_scaling.offset has 1 value but data has 2 angles. Using scalar offset for all "
        "angles."
    ]
    with pytest.raises(ValueError, match="contrast has 2 values"):
        manager.validate_per_angle_scaling(3)
    assert manager.get_cmc_config()["sharding"] == {
        "strategy": "random", "num_shards": 4, "max_points_per_shard": "auto",
    }  # fmt: skip
    manager.config["optimization"]["cmc"]["sharding"]["num_shards"] = True
    with pytest.raises(ValueError, match="num_shards"):
        manager.get_cmc_config()
