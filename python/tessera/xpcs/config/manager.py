"""The original's access to a configuration."""

from __future__ import annotations

import copy
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tessera import _core
from tessera._lib import Session
from tessera.xpcs._arguments import PathLike, names_of
from tessera.xpcs._config import Settings, _said, _tell, _text_of
from tessera.xpcs.config._cmc import cmc_config
from tessera.xpcs.config.parameter_manager import ParameterManager
from tessera.xpcs.config.types import PARAMETER_NAME_MAPPING, BoundDict

__all__ = ["ConfigManager", "load_xpcs_config"]

logger = logging.getLogger("tessera")

# The original's versions whose files are read as they are.
_NEWEST_LAYOUT = (2, 23)
_OLD_MODES = {"static_isotropic": "static", "static_anisotropic": "static"}
# What the original adds to a configuration it has read.
_ADDED = "phi_angles_full_path"


def _merged(value: Any) -> Any:
    """Put what a mapping takes from others with ``<<`` in its place."""
    if isinstance(value, list):
        return [_merged(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _merged(item) for key, item in value.items()}
    others = found.pop("<<", {})
    for other in others if isinstance(others, list) else [others]:
        found = other | found
    return found


def read_document(path: PathLike) -> dict[str, Any]:
    """Return a YAML or JSON file as a dict; one that cannot be read is an error."""
    if os.fspath(path).lower().endswith(".json") and os.path.exists(path):
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise _core.ConfigError(f"{os.fspath(path)}: {error}") from error
    else:
        with Session() as context:
            found = _merged(_core.document(context, path))
    if not isinstance(found, dict):
        what = "is empty" if found is None else "is no mapping of sections"
        raise _core.ConfigError(
            f"{os.fspath(path)}: {what}; 'tessera xpcs config generate' has one"
        )
    return found


def _warn_of_version(config: Mapping[str, Any]) -> None:
    said = (config.get("metadata") or {}).get("config_version")
    if not said or str(said) == _core.version():
        return
    parts = str(said).split(".")
    numbers = tuple(int(part) if part.isdigit() else -1 for part in parts[:2])
    if not (2,) <= numbers <= _NEWEST_LAYOUT:
        logger.warning(
            "Config version mismatch: config=%s; layouts up to %d.%d are known",
            said,
            *_NEWEST_LAYOUT,
        )


class ConfigManager:
    """The original's access to a configuration; unlike there a bad file is an error.

    Parameters
    ----------
    config_file : path
        YAML or JSON.
    config_override : dict, optional
        Used instead of the file.

    Attributes
    ----------
    config : dict
        What the file says, by section. What a script changes in it holds, too.
    settings : Settings
        The same for :func:`tessera.xpcs.fit`, checked.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> manager = tx.ConfigManager(config_override={"analysis_mode": "static_isotropic"})
    >>> manager.get_parameter_names()
    ['D0', 'alpha', 'D_offset']
    """

    def __init__(
        self,
        config_file: PathLike = "homodyne_config.yaml",
        config_override: Mapping[str, Any] | None = None,
    ) -> None:
        self.config_file = config_file if config_file is None else os.fspath(config_file)
        self.config: dict[str, Any] = {}
        self._settings: Settings | None = None
        self._seen = ""
        self._mode: tuple[str, str] | None = None
        if config_override is None:
            self.load_config()
        else:
            self.config = copy.deepcopy(dict(config_override))
            self._normalize()

    def load_config(self) -> None:
        """Read the file again; one that cannot be read is an error.

        A file that says what cannot be is a warning here and an error where it is used: scripts of
        the original look at single sections of incomplete files.
        """
        if self.config_file is None:
            raise _core.ArgumentError("config_file: expected a path, got None")
        self.config = read_document(self.config_file)
        self._settings = None
        try:
            self._settings = Settings(self.config_file)
        except _core.ConfigError as error:
            logger.warning("not to be used for a fit as it is: %s", error)
        else:
            _tell(self._settings)
        self._normalize()
        self._seen = _text_of(self.config)

    def _normalize(self) -> None:
        """Bring old spellings up to date, as the original does."""
        mode = self.config.get("analysis_mode")
        self._mode = None
        if isinstance(mode, str):
            now = _OLD_MODES.get(mode.lower(), mode.lower())
            self._mode = (now, mode)
            self.config["analysis_mode"] = now
        data = self.config.get("experimental_data")
        if isinstance(data, dict):
            for key, folder, name in (
                ("file_path", "data_folder_path", "data_file_name"),
                (_ADDED, "phi_angles_path", "phi_angles_file"),
            ):
                if data.get(folder) is not None and data.get(name) is not None:
                    data[key] = str(Path(data[folder]) / data[name])
        _warn_of_version(self.config)

    def _for_settings(self) -> dict[str, Any]:
        """Return the configuration without what was added, and with the mode that was said."""
        config = _said(self.config)
        if self._mode is not None and config.get("analysis_mode") == self._mode[0]:
            config["analysis_mode"] = self._mode[1].lower()
        data = config.get("experimental_data")
        if isinstance(data, dict):
            data.pop(_ADDED, None)
        return config

    def settings_in_force(self) -> Settings:
        """Return the settings, read again where a script has changed ``config``.

        Returns
        -------
        Settings
            What :func:`tessera.xpcs.fit` takes; a bad value in ``config`` is an error.
        """
        text = _text_of(self.config)
        if self._settings is None or text != self._seen:
            self._settings = Settings(self._for_settings())
            _tell(self._settings)
            self._seen = text
        return self._settings

    @property
    def settings(self) -> Settings:
        """The configuration, checked and resolved."""
        return self.settings_in_force()

    def __repr__(self) -> str:
        return f"ConfigManager({self.config_file!r}, {len(self.config)} sections)"

    def get_config(self) -> dict[str, Any]:
        """Return the configuration.

        Returns
        -------
        dict
            As it stands, updates included.
        """
        return self.config

    def update_config(self, key: str, value: Any) -> None:
        """Set one value; one that a known key cannot have is an error.

        Parameters
        ----------
        key : str
            Path of the key: ``'optimization.nlsq.loss'``.
        value : Any
            The value.
        """
        changed = copy.deepcopy(self.config)
        *sections, name = key.split(".")
        branch = changed
        for section in sections:
            branch = branch.setdefault(section, {})
            if not isinstance(branch, dict):
                raise _core.ConfigError(f"{key}: {section!r} is a value and no section")
        branch[name] = value
        before, self.config = self.config, changed
        try:
            Settings(self._for_settings(), lenient=True)
        except _core.Error:
            self.config = before
            raise

    def is_static_mode_enabled(self) -> bool:
        """Return whether the mode is a static one.

        Returns
        -------
        bool
            False for laminar flow.
        """
        if not self.config:
            return True
        return "static" in str(self.config.get("analysis_mode", "static_isotropic")).lower()

    def get_target_angle_ranges(self) -> dict[str, Any]:
        """Return the section ``optimization.angle_filtering``.

        Returns
        -------
        dict
            Empty where the configuration has none.
        """
        if not self.config:
            return {"enabled": False}
        found = (self.config.get("optimization") or {}).get("angle_filtering", {})
        if not isinstance(found, dict):
            logger.warning("optimization.angle_filtering must be a dict, got %r", found)
            return {"enabled": False}
        return found

    def _parameters(self) -> ParameterManager:
        mode = "static" if self.is_static_mode_enabled() else "laminar_flow"
        return ParameterManager(self.config, mode)

    def get_parameter_names(self) -> list[str]:
        """Return the physical parameters of the mode.

        Returns
        -------
        list of str
            In the order of every vector.
        """
        return names_of("static_isotropic" if self.is_static_mode_enabled() else "laminar_flow")

    def get_active_parameters(self) -> list[str]:
        """Return the physical parameters the configuration lists, or those of the mode.

        Returns
        -------
        list of str
            Names.
        """
        return self._parameters().get_active_parameters()

    def get_parameter_bounds(self, parameter_names: list[str] | None = None) -> list[BoundDict]:
        """Return bounds.

        Parameters
        ----------
        parameter_names : list of str, optional
            Whose; by default all, contrast and offset first.

        Returns
        -------
        list of dict
            ``name``, ``min``, ``max``, ``type`` of each.
        """
        return self._parameters().get_parameter_bounds(parameter_names)

    def _middles(self) -> dict[str, float]:
        entries = self.get_parameter_bounds(self._parameters().get_active_parameters())
        return {entry["name"]: 0.5 * (entry["min"] + entry["max"]) for entry in entries}

    def get_initial_parameters(self, use_midpoint_defaults: bool = True) -> dict[str, float]:
        """Return starts of the parameters that are fitted.

        Parameters
        ----------
        use_midpoint_defaults : bool, default True
            Where the configuration names none, take the middle of the bounds, as the original
            does; False makes that an error. A fit without starts takes better ones from the data.

        Returns
        -------
        dict
            Values by name.
        """
        section = self.config.get("initial_parameters") or {}
        names, values = section.get("parameter_names"), section.get("values")
        if isinstance(values, Mapping):
            names, values = list(values), list(values.values())
        if values is None or not isinstance(names, list) or not names:
            if not use_midpoint_defaults:
                raise _core.ConfigError(
                    "initial_parameters.values is null and use_midpoint_defaults is False"
                )
            return self._middles() if self.config else {}
        if not isinstance(values, list):
            raise ValueError(f"initial_parameters.values must be a list, got {type(values)}")
        if len(values) != len(names):
            raise _core.ConfigError(
                f"Number of values ({len(values)}) does not match number of parameter_names "
                f"({len(names)})"
            )
        found = {
            PARAMETER_NAME_MAPPING.get(name, name): float(value)
            for name, value in zip(names, values, strict=True)
        }
        kept = set(self._parameters().get_optimizable_parameters())
        return {k: v for k, v in found.items() if k in kept} | _scaling_of(section)

    def validate_per_angle_scaling(self, n_phi: int) -> list[str]:
        """Compare the numbers of contrasts and offsets with that of angles.

        Parameters
        ----------
        n_phi : int
            Angles of the data.

        Returns
        -------
        list of str
            Warnings: one value stands for all. Any other number is a ValueError.
        """
        section = (self.config.get("initial_parameters") or {}).get("per_angle_scaling")
        found = []
        for name in ("contrast", "offset"):
            values = section.get(name) if isinstance(section, Mapping) else None
            if not isinstance(values, list) or len(values) == n_phi:
                continue
            if len(values) != 1:
                raise _core.ConfigError(
                    f"per_angle_scaling.{name} has {len(values)} values but data has {n_phi} phi "
                    f"angles. Must have either 1 (scalar) or {n_phi} values."
                )
            found.append(
                f"per_angle_scaling.{name} has 1 value but data has {n_phi} angles. "
                f"Using scalar {name} for all angles."
            )
        for line in found:
            logger.warning("%s", line)
        return found

    def get_cmc_config(self) -> dict[str, Any]:
        """Return the section of consensus sampling with its defaults.

        Returns
        -------
        dict
            A value that cannot be is a ValueError.
        """
        return cmc_config(self.config.get("optimization") or {})


def _scaling_of(section: Mapping[str, Any]) -> dict[str, float]:
    """Return contrasts and offsets a configuration starts from: one value, or one per angle."""
    scaling = section.get("per_angle_scaling")
    found = {}
    for name in ("contrast", "offset"):
        values = scaling.get(name) if isinstance(scaling, Mapping) else None
        if not isinstance(values, list):
            continue
        if len(values) == 1:
            found[name] = float(values[0])
        else:
            found.update({f"{name}_{i}": float(value) for i, value in enumerate(values)})
    return found


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
    return ConfigManager(config_path).config
