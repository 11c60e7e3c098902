"""What an encoding model of the library holds, as the objects the original has in its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera.decode._data import Floats
from tessera.decode.likelihoods import _spline
from tessera.decode.likelihoods.gmm import GaussianMixtureModel

OCCUPANCY, GROUND, JOINT = range(3)  # tess_decode_density


def _lower(factor: Floats) -> Floats:
    """Return the lower Cholesky factors of F F^T; F need not be triangular."""
    upper = np.linalg.qr(np.swapaxes(factor, -1, -2))[1]
    signs = np.where(np.diagonal(upper, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    found: Floats = np.swapaxes(upper * signs[..., np.newaxis], -1, -2)
    return found


def mixture(
    handle: _core.Handle, options: dict[str, Any], density: int, electrode: int = 0
) -> GaussianMixtureModel | None:
    """Return a mixture of a clusterless GMM, places first; None of an electrode without spikes."""
    shown = _core.decode_encoding_mixture(handle, density, electrode)
    if shown["mean"] is None:
        return None
    means = np.array(shown["mean"])
    n, n_dim = means.shape
    factor = np.tril(np.array(shown["factor"]).reshape(n, n_dim, n_dim))
    diagonal = np.diagonal(factor, axis1=1, axis2=2)
    log_weights = np.array(shown["log_norm"]) + n_dim / 2 * np.log(2 * np.pi)
    if density == JOINT:  # the library has the marks first
        n_place = _core.decode_encoding_mixture(handle, OCCUPANCY, 0)["n_dim"]
        order = np.roll(np.arange(n_dim), n_place)
        means, factor = means[:, order], _lower(factor[:, order])
    settings = {name: options.get(name, default("decode.encoding", name)) for name in _SETTINGS}
    found = GaussianMixtureModel(n, **{_SETTINGS[name]: settings[name] for name in settings})
    found.weights_ = np.exp(log_weights + np.log(diagonal).sum(axis=1))
    found.means_ = means
    found.covariances_ = factor @ np.swapaxes(factor, 1, 2)
    found.precisions_chol_ = np.swapaxes(np.linalg.inv(factor), 1, 2)
    found.converged_ = bool(shown["converged"])
    found.n_iter_ = int(shown["n_iteration"])
    found.lower_bound_ = float(shown["mean_log_likelihood"])
    return found


_SETTINGS = {
    "gmm_tolerance": "tol",
    "gmm_ridge": "reg_covar",
    "gmm_iterations": "max_iter",
    "seed": "random_state",
}


def coefficients(handle: _core.Handle) -> Floats:
    """Return those of a sorted-spikes GLM, (n_units, n_basis); -inf first: never fires."""
    return np.array(_core.decode_encoding_regression(handle)["coefficients"])


def emission_design_info(handle: _core.Handle) -> Any:
    """Return the basis that :func:`coefficients` are of."""
    shown = _core.decode_encoding_regression(handle)
    return _spline.design_info(
        [np.array(each) for each in shown["knots"]], np.array(shown["mean"])
    )
