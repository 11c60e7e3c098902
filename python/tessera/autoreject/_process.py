"""The original's search over a table of objectives: a few quantiles, then ten proposals.

Only for folds that the library does not make itself; the library's own search is the same in C.
"""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np

from tessera._core import NumericError

_N_INITIAL = 5
_N_STEP = 10
_NOISE = 1e-10


def _proposal(x: Any, y: Any, best: float, candidates: Any) -> int:
    """Return the index of the candidate where the acquisition is smallest."""
    kernel = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2)
    kernel[np.diag_indices_from(kernel)] += _NOISE
    factor = np.linalg.cholesky(kernel)
    across = np.exp(-0.5 * (candidates[:, None] - x[None, :]) ** 2)
    weights = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    mean = across @ weights
    half = np.linalg.solve(factor, across.T)
    sd = np.sqrt(np.maximum(1 - (half**2).sum(axis=0), 0))
    z = (mean - best) / (sd + 1e-12)
    normal = 0.5 * (1 + np.array([erf(value) for value in z / np.sqrt(2)]))
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return int(np.argmin((mean - best) * normal + sd * density))


def best_of_few(amplitudes: Any, candidates: Any, objective: Any) -> float:
    """Return the threshold that the original would choose.

    Parameters
    ----------
    amplitudes : array
        Largest peak-to-peak amplitude of every epoch, ascending.
    candidates, objective : array
        Distinct amplitudes, ascending, and the objective at each; inf where a fold keeps nothing.
    """
    n = len(amplitudes)
    first = [int(i * (n / _N_INITIAL)) for i in range(_N_INITIAL)]
    values = np.unique(amplitudes[[*first, n - 1]])
    points = [int(k) for k in np.searchsorted(candidates, values)]
    points = [k for k in points if np.isfinite(objective[k])]
    if not points:
        raise NumericError("every threshold leaves a fold without epochs; give more epochs")
    best = min(points, key=lambda k: objective[k])
    for _ in range(_N_STEP):
        x, y = candidates[points], objective[points]
        k = _proposal(x, y, float(objective[best]), candidates)
        if not np.isfinite(objective[k]):
            continue
        points.append(k)
        if objective[k] < objective[best]:
            best = k
    return float(candidates[best])
