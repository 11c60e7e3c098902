"""Prior distributions as a configuration describes them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

logger = logging.getLogger("tessera")

BETA_CONCENTRATION = 2.0
_KINDS = ("Normal", "TruncatedNormal", "Uniform", "LogNormal", "BetaScaled")


def beta_concentrations(
    mu: float, sigma: float, low: float, high: float, epsilon: float = 1e-6
) -> tuple[float, float]:
    """Return the two concentrations of a beta distribution of this mean and width on [low, high].

    A width that no beta distribution has gives Beta(2, 2).
    """
    width = high - low
    if not np.isfinite(width) or width <= 0:
        raise ValueError("BetaScaled priors require finite, positive interval width")
    mean = float(np.clip((mu - low) / width, epsilon, 1 - epsilon))
    variance = (sigma / width) ** 2
    if not 0 < variance < mean * (1 - mean):
        return BETA_CONCENTRATION, BETA_CONCENTRATION
    total = mean * (1 - mean) / variance - 1
    return float(mean * total), float((1 - mean) * total)


@dataclass
class PriorDistribution:
    """A prior of one parameter.

    Parameters
    ----------
    dist_type : {'Normal', 'TruncatedNormal', 'Uniform', 'LogNormal', 'BetaScaled'}
        Which; others become TruncatedNormal, with a warning.
    mu, sigma : float
        Mean and standard deviation.
    min_val, max_val : float
        Bounds, where the distribution has them.
    alpha, beta : float, optional
        Concentrations of BetaScaled; by default from mean and standard deviation.
    """

    dist_type: str
    mu: float = 0.0
    sigma: float = 1.0
    min_val: float = -np.inf
    max_val: float = np.inf
    alpha: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        if self.dist_type not in _KINDS:
            logger.warning(
                "Unknown distribution type '%s', defaulting to TruncatedNormal", self.dist_type
            )
            self.dist_type = "TruncatedNormal"
        if self.min_val >= self.max_val:
            raise ValueError(
                f"Invalid bounds: min_val ({self.min_val}) >= max_val ({self.max_val})"
            )
        if (
            self.dist_type in ("TruncatedNormal", "Uniform", "BetaScaled")
            and not np.isfinite([self.min_val, self.max_val]).all()
        ):
            raise ValueError(
                f"{self.dist_type} requires finite bounds, got [{self.min_val}, {self.max_val}]"
            )
        if self.dist_type != "BetaScaled":
            return
        if self.alpha is None or self.beta is None:
            self.alpha, self.beta = beta_concentrations(
                self.mu, self.sigma, self.min_val, self.max_val
            )
        if self.alpha <= 0 or self.beta <= 0:
            raise ValueError("BetaScaled concentration parameters must be positive")

    def to_numpyro_kwargs(self) -> dict[str, Any]:
        """Return the keywords of NumPyro's distribution of this name.

        Returns
        -------
        dict
            ``loc``, ``scale``, ``low``, ``high`` or concentrations.
        """
        bounds = {"low": self.min_val, "high": self.max_val}
        if self.dist_type == "Uniform":
            return bounds
        if self.dist_type == "BetaScaled":
            return {"concentration1": self.alpha, "concentration0": self.beta, **bounds}
        normal = {"loc": self.mu, "scale": self.sigma}
        return normal | bounds if self.dist_type == "TruncatedNormal" else normal


def single_angle_geometry(
    priors: Mapping[str, PriorDistribution], bounds: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Return centres and widths for sampling D0 + D_offset and D0's share of it."""
    found = {
        "enabled": True,
        "log_center_loc": 8.0,
        "log_center_scale": 1.0,
        "delta_loc": 0.0,
        "delta_scale": 1.0,
        "delta_floor": 0.001,
    }
    if not {"D0", "D_offset"} <= set(priors):
        return found
    d0, offset = priors["D0"], priors["D_offset"]
    d0_bounds = bounds.get("D0", (1e2, 1e5))
    ends = [*d0_bounds, *bounds.get("D_offset", (-1e5, 1e5))]
    center = d0.mu + offset.mu
    if center <= 0:
        center = max(1e-6, sum(ends) / 4)
    width = abs(d0.sigma) + abs(offset.sigma)
    if not np.isfinite(width) or width <= 0:
        width = max(d0_bounds[1] - d0_bounds[0], 1.0)
    center = max(center, 1e-6)
    share = float(np.clip(d0.mu / center, 0.001, 5.0))
    found["log_center_loc"] = float(np.log(center))
    found["log_center_scale"] = float(max(0.25, np.log1p(width / center)))
    found["delta_loc"] = float(np.log(np.expm1(share)))
    found["delta_scale"] = float(max(0.5, abs(d0.sigma) / center))
    return found


PriorDistribution.__module__ = "tessera.xpcs.config.parameter_space"
