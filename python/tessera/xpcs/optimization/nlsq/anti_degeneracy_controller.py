"""The original's means against scaling that hides the physics, under one roof.

Fits here eliminate contrast and offset at every step, which leaves them nothing to hide behind;
these are for scripts that put such parts together themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.nlsq.adaptive_regularization import (
    AdaptiveRegularizationConfig,
    AdaptiveRegularizer,
)
from tessera.xpcs.optimization.nlsq.fourier_reparam import (
    FourierReparamConfig,
    FourierReparameterizer,
)
from tessera.xpcs.optimization.nlsq.gradient_monitor import (
    GradientCollapseMonitor,
    GradientMonitorConfig,
)
from tessera.xpcs.optimization.nlsq.hierarchical import (
    HierarchicalConfig,
    HierarchicalOptimizer,
)
from tessera.xpcs.optimization.nlsq.parameter_index_mapper import ParameterIndexMapper
from tessera.xpcs.optimization.nlsq.parameter_utils import compute_quantile_per_angle_scaling
from tessera.xpcs.optimization.nlsq.shear_weighting import (
    ShearSensitivityWeighting,
    ShearWeightingConfig,
)

_SECTIONS = ("hierarchical", "regularization", "gradient_monitoring", "gradient", "shear_weighting")
_OTHER_KEYS = {"gradient_response_mode": ("gradient_monitoring", "response")}
_FEWEST_ANGLES = 3
_PHI0 = 6


@dataclass
class AntiDegeneracyConfig:
    """Which means, and how strong."""

    enable: bool = True
    per_angle_mode: str = "auto"
    fourier_order: int = 2
    fourier_auto_threshold: int = 6
    constant_scaling_threshold: int = 3
    hierarchical_enable: bool = True
    hierarchical_max_outer_iterations: int = 5
    hierarchical_outer_tolerance: float = 1e-6
    hierarchical_physical_max_iterations: int = 100
    hierarchical_per_angle_max_iterations: int = 50
    regularization_mode: str = "relative"
    regularization_lambda: float = 1.0
    regularization_target_cv: float = 0.1
    regularization_target_contribution: float = 0.1
    regularization_max_cv: float = 0.2
    gradient_monitoring_enable: bool = True
    gradient_ratio_threshold: float = 0.01
    gradient_consecutive_triggers: int = 5
    gradient_response_mode: str = "hierarchical"
    shear_weighting_enable: bool = True
    shear_weighting_min_weight: float = 0.3
    shear_weighting_alpha: float = 1.0
    shear_weighting_update_frequency: int = 1
    shear_weighting_normalize: bool = True

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> AntiDegeneracyConfig:
        """Take what section ``anti_degeneracy`` says."""
        given: dict[str, Any] = {}
        for entry in fields(cls):
            place = next((s for s in _SECTIONS if entry.name.startswith(f"{s}_")), None)
            key = entry.name if place is None else entry.name.removeprefix(f"{place}_")
            if place == "gradient":
                place = "gradient_monitoring"
            place, key = _OTHER_KEYS.get(entry.name, (place, key))
            where = config_dict if place is None else config_dict.get(place) or {}
            if key in where:
                value = where[key]
                given[entry.name] = float(value) if isinstance(entry.default, float) else value
        return cls(**given)


@dataclass
class AntiDegeneracyController:
    """Makes the parts that a configuration asks for, and hands them out."""

    config: AntiDegeneracyConfig
    n_phi: int
    n_physical: int
    phi_angles: npt.NDArray[Any]
    fourier: FourierReparameterizer | None = None
    hierarchical: HierarchicalOptimizer | None = None
    regularizer: AdaptiveRegularizer | None = None
    monitor: GradientCollapseMonitor | None = None
    shear_weighter: ShearSensitivityWeighting | None = None
    mapper: ParameterIndexMapper | None = None
    per_angle_mode_actual: str = "disabled"
    _fixed_contrast_per_angle: Floats | None = field(default=None, repr=False)
    _fixed_offset_per_angle: Floats | None = field(default=None, repr=False)
    _is_initialized: bool = field(default=False, repr=False)

    @classmethod
    def from_config(
        cls,
        config_dict: Mapping[str, Any],
        n_phi: int,
        phi_angles: npt.NDArray[Any],
        n_physical: int,
        per_angle_scaling: bool = True,
        is_laminar_flow: bool = True,
    ) -> AntiDegeneracyController:
        """Make the parts, unless there is no flow or one scaling for all."""
        own = cls(AntiDegeneracyConfig.from_dict(config_dict), n_phi, n_physical, phi_angles)
        if own.config.enable and per_angle_scaling and is_laminar_flow:
            own._initialize_components()
        return own

    def _mode(self) -> str:
        own = self.config
        if own.per_angle_mode == "auto":
            many = self.n_phi >= own.constant_scaling_threshold
            return "auto_averaged" if many else "individual"
        return "fixed_constant" if own.per_angle_mode == "constant" else own.per_angle_mode

    def _initialize_components(self) -> None:
        own = self.config
        self.per_angle_mode_actual = self._mode()
        if self.per_angle_mode_actual == "fourier":
            self.fourier = FourierReparameterizer(
                self.phi_angles,
                FourierReparamConfig("fourier", own.fourier_order, own.fourier_auto_threshold),
            )
        self.mapper = ParameterIndexMapper(
            self.n_phi, self.n_physical, self.fourier, self.use_constant
        )
        if own.hierarchical_enable:
            how = HierarchicalConfig(
                max_outer_iterations=own.hierarchical_max_outer_iterations,
                outer_tolerance=own.hierarchical_outer_tolerance,
                physical_max_iterations=own.hierarchical_physical_max_iterations,
                per_angle_max_iterations=own.hierarchical_per_angle_max_iterations,
            )
            self.hierarchical = HierarchicalOptimizer(
                how, self.n_phi, self.n_physical, self.fourier
            )
        penalty = AdaptiveRegularizationConfig(
            mode=own.regularization_mode,
            lambda_base=own.regularization_lambda,
            target_cv=own.regularization_target_cv,
            target_contribution=own.regularization_target_contribution,
            max_cv=own.regularization_max_cv,
            group_indices=self.mapper.get_group_indices(),
        )
        self.regularizer = AdaptiveRegularizer(penalty, self.mapper.n_per_group)
        if own.gradient_monitoring_enable:
            watch = GradientMonitorConfig(
                ratio_threshold=own.gradient_ratio_threshold,
                consecutive_triggers=own.gradient_consecutive_triggers,
                response_mode=own.gradient_response_mode,
            )
            self.monitor = GradientCollapseMonitor(
                watch, self.mapper.get_physical_indices(), self.mapper.get_per_angle_indices()
            )
        if own.shear_weighting_enable and self.n_phi >= _FEWEST_ANGLES:
            weights = ShearWeightingConfig(
                min_weight=own.shear_weighting_min_weight,
                alpha=own.shear_weighting_alpha,
                update_frequency=own.shear_weighting_update_frequency,
                initial_phi0=0.0,
                normalize=own.shear_weighting_normalize,
            )
            self.shear_weighter = ShearSensitivityWeighting(
                self.phi_angles, self.n_physical, _PHI0, weights
            )
        self._is_initialized = True

    @property
    def is_enabled(self) -> bool:
        """Whether the parts were made."""
        return self._is_initialized and self.config.enable

    @property
    def use_fourier(self) -> bool:
        """Whether scaling is a Fourier series."""
        return self.fourier is not None

    @property
    def use_constant(self) -> bool:
        """Whether one scaling is for all angles, fitted or held."""
        return self.use_averaged_scaling or self.use_fixed_scaling

    @property
    def use_fixed_scaling(self) -> bool:
        """Whether scaling is held."""
        return self.per_angle_mode_actual == "fixed_constant"

    @property
    def use_averaged_scaling(self) -> bool:
        """Whether one scaling is fitted for all angles."""
        return self.per_angle_mode_actual == "auto_averaged"

    @property
    def use_hierarchical(self) -> bool:
        """Whether physics and scaling take turns."""
        return self.hierarchical is not None

    @property
    def use_shear_weighting(self) -> bool:
        """Whether angles are weighted."""
        return self.shear_weighter is not None

    @property
    def n_per_angle_params(self) -> int:
        """Parameters of scaling that are fitted."""
        if self.use_fixed_scaling:
            return 0
        if self.use_averaged_scaling:
            return 2
        return 2 * self.n_phi if self.fourier is None else self.fourier.n_coeffs

    def _split(self, params: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        values = np.asarray(params, float)
        n = self.n_phi
        return values[:n], values[n : 2 * n], values[2 * n :]

    def transform_params_to_fourier(self, params: npt.ArrayLike) -> tuple[Floats, None]:
        """Return parameters with coefficients in place of contrasts and offsets."""
        if self.fourier is None:
            return np.asarray(params), None
        contrast, offset, physical = self._split(params)
        return np.concatenate([self.fourier.per_angle_to_fourier(contrast, offset), physical]), None

    def transform_params_from_fourier(self, fourier_params: npt.ArrayLike) -> Floats:
        """Return parameters with contrasts and offsets in place of coefficients."""
        values = np.asarray(fourier_params, float)
        if self.fourier is None:
            return values
        n = self.fourier.n_coeffs
        contrast, offset = self.fourier.fourier_to_per_angle(values[:n])
        return np.concatenate([contrast, offset, values[n:]])

    def transform_params_to_constant(self, params: npt.ArrayLike) -> Floats:
        """Return parameters with one contrast and offset, the means."""
        if not self.use_constant:
            return np.asarray(params)
        contrast, offset, physical = self._split(params)
        return np.concatenate([[np.nanmean(contrast), np.nanmean(offset)], physical])

    def transform_params_from_constant(self, constant_params: npt.ArrayLike) -> Floats:
        """Return parameters with one contrast and offset an angle, all the same."""
        values = np.asarray(constant_params, float)
        if not self.use_constant:
            return values
        return np.concatenate([np.repeat(values[:2], self.n_phi), values[2:]])

    def get_group_variance_indices(self) -> list[tuple[int, int]] | None:
        """Return begin and end of contrasts and offsets, or None."""
        if not self.is_enabled or self.mapper is None:
            return None
        return self.mapper.get_group_indices()

    def get_diagnostics(self) -> dict[str, Any]:
        """Return all of it."""
        names = (
            "per_angle_mode_actual use_constant use_fixed_scaling use_averaged_scaling use_fourier "
            "use_shear_weighting n_phi n_physical n_per_angle_params"
        )
        found: dict[str, Any] = {
            "version": "2.18.0",
            "enabled": self.is_enabled,
            "per_angle_mode": self.config.per_angle_mode,
            **{name: getattr(self, name) for name in names.split()},
            "n_total_params": self.n_physical + self.n_per_angle_params,
            "has_fixed_per_angle_scaling": self.has_fixed_per_angle_scaling(),
        }
        fixed = self.get_fixed_per_angle_scaling()
        if fixed is not None:
            found["fixed_per_angle_scaling"] = {
                f"{name}_{word}": float(function(values))
                for name, values in zip(("contrast", "offset"), fixed, strict=True)
                for word, function in (("mean", np.nanmean), ("std", np.nanstd))
            }
        parts = {
            "mapper": self.mapper,
            "fourier": self.fourier,
            "hierarchical": self.hierarchical,
            "regularization": self.regularizer,
            "gradient_monitor": self.monitor,
            "shear_weighting": self.shear_weighter,
        }
        return found | {
            name: part.get_diagnostics() for name, part in parts.items() if part is not None
        }

    def reset_monitor(self) -> None:
        """Let the monitor forget."""
        if self.monitor is not None:
            self.monitor.reset()

    def get_shear_weights(self) -> Floats | None:
        """Return weights of the angles, or None."""
        return None if self.shear_weighter is None else self.shear_weighter.get_weights()

    def update_shear_phi0(self, params: npt.ArrayLike, iteration: int = 0) -> None:
        """Show the weights where the flow goes now."""
        if self.shear_weighter is not None:
            self.shear_weighter.update_phi0(params, iteration)

    def compute_fixed_per_angle_scaling(
        self,
        stratified_data: Any,
        contrast_bounds: tuple[float, float] = (0.0, 1.0),
        offset_bounds: tuple[float, float] = (0.5, 1.5),
    ) -> None:
        """Read the scaling of every angle off the data, and keep it."""
        self._fixed_contrast_per_angle, self._fixed_offset_per_angle = (
            compute_quantile_per_angle_scaling(stratified_data, contrast_bounds, offset_bounds)
        )

    def get_fixed_per_angle_scaling(self) -> tuple[Floats, Floats] | None:
        """Return the scaling that was kept, or None."""
        if self._fixed_contrast_per_angle is None or self._fixed_offset_per_angle is None:
            return None
        return self._fixed_contrast_per_angle, self._fixed_offset_per_angle

    def has_fixed_per_angle_scaling(self) -> bool:
        """Return whether a scaling was kept."""
        return self.get_fixed_per_angle_scaling() is not None

    def create_nlsq_callbacks(self) -> dict[str, Any]:
        """Return what the original hands its solver."""
        found: dict[str, Any] = {}
        penalty, monitor = self.regularizer, self.monitor
        if not self.is_enabled:
            return found
        groups = self.get_group_variance_indices()
        if groups:
            found["group_variance_indices"] = groups
        if penalty is not None:

            def loss_augmentation(params: Floats, residuals: Floats) -> float:
                mse = float(np.nanmean(np.asarray(residuals) ** 2))
                return penalty.compute_regularization(params, mse, len(residuals))

            found |= {
                "group_variance_lambda": penalty.lambda_value,
                "loss_augmentation": loss_augmentation,
            }
        if monitor is not None:

            def iteration_callback(
                iteration: int, params: Floats, cost: float, gradient: Floats | None = None
            ) -> None:
                if gradient is not None:
                    monitor.check(gradient, iteration, params, cost)

            found["iteration_callback"] = iteration_callback
        return found

    def create_hybrid_streaming_config_kwargs(self) -> dict[str, Any]:
        """Return what the original hands its streaming solver."""
        found: dict[str, Any] = {}
        if not self.is_enabled:
            return found
        groups = self.get_group_variance_indices()
        if groups and self.regularizer is not None:
            found |= {
                "enable_group_variance_regularization": True,
                "group_variance_lambda": self.regularizer.lambda_value,
                "group_variance_indices": groups,
            }
        if self.shear_weighter is not None:
            found |= {
                "enable_residual_weighting": True,
                "residual_weights": self.shear_weighter.get_weights().tolist(),
            }
        return found
