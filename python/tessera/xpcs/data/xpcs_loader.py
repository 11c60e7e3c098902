"""The original's loader."""

from __future__ import annotations

import logging
import os
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tessera import _core
from tessera.xpcs._arguments import PathLike
from tessera.xpcs._config import Settings, _said, _tell
from tessera.xpcs._data import load
from tessera.xpcs.config.manager import ConfigManager, read_document
from tessera.xpcs.data._errors import (
    XPCSConfigurationError,
    XPCSDataFormatError,
    XPCSDependencyError,
    XPCSMissingArrayError,
)
from tessera.xpcs.data._steps import LoaderSteps
from tessera.xpcs.data.preprocessing import PreprocessingPipeline
from tessera.xpcs.data.quality_controller import (
    DataQualityController,
    QualityControlResult,
    QualityControlStage,
)
from tessera.xpcs.data.validation import validate_xpcs_data

if TYPE_CHECKING:
    from tessera.xpcs._dicts import LoaderDict

__all__ = [
    "XPCSConfigurationError",
    "XPCSDataFormatError",
    "XPCSDataLoader",
    "XPCSDependencyError",
    "load_xpcs_config",
    "load_xpcs_data",
]

logger = logging.getLogger("tessera")

# Both kinds of files are read by the library itself.
HAS_H5PY = True
HAS_YAML = True

# Sections that are worked on here, after the library has read the file.
_HERE = ("preprocessing", "quality_control")
_FEATURES = {
    "output_format": "auto",
    "validation_level": "basic",
    "performance_optimization": True,
    "physics_validation": False,
    "cache_strategy": "intelligent",
}
# Of a cache, which the original asks for one by one.
_ARRAYS = ("wavevector_q_list", "phi_angles_list", "t1", "c2_exp")
_SUFFIXES = (".yaml", ".yml", ".json")


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise _core.ArgumentError(f"{name}: expected True or False, got {value!r}")
    return value


def load_xpcs_config(config_path: PathLike) -> dict[str, Any]:
    """Return a configuration file as a dict.

    Parameters
    ----------
    config_path : path
        YAML or JSON.

    Returns
    -------
    dict
        Its sections.
    """
    path = Path(config_path)
    if not path.exists():
        raise XPCSConfigurationError(f"Configuration file not found: {path}")
    if path.suffix.lower() not in _SUFFIXES:
        raise XPCSConfigurationError(
            f"Unsupported configuration format: {path.suffix}. Supported formats: "
            f"{', '.join(_SUFFIXES)}"
        )
    try:
        return read_document(path)
    except (_core.ConfigError, _core.FormatError) as error:
        raise XPCSConfigurationError(
            f"Failed to parse configuration file {path}: {error}"
        ) from error


