"""Configurations of the loader: files, a table of its keys, checks and defaults."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera import _core
from tessera.xpcs._arguments import PathLike
from tessera.xpcs.config.manager import read_document
from tessera.xpcs.data._errors import XPCSConfigurationError
from tessera.xpcs.data.validators import (
    validate_enum_value,
    validate_file_path,
    validate_frame_range,
    validate_numeric_range,
    validate_positive_value,
)

_NUMBER = (int, float)

XPCS_CONFIG_SCHEMA: dict[str, dict[str, dict[str, Any]]] = {
    "experimental_data": {
        "required": {"data_folder_path": str, "data_file_name": str},
        "optional": {
            "phi_angles_path": str,
            "cache_file_path": str,
            "cache_filename_template": str,
            "cache_compression": bool,
            "apply_diagonal_correction": bool,
        },
        "defaults": {
            "phi_angles_path": "./output/",
            "cache_file_path": None,
            "cache_filename_template": "cached_c2_frames_${start_frame}_${end_frame}.npz",
            "cache_compression": True,
            "apply_diagonal_correction": True,
        },
    },
    "data_filtering": {
        "required": {},
        "optional": {
            "enabled": bool,
            "q_range": dict,
            "phi_range": dict,
            "quality_threshold": _NUMBER,
            "frame_filtering": dict,
            "combine_criteria": str,
            "fallback_on_empty": bool,
            "validation_level": str,
        },
        "defaults": {
            "enabled": False,
            "q_range": {},
            "phi_range": {},
            "quality_threshold": None,
            "frame_filtering": {},
            "combine_criteria": "AND",
            "fallback_on_empty": True,
            "validation_level": "basic",
        },
    },
    "analyzer_parameters": {
        "required": {"dt": _NUMBER, "start_frame": int, "end_frame": int},
        "optional": {"frame_step": int, "time_unit": str},
        "defaults": {"frame_step": 1, "time_unit": "seconds"},
    },
    "v2_features": {
        "required": {},
        "optional": {
            "output_format": str,
            "validation_level": str,
            "performance_optimization": bool,
            "physics_validation": bool,
            "cache_strategy": str,
            "parallel_processing": bool,
            "gpu_acceleration": bool,
        },
        "defaults": {
            "output_format": "auto",
            "validation_level": "basic",
            "performance_optimization": True,
            "physics_validation": False,
            "cache_strategy": "intelligent",
            "parallel_processing": False,
            "gpu_acceleration": False,
        },
    },
}


@dataclass
class ConfigValidationResult:
    """What a check of a configuration found.

    Parameters
    ----------
    is_valid : bool
        No errors.
    errors, warnings : list of str
        What is wrong.
    missing_optional : list of str
        Keys that have their defaults.
    """

    is_valid: bool
    errors: list[str]
    warnings: list[str]
    missing_optional: list[str]


def _read(config_path: PathLike) -> dict[str, Any]:
    if not os.path.exists(config_path):
        raise XPCSConfigurationError(f"Configuration file not found: {config_path}")
    try:
        return read_document(config_path)
    except (_core.ConfigError, _core.FormatError) as error:
        raise XPCSConfigurationError(
            f"Failed to parse configuration file {config_path}: {error}"
        ) from error


def load_yaml_config(config_path: PathLike) -> dict[str, Any]:
    """Read a YAML file; PyYAML is not needed.

    Parameters
    ----------
    config_path : path
        The file.

    Returns
    -------
    dict
        Its sections.
    """
    return _read(config_path)


def load_json_config(config_path: PathLike) -> dict[str, Any]:
    """Read a JSON file.

    Parameters
    ----------
    config_path : path
        The file.

    Returns
    -------
    dict
        Its sections.
    """
    return _read(config_path)


def validate_config_schema(
    config: Mapping[str, Any], schema: Mapping[str, Any] | None = None
) -> ConfigValidationResult:
    """Check what a loader needs of a configuration.

    Parameters
    ----------
    config : dict
        The configuration.
    schema : dict, optional
        The table; by default :data:`XPCS_CONFIG_SCHEMA`.

    Returns
    -------
    ConfigValidationResult
        What was found.
    """
    found = ConfigValidationResult(True, [], [], [])
    for section, rules in (XPCS_CONFIG_SCHEMA if schema is None else schema).items():
        if section not in config:
            needed = bool(rules.get("required"))
            kind = "required" if needed else "optional"
            place = found.errors if needed else found.warnings
            place.append(f"Missing {kind} configuration section: {section}")
            continue
        said = config[section] or {}
        for kind in ("required", "optional"):
            for key, types in rules.get(kind, {}).items():
                where = f"{section}.{key}"
                if key not in said:
                    if kind == "required":
                        found.errors.append(f"Missing required parameter: {where}")
                    else:
                        found.missing_optional.append(where)
                elif not isinstance(said[key], types):
                    text = f"{where} has the wrong type: expected {types}, got {type(said[key])}"
                    place = found.errors if kind == "required" else found.warnings
                    place.append(f"Parameter {text}")
    found.errors += _wrong_values(config)
    found.warnings += _odd_values(config)
    found.is_valid = not found.errors
    return found


def _wrong_values(config: Mapping[str, Any]) -> list[str]:
    data, frames, filters, features = (
        config.get(name) or {}
        for name in ("experimental_data", "analyzer_parameters", "data_filtering", "v2_features")
    )
    wrong = validate_file_path(data.get("data_folder_path"), data.get("data_file_name"))
    wrong += validate_frame_range(frames.get("start_frame"), frames.get("end_frame"))
    wrong += validate_positive_value(frames.get("dt"), "dt")
    if filters.get("enabled", False):
        wrong += validate_numeric_range(filters.get("q_range"), "q_range", require_positive=True)
        wrong += validate_numeric_range(
            filters.get("phi_range"), "phi_range", value_bounds=(-360, 360), allow_wrapped=True
        )
        wrong += validate_positive_value(filters.get("quality_threshold"), "quality_threshold")
        wrong += validate_enum_value(
            filters.get("combine_criteria"), "combine_criteria", ["AND", "OR"]
        )
        wrong += validate_enum_value(
            filters.get("validation_level"),
            "data_filtering.validation_level",
            ["basic", "strict"],
        )
    for key, words in (
        ("output_format", ["numpy", "jax", "auto"]),
        ("validation_level", ["none", "basic", "full"]),
        ("cache_strategy", ["none", "simple", "intelligent"]),
    ):
        wrong += validate_enum_value(features.get(key), key, words)
    return wrong


def _odd_values(config: Mapping[str, Any]) -> list[str]:
    frames = config.get("analyzer_parameters") or {}
    first, last = frames.get("start_frame", 1), frames.get("end_frame", 1000)
    odd = []
    if last != -1 and last - first + 1 > 10000:
        odd.append(f"Large frame range ({last - first + 1} frames)")
    dt = frames.get("dt")
    if dt is not None and dt < 1e-6:
        odd.append(f"Very small dt value ({dt}) - check time units")
    return odd


def apply_config_defaults(
    config: Mapping[str, Any], schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a configuration with defaults where it says nothing.

    Parameters
    ----------
    config : dict
        The configuration; it stays as it is.
    schema : dict, optional
        The table; by default :data:`XPCS_CONFIG_SCHEMA`.

    Returns
    -------
    dict
        A copy.
    """
    found = copy.deepcopy(dict(config))
    for section, rules in (XPCS_CONFIG_SCHEMA if schema is None else schema).items():
        said = found.setdefault(section, {})
        for key, value in rules.get("defaults", {}).items():
            if key == "cache_file_path" and value is None:
                folder = (found.get("experimental_data") or {}).get("data_folder_path")
                if folder:
                    said.setdefault(key, folder)
            else:
                said.setdefault(key, copy.deepcopy(value))
    return found


