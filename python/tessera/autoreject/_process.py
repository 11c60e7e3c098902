"""The original's search over a table of objectives: a few quantiles, then ten proposals.

Only for folds that the library does not make itself; the library's own search is the same in C.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._core import NumericError
from tessera.autoreject.bayesopt import bayes_opt, expected_improvement

_N_INITIAL = 5
_N_STEP = 10


def first_candidates(amplitudes: Any, n_initial: int) -> Any:
    """Return the quantiles of ascending amplitudes that the search starts from."""
    n = len(amplitudes)
    indices = np.linspace(0, n, n_initial, endpoint=False, dtype=int)
    return amplitudes[np.unique([*indices, n - 1])]


def best_of_few(amplitudes: Any, candidates: Any, objective: Any) -> float:
    """Return the threshold that the original would choose.

    Parameters
    ----------
    amplitudes : array
        Largest peak-to-peak amplitude of every epoch, ascending.
    candidates, objective : array
        Distinct amplitudes, ascending, and the objective at each; inf where a fold keeps nothing.
    """
    at = dict(zip(candidates.tolist(), objective.tolist(), strict=True))
    initial = np.unique(first_candidates(amplitudes, _N_INITIAL))
    if not any(np.isfinite(at[float(x)]) for x in initial):
        raise NumericError("every threshold leaves a fold without epochs; give more epochs")
    best, _ = bayes_opt(
        lambda x: at[float(x)], initial, candidates, expected_improvement, max_iter=_N_STEP
    )
    return float(best)
