"""How well chains have mixed: the library's numbers, which are ArviZ's."""

from __future__ import annotations

import numpy as np

from tessera import _core
from tessera._lib import Session
from tessera.xpcs._arguments import Floats


def summary(values: Floats) -> dict[str, float]:
    """Return mean, sd, R-hat and sizes of draws (chains, draws), all of them by the library."""
    with Session() as context:
        return _core.xpcs_summarise(context, np.ascontiguousarray(values, np.float64))


def r_hat(values: Floats) -> float:
    """Return the larger of rank-normalised split R-hat of values and of their spread."""
    return summary(values)["r_hat"]


def ess_bulk(values: Floats) -> float:
    """Return the effective number of draws for where the middle lies."""
    return summary(values)["ess_bulk"]


def ess_tail(values: Floats) -> float:
    """Return the effective number of draws for the 5 and 95 % quantiles, the smaller of both."""
    return summary(values)["ess_tail"]


def autocovariance(chains: Floats) -> Floats:
    """Return the covariance of every chain with itself at every lag."""
    n = chains.shape[1]
    length = 1 << (2 * n - 1).bit_length()
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, length, axis=1)
    found: Floats = np.fft.irfft(spectrum * np.conj(spectrum), length, axis=1)[:, :n] / n
    return found


def autocorrelation(values: Floats) -> Floats:
    """Return the correlation of every chain with itself at every lag."""
    covariance = autocovariance(values)
    with np.errstate(invalid="ignore"):
        return covariance / covariance[:, :1]


def bfmi(energy: Floats) -> Floats:
    """Return how freely the energy moves, by chain: below 0.3 tails are hardly reached."""
    spread = energy.var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = (np.diff(energy, axis=1) ** 2).mean(axis=1) / spread
    return found


def interval(values: Floats, share: float) -> tuple[float, float]:
    """Return the shortest interval that holds a share of the draws."""
    ordered = np.sort(values, axis=None)
    n = len(ordered)
    inside = int(np.floor(share * n))
    if inside >= n:
        return float(ordered[0]), float(ordered[-1])
    place = int(np.argmin(ordered[inside:] - ordered[: n - inside]))
    return float(ordered[place]), float(ordered[place + inside])
