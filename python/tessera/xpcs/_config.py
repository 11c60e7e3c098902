"""Configurations of the original: files, dicts, and the manager its scripts use."""

from __future__ import annotations

import json
import logging
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from tessera import _core
from tessera._lib import Session, defaults
from tessera._tables import tables
from tessera.xpcs._arguments import PathLike

__all__ = ["Settings", "template"]

_SUFFIXES = (".yaml", ".yml", ".json")

# A file, its content, or what was made of it.
ConfigLike: TypeAlias = "PathLike | Mapping[str, Any] | Settings | Manager | None"


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into what it knows."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise _core.ConfigError(f"configuration: cannot use a value of type {type(value).__name__}")


def _text_of(config: Mapping[str, Any]) -> str:
    return json.dumps(config, default=_plain, indent=1)


def _said(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without what it says nothing of: not every key may be null."""
    return {
        key: _said(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if value is not None
    }


@runtime_checkable
class Manager(Protocol):
    """What resolves to settings: the original's ConfigManager."""

    def settings_in_force(self) -> Settings:
        """Return the settings."""
        ...


class Settings:
    """A configuration, checked and resolved.

    Parameters
    ----------
    config : path, dict or None
        A YAML or JSON file of the original's layout, the same as a dict, or None for all defaults.
    lenient : bool, default False
        Unknown keys are notices instead of errors.

    Attributes
    ----------
    model : dict
        Options of the model: ``mode``, ``kernel``, ``keep_t0``, ``compat_eps``, ``dt``, ``gap``.
    sampling : dict
        Options of :func:`sample` that the configuration decides, by the names of its keywords.
    data_path, output_folder : str
        Empty if the configuration names none.
    notices : list of str
        What was ignored or read in another way.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> tx.Settings({"analysis_mode": "static_isotropic"}).model["mode"]
    'static_isotropic'
    """

    def __init__(
        self, config: PathLike | Mapping[str, Any] | None = None, *, lenient: bool = False
    ) -> None:
        with Session() as context:
            if isinstance(config, Mapping):
                # The library reads files alone; a dict is one that was not written yet.
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "config.json"
                    path.write_text(_text_of(config))
                    try:
                        self._handle = _core.xpcs_settings(context, path, lenient)
                    except _core.Error as error:
                        error.args = (str(error).replace(str(path), "config"),)
                        raise
            else:
                self._handle = _core.xpcs_settings(context, config, lenient)
        self._refresh()

    def _refresh(self) -> None:
        info = _core.xpcs_settings_info(self._handle)
        self.model: dict[str, Any] = info["model"]
        self.data_path: str = info["data_path"]
        self.output_folder: str = info["output_folder"]
        self.has_sigma: bool = info["has_sigma"]
        self.method: str = info["method"]
        self._take_sampling(info["sample"])
        self.exclude_lags: int = info["exclude_lags"]
        self.notices: list[str] = info["notices"].splitlines()
        self.threads: int | None = info["n_thread"] or None
        self.memory_limit: int | None = info["memory_limit"] or None
        self.device: str | None = info["device"] or None
        self.vectors: dict[str, Any] = {
            name: None if info[name] is None else np.array(info[name])
            for name in ("start", "lower", "upper", "fixed", "x_scale")
        }

    def _take_sampling(self, drawn: dict[str, Any]) -> None:
        self.priors: dict[str, Any] = {
            name: np.array(drawn.pop(name))
            for name in ("prior_mean", "prior_sd", "contrast_prior", "offset_prior")
        }
        usual = defaults("xpcs.sample")
        self.sampling: dict[str, Any] = {
            name: value for name, value in drawn.items() if value != usual[name]
        }

    def set(self, key: str, value: Any) -> None:
        """Set one value as if the file had said so.

        Parameters
        ----------
        key : str
            Path of the key: ``'optimization.nlsq.loss'``.
        value : str, number or bool
            The value.
        """
        text = value if isinstance(value, str) else json.dumps(value, default=_plain)
        _core.xpcs_settings_set(self._handle, key, text)
        self._refresh()

    def __repr__(self) -> str:
        data = f", data {self.data_path!r}" if self.data_path else ""
        return f"Settings({self.model['mode']!r}{data}, {len(self.notices)} notices)"

    def to_dict(self) -> dict[str, Any]:
        """Return every value in force.

        Returns
        -------
        dict
            In the sections of the original's files.
        """
        with Session() as context:
            found: dict[str, Any] = json.loads(_core.xpcs_settings_json(context, self._handle))
        return found

    def by_section(self) -> dict[str, Any]:
        """Return the values in force, with where each comes from.

        Returns
        -------
        dict
            Sections of entries.
        """
        values = self.to_dict()["values"]
        return _nested({key: entry["value"] for key, entry in values.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_settings, (_said(self.by_section()), self.data_path, self.notices)


def _restored_settings(config: dict[str, Any], data_path: str, notices: list[str]) -> Settings:
    settings = Settings(config)
    if settings.data_path != data_path:
        # It was found beside the file of the configuration.
        settings.set("experimental_data.file_path", data_path)
    settings.notices = notices
    return settings


def is_config(source: Any) -> bool:
    """Return whether a source is a configuration and not a file of data."""
    if isinstance(source, Mapping | Settings | Manager):
        return True
    return isinstance(source, str | os.PathLike) and os.fspath(source).lower().endswith(_SUFFIXES)


def is_options(config: Mapping[str, Any]) -> bool:
    """Return whether a dict has plain options of a fit instead of the original's sections."""
    known = {param["name"] for name in ("xpcs.model", "xpcs.fit") for param in tables()[name]}
    return bool(config) and known.issuperset(config)


def settings_of(config: Any) -> Settings | None:
    """Return the settings of a path, a dict, a manager or settings; notices become warnings."""
    if config is None or isinstance(config, Settings):
        return config
    if isinstance(config, Manager):
        return config.settings_in_force()
    settings = Settings(config)
    _tell(settings)
    return settings


def _tell(settings: Settings) -> None:
    """Say what was ignored or read in another way, where it does not disturb."""
    logger = logging.getLogger("tessera")
    for line in settings.notices:
        logger.info("%s", line)


def template(mode: str = "laminar_flow", *, minimal: bool = False) -> str:
    """Return a commented configuration file.

    Parameters
    ----------
    mode : {'static_isotropic', 'static_anisotropic', 'laminar_flow', 'two_component'}
        For which model.
    minimal : bool, default False
        Only what has no default.

    Returns
    -------
    str
        YAML.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> "analysis_mode" in tx.template("static_isotropic", minimal=True)
    True
    """
    with Session() as context:
        return _core.xpcs_template(context, {"mode": mode}, minimal)


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Turn key paths, ``a.b[0].c``, into sections and lists."""
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        keys = [int(k) if k.isdigit() else k for k in re.split(r"[.\[\]]+", path.rstrip("]"))]
        branch: Any = tree
        for key, after in zip(keys, [*keys[1:], None], strict=True):
            if isinstance(key, int):
                branch.extend([None] * (key + 1 - len(branch)))
            if after is None:
                branch[key] = value
                break
            if (branch[key] if isinstance(key, int) else branch.get(key)) is None:
                branch[key] = [] if isinstance(after, int) else {}
            branch = branch[key]
    return tree
