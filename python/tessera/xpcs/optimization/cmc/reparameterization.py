"""Rates at a time in the middle of the data instead of at one second."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tessera.xpcs.utils.logging import get_logger

__all__ = [
    "ReparamConfig",
    "compute_t_ref",
    "transform_nlsq_to_reparam_space",
    "transform_to_physics_space",
    "transform_to_sampling_space",
]

logger = get_logger(__name__)

_LEAST_D, _LEAST_GAMMA, _LEAST_RATIO = 1e-10, 1e-20, -1.0 + 1e-4


def compute_t_ref(dt: float, t_max: float, *, fallback_value: float | None = None) -> float:
    """Return the geometric mean of the first and the last time.

    Parameters
    ----------
    dt, t_max : float
        Times, in s.
    fallback_value : float, optional
        The answer where these are no positive numbers, instead of an error.

    Returns
    -------
    float
        The time, in s.
    """
    if all(math.isfinite(value) and value > 0 for value in (dt, t_max)):
        return math.sqrt(dt * t_max)
    if fallback_value is None:
        raise ValueError(
            f"Invalid inputs for t_ref computation: dt={dt}, t_max={t_max}. Both must be positive "
            "and finite."
        )
    logger.warning("no t_ref from dt=%s, t_max=%s; %s is taken", dt, t_max, fallback_value)
    return fallback_value


def _log_rate(
    rate: float, errors: Mapping[str, float], names: tuple[str, str], t_ref: float
) -> float:
    """Return the variance of the logarithm of rate * t_ref**power."""
    variance = 0.0
    of_rate, of_power = (errors.get(name, 0.0) for name in names)
    if rate > 0 and of_rate > 0:
        variance += (of_rate / rate) ** 2
    if of_power > 0:
        variance += (math.log(max(t_ref, 1e-10)) * of_power) ** 2
    return variance


def transform_nlsq_to_reparam_space(
    nlsq_values: Mapping[str, float],
    nlsq_uncertainties: Mapping[str, float] | None,
    t_ref: float,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the logarithms of the rates at ``t_ref``, and their standard deviations.

    Parameters
    ----------
    nlsq_values, nlsq_uncertainties : dict
        Of a fit; correlations are neglected.
    t_ref : float
        The time, in s.

    Returns
    -------
    (dict, dict)
        ``log_D_ref``, ``D_offset_ratio`` and ``log_gamma_ref``.
    """
    values: dict[str, float] = {}
    widths: dict[str, float] = {}
    errors = nlsq_uncertainties or {}
    d0, alpha, offset = (nlsq_values.get(name) for name in ("D0", "alpha", "D_offset"))
    if d0 is not None and alpha is not None:
        rate = max(d0 * t_ref**alpha, _LEAST_D)
        values["log_D_ref"] = math.log(rate)
        variance = _log_rate(d0, errors, ("D0", "alpha"), t_ref)
        if errors:
            widths["log_D_ref"] = math.sqrt(max(variance, 1e-20))
        if offset is not None:
            ratio = float(offset / rate)
            values["D_offset_ratio"] = ratio
            own = errors.get("D_offset", 0.0)
            if own > 0:
                spread = (own / rate) ** 2 + ratio**2 * variance
                widths["D_offset_ratio"] = math.sqrt(max(spread, 1e-20))
    gamma, beta = (nlsq_values.get(name) for name in ("gamma_dot_t0", "beta"))
    if gamma is not None and beta is not None:
        values["log_gamma_ref"] = math.log(max(gamma * t_ref**beta, _LEAST_GAMMA))
        if errors:
            variance = _log_rate(gamma, errors, ("gamma_dot_t0", "beta"), t_ref)
            widths["log_gamma_ref"] = math.sqrt(max(variance, 1e-20))
    return values, widths


@dataclass
class ReparamConfig:
    """What is sampled in place of rates at one second.

    Parameters
    ----------
    enable_d_ref, enable_gamma_ref : bool, default True
        Diffusion, shear.
    t_ref : float, default 1
        The time, in s.
    """

    enable_d_ref: bool = True
    enable_gamma_ref: bool = True
    t_ref: float = 1.0

    @property
    def enable_d_total(self) -> bool:
        """The older name of ``enable_d_ref``."""
        return self.enable_d_ref

    @property
    def enable_log_gamma(self) -> bool:
        """The older name of ``enable_gamma_ref``."""
        return self.enable_gamma_ref


def transform_to_sampling_space(
    params: Mapping[str, float], config: ReparamConfig
) -> dict[str, float]:
    """Return physical parameters in the coordinates that are sampled.

    Parameters
    ----------
    params : dict
        Physical parameters.
    config : ReparamConfig
        Which are changed.

    Returns
    -------
    dict
        The others are as they were.
    """
    found = dict(params)
    if config.enable_d_ref and "D0" in found and "D_offset" in found:
        rate = max(found.pop("D0") * config.t_ref ** found.get("alpha", 0.0), _LEAST_D)
        found["log_D_ref"] = math.log(rate)
        found["D_offset_ratio"] = max(found.pop("D_offset") / rate, _LEAST_RATIO)
    if config.enable_gamma_ref and "gamma_dot_t0" in found:
        rate = found.pop("gamma_dot_t0") * config.t_ref ** found.get("beta", 0.0)
        found["log_gamma_ref"] = math.log(max(rate, _LEAST_GAMMA))
    return found


def transform_to_physics_space(samples: Mapping[str, Any], config: ReparamConfig) -> dict[str, Any]:
    """Return draws as physical parameters.

    Parameters
    ----------
    samples : dict of array
        Draws of :func:`transform_to_sampling_space`'s coordinates, or of the older ``D_total``,
        ``D_offset_frac`` and ``log_gamma_dot_t0``.
    config : ReparamConfig
        Which were changed.

    Returns
    -------
    dict of array
        The others are as they were.
    """
    found = dict(samples)
    if config.enable_d_ref and "log_D_ref" in found:
        rate = np.exp(found.pop("log_D_ref"))
        found["D0"] = rate * config.t_ref ** (-np.asarray(found.get("alpha", 0.0)))
        found["D_offset"] = rate * found.pop("D_offset_ratio")
    elif config.enable_d_ref and "D_total" in found:
        total, share = found.pop("D_total"), found.pop("D_offset_frac")
        found["D0"], found["D_offset"] = total * (1 - share), total * share
    if config.enable_gamma_ref and "log_gamma_ref" in found:
        power = -np.asarray(found.get("beta", 0.0))
        found["gamma_dot_t0"] = np.exp(found.pop("log_gamma_ref")) * config.t_ref**power
    elif config.enable_gamma_ref and "log_gamma_dot_t0" in found:
        found["gamma_dot_t0"] = np.exp(found.pop("log_gamma_dot_t0"))
    return found
