"""Bounds and priors of the parameters of a configuration."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.config._priors import (
    BETA_CONCENTRATION,
    PriorDistribution,
    beta_concentrations,
    single_angle_geometry,
)
from tessera.xpcs.config.parameter_manager import ParameterManager
from tessera.xpcs.config.types import PARAMETER_NAME_MAPPING

logger = logging.getLogger("tessera")

# One angle alone does not tell contrast and offset apart well: tight bounds stand in.
_SINGLE_ANGLE_BOUNDS = {"contrast": (0.3, 0.7), "offset": (0.9, 1.1)}
_SINGLE_ANGLE_SIGMA = 0.05


def _entries_of(section: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what ``parameter_space.bounds`` says, by name."""
    listed = section.get("bounds") or []
    if not isinstance(listed, list):
        logger.warning("parameter_space.bounds must be a list: it is left out")
        return {}
    found: dict[str, dict[str, Any]] = {}
    for entry in listed:
        if isinstance(entry, Mapping) and entry.get("name"):
            name = str(entry["name"])
            found[PARAMETER_NAME_MAPPING.get(name, name)] = dict(entry)
    return found


def _prior_of(name: str, entry: Mapping[str, Any], low: float, high: float) -> PriorDistribution:
    """Return the prior an entry asks for; one that cannot be is replaced, with a warning."""
    middle, quarter = 0.5 * (low + high), 0.25 * (high - low)
    try:
        return PriorDistribution(
            entry.get("type", "TruncatedNormal"),
            float(entry.get("prior_mu", middle)),
            float(entry.get("prior_sigma", quarter)),
            low,
            high,
        )
    except ValueError as error:
        logger.warning("Invalid prior for '%s': %s. Using default TruncatedNormal.", name, error)
        return PriorDistribution("TruncatedNormal", middle, quarter, low, high)