def migrate_json_to_yaml_config(
    json_config: Mapping[str, Any], yaml_output_path: PathLike | None = None
) -> dict[str, Any]:
    """Return a configuration with defaults, and write it as YAML.

    Parameters
    ----------
    json_config : dict
        The configuration.
    yaml_output_path : path, optional
        Where to.

    Returns
    -------
    dict
        With defaults.
    """
    found = apply_config_defaults(json_config)
    if yaml_output_path is not None:
        save_yaml_config(found, yaml_output_path)
    return found


def _lines(value: Mapping[str, Any], depth: int) -> list[str]:
    """Return YAML: sections by indentation, all else as JSON, which YAML contains."""
    lines = []
    for key, item in value.items():
        head = "  " * depth + f"{key}:"
        if isinstance(item, Mapping) and item:
            lines += [head, *_lines(item, depth + 1)]
        else:
            text = json.dumps(item, default=str, ensure_ascii=False)
            if isinstance(item, float) and "e" in text and "." not in text:
                text = text.replace("e", ".0e")  # 1e-08 is a text to YAML
            lines.append(f"{head} {text}")
    return lines


def save_yaml_config(config: Mapping[str, Any], output_path: PathLike) -> None:
    """Write a configuration as YAML; PyYAML is not needed.

    Parameters
    ----------
    config : dict
        The configuration.
    output_path : path
        Where to.
    """
    path = Path(output_path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(_lines(config, 0)) + "\n", encoding="utf-8")
    except OSError as error:
        raise XPCSConfigurationError(
            f"Failed to save YAML configuration to {path}: {error}"
        ) from error


def create_example_yaml_config(
    output_path: PathLike,
    data_folder: str = "/path/to/data",
    data_file: str = "experiment.hdf",
) -> None:
    """Write a configuration to begin with.

    Parameters
    ----------
    output_path : path
        Where to.
    data_folder, data_file : str
        Where the data are.
    """
    example = {
        "experimental_data": {"data_folder_path": data_folder, "data_file_name": data_file},
        "analyzer_parameters": {"dt": 0.001, "start_frame": 1, "end_frame": 1000},
        "v2_features": {},
    }
    found = apply_config_defaults(example)
    found["experimental_data"]["cache_file_path"] = "./cache/"
    save_yaml_config(found, output_path)


__all__ = [
    "XPCS_CONFIG_SCHEMA",
    "ConfigValidationResult",
    "XPCSConfigurationError",
    "apply_config_defaults",
    "create_example_yaml_config",
    "load_json_config",
    "load_yaml_config",
    "migrate_json_to_yaml_config",
    "save_yaml_config",
    "validate_config_schema",
]
