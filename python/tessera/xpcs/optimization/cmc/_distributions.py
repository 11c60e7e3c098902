"""Distributions of priors: NumPyro's where it is installed, else the few that are needed."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from math import erf, inf, lgamma, log, pi, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt


def _below(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


@dataclass
class _Plain:
    """A distribution of one number; what it does not have is None."""

    loc: float = 0.0
    scale: float = 1.0
    low: float = -inf
    high: float = inf

    def _inner(self, value: npt.NDArray[np.float64]) -> Any:
        raise NotImplementedError

    def log_prob(self, value: npt.ArrayLike) -> Any:
        """Return the logarithm of the density; minus infinity outside."""
        at = np.asarray(value, np.float64)
        with np.errstate(all="ignore"):
            inside = (at >= self.low) & (at <= self.high)
            return np.where(inside, self._inner(at), -inf)


class Normal(_Plain):
    """Normal."""

    def _inner(self, value: npt.NDArray[np.float64]) -> Any:
        z = (value - self.loc) / self.scale
        return -0.5 * z * z - log(self.scale * sqrt(2 * pi))


class TruncatedNormal(Normal):
    """Normal between bounds."""

    def _inner(self, value: npt.NDArray[np.float64]) -> Any:
        upper, lower = (self.high - self.loc) / self.scale, (self.low - self.loc) / self.scale
        return super()._inner(value) - log(_below(upper) - _below(lower))


class Uniform(_Plain):
    """Even between bounds."""

    def _inner(self, value: npt.NDArray[np.float64]) -> Any:
        return np.full(value.shape, -log(self.high - self.low))


class LogNormal(Normal):
    """Of which the logarithm is normal."""

    def _inner(self, value: npt.NDArray[np.float64]) -> Any:
        return np.where(value > 0, super()._inner(np.log(value)) - np.log(value), -inf)


class HalfNormal(Normal):
    """The absolute value of a normal."""

    def _inner(self, value: npt.NDArray[np.float64]) -> Any:
        return np.where(value >= 0, super()._inner(value) + log(2), -inf)


@dataclass
class BetaScaled(_Plain):
    """Beta between bounds."""

    alpha: float = 2.0
    beta: float = 2.0

    def _inner(self, value: npt.NDArray[np.float64]) -> Any:
        width = self.high - self.low
        share = (value - self.low) / width
        norm = lgamma(self.alpha) + lgamma(self.beta) - lgamma(self.alpha + self.beta)
        return (
            (self.alpha - 1) * np.log(share)
            + (self.beta - 1) * np.log1p(-share)
            - norm
            - log(width)
        )


def numpyro_distributions() -> Any:
    """Return NumPyro's distributions, or None."""
    if importlib.util.find_spec("numpyro") is None:
        return None
    return importlib.import_module("numpyro.distributions")


def truncated_normal(loc: float, scale: float, low: float, high: float) -> Any:
    """Return a normal between bounds."""
    made = (numpyro_distributions() or _OWN).TruncatedNormal
    return made(loc=loc, scale=scale, low=low, high=high)


def uniform(low: float, high: float) -> Any:
    """Return an even distribution."""
    return (numpyro_distributions() or _OWN).Uniform(low=low, high=high)


def normal(loc: float, scale: float) -> Any:
    """Return a normal."""
    return (numpyro_distributions() or _OWN).Normal(loc=loc, scale=scale)


def log_normal(loc: float, scale: float) -> Any:
    """Return a distribution whose logarithm is normal."""
    return (numpyro_distributions() or _OWN).LogNormal(loc=loc, scale=scale)


def half_normal(scale: float) -> Any:
    """Return the absolute value of a normal about 0."""
    return (numpyro_distributions() or _OWN).HalfNormal(scale=scale)


def beta_scaled(alpha: float, beta: float, low: float, high: float) -> Any:
    """Return a beta distribution between bounds."""
    theirs = numpyro_distributions()
    if theirs is None:
        return BetaScaled(low=low, high=high, alpha=alpha, beta=beta)
    base = theirs.Beta(concentration1=alpha, concentration0=beta)
    stretch = theirs.transforms.AffineTransform(loc=low, scale=high - low)
    return theirs.TransformedDistribution(base, stretch)


class _OWN:
    """The few, by NumPyro's names."""

    TruncatedNormal = TruncatedNormal
    Uniform = Uniform
    Normal = Normal
    LogNormal = LogNormal
    HalfNormal = HalfNormal
