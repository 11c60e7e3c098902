"""Priors of the physical parameters: normals between the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from math import erf, erfc, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from tessera import _core
from tessera.xpcs._arguments import Floats, canonical, names_of, number, pair


def named_priors(prior: Mapping[str, Any] | None, mode: str) -> dict[str, Floats]:
    """Return means and standard deviations by parameter, NaN where nothing is said."""
    if not prior:
        return {}
    n = len(names_of(mode))
    found = {"prior_mean": np.full(n, np.nan), "prior_sd": np.full(n, np.nan)}
    for name, both in prior.items():
        which = f"prior[{name!r}]"
        mean, sd = (number(value, which) for value in pair(both, which))
        if not (np.isfinite(mean) and np.isfinite(sd) and sd > 0):
            raise _core.ArgumentError(
                f"{which}: ({mean:g}, {sd:g}); expected a mean and a standard deviation above 0"
            )
        if name in ("contrast", "offset"):
            found[f"{name}_prior"] = np.array([mean, sd])
            continue
        place = canonical(name, mode, "prior")
        found["prior_mean"][place], found["prior_sd"][place] = mean, sd
    return found


def _below(value: float) -> float:
    return 0.5 * (1 + erf(value / sqrt(2)))


def _tail(value: float) -> float:
    return 0.5 * erfc(-value / sqrt(2))


def density(mean: float, sd: float, lower: float, upper: float, at: Floats) -> Floats:
    """Return the density of a normal between bounds."""
    inside = _below((upper - mean) / sd) - _below((lower - mean) / sd)
    z = (at - mean) / sd
    within = (at >= lower) & (at <= upper)
    return np.where(within, np.exp(-0.5 * z * z) / (sd * sqrt(2 * np.pi) * inside), 0.0)


def spread(mean: float, sd: float, lower: float, upper: float) -> float:
    """Return the standard deviation of a normal between bounds."""
    at = np.linspace(max(lower, mean - 8 * sd), min(upper, mean + 8 * sd), 4001)
    weight = density(mean, sd, lower, upper, at)
    weight /= weight.sum()
    centre = float(weight @ at)
    return float(np.sqrt(weight @ (at - centre) ** 2))


def draws_between(mean: float, sd: float, lower: float, upper: float, shares: Floats) -> Floats:
    """Return draws of a normal between bounds at such shares of it."""
    low, high = (lower - mean) / sd, (upper - mean) / sd
    turn = -1.0 if low > 0 else 1.0  # from the side where shares are small and keep their digits
    from_, to = _tail(turn * low), _tail(turn * high)
    normal = NormalDist()
    flat = np.clip(from_ + np.ravel(shares) * (to - from_), 1e-300, 1 - 1e-16)
    z = turn * np.array([normal.inv_cdf(share) for share in flat.tolist()])
    return np.clip(mean + sd * z, lower, upper).reshape(np.shape(shares))
