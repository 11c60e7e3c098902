"""The threshold of one channel from given rows and folds, in NumPy.

A fit searches all channels at once in the C library, with splits that it draws itself; this is for
scripts that bring rows or folds of their own.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tessera._core import ArgumentError
from tessera.autoreject._arguments import cv_of
from tessera.autoreject._base import BaseAutoReject, _slicemean
from tessera.autoreject._process import first_candidates
from tessera.autoreject.bayesopt import bayes_opt, expected_improvement

_N_INITIAL = 40
_N_STEP = 10
_N_DRAW = 20


class _ChannelAutoReject(BaseAutoReject):
    """The mean of the epochs of one channel whose peak-to-peak amplitude is below a threshold.

    Parameters
    ----------
    thresh : float
        Largest amplitude that is kept; the smallest of all is kept in any case.
    """

    _shown = ("thresh",)

    def __init__(self, thresh: float = 40e-6) -> None:
        self.thresh = thresh

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Average the epochs that are kept.

        Parameters
        ----------
        X : array, shape (n_epochs, n_times)
            One channel.
        y : optional
            Ignored.

        Returns
        -------
        self
        """
        data = np.asarray(X)
        self.deltas_ = np.ptp(data, axis=1)
        self.mean_ = _slicemean(data, self.deltas_ <= max(self.thresh, self.deltas_.min()), axis=0)
        return self


class _Objective:
    """Mean error of a threshold over splits; what does not depend on the threshold is kept."""

    def __init__(self, data: Any, cv: Any, y: Any) -> None:
        self._data = data
        self._splits = []
        for train, test in cv.split(data, y):
            rows = np.arange(len(data))[train]
            self._splits.append((rows, np.ptp(data[rows], axis=1), np.median(data[test], axis=0)))

    def __call__(self, thresh: float) -> float:
        errors = []
        for rows, amplitudes, median in self._splits:
            mean = self._data[rows[amplitudes <= max(thresh, amplitudes.min())]].mean(axis=0)
            error = np.sqrt(np.mean((median - mean) ** 2))
            errors.append(np.inf if np.isnan(error) else error)
        return float(np.mean(errors))


def _compute_thresh(
    this_data: Any,
    method: str = "bayesian_optimization",
    cv: Any = 10,
    y: Any = None,
    random_state: Any = None,
) -> float:
    """Find the threshold of one channel.

    Parameters
    ----------
    this_data : array, shape (n_epochs, n_times)
        The channel.
    method : {'bayesian_optimization', 'random_search'}
        The original's two searches: 41 quantiles and ten proposals, or 20 random thresholds.
    cv : int, object with split() or list of (train, test)
        Folds.
    y : array or None
        Classes of the epochs, for folds that keep their shares.
    random_state : int, numpy.random.RandomState or None
        Of the random thresholds.

    Returns
    -------
    float
    """
    data = np.asarray(this_data)
    objective = _Objective(data, cv_of(cv, default=10), y)
    amplitudes = np.sort(np.ptp(data, axis=1))
    if method == "random_search":
        draw = random_state
        if not isinstance(draw, np.random.RandomState):
            draw = np.random.RandomState(random_state)
        # From the smallest amplitude on, as wide as the largest, as the original draws them.
        tried = amplitudes[0] + amplitudes[-1] * np.array([draw.uniform() for _ in range(_N_DRAW)])
        return float(tried[np.argmin([objective(thresh) for thresh in tried])])
    if method != "bayesian_optimization":
        raise ArgumentError(
            f"`method` param not recognized: {method!r}; choose bayesian_optimization or "
            f"random_search"
        )
    known: dict[int, float] = {}

    def snapped(thresh: float) -> float:
        """Return the objective of the largest amplitude that is not above thresh."""
        k = int(np.searchsorted(amplitudes, thresh, "right")) - 1
        value = float(amplitudes[k])
        if k not in known:
            known[k] = objective(value)
        return known[k]

    best, _ = bayes_opt(
        snapped,
        first_candidates(amplitudes, _N_INITIAL),
        amplitudes,
        expected_improvement,
        max_iter=_N_STEP,
    )
    return float(best)
