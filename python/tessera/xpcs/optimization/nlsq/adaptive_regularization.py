"""A penalty on contrasts and offsets that differ too much from angle to angle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._namespace import Array, array_module
from tessera.xpcs.optimization.nlsq.config import safe_float
from tessera.xpcs.utils.logging import get_logger

_NAMES = ("contrast", "offset")
_NEAR_ZERO = 1e-10


@dataclass
class AdaptiveRegularizationConfig:
    """How large the penalty is."""

    enable: bool = True
    mode: str = "relative"
    lambda_base: float = 1.0
    target_cv: float = 0.1
    target_contribution: float = 0.1
    auto_tune_lambda: bool = True
    max_cv: float = 0.2
    group_indices: list[tuple[int, int]] | None = None

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> AdaptiveRegularizationConfig:
        """Take what section ``regularization`` says."""
        return cls(
            enable=bool(config_dict.get("enable", True)),
            mode=config_dict.get("mode", "relative"),
            lambda_base=safe_float(config_dict.get("lambda"), 1.0),
            target_cv=safe_float(config_dict.get("target_cv"), 0.1),
            target_contribution=safe_float(config_dict.get("target_contribution"), 0.1),
            auto_tune_lambda=bool(config_dict.get("auto_tune_lambda", True)),
            max_cv=safe_float(config_dict.get("max_cv"), 0.2),
            group_indices=config_dict.get("group_indices"),
        )


class AdaptiveRegularizer:
    """The penalty, its derivatives, and which groups break their limit."""

    def __init__(
        self, config: AdaptiveRegularizationConfig, n_phi: int, n_params: int | None = None
    ) -> None:
        self.config = config
        self.n_phi = n_phi
        own = config.group_indices
        if own is None:
            one_for_all = n_params is not None and n_params < 2 * n_phi
            n = 1 if one_for_all else n_phi
            own = [(0, n), (n, 2 * n)]
        self.group_indices = list(own)
        tuned = config.auto_tune_lambda and config.target_cv > 0
        self.lambda_value = (
            config.target_contribution / config.target_cv**2 if tuned else config.lambda_base
        )
        self._last_cv_values: dict[int, float] = {}
        self._last_reg_contribution = 0.0

    @property
    def _relative(self) -> bool:
        return self.config.mode == "relative" or (self.config.mode == "auto" and self.n_phi > 5)

    def _groups(self, n_params: int, least: int) -> Iterator[tuple[int, int, int]]:
        for place, (begin, end) in enumerate(self.group_indices):
            if end <= n_params and end - begin >= least:
                yield place, begin, end

    def compute_regularization(self, params: npt.ArrayLike, mse: float, n_points: int) -> float:
        """Return the penalty."""
        if not self.config.enable:
            return 0.0
        values = np.asarray(params, float)
        total, self._last_cv_values = 0.0, {}
        for place, begin, end in self._groups(len(values), 2):
            mean, spread = np.nanmean(values[begin:end]), np.nanstd(values[begin:end])
            divisor = abs(mean) if abs(mean) > _NEAR_ZERO else 1.0
            if self._relative or abs(mean) > _NEAR_ZERO:
                self._last_cv_values[place] = float(spread / divisor)
            weight = mse * (spread / divisor) ** 2 if self._relative else spread**2
            total += float(self.lambda_value * weight * n_points)
        self._last_reg_contribution = total
        return total

    def compute_regularization_jax(self, params: Array, mse: Array, n_points: int) -> Array:
        """Return the penalty as JAX can trace it, where it is installed."""
        xp = array_module()
        total = xp.asarray(0.0)
        if not self.config.enable:
            return total
        for _, begin, end in self._groups(len(params), 2):
            group = params[begin:end]
            if self._relative:
                mean = xp.mean(group)
                divisor = xp.where(xp.abs(mean) > _NEAR_ZERO, xp.abs(mean), 1.0)
                total = total + self.lambda_value * (xp.std(group) / divisor) ** 2 * mse * n_points
            else:
                total = total + self.lambda_value * xp.var(group) * n_points
        return total

    def compute_regularization_gradient(
        self, params: npt.ArrayLike, mse: float, n_points: int
    ) -> Floats:
        """Return the derivatives of the penalty."""
        values = np.asarray(params, float)
        found = np.zeros_like(values)
        if not self.config.enable:
            return found
        for _, begin, end in self._groups(len(values), 2):
            group = values[begin:end]
            n, mean, variance = end - begin, np.nanmean(group), np.nanvar(group)
            apart = 2.0 * (group - mean) / n  # the derivative of the variance
            if not self._relative:
                found[begin:end] = self.lambda_value * apart * n_points
            elif abs(mean) > _NEAR_ZERO and variance > _NEAR_ZERO**2:
                slope = apart / mean**2 - 2.0 * variance / (n * mean**3)
                found[begin:end] = self.lambda_value * slope * mse * n_points
        return found

    def check_constraint_violation(self, params: npt.ArrayLike) -> dict[str, dict[str, float]]:
        """Return the groups whose values differ too much."""
        values = np.asarray(params, float)
        found: dict[str, dict[str, float]] = {}
        for place, begin, end in self._groups(len(values), 1):
            group = values[begin:end]
            mean, spread = float(np.nanmean(group)), float(np.nanstd(group))
            cv = spread / (abs(mean) + _NEAR_ZERO)
            if cv > self.config.max_cv:
                found[f"group_{place}_{_NAMES[min(place, 1)]}"] = {
                    "cv": cv,
                    "max_cv": self.config.max_cv,
                    "mean": mean,
                    "std": spread,
                    "min": float(np.nanmin(group)),
                    "max": float(np.nanmax(group)),
                }
        return found

    def get_diagnostics(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "enabled": self.config.enable,
            "mode": self.config.mode,
            "lambda": self.lambda_value,
            "n_phi": self.n_phi,
            "group_indices": self.group_indices,
            "last_cv_values": self._last_cv_values,
            "last_reg_contribution": self._last_reg_contribution,
            "target_cv": self.config.target_cv,
            "max_cv": self.config.max_cv,
        }

    def log_summary(self, params: npt.ArrayLike, mse: float, n_points: int) -> None:
        """Log the penalty and its share."""
        penalty = self.compute_regularization(params, mse, n_points)
        whole = mse * n_points + penalty
        get_logger(__name__).info(
            f"regularization {penalty:.4g}, {100 * penalty / whole if whole else 0:.1f} % of all; "
            f"variation {self._last_cv_values}"
        )