@dataclass
class ParameterSpace:
    """Bounds and priors by name.

    Parameters
    ----------
    model_type : str
        The mode.
    parameter_names : list of str
        Physical parameters.
    bounds : dict
        (least, largest) by name.
    priors : dict
        PriorDistribution by name.
    units : dict
        Units by name.

    Examples
    --------
    >>> ParameterSpace.from_defaults("static").get_bounds("alpha")
    (-2.0, 2.0)
    """

    model_type: str
    parameter_names: list[str] = field(default_factory=list)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    priors: dict[str, PriorDistribution] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_config(
        cls, config_dict: Mapping[str, Any], analysis_mode: str | None = None
    ) -> ParameterSpace:
        """Read the sections ``parameter_space`` and ``initial_parameters``.

        Parameters
        ----------
        config_dict : dict
            The configuration.
        analysis_mode : str, optional
            The mode; by default what the configuration says.

        Returns
        -------
        ParameterSpace
            What is not said has its default.
        """
        section = config_dict.get("parameter_space") or {}
        mode = (
            analysis_mode
            or section.get("model")
            or config_dict.get("analysis_mode")
            or "laminar_flow"
        ).lower()
        manager = ParameterManager(dict(config_dict), analysis_mode=mode)
        names = manager.get_active_parameters()
        entries = _entries_of(section)
        space = cls(mode, names)
        for name in dict.fromkeys([*names, "contrast", "offset"]):
            entry = entries.get(name, {})
            if "min" in entry and "max" in entry:
                low, high = float(entry["min"]), float(entry["max"])
            else:
                low, high = manager.get_bounds_as_tuples([name])[0]
            space.bounds[name] = (low, high)
            space.priors[name] = _prior_of(name, entry, low, high)
            if entry.get("unit"):
                space.units[name] = entry["unit"]
        return space

    @classmethod
    def from_defaults(cls, analysis_mode: str = "laminar_flow") -> ParameterSpace:
        """Return the space of a mode that nothing else is said of.

        Parameters
        ----------
        analysis_mode : str
            The mode.

        Returns
        -------
        ParameterSpace
            All defaults.
        """
        return cls.from_config({"analysis_mode": analysis_mode}, analysis_mode)

    def copy(self) -> ParameterSpace:
        """Return a copy whose dicts are its own.

        Returns
        -------
        ParameterSpace
            The copy.
        """
        return self.drop_parameters(())

    def drop_parameters(self, names: Iterable[str]) -> ParameterSpace:
        """Return the space without some parameters.

        Parameters
        ----------
        names : set of str
            Which.

        Returns
        -------
        ParameterSpace
            The others.
        """
        gone = set(names)
        return ParameterSpace(
            self.model_type,
            [name for name in self.parameter_names if name not in gone],
            {name: pair for name, pair in self.bounds.items() if name not in gone},
            {name: prior for name, prior in self.priors.items() if name not in gone},
            {name: unit for name, unit in self.units.items() if name not in gone},
        )

    def with_prior_overrides(self, overrides: Mapping[str, PriorDistribution]) -> ParameterSpace:
        """Return the space with other priors.

        Parameters
        ----------
        overrides : dict
            Priors by name.

        Returns
        -------
        ParameterSpace
            A copy with them.
        """
        if unknown := [name for name in overrides if name not in self.priors]:
            raise KeyError(f"Cannot override prior for unknown parameter '{unknown[0]}'")
        changed = self.copy()
        changed.priors.update(overrides)
        return changed

    def _known(self, name: str) -> None:
        if name not in self.bounds:
            raise KeyError(
                f"Parameter '{name}' not in parameter space. Available: {list(self.bounds)}"
            )

    def get_bounds(self, param_name: str) -> tuple[float, float]:
        """Return the bounds of a parameter.

        Parameters
        ----------
        param_name : str
            Its name.

        Returns
        -------
        tuple
            Least, largest.
        """
        self._known(param_name)
        return self.bounds[param_name]

    def get_prior(self, param_name: str) -> PriorDistribution:
        """Return the prior of a parameter.

        Parameters
        ----------
        param_name : str
            Its name.

        Returns
        -------
        PriorDistribution
            The prior.
        """
        if param_name not in self.priors:
            raise KeyError(
                f"Parameter '{param_name}' not in parameter space. Available: {list(self.priors)}"
            )
        return self.priors[param_name]

    def get_bounds_array(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the bounds of the physical parameters.

        Returns
        -------
        tuple of arrays
            Least, largest values.
        """
        pairs = np.array([self.bounds[name] for name in self.parameter_names], np.float64)
        pairs = pairs.reshape(-1, 2)
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def get_prior_means(self) -> npt.NDArray[np.float64]:
        """Return the means of the physical parameters' priors.

        Returns
        -------
        array
            In the order of parameter_names.
        """
        return np.array([self.priors[name].mu for name in self.parameter_names])

    def validate_values(
        self, values: Mapping[str, float], tolerance: float = 1e-10
    ) -> tuple[bool, list[str]]:
        """Look for values out of bounds.

        Parameters
        ----------
        values : dict
            Values by name.
        tolerance : float
            What is not yet outside.

        Returns
        -------
        tuple
            Whether all is well, and a line for each that is not.
        """
        wrong = []
        for name, value in values.items():
            if name not in self.bounds:
                wrong.append(f"Unknown parameter '{name}' (not in parameter space)")
                continue
            low, high = self.bounds[name]
            if value < low - tolerance:
                wrong.append(f"{name} = {value:.3e} < min ({low:.3e}) by {low - value:.3e}")
            elif value > high + tolerance:
                wrong.append(f"{name} = {value:.3e} > max ({high:.3e}) by {value - high:.3e}")
        return not wrong, wrong

    def convert_to_beta_scaled_priors(self) -> ParameterSpace:
        """Return the space with bounded priors as beta distributions of the same mean and width.

        Returns
        -------
        ParameterSpace
            A copy; priors without bounds stay as they are.
        """
        changed = self.copy()
        for name, prior in self.priors.items():
            bounded = prior.dist_type in ("TruncatedNormal", "Uniform", "BetaScaled")
            if bounded and np.isfinite([prior.min_val, prior.max_val]).all():
                alpha, beta = beta_concentrations(
                    prior.mu, prior.sigma, prior.min_val, prior.max_val
                )
                changed.priors[name] = PriorDistribution(
                    "BetaScaled",
                    prior.mu,
                    prior.sigma,
                    prior.min_val,
                    prior.max_val,
                    alpha,
                    beta,
                )
        return changed

    def convert_to_beta_priors(self) -> ParameterSpace:
        """Do what :meth:`convert_to_beta_scaled_priors` does, under its old name.

        Returns
        -------
        ParameterSpace
            The copy.
        """
        return self.convert_to_beta_scaled_priors()

    def get_single_angle_fallback_prior(self, param_name: str) -> PriorDistribution:
        """Return a gentle prior in the middle of the bounds.

        Parameters
        ----------
        param_name : str
            The parameter.

        Returns
        -------
        PriorDistribution
            Beta(2, 2) between the bounds.
        """
        if param_name not in self.bounds:
            raise KeyError(f"Parameter '{param_name}' not available for single-angle fallback")
        low, high = self.bounds[param_name]
        return PriorDistribution(
            "BetaScaled",
            0.5 * (low + high),
            0.25 * (high - low),
            low,
            high,
            BETA_CONCENTRATION,
            BETA_CONCENTRATION,
        )

    def with_single_angle_stabilization(
        self, *, enable_beta_fallback: bool = False
    ) -> ParameterSpace:
        """Return the space for one angle: tight bounds of contrast and offset.

        Parameters
        ----------
        enable_beta_fallback : bool, default False
            Gentle priors for diffusion, too.

        Returns
        -------
        ParameterSpace
            A copy.
        """
        changed = self.copy()
        for name, (low, high) in _SINGLE_ANGLE_BOUNDS.items():
            old = self.priors.get(name)
            mu = 0.5 * (low + high) if old is None else old.mu
            mu = float(np.clip(mu, low + 1e-6, high - 1e-6))
            changed.bounds[name] = (low, high)
            changed.priors[name] = PriorDistribution(
                "TruncatedNormal", mu, _SINGLE_ANGLE_SIGMA, low, high
            )
        if enable_beta_fallback:
            for name in ("D0", "alpha", "D_offset"):
                if name in self.bounds:
                    changed.priors[name] = self.get_single_angle_fallback_prior(name)
        return changed

    def get_single_angle_geometry_config(self) -> dict[str, float]:
        """Return scales for sampling D0 and D_offset as their sum and share.

        Returns
        -------
        dict
            Centres and widths in logarithms.
        """
        return single_angle_geometry(self.priors, self.bounds)

    def clamp_to_open_interval(self, param_name: str, value: float, epsilon: float = 1e-6) -> float:
        """Move a value off the bounds, to the inside.

        Parameters
        ----------
        param_name : str
            The parameter.
        value : float
            Its value.
        epsilon : float
            The least distance to a bound; at most a tenth of the width.

        Returns
        -------
        float
            The value, moved if needed.
        """
        self._known(param_name)
        low, high = self.bounds[param_name]
        margin = min(epsilon, (high - low) / 10)
        return float(min(max(value, low + margin), high - margin))

    def __repr__(self) -> str:
        return (
            f"ParameterSpace(model={self.model_type}, n_params={len(self.parameter_names)}, "
            f"params={self.parameter_names})"
        )

    def __str__(self) -> str:
        lines = [
            f"ParameterSpace: {self.model_type} model",
            f"  Parameters ({len(self.parameter_names)}):",
        ]
        for name in self.parameter_names:
            low, high = self.bounds[name]
            prior = self.priors[name]
            lines.append(
                f"    {name:20s}: [{low:10.3e}, {high:10.3e}] {prior.dist_type}"
                f"(mu={prior.mu:.3e}, sigma={prior.sigma:.3e}) {self.units.get(name, '')}"
            )
        return "\n".join(lines)


__all__ = ["ParameterSpace", "PriorDistribution"]
