"""Bayesian optimisation over a list of candidates, as the original's module of this name has it.

A Gaussian process is laid through the values known so far, and the next candidate is where its
expected improvement is smallest. The process is that of scikit-learn's defaults (squared
exponential of length and variance one, noise 1e-10, nothing optimised), written here, so that
scikit-learn is not needed. The C library has the same search for its own fits.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erfc
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from tessera._core import NumericError

__all__ = ["GaussianProcess", "bayes_opt", "expected_improvement"]

Floats = npt.NDArray[np.float64]

_NOISE = 1e-10
_LEAST_SD = 1e-12  # keeps the ratio finite where the process is certain


class Process(Protocol):
    """What an acquisition asks of a process; scikit-learn's regressor has it, too."""

    def predict(self, X: Any, return_std: bool = False) -> Any:  # noqa: N803
        """Return means, and standard deviations if wanted."""


def _kernel(a: Floats, b: Floats) -> Floats:
    squared = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.exp(-0.5 * squared), np.float64)


def _solve_lower(factor: Any, right: Any) -> Floats:
    """Solve with a lower triangle by substitution, which LU of NumPy would pivot."""
    out = np.array(right, np.float64)
    for k in range(len(factor)):
        out[k] -= factor[k, :k] @ out[:k]
        out[k] /= factor[k, k]
    return out


class GaussianProcess:
    """A Gaussian process with a squared exponential kernel of length and variance one.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.autoreject.bayesopt import GaussianProcess
    >>> process = GaussianProcess().fit(np.array([[0.0], [1.0]]), np.array([2.0, 3.0]))
    >>> mean, sd = process.predict(np.array([[1.0]]), return_std=True)
    >>> round(float(mean[0]), 6), float(sd[0]) < 1e-4
    (3.0, True)
    """

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:  # noqa: N803
        """Take known values.

        Parameters
        ----------
        X : array, shape (n, n_dim)
            Where.
        y : array, shape (n,)
            Values.

        Returns
        -------
        self
        """
        self.X_train_ = np.asarray(X, np.float64).reshape(len(np.asarray(X)), -1)
        kernel = _kernel(self.X_train_, self.X_train_)
        kernel[np.diag_indices_from(kernel)] += _NOISE
        self.L_ = np.linalg.cholesky(kernel)
        half = _solve_lower(self.L_, np.asarray(y, np.float64))
        # The transposed triangle is a lower one when read from its end.
        self.alpha_ = _solve_lower(self.L_.T[::-1, ::-1], half[::-1])[::-1]
        return self

    def predict(self, X: npt.ArrayLike, return_std: bool = False) -> Any:  # noqa: N803
        """Predict values elsewhere.

        Parameters
        ----------
        X : array, shape (n, n_dim)
            Where.
        return_std : bool, default False
            Return standard deviations, too.

        Returns
        -------
        mean : array, shape (n,)
            Means.
        sd : array, shape (n,)
            If return_std.
        """
        across = _kernel(np.asarray(X, np.float64).reshape(len(np.asarray(X)), -1), self.X_train_)
        mean = across @ self.alpha_
        if not return_std:
            return mean
        half = _solve_lower(self.L_, across.T)
        return mean, np.sqrt(np.maximum(1 - (half**2).sum(axis=0), 0))


def expected_improvement(gp: Process, best_y: float, x: npt.ArrayLike) -> Floats:
    """Return the expected improvement over the best value so far.

    Parameters
    ----------
    gp : object with predict(X, return_std)
        :class:`GaussianProcess` or scikit-learn's.
    best_y : float
        Smallest value known.
    x : array, shape (n,)
        Candidates.

    Returns
    -------
    array, shape (n,)
        Small where a small value is expected: the next one is looked for at its minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.autoreject.bayesopt import GaussianProcess, expected_improvement
    >>> process = GaussianProcess().fit(np.array([[0.0], [2.0]]), np.array([1.0, 3.0]))
    >>> int(np.argmin(expected_improvement(process, 1.0, np.array([0.0, 1.0, 2.0]))))
    0
    """
    mean, sd = gp.predict(np.asarray(x)[:, None], return_std=True)
    z = (mean - best_y) / (sd + _LEAST_SD)
    below = 0.5 * np.array([erfc(value) for value in -z / np.sqrt(2)])
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.asarray((mean - best_y) * below + sd * density, np.float64)


def bayes_opt(
    f: Callable[[Any], float],
    initial_x: npt.ArrayLike,
    all_x: npt.ArrayLike,
    acquisition: Callable[[Any, float, Any], Any],
    max_iter: int = 100,
    debug: bool = False,
    random_state: object = None,
) -> tuple[Any, float]:
    """Find the candidate where a function is smallest, with few calls of it.

    Parameters
    ----------
    f : callable
        Of one candidate; where it is infinite it is left out.
    initial_x : array
        Candidates to start with.
    all_x : array
        All candidates.
    acquisition : callable
        As :func:`expected_improvement`: of a process, the best value and all_x.
    max_iter : int, default 100
        Candidates tried after the first ones.
    debug : bool, default False
        Print every step.
    random_state : optional
        Accepted for the original's scripts; there is nothing random.

    Returns
    -------
    best_x
        The candidate.
    best_f : float
        The function there.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.autoreject.bayesopt import bayes_opt, expected_improvement
    >>> x = np.arange(0, 2.1, 0.1)
    >>> best, _ = bayes_opt(lambda v: (v - 1.1) ** 2, x[::5], x, expected_improvement, max_iter=10)
    >>> round(float(best), 1)
    1.1
    """
    candidates = np.asarray(all_x)
    points, values = [], []
    for x in np.asarray(initial_x):
        value = f(x)
        if not np.isinf(value):
            points.append(x)
            values.append(value)
    if not points:
        raise NumericError("f: it is infinite at every one of initial_x; give others")
    first = int(np.argmin(values))
    best_x, best_f = points[first], values[first]
    if debug:
        print("iter", -1, "best_x", best_x, best_f)
    for step in range(max_iter):
        process = GaussianProcess().fit(np.array(points)[:, None], np.array(values))
        x = candidates[int(np.argmin(acquisition(process, best_f, candidates)))]
        value = f(x)
        if not np.isinf(value):
            points.append(x)
            values.append(value)
            if value < best_f:
                best_x, best_f = x, value
        if debug:
            print("iter", step, "best_x", best_x, best_f)
    return best_x, best_f
