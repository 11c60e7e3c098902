"""Weights of angles by how much they see of the flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._namespace import Array, array_module, namespace
from tessera.xpcs.optimization.nlsq.config import safe_float

_MOVED = 0.1  # degrees from which on weights are computed again
_PHI0 = 6  # its place among the physical parameters


@dataclass
class ShearWeightingConfig:
    """Options of the weights."""

    enable: bool = True
    min_weight: float = 0.3
    alpha: float = 1.0
    update_frequency: int = 1
    initial_phi0: float | None = None
    normalize: bool = True

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> ShearWeightingConfig:
        """Take what section ``shear_weighting`` says."""
        own = config.get("shear_weighting", {})
        phi0 = own.get("initial_phi0")
        return cls(
            enable=own.get("enable", True),
            min_weight=safe_float(own.get("min_weight"), 0.3),
            alpha=safe_float(own.get("alpha"), 1.0),
            update_frequency=int(own.get("update_frequency", 1)),
            initial_phi0=None if phi0 is None else safe_float(phi0, 0.0),
            normalize=own.get("normalize", True),
        )


class ShearSensitivityWeighting:
    """Weights ``min + (1 - min) |cos(phi0 - phi)|^alpha``; the direction of flow may move."""

    def __init__(
        self,
        phi_angles: npt.ArrayLike,
        n_physical: int,
        phi0_index: int,
        config: ShearWeightingConfig | None = None,
    ) -> None:
        self.phi_angles: Floats = np.asarray(phi_angles, np.float64)
        self.n_phi = len(self.phi_angles)
        self.n_physical = n_physical
        self.phi0_index = phi0_index
        self.config = config or ShearWeightingConfig()
        self._phi0_current = self.config.initial_phi0 or 0.0
        self._weights = self._compute_weights(self._phi0_current)
        self._update_count = 0

    def _compute_weights(self, phi0: float) -> Floats:
        own = self.config
        size = np.maximum(np.abs(np.cos(np.radians(phi0 - self.phi_angles))), 1e-10)
        weights: Floats = own.min_weight + (1.0 - own.min_weight) * size**own.alpha
        return weights / weights.mean() if own.normalize else weights

    def update_phi0(self, params: npt.ArrayLike, iteration: int = 0) -> None:
        """Take the direction of flow from a vector of parameters."""
        if not self.config.enable or iteration % self.config.update_frequency:
            return
        values = np.asarray(params, float)
        phi0 = float(values[len(values) - self.n_physical + self.phi0_index])
        if abs(phi0 - self._phi0_current) > _MOVED:
            self._phi0_current = phi0
            self._weights = self._compute_weights(phi0)
            self._update_count += 1

    def get_weights(self, phi0_current: float | None = None) -> Floats:
        """Return the weights, of another direction if one is given."""
        if phi0_current is None or phi0_current == self._phi0_current:
            return self._weights
        return self._compute_weights(phi0_current)

    def get_weights_jax(self) -> Array:
        """Return the weights as an array of JAX where it is installed."""
        return array_module().asarray(self._weights)

    def _of_points(self, residuals: Array, phi_indices: Array) -> Array:
        xp = namespace(residuals, phi_indices)
        return xp.asarray(self._weights)[xp.asarray(phi_indices).astype(int)]

    def apply_weights_to_loss(self, residuals: Array, phi_indices: Array) -> Array:
        """Return the weighted sum of squares."""
        xp = namespace(residuals)
        if not self.config.enable:
            return xp.sum(residuals**2)
        return xp.sum(self._of_points(residuals, phi_indices) * residuals**2)

    def compute_weighted_mse(self, residuals: Array, phi_indices: Array) -> Array:
        """Return the weighted mean of squares."""
        xp = namespace(residuals)
        if not self.config.enable:
            return xp.mean(residuals**2)
        weights = self._of_points(residuals, phi_indices)
        return xp.sum(weights * residuals**2) / xp.sum(weights)

    def get_diagnostics(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "enabled": self.config.enable,
            "min_weight": self.config.min_weight,
            "alpha": self.config.alpha,
            "current_phi0": self._phi0_current,
            "update_count": self._update_count,
            "weights_range": [float(self._weights.min()), float(self._weights.max())],
            "weights_mean": float(self._weights.mean()),
            "weights_std": float(self._weights.std()),
        }

    @property
    def phi0_current(self) -> float:
        """The direction the weights are of."""
        return self._phi0_current


def create_shear_weighting(
    phi_angles: npt.ArrayLike,
    n_physical: int,
    config: Mapping[str, Any] | None = None,
    physical_param_names: Sequence[str] | None = None,
) -> ShearSensitivityWeighting | None:
    """Return weights, or None if they are not asked for or there is no flow."""
    if config is None:
        return None
    own = ShearWeightingConfig.from_config(config)
    names = None if physical_param_names is None else list(physical_param_names)
    if not own.enable or (names is not None and "phi0" not in names):
        return None
    place = _PHI0 if names is None else names.index("phi0")
    return ShearSensitivityWeighting(phi_angles, n_physical, place, own)
