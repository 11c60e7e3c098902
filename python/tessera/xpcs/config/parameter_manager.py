"""Bounds, active and fixed parameters of a configuration."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs.config.parameter_registry import get_registry
from tessera.xpcs.config.physics_validators import ConstraintSeverity, validate_all_parameters
from tessera.xpcs.config.types import (
    LAMINAR_FLOW_PARAM_NAMES,
    PARAMETER_NAME_MAPPING,
    SCALING_PARAM_NAMES,
    STATIC_PARAM_NAMES,
    BoundDict,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from tessera.xpcs.core.physics import ValidationResult

logger = logging.getLogger("tessera")

_OF_AN_ANGLE = re.compile(r"^(contrast|offset)\[\d+\]$")


def _canonical(name: str) -> str:
    return PARAMETER_NAME_MAPPING.get(name, name)


class ParameterManager:
    """What a configuration says of parameters.

    Parameters
    ----------
    config_dict : dict, optional
        The configuration; None is all defaults.
    analysis_mode : str
        The mode.

    Examples
    --------
    >>> ParameterManager(None, "static").get_bounds_as_tuples(["D0"])
    [(100.0, 100000.0)]
    """

    def __init__(
        self,
        config_dict: Mapping[str, Any] | None = None,
        analysis_mode: str = "laminar_flow",
    ) -> None:
        self.config_dict: dict[str, Any] = dict(config_dict or {})
        self.analysis_mode = analysis_mode
        self._bounds_cache: dict[tuple[str, ...], list[BoundDict]] = {}
        self._active_params_cache: list[str] | None = None
        self._cache_enabled = True
        self._param_name_mapping = PARAMETER_NAME_MAPPING
        registry = get_registry()
        self._default_bounds: dict[str, BoundDict] = {}
        for name in SCALING_PARAM_NAMES + LAMINAR_FLOW_PARAM_NAMES:
            low, high = registry.get_bounds(name)
            self._default_bounds[name] = {
                "min": float(low),
                "max": float(high),
                "name": name,
                "type": "TruncatedNormal",
            }
        self._load_config_bounds()

    def _section(self, name: str) -> Mapping[str, Any]:
        section = self.config_dict.get(name)
        return section if isinstance(section, Mapping) else {}

    def _load_config_bounds(self) -> None:
        listed = self._section("parameter_space").get("bounds")
        if listed is None:
            return
        if not isinstance(listed, list):
            logger.warning("parameter_space.bounds must be a list, ignoring")
            return
        for entry in listed:
            if not isinstance(entry, Mapping) or not entry.get("name"):
                continue
            name = _canonical(entry["name"])
            said: Any = dict(entry) | {"name": name}
            for side in ("min", "max"):
                if side in said:
                    said[side] = float(said[side])  # YAML reads 1e5 as a text
            self._default_bounds.setdefault(name, {}).update(said)

    def _extract_base_param_name(self, name: str) -> str | None:
        found = _OF_AN_ANGLE.match(name)
        return found[1] if found else None

    def validate_physical_constraints(
        self, params: Mapping[str, float], severity_level: str = ConstraintSeverity.WARNING
    ) -> ValidationResult:
        """Look for values that physics forbids or that are unusual.

        Parameters
        ----------
        params : dict
            Values by name.
        severity_level : {'error', 'warning', 'info'}
            The least severity to report.

        Returns
        -------
        ValidationResult
            A line for each.
        """
        from tessera.xpcs.core.physics import ValidationResult

        found = [
            violation.format() for violation in validate_all_parameters(params, severity_level)
        ]
        message = (
            f"Physics validation found {len(found)} issue(s)"
            if found
            else f"Physics constraints validated successfully ({len(params)} parameters checked)"
        )
        return ValidationResult(not found, found, len(params), message)

    def _bounds_of(self, name: str) -> BoundDict:
        known = name if name in self._default_bounds else self._extract_base_param_name(name)
        if known in self._default_bounds:
            found = self._default_bounds[known].copy()
            found["name"] = name
            return found
        logger.warning("Unknown parameter '%s', using default bounds [0.0, 1.0]", name)
        return {"min": 0.0, "max": 1.0, "name": name, "type": "Normal"}

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
        names = self.get_all_parameter_names() if parameter_names is None else parameter_names
        if not self._cache_enabled:
            return [self._bounds_of(_canonical(name)) for name in names]
        key = tuple(sorted(names))
        if key not in self._bounds_cache:
            self._bounds_cache[key] = [self._bounds_of(_canonical(name)) for name in key]
        found = dict(zip(key, self._bounds_cache[key], strict=True))
        return [found[name].copy() for name in names]

    def get_active_parameters(self) -> list[str]:
        """Return the physical parameters the configuration lists, or those of the mode.

        Returns
        -------
        list of str
            Names.
        """
        if self._active_params_cache is None or not self._cache_enabled:
            section = self._section("initial_parameters")
            listed = None
            for key in ("active_parameters", "parameter_names"):
                if isinstance(section.get(key), list) and section[key]:
                    listed = [_canonical(name) for name in section[key]]
                    break
            self._active_params_cache = listed or self._get_default_active_parameters()
        return self._active_params_cache.copy()

    def _get_default_active_parameters(self) -> list[str]:
        static = "static" in self.analysis_mode.lower()
        return list(STATIC_PARAM_NAMES if static else LAMINAR_FLOW_PARAM_NAMES)

    def get_all_parameter_names(self) -> list[str]:
        """Return contrast, offset and the active parameters.

        Returns
        -------
        list of str
            Names.
        """
        return SCALING_PARAM_NAMES + self.get_active_parameters()

    def get_effective_parameter_count(self) -> int:
        """Return how many physical parameters there are.

        Returns
        -------
        int
            3 or 7, where the configuration lists none.
        """
        return len(self.get_active_parameters())

    def get_total_parameter_count(self) -> int:
        """Return how many parameters there are with contrast and offset.

        Returns
        -------
        int
            Two more.
        """
        return len(self.get_all_parameter_names())

    def validate_parameters(
        self,
        params: npt.ArrayLike,
        param_names: list[str] | None = None,
        tolerance: float = 1e-10,
    ) -> ValidationResult:
        """Look for values out of bounds.

        Parameters
        ----------
        params : array
            Values.
        param_names : list of str, optional
            Whose; by default all, contrast and offset first.
        tolerance : float
            What is not yet outside.

        Returns
        -------
        ValidationResult
            A line for each.
        """
        from tessera.xpcs.core.physics import validate_parameters_detailed

        names = self.get_all_parameter_names() if param_names is None else param_names
        return validate_parameters_detailed(
            np.asarray(params), self.get_bounds_as_tuples(names), names, tolerance
        )

    def get_bounds_as_tuples(
        self, parameter_names: list[str] | None = None
    ) -> list[tuple[float, float]]:
        """Return bounds as pairs.

        Parameters
        ----------
        parameter_names : list of str, optional
            Whose.

        Returns
        -------
        list of tuple
            (least, largest).
        """
        return [
            (entry["min"], entry["max"]) for entry in self.get_parameter_bounds(parameter_names)
        ]

    def get_bounds_as_arrays(
        self, parameter_names: list[str] | None = None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return bounds as two vectors.

        Parameters
        ----------
        parameter_names : list of str, optional
            Whose.

        Returns
        -------
        tuple of arrays
            Least, largest values.
        """
        pairs = self.get_bounds_as_tuples(parameter_names)
        return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])

    def get_fixed_parameters(self) -> dict[str, float]:
        """Return what the configuration holds fixed.

        Returns
        -------
        dict
            Values by name, as they stand in the configuration.
        """
        fixed = self._section("initial_parameters").get("fixed_parameters")
        if fixed is None:
            return {}
        if not isinstance(fixed, dict):
            logger.warning("fixed_parameters must be a dict, ignoring")
            return {}
        return fixed

    def is_parameter_active(self, param_name: str) -> bool:
        """Return whether a parameter is fitted.

        Parameters
        ----------
        param_name : str
            Its name.

        Returns
        -------
        bool
            False for what is fixed or not of the mode.
        """
        return _canonical(param_name) in self.get_optimizable_parameters()

    def get_optimizable_parameters(self) -> list[str]:
        """Return the active parameters that are not fixed.

        Returns
        -------
        list of str
            Names.
        """
        fixed = {_canonical(name) for name in self.get_fixed_parameters()}
        return [name for name in self.get_active_parameters() if name not in fixed]

    def __repr__(self) -> str:
        n_active, n_fixed = len(self.get_active_parameters()), len(self.get_fixed_parameters())
        return (
            f"ParameterManager(mode={self.analysis_mode}, active_params={n_active}, "
            f"fixed_params={n_fixed}, optimizable={n_active - n_fixed}, "
            f"total_params={self.get_total_parameter_count()})"
        )


__all__ = ["ConstraintSeverity", "ParameterManager"]
