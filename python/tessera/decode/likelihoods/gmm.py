"""Gaussian mixtures, fitted by expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera._lib import warn
from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode._validation import ensure_probability_distribution
from tessera.decode.exceptions import FittingError, ShapeValidationError, ValidationError
from tessera.decode.likelihoods import _mixture
from tessera.decode.likelihoods._mixture import Params

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike

__all__ = ["GaussianMixtureModel", "MixtureError"]

_estimate_gaussian_covariances_tied = _mixture.tied
_compute_precision_cholesky = _mixture.precision_cholesky


class MixtureError(FittingError, RuntimeError):
    """No mixture could be fitted, or there is none yet.

    Parameters
    ----------
    message : str
        What is wrong.
    hint : str, optional
        What to do about it, on a line of its own.
    """


def _refuse_weights(values: Floats, name: str) -> None:
    if not np.isfinite(values).all() or np.any(values < 0):
        raise ValidationError(
            f"{name} must be finite and non-negative",
            expected="all >= 0",
            got=f"the least is {float(np.min(values)):.6g}",
        )


@dataclass
class GaussianMixtureModel:
    """A Gaussian mixture.

    Parameters
    ----------
    n_components : int
        How many Gaussians.
    covariance_type : {'full', 'tied', 'diag', 'spherical'}, default 'full'
        What their covariances may be.
    tol : float, default 1e-3
        EM stops when the mean log likelihood changes by no more.
    reg_covar : float, default 1e-6
        Added to all variances.
    max_iter : int, default 100
        Most iterations of EM.
    n_init : int, default 1
        How many starts; the best is kept.
    init_params : {'kmeans', 'random'}, default 'kmeans'
        Where EM starts. k-means is scikit-learn's where it is installed.
    kmeans_init, kmeans_n_init
        What k-means starts from, and how often.
    random_state : int, optional
        Seed.
    weights_init, means_init, covariances_init : array, optional
        Replace what the start says.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.decode.likelihoods.gmm import GaussianMixtureModel
    >>> x = np.random.default_rng(1).normal(size=(200, 2))
    >>> model = GaussianMixtureModel(1, random_state=0).fit(x)
    >>> np.allclose(model.means_[0], x.mean(axis=0))
    True
    """

    n_components: int
    covariance_type: str = "full"
    tol: float = 1e-3
    reg_covar: float = 1e-6
    max_iter: int = 100
    n_init: int = 1
    init_params: str = "kmeans"
    kmeans_init: str = "k-means++"
    kmeans_n_init: int = 1
    random_state: int | None = None
    weights_init: ArrayLike | None = None
    means_init: ArrayLike | None = None
    covariances_init: ArrayLike | None = None
    weights_: Floats | None = field(init=False, default=None)
    means_: Floats | None = field(init=False, default=None)
    covariances_: Floats | None = field(init=False, default=None)
    precisions_chol_: Floats | None = field(init=False, default=None)
    converged_: bool | None = field(init=False, default=None)
    n_iter_: int | None = field(init=False, default=None)
    lower_bound_: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        for name, least in (("n_components", 1), ("max_iter", 1), ("n_init", 1)):
            if getattr(self, name) < least:
                raise ValidationError(
                    f"{name} must be positive",
                    expected=f"{name} > 0",
                    got=f"{name} = {getattr(self, name)}",
                )
        for name in ("tol", "reg_covar"):
            if getattr(self, name) < 0:
                raise ValidationError(
                    f"{name} must be non-negative",
                    expected=f"{name} >= 0",
                    got=f"{name} = {getattr(self, name)}",
                )
        if self.covariance_type not in _mixture.KINDS:
            raise ValidationError(
                "covariance_type does not exist",
                expected=f"one of {', '.join(_mixture.KINDS)}",
                got=f"{self.covariance_type!r}",
            )
        if self.init_params not in ("kmeans", "random"):
            raise ValidationError(
                "init_params does not exist",
                expected="'kmeans' or 'random'",
                got=f"{self.init_params!r}",
            )
        if self.weights_init is not None:
            weights = _data.reals(self.weights_init, "weights_init")
            self._same_shape(weights.shape, (self.n_components,), "weights_init")
            _refuse_weights(weights, "weights_init")
            ensure_probability_distribution(weights, "weights_init")
            self.weights_init = weights
        if self.means_init is not None:
            means = _data.reals(self.means_init, "means_init")
            wanted = (self.n_components, *means.shape[1:2])
            self._same_shape(means.shape, wanted if means.ndim == 2 else (), "means_init")
            self.means_init = means
        if self.covariances_init is not None:
            self.covariances_init = _data.reals(self.covariances_init, "covariances_init")

    @staticmethod
    def _same_shape(shape: tuple[int, ...], wanted: tuple[int, ...], name: str) -> None:
        if shape != wanted:
            raise ShapeValidationError(
                f"{name} has the wrong shape", expected=f"shape {wanted}", got=f"shape {shape}"
            )

    def _checked(
        self, x: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Floats, Floats | None]:
        """Refuse data that no mixture can be fitted to."""
        data = _data.reals(x, "X")
        if data.ndim != 2:
            raise ShapeValidationError(
                "X has the wrong shape",
                expected="(n_samples, n_features)",
                got=f"shape {data.shape}",
            )
        if not np.isfinite(data).all():
            raise ValidationError("X has non-finite values", hint="leave out NaN and infinity")
        k, d = self.n_components, data.shape[1]
        if self.means_init is not None:
            self._same_shape(np.shape(np.asarray(self.means_init)), (k, d), "means_init")
        if self.covariances_init is not None:
            shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
            given = np.shape(np.asarray(self.covariances_init))
            self._same_shape(given, shapes[self.covariance_type], "covariances_init")
        if sample_weight is None:
            return data, None
        weights = _data.reals(sample_weight, "sample_weight")
        self._same_shape(weights.shape, (len(data),), "sample_weight")
        _refuse_weights(weights, "sample_weight")
        if not weights.sum() > 0:
            raise ValidationError("sample_weight sums to 0: no sample has any weight")
        return data, weights

    def fit(
        self,
        X: ArrayLike,  # noqa: N803
        key: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> GaussianMixtureModel:
        """Fit the mixture.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Data.
        key : jax key, int or None
            Seed of what ``random_state`` leaves open: a JAX key or any numbers.
        sample_weight : array, shape (n_samples,), optional
            Not negative.

        Returns
        -------
        self
            Fitted.
        """
        data, weights = self._checked(X, sample_weight)
        self.weights_ = self.means_ = self.covariances_ = self.precisions_chol_ = None
        self.lower_bound_, self.converged_, self.n_iter_ = None, False, 0
        best = -np.inf
        for start in range(self.n_init):
            params = self._initialize_parameters(data, key, weights, start)
            params, bound, n_iter, converged = self._climb(data, params, weights)
            if bound > best:
                best, self.n_iter_, self.converged_ = bound, n_iter, converged
                self.weights_, self.means_, self.covariances_ = params
        if self.weights_ is None or self.covariances_ is None:
            raise MixtureError(
                "a component's covariance became singular",
                hint="raise reg_covar (to 1e-4, say), ask for fewer components, or leave out "
                "samples that are all alike",
            )
        self.precisions_chol_ = _mixture.precision_cholesky(self.covariances_, self.covariance_type)
        self.lower_bound_ = float(best)
        if not self.converged_:
            warn(
                f"GaussianMixtureModel: EM did not converge within max_iter={self.max_iter} "
                f"iterations to tol={self.tol:g}"
            )
        return self

    def _climb(
        self, x: Floats, params: Params, weights: Floats | None
    ) -> tuple[Params, float, int, bool]:
        bound, change, n_iter = -np.inf, np.inf, 0
        while n_iter < self.max_iter and change > self.tol:
            chol = _mixture.precision_cholesky(params[2], self.covariance_type)
            density, log_resp = _mixture.expect(x, params, chol, self.covariance_type)
            params = _mixture.maximise(
                x, np.exp(log_resp), self.reg_covar, self.covariance_type, weights
            )
            last, bound = bound, float(density.mean())
            change = abs(bound - last)
            n_iter += 1
            if np.isnan(bound):
                return params, -np.inf, n_iter, False
        return params, bound, n_iter, bool(change <= self.tol)

    def _seed(self, key: Any, start: int) -> int | None:
        """Return random_state for the first start, and for the others what it and the key say."""
        if self.random_state is None:
            return None
        if start == 0:
            return self.random_state
        words = [0] if key is None else np.ravel(np.asarray(key)).astype(np.uint32).tolist()
        draws = np.random.SeedSequence([self.random_state, start, *words]).generate_state(1)
        return int(draws[0] >> 1)

    def _initialize_kmeans_resp(
        self,
        X: ArrayLike,  # noqa: N803
        key: Any = None,
        init_index: int = 0,
    ) -> Floats:
        data = _data.position(X, "X")
        seed = self._seed(key, init_index)
        return _mixture.k_means(data, self.n_components, self.kmeans_init, self.kmeans_n_init, seed)

    def _initialize_parameters(
        self,
        X: ArrayLike,  # noqa: N803
        key: Any = None,
        sample_weight: Floats | None = None,
        init_index: int = 0,
    ) -> Params:
        """Return where EM starts; what the user gave replaces what responsibilities say."""
        data = _data.position(X, "X")
        given = (self.weights_init, self.means_init, self.covariances_init)
        if any(each is None for each in given):
            if self.init_params == "kmeans":
                resp = self._initialize_kmeans_resp(data, key, init_index)
            else:
                rng = np.random.default_rng(self._seed(key, init_index))
                resp = rng.random((len(data), self.n_components))
                resp /= resp.sum(axis=1, keepdims=True)
            start = _mixture.maximise(
                data, resp, self.reg_covar, self.covariance_type, sample_weight
            )
        else:
            start = tuple(np.asarray(each) for each in given)  # type: ignore[assignment]
        weights, means, covariances = (
            one if each is None else np.asarray(each, dtype=np.float64)
            for one, each in zip(start, given, strict=True)
        )
        return weights, means, covariances

    def _expect(self, x: ArrayLike) -> tuple[Floats, Floats]:
        if self.weights_ is None or self.means_ is None or self.precisions_chol_ is None:
            raise MixtureError("this mixture is not fitted yet", hint="call fit() first")
        params = (
            _data.reals(self.weights_, "weights_"),
            _data.reals(self.means_, "means_"),
            np.zeros(0),
        )
        chol = _data.reals(self.precisions_chol_, "precisions_chol_")
        return _mixture.expect(_data.position(x, "X"), params, chol, self.covariance_type)

    def score_samples(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return the log density at points.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Where.

        Returns
        -------
        ndarray, shape (n_samples,)
            Log density.
        """
        return self._expect(X)[0]

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return how likely every point is of every component.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Where.

        Returns
        -------
        ndarray, shape (n_samples, n_components)
            Rows sum to 1.
        """
        return np.exp(self._expect(X)[1])

    def predict(self, X: ArrayLike) -> Array:  # noqa: N803
        """Return the most likely component of every point.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Where.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            Its number.
        """
        found: Array = self._expect(X)[1].argmax(axis=1)
        return found