def _sections_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration in sections; old scripts give ``data_file`` and frames alone."""
    found: dict[str, Any] = {
        key: dict(v) if isinstance(v, Mapping) else v for key, v in config.items()
    }
    if "experimental_data" in found or "data_file" not in found:
        return found
    folder, name = os.path.split(os.fspath(found.pop("data_file")))
    found["experimental_data"] = {"data_folder_path": folder or ".", "data_file_name": name}
    defaults = {"dt": 0.1, "start_frame": 1, "end_frame": -1}
    found["analyzer_parameters"] = {key: found.pop(key, value) for key, value in defaults.items()}
    if "output_directory" in found:
        found["output"] = {"directory": found.pop("output_directory")}
    return found


def _check_cache(path: str) -> None:
    # What is no archive at all is told by the reader.
    if not path.endswith(".npz") or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        there = {Path(name).stem for name in archive.namelist()}
    missing = [name for name in _ARRAYS if name not in there]
    if missing:
        raise XPCSMissingArrayError(
            f"{path}: no cache of two-time matrices: it has no {', '.join(missing)}; delete it, or "
            "name the HDF5 file"
        )


class XPCSDataLoader(LoaderSteps):
    """The original's loader.

    Parameters
    ----------
    config_path : path, optional
        YAML or JSON.
    config_dict : dict, optional
        The same as a dict.
    configure_logging : bool, default True
        Accepted for scripts of the original: nothing here touches the logging of a program.
    generate_quality_reports : bool, default False
        With ``quality_control.enabled``, write a JSON report to ``quality_reports`` beside the
        data.

    Attributes
    ----------
    config : dict
        The configuration in sections.
    exp_config, analyzer_config, v2_config : dict
        Three of them: ``experimental_data``, ``analyzer_parameters``, ``v2_features``.
    """

    def __init__(
        self,
        config_path: PathLike | None = None,
        config_dict: Mapping[str, Any] | None = None,
        configure_logging: bool = True,
        generate_quality_reports: bool = False,
    ) -> None:
        if bool(config_path) == bool(config_dict):
            raise _core.ArgumentError(
                "Provide either config_path or config_dict, not both: give one of them"
                if config_path
                else "Must provide either config_path or config_dict: give one of them"
            )
        _flag(configure_logging, "configure_logging")
        self.generate_quality_reports = _flag(generate_quality_reports, "generate_quality_reports")
        self.config_path = config_path
        said = config_dict if config_path is None else load_xpcs_config(config_path)
        assert said is not None
        self.config = _sections_of(said)
        self.config.setdefault("v2_features", {})
        for key, value in _FEATURES.items():
            self.config["v2_features"].setdefault(key, value)
        self.exp_config: dict[str, Any] = self.config.get("experimental_data") or {}
        self.analyzer_config: dict[str, Any] = self.config.get("analyzer_parameters") or {}
        self.v2_config: dict[str, Any] = self.config["v2_features"]
        self._validate_configuration()

    def _validate_configuration(self) -> None:
        """Look for what the original needs; with ``file_path``, which is ours, all has defaults."""
        if self.exp_config.get("file_path"):
            return
        for section, said, keys in (
            ("experimental_data", self.exp_config, ("data_folder_path", "data_file_name")),
            ("analyzer_parameters", self.analyzer_config, ("dt", "start_frame", "end_frame")),
        ):
            for key in keys:
                if key not in said:
                    raise XPCSConfigurationError(f"Missing required {section} parameter: {key}")
        path = self._data_path()
        if ".." in path.parts or "\0" in str(path):
            raise _core.ArgumentError(f"Path traversal detected in data file path: {path}")
        if not path.exists():
            logger.warning("Data file not found: %s", path)

    def _data_path(self) -> Path:
        if self.exp_config.get("file_path"):
            return Path(self.exp_config["file_path"])
        folder = str(self.exp_config["data_folder_path"])
        return Path(folder) / str(self.exp_config["data_file_name"])

    @property
    def settings(self) -> Settings:
        """The configuration, checked and resolved."""
        said = {key: value for key, value in self.config.items() if key not in _HERE}
        data = dict(self.exp_config)
        path = self._data_path()
        if self.config_path is not None and not path.exists():
            beside = Path(self.config_path).parent / path
            if beside.exists():
                data["file_path"] = str(beside)
        # The original keeps its cache beside the data, and is content with the cache alone.
        if data.get("data_folder_path") and self.v2_config["cache_strategy"] != "none":
            data.setdefault("cache_file_path", data["data_folder_path"])
            if not path.exists() and self._generate_cache_path().exists():
                data["file_path"] = str(self._generate_cache_path())
        settings = Settings(_said(said | {"experimental_data": data}), lenient=True)
        _tell(settings)
        return settings

    def load_experimental_data(self) -> LoaderDict:
        """Read the file the configuration names; do what else it asks for.

        Returns
        -------
        dict
            ``wavevector_q_list``, ``phi_angles_list``, ``t1``, ``t2``, ``c2_exp``; the frame at
            time 0 is there and fits leave it out.
        """
        settings = self.settings
        _check_cache(settings.data_path)
        read = load(settings, keep_t0=True)
        for line in read.notes:
            logger.warning("%s", line)
        data: Any = read.to_dict()
        control = self.config.get("quality_control") or {}
        controller = DataQualityController(self.config) if control.get("enabled") else None
        results: list[QualityControlResult] = []
        if controller is not None:
            for stage in (QualityControlStage.RAW_DATA, QualityControlStage.FILTERED_DATA):
                before = results[-1] if results else None
                results.append(controller.validate_data_stage(data, stage, before))
        data = self._preprocessed(data)
        if controller is None:
            self._warn(data)
        else:
            stage = QualityControlStage.FINAL_DATA
            results.append(controller.validate_data_stage(data, stage, results[-1]))
            if self.generate_quality_reports:
                controller.quality_config.export_detailed_reports = True
                controller.generate_quality_report(results, self._beside("quality_reports"))
        found: LoaderDict = self._convert_arrays_to_target_format(data)  # type: ignore[assignment]
        return found

    def _beside(self, folder: str) -> Path:
        path = self._data_path()
        return path.parent / folder / f"{path.stem}_{folder}_{int(time.time())}.json"

    def _preprocessed(self, data: Any) -> Any:
        said = self.config.get("preprocessing") or {}
        if not said.get("enabled", False):
            return data
        pipeline = PreprocessingPipeline(self.config)
        result = pipeline.process(data)
        if said.get("save_provenance", False):
            path = self._beside("preprocessing_provenance")
            pipeline.save_provenance(result.provenance, path)
        if result.success:
            return result.data
        if said.get("fallback_on_failure", True):
            logger.warning("preprocessing failed: the data are as they were read")
            return data
        raise XPCSDataFormatError(f"Preprocessing failed: {'; '.join(result.provenance.errors)}")

    def _warn(self, data: Any) -> None:
        level = self.v2_config.get("validation_level", "basic")
        for issue in validate_xpcs_data(data, self.config, level).errors:
            logger.warning("%s", issue.message)


def load_xpcs_data(
    config_path: PathLike | Mapping[str, Any] | ConfigManager | None = None,
    config_dict: Mapping[str, Any] | None = None,
) -> LoaderDict:
    """Read the file a configuration names, as the original's function does.

    Parameters
    ----------
    config_path : path or dict, optional
        The configuration.
    config_dict : dict, optional
        The same as a dict.

    Returns
    -------
    dict
        See :meth:`XPCSDataLoader.load_experimental_data`.
    """
    if isinstance(config_path, ConfigManager):
        config_path = config_path.config
    if isinstance(config_path, Mapping):
        if config_dict is not None:
            raise _core.ArgumentError(
                "Cannot provide both config_path as dict and config_dict: give one of them"
            )
        return XPCSDataLoader(config_dict=config_path).load_experimental_data()
    return XPCSDataLoader(config_path, config_dict).load_experimental_data()
