"""How well chains have mixed: the numbers ArviZ computes, without it."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from tessera.xpcs._arguments import Floats

# Of pieces shorter than this nothing can be said.
_LEAST = 4


@lru_cache(maxsize=8)
def _scores(n: int) -> Floats:
    """Return the normal scores of ranks 1, 1.5, 2, ... n; ties have half ranks."""
    ranks = np.arange(2, 2 * n + 1) / 2
    inverse = NormalDist().inv_cdf
    return np.array([inverse((rank - 0.375) / (n + 0.25)) for rank in ranks.tolist()])


def _ranks_twice(values: Floats) -> np.ndarray:
    """Return twice the mean rank of every value, from 2 on."""
    flat = values.ravel()
    _, place, counts = np.unique(flat, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    twice: np.ndarray = (2 * last - counts + 1)[place.ravel()]
    return twice.reshape(values.shape)


def normal_scores(values: Floats) -> Floats:
    """Return values by their ranks, as a normal distribution would have them."""
    found: Floats = _scores(values.size)[_ranks_twice(values) - 2]
    return found


def split(values: Floats) -> Floats:
    """Return the halves of every chain as chains; the middle of an odd number is left out."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, values.shape[1] - half :]])


def _plain_r_hat(chains: Floats) -> float:
    n = chains.shape[1]
    within = float(chains.var(axis=1, ddof=1).mean())
    if within == 0:
        return float("nan")
    between = n * float(chains.mean(axis=1).var(ddof=1))
    return float(np.sqrt((between / within + n - 1) / n))


def _says_nothing(values: Floats) -> bool:
    return values.shape[1] < _LEAST or not bool(np.isfinite(values).all())


def r_hat(values: Floats) -> float:
    """Return the larger of rank-normalised split R-hat of values and of their spread."""
    if _says_nothing(values):
        return float("nan")
    halves = split(values)
    folded = np.abs(halves - np.median(halves))
    return float(np.fmax(_plain_r_hat(normal_scores(halves)), _plain_r_hat(normal_scores(folded))))


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


def _initial_sum(rho: Floats) -> float:
    """Return the sum of correlations up to where noise begins: Geyer's monotone sequence."""
    n = len(rho)
    kept = np.zeros(n)
    even, odd = 1.0, float(rho[1])
    kept[0], kept[1] = even, odd
    t = 1
    while t < n - 3 and even + odd > 0:
        even, odd = float(rho[t + 1]), float(rho[t + 2])
        if even + odd >= 0:
            kept[t + 1], kept[t + 2] = even, odd
        t += 2
    last = t - 2
    if even > 0:
        kept[last + 1] = even
    t = 1
    while t <= last - 2:
        if kept[t + 1] + kept[t + 2] > kept[t - 1] + kept[t]:
            kept[t + 1] = kept[t + 2] = (kept[t - 1] + kept[t]) / 2
        t += 2
    return float(-1 + 2 * kept[: last + 1].sum() + kept[last + 1 : last + 2].sum())


def plain_ess(chains: Floats) -> float:
    """Return how many independent draws chains are worth."""
    m, n = chains.shape
    if _says_nothing(chains):
        return float("nan")
    if np.ptp(chains) < np.finfo(float).resolution:
        return float(chains.size)
    covariance = autocovariance(chains)
    within = float(covariance[:, 0].mean()) * n / (n - 1)
    total = within * (n - 1) / n
    if m > 1:
        total += float(chains.mean(axis=1).var(ddof=1))
    if total == 0:
        return float(chains.size)
    rho = 1 - (within - covariance.mean(axis=0)) / total
    tau = max(_initial_sum(rho), 1 / np.log10(m * n))
    return float(m * n / tau)


def ess_bulk(values: Floats) -> float:
    """Return the effective number of draws for where the middle lies."""
    return float("nan") if _says_nothing(values) else plain_ess(normal_scores(split(values)))


def ess_tail(values: Floats) -> float:
    """Return the effective number of draws for the 5 and 95 % quantiles, the smaller of both."""
    if _says_nothing(values):
        return float("nan")
    ends = np.quantile(values, [0.05, 0.95])
    return min(plain_ess(split((values <= end).astype(float))) for end in ends)


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
