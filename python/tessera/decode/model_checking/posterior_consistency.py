"""Whether a posterior agrees with the likelihood it was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Floats
from tessera.decode.model_checking.highest_posterior_density import isin_hpd

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["posterior_consistency_hpd_overlap", "posterior_consistency_kl_divergence"]


def _normal(values: Any) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    array = array.reshape(len(array), -1)
    normal: Floats = array / np.nansum(array, axis=1, keepdims=True)
    return normal


def posterior_consistency_kl_divergence(posterior: ArrayLike, likelihood: ArrayLike) -> Floats:
    """Return the divergence of the likelihood from the posterior at every time, in nats.

    Parameters
    ----------
    posterior, likelihood : array, shape (n_time, n_bins)
        Probabilities, not logarithms; both are normalised here. Bins that are NaN in the
        posterior do not count.

    Returns
    -------
    ndarray, shape (n_time,)
        0 where they agree, inf where the posterior has mass at likelihood 0.
    """
    p, q = _normal(posterior), _normal(likelihood)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * (np.log(p) - np.log(q)), 0.0)
    divergence: Floats = terms.sum(axis=1)
    return divergence


def posterior_consistency_hpd_overlap(
    posterior: ArrayLike, likelihood: ArrayLike, coverage: float = 0.95
) -> Floats:
    """Return how much the highest-density regions of posterior and likelihood overlap.

    Parameters
    ----------
    posterior, likelihood : array, shape (n_time, n_bins)
        Probabilities, not logarithms.
    coverage : float
        Share each region holds.

    Returns
    -------
    ndarray, shape (n_time,)
        From 0 to 1: bins of both regions over those of the smaller one; NaN where one of them is
        not known.
    """
    first, second = isin_hpd(posterior, coverage), isin_hpd(likelihood, coverage)
    smaller = np.minimum(first.sum(axis=1), second.sum(axis=1))
    shared = (first & second).sum(axis=1)
    overlap: Floats = np.where(smaller > 0, shared / np.maximum(smaller, 1), np.nan)
    return overlap
