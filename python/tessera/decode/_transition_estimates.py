"""How expectation maximisation estimates discrete transitions, as functions on arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Floats
from tessera.decode.exceptions import ShapeValidationError, ValidationError

if TYPE_CHECKING:
    from tessera.decode._types import ArrayLike

_LEAST = 1e-10  # of a Dirichlet distribution's parameter
_EPS = 1e-12  # at which Newton's method has arrived


def estimate_joint_distribution(
    causal_posterior: ArrayLike,
    predictive_distribution: ArrayLike,
    transition_matrix: ArrayLike,
    acausal_posterior: ArrayLike,
) -> Floats:
    """Compute the probability of every pair of consecutive states given all observations.

    Parameters
    ----------
    causal_posterior, predictive_distribution, acausal_posterior : array, shape (n_time, n_states)
        Given the observations so far, those before, and all.
    transition_matrix : array, shape (n_states, n_states) or (n_time, n_states, n_states)
        From row to column.

    Returns
    -------
    ndarray, shape (n_time - 1, n_states, n_states)
        Probabilities; every table sums to 1.
    """
    causal = _data.reals(causal_posterior, "causal_posterior")
    ahead = _data.reals(predictive_distribution, "predictive_distribution")[1:]
    after = _data.reals(acausal_posterior, "acausal_posterior")[1:]
    matrix = _data.reals(transition_matrix, "transition_matrix")
    matrix = matrix[np.newaxis] if matrix.ndim == 2 else matrix[:-1]
    ratio = np.divide(after, ahead, out=np.zeros_like(after), where=~np.isclose(ahead, 0.0))
    joint: Floats = matrix * causal[:-1, :, np.newaxis] * ratio[:, np.newaxis]
    return joint


def get_transition_prior(
    concentration: float, stickiness: float | ArrayLike, n_states: int
) -> Floats:
    """Return the parameters of the Dirichlet prior of every row of the transitions.

    Parameters
    ----------
    concentration : float
        Of all entries.
    stickiness : float or array, shape (n_states,)
        Added on the diagonal.
    n_states : int
        How many.

    Returns
    -------
    ndarray, shape (n_states, n_states)
        Parameters; 1 is no prior.

    Examples
    --------
    >>> from tessera.decode.discrete_state_transitions import get_transition_prior
    >>> get_transition_prior(1.0, 2.0, 2)
    array([[3., 1.],
           [1., 3.]])
    """
    added = np.broadcast_to(_data.reals(stickiness, "stickiness"), (n_states,))
    prior: Floats = np.maximum(concentration + np.diag(added), _LEAST)
    return prior


def estimate_stationary_state_transition(
    causal_posterior: ArrayLike,
    predictive_distribution: ArrayLike,
    transition_matrix: ArrayLike,
    acausal_posterior: ArrayLike,
    stickiness: float | ArrayLike = 0.0,
    concentration: float = 1.0,
    prior_weight: float | ArrayLike = 0.0,
) -> Floats:
    """Estimate transitions that do not change over time.

    Parameters
    ----------
    causal_posterior, predictive_distribution, transition_matrix, acausal_posterior
        As of :func:`estimate_joint_distribution`.
    stickiness, concentration
        Prior, see :func:`get_transition_prior`.
    prior_weight : float or array, shape (n_states,), default 0
        Above 0 the prior of a row weighs so many times what was observed of it; at 0 it counts as
        it is.

    Returns
    -------
    ndarray, shape (n_states, n_states)
        From row to column; a row that was never left is that of the prior.
    """
    pairs = estimate_joint_distribution(
        causal_posterior, predictive_distribution, transition_matrix, acausal_posterior
    ).sum(axis=0)
    n = len(pairs)
    weight = np.ravel(_data.reals(prior_weight, "prior_weight"))
    if weight.size not in (1, n):
        raise ShapeValidationError(
            f"prior_weight: expected one number or {n}, got shape {weight.shape}"
        )
    weight = np.broadcast_to(weight, (n,))
    if np.any(weight < 0):
        raise ValidationError(f"prior_weight must be non-negative, got {weight.tolist()}")
    alpha = get_transition_prior(concentration, stickiness, n)
    if np.any(alpha < 1):
        raise ValidationError(
            "concentration and stickiness: their sum must be 1 or more", got=f"{alpha.min():g}"
        )
    prior = alpha - 1
    share = _shares(prior, np.zeros_like(prior))
    adaptive = weight[:, np.newaxis] * pairs.sum(axis=1, keepdims=True) * share
    prior = np.where(weight[:, np.newaxis] > 0, adaptive, prior)
    return _shares(pairs + prior, _shares(alpha, alpha))


def _shares(rows: Floats, otherwise: Floats) -> Floats:
    """Return rows divided by their sums; of rows that sum to 0, others."""
    total = rows.sum(axis=1, keepdims=True)
    found: Floats = np.where(total == 0, otherwise, rows / np.where(total == 0, 1, total))
    return found


def jax_centered_log_softmax_forward(y: ArrayLike) -> Floats:
    """Return the logarithm of the softmax of numbers and a 0; in NumPy, whatever its name says.

    Parameters
    ----------
    y : array, shape (..., n - 1)
        Logarithms of ratios to the last probability.

    Returns
    -------
    ndarray, shape (..., n)
        Log probabilities along the last axis.
    """
    values = _data.reals(y, "y")
    padded = np.concatenate((values, np.zeros((*values.shape[:-1], 1))), axis=-1)
    found: Floats = padded - np.logaddexp.reduce(padded, axis=-1, keepdims=True)
    return found


def _loss(
    coefficients: ArrayLike,
    design_matrix: ArrayLike,
    response: Floats,
    n_samples: int,
    l2_penalty: float,
) -> float:
    design = _data.position(design_matrix, "design_matrix")
    table = _data.reals(coefficients, "coefficients").reshape(design.shape[1], -1)
    logs = jax_centered_log_softmax_forward(design @ table)
    loss = -np.sum(response * logs) / n_samples + l2_penalty * np.sum(table[1:] ** 2)
    return float(loss)


def multinomial_neg_log_likelihood(
    coefficients: ArrayLike,
    design_matrix: ArrayLike,
    response: ArrayLike,
    l2_penalty: float = 1e-10,
) -> float:
    """Return how badly coefficients explain transitions out of one state.

    Parameters
    ----------
    coefficients : array, shape (n_coefficients * (n_states - 1),)
        Of all destinations but the last.
    design_matrix : array, shape (n_samples, n_coefficients)
        Covariates; the first column is the constant.
    response : array, shape (n_samples, n_states)
        Expected transitions.
    l2_penalty : float, default 1e-10
        Of all coefficients but the constants.

    Returns
    -------
    float
        Mean negative log likelihood, with the penalty.
    """
    table = _data.position(response, "response")
    return _loss(coefficients, design_matrix, table, len(table), l2_penalty)


def _with_prior(response: ArrayLike, alpha: float | ArrayLike) -> Floats:
    """Return expected transitions and what a Dirichlet prior adds to those of every sample."""
    table = _data.position(response, "response")
    found: Floats = table + (_data.reals(alpha, "alpha") - 1) / len(table)
    return found


def dirichlet_neg_log_likelihood(
    coefficients: ArrayLike,
    design_matrix: ArrayLike,
    response: ArrayLike,
    alpha: float | ArrayLike = 1.0,
    l2_penalty: float = 1e-5,
) -> float:
    """Do what :func:`multinomial_neg_log_likelihood` does, with a Dirichlet prior.

    Parameters
    ----------
    coefficients, design_matrix, response, l2_penalty
        As there.
    alpha : float or array, shape (n_states,), default 1
        Parameters of the prior; 1 is none.

    Returns
    -------
    float
        Mean negative log likelihood, with prior and penalty.
    """
    table = _with_prior(response, alpha)
    return _loss(coefficients, design_matrix, table, len(table), l2_penalty)


def _derivatives(
    table: Floats, design: Floats, response: Floats, penalty: float
) -> tuple[Floats, Floats]:
    """Return slope (n_coef, n_out) and curvature (n_coef * n_out, same) of the loss."""
    n, (n_coef, n_out) = len(response), table.shape
    ridge = np.full((n_coef, n_out), 2 * penalty)
    ridge[0] = 0
    total = response.sum(axis=1)
    p = np.exp(jax_centered_log_softmax_forward(design @ table))[:, :-1]
    slope = design.T @ (total[:, np.newaxis] * p - response[:, :-1]) / n + ridge * table
    bend = np.empty((n_coef, n_out, n_coef, n_out))
    for i in range(n_out):
        for j in range(n_out):
            weight = total * p[:, i] * ((i == j) - p[:, j]) / n
            bend[:, i, :, j] = design.T @ (design * weight[:, np.newaxis])
    square = bend.reshape(n_coef * n_out, -1)
    square[np.diag_indices_from(square)] += ridge.ravel()
    return slope, square


def _parts(
    coefficients: ArrayLike, design_matrix: ArrayLike, response: ArrayLike
) -> tuple[tuple[int, ...], Floats, Floats, Floats]:
    """Return the shape coefficients came in, and all three as tables."""
    design = _data.position(design_matrix, "design_matrix")
    given = _data.reals(coefficients, "coefficients")
    return (
        given.shape,
        given.reshape(design.shape[1], -1),
        design,
        _data.position(response, "response"),
    )


def multinomial_gradient(
    coefficients: ArrayLike,
    design_matrix: ArrayLike,
    response: ArrayLike,
    l2_penalty: float = 1e-10,
) -> Floats:
    """Return the gradient of :func:`multinomial_neg_log_likelihood` in the coefficients.

    Parameters
    ----------
    coefficients, design_matrix, response, l2_penalty
        As there.

    Returns
    -------
    ndarray
        As the coefficients are laid out.
    """
    shape, table, design, counts = _parts(coefficients, design_matrix, response)
    return _derivatives(table, design, counts, l2_penalty)[0].reshape(shape)


def multinomial_hessian(
    coefficients: ArrayLike,
    design_matrix: ArrayLike,
    response: ArrayLike,
    l2_penalty: float = 1e-10,
) -> Floats:
    """Return the second derivatives of :func:`multinomial_neg_log_likelihood`.

    Parameters
    ----------
    coefficients, design_matrix, response, l2_penalty
        As there.

    Returns
    -------
    ndarray
        Twice the axes of the coefficients.
    """
    shape, table, design, counts = _parts(coefficients, design_matrix, response)
    return _derivatives(table, design, counts, l2_penalty)[1].reshape(shape + shape)


def dirichlet_gradient(
    coefficients: ArrayLike,
    design_matrix: ArrayLike,
    response: ArrayLike,
    alpha: float | ArrayLike = 1.0,
    l2_penalty: float = 1e-5,
) -> Floats:
    """Return the gradient of :func:`dirichlet_neg_log_likelihood` in the coefficients.

    Parameters
    ----------
    coefficients, design_matrix, response, alpha, l2_penalty
        As there.

    Returns
    -------
    ndarray
        As the coefficients are laid out.
    """
    return multinomial_gradient(
        coefficients, design_matrix, _with_prior(response, alpha), l2_penalty
    )


def dirichlet_hessian(
    coefficients: ArrayLike,
    design_matrix: ArrayLike,
    response: ArrayLike,
    alpha: float | ArrayLike = 1.0,
    l2_penalty: float = 1e-5,
) -> Floats:
    """Return the second derivatives of :func:`dirichlet_neg_log_likelihood`.

    Parameters
    ----------
    coefficients, design_matrix, response, alpha, l2_penalty
        As there.

    Returns
    -------
    ndarray
        Twice the axes of the coefficients.
    """
    return multinomial_hessian(
        coefficients, design_matrix, _with_prior(response, alpha), l2_penalty
    )


def _newton(
    start: Floats, design: Floats, response: Floats, penalty: float, maxiter: int
) -> Floats:
    """Return the coefficients at which the loss is least; it is convex."""
    n = len(response)
    found = start.copy()
    value = _loss(found, design, response, n, penalty)
    for _ in range(maxiter):
        slope, square = _derivatives(found, design, response, penalty)
        square[np.diag_indices_from(square)] += _EPS
        step = np.linalg.lstsq(square, slope.ravel(), rcond=None)[0].reshape(start.shape)
        scale, lower = 1.0, np.inf
        while scale > _EPS:
            lower = _loss(found - scale * step, design, response, n, penalty)
            if lower <= value:
                break
            scale /= 2
        if not lower <= value:
            break
        found, gain, value = found - scale * step, value - lower, lower
        if gain <= _EPS * max(1.0, abs(value)):
            break
    return found


def estimate_non_stationary_state_transition(
    transition_coefficients: ArrayLike,
    design_matrix: ArrayLike,
    causal_posterior: ArrayLike,
    predictive_distribution: ArrayLike,
    transition_matrix: ArrayLike,
    acausal_posterior: ArrayLike,
    concentration: float = 1.0,
    stickiness: float | ArrayLike = 0.0,
    transition_regularization: float = 1e-5,
    optimization_method: str = "Newton-CG",
    maxiter: int | None = 100,
    disp: bool = False,
) -> tuple[Floats, Floats]:
    """Estimate transitions that depend on covariates, by Newton's method.

    Parameters
    ----------
    transition_coefficients : array, shape (n_coefficients, n_states, n_states - 1)
        Where to begin.
    design_matrix : array, shape (n_time, n_coefficients)
        Covariates; the first column is the constant.
    causal_posterior, predictive_distribution, transition_matrix, acausal_posterior
        As of :func:`estimate_joint_distribution`.
    concentration, stickiness
        Prior, see :func:`get_transition_prior`.
    transition_regularization : float, default 1e-5
        Penalty of all coefficients but the constants.
    optimization_method, disp
        Accepted and not used: the loss is convex, and what it is least at does not depend on how
        one gets there.
    maxiter : int, optional
        Most steps.

    Returns
    -------
    coefficients : ndarray, shape (n_coefficients, n_states, n_states - 1)
        At which the loss is least.
    transitions : ndarray, shape (n_time, n_states, n_states)
        What they say at every time.
    """
    del optimization_method, disp
    joint = estimate_joint_distribution(
        causal_posterior, predictive_distribution, transition_matrix, acausal_posterior
    )
    start = _data.reals(transition_coefficients, "transition_coefficients")
    design = _data.position(np.asarray(design_matrix), "design_matrix")
    n_state = start.shape[1]
    alpha = get_transition_prior(concentration, stickiness, n_state)
    found = np.empty(start.shape)
    matrix = np.empty((len(design), n_state, n_state))
    for state in range(n_state):
        response = joint[:, state] + (alpha[state] - 1) / len(joint)
        found[:, state] = _newton(
            start[:, state], design[:-1], response, transition_regularization, maxiter or 100
        )
        matrix[:, state] = np.exp(jax_centered_log_softmax_forward(design @ found[:, state]))
    return found, matrix
