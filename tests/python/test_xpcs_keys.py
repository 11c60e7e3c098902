"""No key of the original is silent: it changes what is done, is refused, or is said to do nothing.

Each key of a file with all of them is set to another value in turn.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import xpcs

EVERY_KEY = (
    Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "xpcs_settings" / "every_key.yaml"
)

# Kept with the settings for those who read them, and said so in the manual.
KEPT = {
    "metadata.config_version",
    "metadata.description",
    "experimental_data.cache_compression",
    "optimization.nlsq.quality_validation.bounds_tolerance",
    "plotting.format",
    "plotting.dpi",
}
KEPT_ENDS = (".description", ".unit")
# They act elsewhere than in the numbers that a fit begins with, or another key of the file wins.
ELSEWHERE = (
    "analyzer_parameters.temporal.",  # the same keys above it win
    "experimental_data.data_folder_path",  # file_path wins
    "experimental_data.data_file_name",
    "experimental_data.cache_",  # where copies of slow files lie
    "data_filtering.",  # which matrices are read; test_xpcs_data_names.py looks
    "initial_parameters.per_angle_scaling.",  # of per_angle_mode constant
    "parameter_space.bounds[1].prior_",  # of sampling
    "optimization.nlsq.memory_fraction",  # memory_threshold_gb wins
    "optimization.nlsq.anti_degeneracy.shear_weighting.enable",  # with shear_weights alone
    "optimization.lsq.",  # of version 2.1; optimization.nlsq wins
    "optimization.cmc.per_shard_mcmc.",  # optimization.mcmc wins
    "optimization.cmc.combination.min_success_rate",  # min_success_rate_warning wins
    "optimization.streaming.resume_from_checkpoint",
    "optimization.streaming.keep_last_checkpoints",
    "output.base_directory",  # directory wins
    "plotting.save_plots",
    "logging.level",
    "logging.file.enabled",  # a notice says what to do
)


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if value >= 1 else 0.5 * value + 0.01
    if isinstance(value, list):
        return [_other(item) for item in value]
    return {"auto": "manual"}.get(value, f"{value}x")


def _did(settings: xpcs.Settings) -> tuple[str, set[str]]:
    found = settings.to_dict()
    silent = {*found["accepted_without_effect"], *found["for_sampling"]}
    scales = settings.vectors["x_scale"]
    return json.dumps(found["resolved"]) + str(scales), silent


def _keys() -> list[tuple[str, Any]]:
    values = xpcs.Settings(EVERY_KEY).to_dict()["values"]
    return [
        (key, entry["value"])
        for key, entry in values.items()
        if entry["origin"] == "file" and entry["value"] is not None
    ]


def test_no_key_is_silent() -> None:
    keys = _keys()
    assert len(keys) > 250
    before, _ = _did(xpcs.Settings(EVERY_KEY))
    mute = []
    for key, value in keys:
        settings = xpcs.Settings(EVERY_KEY)
        try:
            settings.set(key, _other(value))
        except tessera.Error:
            continue
        after, named = _did(settings)
        is_known = key.startswith(ELSEWHERE) or key in KEPT or key.endswith(KEPT_ENDS)
        if after == before and key not in named and not is_known:
            mute.append(key)
    assert mute == []


# Of the original's that look harmless: off their defaults they act, or are refused.
@pytest.mark.parametrize(
    "section", [{"alpha": 2.0}, {"min_weight": 0.1}, {"normalize": False}, {"initial_phi0": 5.0}]
)
def test_numbers_of_weights_go_with_weights(section: dict[str, Any]) -> None:
    config: dict[str, Any] = {
        "analysis_mode": "laminar_flow",
        "analyzer_parameters": {"geometry": {"stator_rotor_gap": 2e6}},
        "optimization": {"nlsq": {"anti_degeneracy": {"shear_weighting": section}}},
    }
    with pytest.raises(tessera.ConfigError, match=r"optimization\.nlsq\.shear_weights to true"):
        xpcs.Settings(config)
    config["optimization"]["nlsq"]["shear_weights"] = True
    xpcs.Settings(config)


PHI = np.array([-60.0, -20.0, 15.0, 45.0, 80.0])
FLOW = 7.0


def _config(section: dict[str, Any] | None) -> dict[str, Any]:
    nlsq: dict[str, Any] = {"shear_weights": section is not None, "ftol": 1e-13, "xtol": 1e-13}
    if section:
        nlsq["anti_degeneracy"] = {"shear_weighting": section}
    return {
        "analysis_mode": "laminar_flow",
        "analyzer_parameters": {"dt": 0.1, "geometry": {"stator_rotor_gap": 2e6}},
        "initial_parameters": {"values": {"phi0": FLOW}},
        "optimization": {"nlsq": nlsq},
    }


# Weights of angles are those of points with as much less noise.
@pytest.mark.parametrize(
    ("section", "shape"),
    [
        ({}, (0.3, 1.0, FLOW)),
        ({"alpha": 4.0, "min_weight": 0.01}, (0.01, 4.0, FLOW)),
        ({"initial_phi0": 70.0, "normalize": False}, (0.3, 1.0, 70.0)),
    ],
)
def test_weights_of_angles_are_inverse_variances(
    section: dict[str, Any], shape: tuple[float, float, float]
) -> None:
    least, power, flow = shape
    made = xpcs.simulate(phi=PHI, n_frame=40, dt=0.1, gap=2e6, sigma=0.02, seed=3, dtype="f64")
    c2 = np.stack([made.matrix(k) for k in range(len(PHI))])
    weights = least + (1 - least) * np.abs(np.cos(np.radians(flow - PHI))) ** power
    sigma = np.broadcast_to((0.02 / np.sqrt(weights))[:, None, None], c2.shape)
    alike, plain = (
        xpcs.Data.from_arrays(c2, PHI, 0.0054, dt=0.1, gap=2e6, sigma=noise, keep_t0=True)
        for noise in (np.ascontiguousarray(sigma), None)
    )
    want = xpcs.fit(alike, _config(None), sigma_mode="dataset").theta
    got = xpcs.fit(plain, _config(section)).theta
    unweighted = xpcs.fit(plain, _config(None)).theta
    assert np.allclose(got, want, rtol=1e-6)
    assert not np.allclose(unweighted, want, rtol=1e-4)
