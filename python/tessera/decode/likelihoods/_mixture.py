"""Formulas of Gaussian mixtures for the four kinds of covariance: steps of EM, and densities."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tessera.decode._data import Floats

Params: TypeAlias = tuple[Floats, Floats, Floats]  # weights, means, covariances
KINDS = ("full", "tied", "diag", "spherical")
_LEAST = 1e-10  # variance of a component that has collapsed
_GUARD = 10 * float(np.finfo(np.float64).eps)  # keeps an empty component finite


def _full(resp: Floats, x: Floats, nk: Floats, means: Floats, reg_covar: float) -> Floats:
    n_feature = x.shape[1]
    found = np.empty((len(means), n_feature, n_feature))
    for k, mean in enumerate(means):
        d = x - mean
        found[k] = (d.T * resp[:, k]) @ d / nk[k]
    found += np.eye(n_feature) * reg_covar
    return found


def tied(resp: Floats, x: Floats, nk: Floats, means: Floats, reg_covar: float) -> Floats:
    """Return the covariance that all components share."""
    resp, x, nk, means = (np.asarray(each, dtype=np.float64) for each in (resp, x, nk, means))
    weight = resp.sum(axis=1)
    scatter = x.T @ (x * weight[:, np.newaxis]) - (nk * means.T) @ means
    found: Floats = scatter / max(weight.sum(), _GUARD)
    found = (found + found.T) / 2
    found[np.diag_indices_from(found)] += reg_covar
    return found


def _diag(resp: Floats, x: Floats, nk: Floats, means: Floats, reg_covar: float) -> Floats:
    found: Floats = resp.T @ x**2 / nk[:, np.newaxis] - means**2 + reg_covar
    return found


def _spherical(resp: Floats, x: Floats, nk: Floats, means: Floats, reg_covar: float) -> Floats:
    found: Floats = _diag(resp, x, nk, means, reg_covar).mean(axis=1)
    return found


_COVARIANCES = {"full": _full, "tied": tied, "diag": _diag, "spherical": _spherical}


def maximise(
    x: Floats, resp: Floats, reg_covar: float, kind: str, sample_weight: Floats | None
) -> Params:
    """Return the mixture that responsibilities say."""
    if sample_weight is not None:
        resp = resp * sample_weight[:, np.newaxis]
    nk = resp.sum(axis=0) + _GUARD
    means = resp.T @ x / nk[:, np.newaxis]
    total = len(x) if sample_weight is None else sample_weight.sum()
    return nk / total, means, _COVARIANCES[kind](resp, x, nk, means, reg_covar)


def precision_cholesky(covariances: Floats, kind: str) -> Floats:
    """Return R with R R^T = inverse covariance; of variances, one over the standard deviation."""
    covariances = np.asarray(covariances, dtype=np.float64)
    if kind in ("full", "tied"):
        try:
            lower = np.linalg.cholesky(covariances)
        except np.linalg.LinAlgError:
            return np.full_like(covariances, np.nan)
        return np.swapaxes(np.linalg.inv(lower), -1, -2)
    found: Floats = 1 / np.sqrt(np.maximum(covariances, _LEAST))
    return found


def log_densities(x: Floats, means: Floats, chol: Floats, kind: str) -> Floats:
    """Return (n_sample, n_component)."""
    n_feature = x.shape[1]
    found = np.empty((len(x), len(means)))
    for k, mean in enumerate(means):
        d = x - mean
        if kind in ("full", "tied"):
            factor = chol[k] if kind == "full" else chol
            log_det = np.log(np.diagonal(factor)).sum()
            y = d @ factor
        else:
            factor = np.broadcast_to(chol[k], n_feature)
            log_det = np.log(factor).sum()
            y = d * factor
        found[:, k] = log_det - 0.5 * (n_feature * np.log(2 * np.pi) + (y**2).sum(axis=1))
    return found


def expect(x: Floats, params: Params, chol: Floats, kind: str) -> tuple[Floats, Floats]:
    """Return the log density of every sample, and the log responsibility of every component."""
    weights, means, _ = params
    with np.errstate(divide="ignore", invalid="ignore"):
        table = log_densities(x, means, chol, kind) + np.log(weights)
        total: Floats = np.logaddexp.reduce(table, axis=1)
    return total, table - total[:, np.newaxis]


def k_means(x: Floats, n: int, init: str, n_init: int, seed: int | None) -> Floats:
    """Return one-hot responsibilities; scikit-learn's, as the original's, where it is installed."""
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        labels = _k_means(x, n, np.random.default_rng(seed))
    else:
        labels = KMeans(n_clusters=n, init=init, n_init=n_init, random_state=seed).fit(x).labels_
    resp = np.zeros((len(x), n))
    resp[np.arange(len(x)), labels] = 1
    return resp


def _k_means(x: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return labels by Lloyd's method from centres that were drawn far from each other."""
    centers = x[rng.integers(len(x))][np.newaxis]
    for _ in range(1, n):
        far = ((x[:, np.newaxis] - centers) ** 2).sum(axis=2).min(axis=1)
        total = far.sum()
        chosen = rng.choice(len(x), p=far / total) if total > 0 else rng.integers(len(x))
        centers = np.vstack((centers, x[chosen]))
    labels = np.full(len(x), -1)
    while True:
        nearest = ((x[:, np.newaxis] - centers) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(nearest, labels):
            return labels
        labels = nearest
        for k in np.unique(labels):
            centers[k] = x[labels == k].mean(axis=0)
