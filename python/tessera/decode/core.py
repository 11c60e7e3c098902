"""Filter, smoother and Viterbi path over a dense transition matrix, as functions on arrays.

Models run these in the library; here they are for those who bring their own matrices. Sums are
kept in float64 whatever type comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode.exceptions import ValidationError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from tessera.decode._types import ArrayLike

__all__ = [
    "check_converged",
    "chunked_filter_smoother",
    "chunked_filter_smoother_covariate_dependent",
    "filter",
    "filter_covariate_dependent",
    "most_likely_sequence",
    "most_likely_sequence_covariate_dependent",
    "smoother",
    "smoother_covariate_dependent",
    "viterbi",
    "viterbi_covariate_dependent",
]

_EPS = 1e-15  # keeps 0 / 0 of an impossible row finite
_RISE = -1e-3  # a log likelihood that falls by less still counts as rising
# The matrix that leads from row t to row t + 1.
Step = Callable[[int], Floats]
Filtered = tuple[tuple[Any, Floats], tuple[Floats, Floats]]
Smoothed = tuple[Array, Array, float, Array, Array, Any, Array, Array]


def _normalize(u: ArrayLike, axis: int = 0, eps: float = _EPS) -> tuple[Floats, Any]:
    """Return values that sum to 1 along an axis, and their sum before."""
    values = _data.reals(u, "u")
    total = values.sum(axis=axis, keepdims=True)
    return values / np.where(total != 0, total, eps), total.squeeze(axis)[()]


def _condition_on(probs: ArrayLike, ll: ArrayLike) -> tuple[Floats, Any]:
    """Return probabilities after an observation, and the log of how likely it was."""
    values = _data.reals(ll, "log_likelihoods")
    peak = values.max() if values.size else 0.0
    if not np.isfinite(peak):
        peak = 0.0
    prior = _data.reals(probs, "probs")
    posterior, total = _normalize(prior * np.exp(values - peak))
    if total == 0:  # impossible everywhere: the observation says nothing
        posterior, _ = _normalize(prior)
    with np.errstate(divide="ignore"):
        return posterior, np.log(total) + peak


def _safe_log(p: ArrayLike) -> Floats:
    """Return logarithms; of 0 it is minus infinity, without a warning."""
    values = _data.reals(p, "p")
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(values > 0, np.log(values), -np.inf)
    return found


def _divide_safe(numerator: ArrayLike, denominator: ArrayLike) -> Floats:
    """Divide; what is over 0 becomes 0."""
    top, bottom = np.broadcast_arrays(
        _data.reals(numerator, "numerator"), _data.reals(denominator, "denominator")
    )
    found: Floats = np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0)
    return found


def _get_transition_matrix(
    discrete_transition_matrix_t: ArrayLike,
    continuous_transition_matrix: ArrayLike,
    state_ind: ArrayLike | None = None,
) -> Floats:
    """Return transitions between bins; without ``state_ind`` the first one is between bins, too."""
    discrete = _data.reals(discrete_transition_matrix_t, "discrete_transition_matrix")
    if state_ind is not None:
        states = np.asarray(state_ind)
        discrete = discrete[np.ix_(states, states)]
    found: Floats = _data.reals(continuous_transition_matrix, "continuous_transition") * discrete
    return found


def _filter(initial: ArrayLike, step: Step, log_likelihoods: ArrayLike) -> Filtered:
    rows = _data.reals(log_likelihoods, "log_likelihoods")
    predicted = _data.reals(initial, "initial_distribution")
    causal, ahead = np.empty(rows.shape), np.empty(rows.shape)
    evidence = np.float64(0)
    for t, row in enumerate(rows):
        ahead[t] = predicted
        causal[t], log_norm = _condition_on(predicted, row)
        evidence += log_norm
        predicted = causal[t] @ step(t)
    return (evidence, predicted), (causal, ahead)


def _smoother(
    step: Step,
    filtered_probs: ArrayLike,
    initial: ArrayLike | None,
    ind: ArrayLike | None,
    n_time: int | None,
) -> Floats:
    filtered = _data.reals(filtered_probs, "filtered_probs")
    n = len(filtered) if n_time is None else int(n_time)
    rows = np.arange(n) if ind is None else np.asarray(ind)
    after = filtered[-1] if initial is None else _data.reals(initial, "initial")
    smoothed = np.empty(filtered.shape)
    for t in range(len(filtered) - 1, -1, -1):
        probs = filtered[t]
        if rows[t] < n - 1:
            matrix = step(t)
            probs = probs * (matrix @ _divide_safe(after, probs @ matrix))
        smoothed[t] = after = _divide_safe(probs, probs.sum())
    return smoothed


def _viterbi(initial: ArrayLike, log_step: Step, log_likelihoods: ArrayLike) -> Array:
    rows = _data.reals(log_likelihoods, "log_likelihoods")
    n_time, n_state = rows.shape
    best_next = np.empty((max(n_time - 1, 0), n_state), dtype=np.int64)
    score = np.zeros(n_state)
    for t in range(n_time - 2, -1, -1):
        scores = log_step(t) + score + rows[t + 1]
        best_next[t] = scores.argmax(axis=1)
        score = scores.max(axis=1)
    path = np.empty(n_time, dtype=np.int64)
    path[0] = np.argmax(_safe_log(initial) + rows[0] + score)
    for t in range(n_time - 1):
        path[t + 1] = best_next[t][path[t]]
    return path


def _steps(discrete: ArrayLike, continuous: ArrayLike, state_ind: ArrayLike | None) -> Step:
    """Return the matrix between bins at every row of a discrete one that changes."""
    matrices = _data.reals(discrete, "discrete_transition_matrix")
    movement = _data.reals(continuous, "continuous_transition_matrix")
    return lambda t: _get_transition_matrix(matrices[t], movement, state_ind)


def filter(  # noqa: A001 (the original's name)
    initial_distribution: ArrayLike,
    transition_matrix: ArrayLike,
    log_likelihoods: ArrayLike,
) -> Filtered:
    """Compute the probability of every state given all observations so far.

    Parameters
    ----------
    initial_distribution : array, shape (n_states,)
        Before the first observation.
    transition_matrix : array, shape (n_states, n_states)
        From row to column.
    log_likelihoods : array, shape (n_time, n_states)
        Of the observation at every time.

    Returns
    -------
    (float, ndarray)
        Log likelihood of all observations; prediction for the row after the last.
    (ndarray, ndarray), shape (n_time, n_states)
        Causal posterior; one-step prediction, of which the first row is the initial distribution.

    Examples
    --------
    >>> from tessera.decode.core import filter
    >>> _, (posterior, _) = filter([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.0, 0.0]])
    >>> posterior
    array([[0.5, 0.5]])
    """
    matrix = _data.reals(transition_matrix, "transition_matrix")
    return _filter(initial_distribution, lambda _: matrix, log_likelihoods)


def smoother(
    transition_matrix: ArrayLike,
    filtered_probs: ArrayLike,
    initial: ArrayLike | None = None,
    ind: ArrayLike | None = None,
    n_time: int | None = None,
) -> Floats:
    """Compute the probability of every state given all observations.

    Parameters
    ----------
    transition_matrix : array, shape (n_states, n_states)
        From row to column.
    filtered_probs : array, shape (n_time, n_states)
        Causal posterior of :func:`filter`.
    initial : array, shape (n_states,), optional
        The smoothed row after the last of these; default: the last filtered row.
    ind : array of int, shape (n_time,), optional
        Which rows of the whole these are.
    n_time : int, optional
        How many rows the whole has.

    Returns
    -------
    ndarray, shape (n_time, n_states)
        Acausal posterior.
    """
    matrix = _data.reals(transition_matrix, "transition_matrix")
    return _smoother(lambda _: matrix, filtered_probs, initial, ind, n_time)


def viterbi(
    initial_distribution: ArrayLike,
    transition_matrix: ArrayLike,
    log_likelihoods: ArrayLike,
) -> Array:
    """Find the most likely sequence of states.

    Parameters
    ----------
    initial_distribution : array, shape (n_states,)
        Before the first observation.
    transition_matrix : array, shape (n_states, n_states)
        From row to column.
    log_likelihoods : array, shape (n_time, n_states)
        Of the observation at every time.

    Returns
    -------
    ndarray of int, shape (n_time,)
        The path.

    Examples
    --------
    >>> from tessera.decode.core import viterbi
    >>> viterbi([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.0, -9.0], [0.0, -1.0]])
    array([0, 0])
    """
    logs = _safe_log(transition_matrix)
    return _viterbi(initial_distribution, lambda _: logs, log_likelihoods)


def filter_covariate_dependent(
    initial_distribution: ArrayLike,
    discrete_transition_matrix: ArrayLike,
    continuous_transition_matrix: ArrayLike,
    state_ind: ArrayLike | None,
    log_likelihoods: ArrayLike,
) -> Filtered:
    """Do what :func:`filter` does with discrete transitions that change over time.

    Parameters
    ----------
    initial_distribution : array, shape (n_state_bins,)
        Before the first observation.
    discrete_transition_matrix : array, shape (n_time, n_states, n_states)
        Between states, at every time.
    continuous_transition_matrix : array, shape (n_state_bins, n_state_bins)
        Between bins.
    state_ind : array of int, shape (n_state_bins,)
        State of every bin; None: the discrete matrices are between bins.
    log_likelihoods : array, shape (n_time, n_state_bins)
        Of the observation at every time.

    Returns
    -------
    (float, ndarray), (ndarray, ndarray)
        As of :func:`filter`.
    """
    step = _steps(discrete_transition_matrix, continuous_transition_matrix, state_ind)
    return _filter(initial_distribution, step, log_likelihoods)


def smoother_covariate_dependent(
    discrete_transition_matrix: ArrayLike,
    continuous_transition_matrix: ArrayLike,
    state_ind: ArrayLike | None,
    filtered_probs: ArrayLike,
    initial: ArrayLike | None = None,
    ind: ArrayLike | None = None,
    n_time: int | None = None,
) -> Floats:
    """Do what :func:`smoother` does with discrete transitions that change over time.

    Parameters
    ----------
    discrete_transition_matrix, continuous_transition_matrix, state_ind
        As of :func:`filter_covariate_dependent`.
    filtered_probs : array, shape (n_time, n_state_bins)
        Causal posterior.
    initial, ind, n_time
        As of :func:`smoother`.

    Returns
    -------
    ndarray, shape (n_time, n_state_bins)
        Acausal posterior.
    """
    step = _steps(discrete_transition_matrix, continuous_transition_matrix, state_ind)
    return _smoother(step, filtered_probs, initial, ind, n_time)


def viterbi_covariate_dependent(
    initial_distribution: ArrayLike,
    discrete_transition_matrix: ArrayLike,
    continuous_transition_matrix: ArrayLike,
    state_ind: ArrayLike | None,
    log_likelihoods: ArrayLike,
) -> Array:
    """Do what :func:`viterbi` does with discrete transitions that change over time.

    Parameters
    ----------
    initial_distribution, discrete_transition_matrix, continuous_transition_matrix, state_ind
        As of :func:`filter_covariate_dependent`.
    log_likelihoods : array, shape (n_time, n_state_bins)
        Of the observation at every time.

    Returns
    -------
    ndarray of int, shape (n_time,)
        The path.
    """
    step = _steps(discrete_transition_matrix, continuous_transition_matrix, state_ind)
    return _viterbi(initial_distribution, lambda t: _safe_log(step(t)), log_likelihoods)


class _Chunks:
    """The log likelihood, whole or a chunk of rows at a time."""

    def __init__(
        self,
        time: ArrayLike,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        is_missing: ArrayLike | None,
        n_chunks: int,
        known: Any,
        keep: bool,
    ) -> None:
        self.time = np.asarray(time)
        if not 1 <= n_chunks <= max(len(self.time), 1):
            raise ValidationError(
                f"n_chunks ({n_chunks}) cannot exceed n_time ({len(self.time)}), nor be below 1"
            )
        self.rows = np.array_split(np.arange(len(self.time)), n_chunks)
        self.missing = None if is_missing is None else np.asarray(is_missing)
        self.function, self.args = function, args
        if known is None and keep:
            known = function(time, *args, is_missing=is_missing)
        self.known = known

    def __iter__(self) -> Iterator[tuple[Array, Floats]]:
        whole = None if self.known is None else _data.reals(self.known, "log_likelihoods")
        for rows in self.rows:
            if whole is not None:
                yield rows, whole[rows]
                continue
            missing = None if self.missing is None else self.missing[rows]
            part = self.function(self.time[rows], *self.args, is_missing=missing)
            yield rows, _data.reals(part, "log_likelihoods")


def _from(step: Step, rows: Array) -> Step:
    """Return the matrices of a chunk's own rows."""
    return lambda t: step(rows[t])


def _both_ways(
    chunks: _Chunks, state_ind: ArrayLike, initial: ArrayLike, step: Step, dtype: DTypeLike
) -> Smoothed:
    states = np.asarray(state_ind)
    of_state = np.eye(int(states.max()) + 1)[states]
    shape = (len(chunks.time), len(states))
    causal, ahead = np.empty(shape), np.empty(shape)
    evidence, predicted = 0.0, _data.reals(initial, "initial_distribution")
    for rows, part in chunks:
        (value, predicted), (causal[rows], ahead[rows]) = _filter(
            predicted, _from(step, rows), part
        )
        evidence += value
    acausal = _smoother(step, causal, None, None, None)
    return (
        acausal.astype(dtype),
        (acausal @ of_state).astype(dtype),
        float(evidence),
        (causal @ of_state).astype(dtype),
        (ahead @ of_state).astype(dtype),
        chunks.known,
        causal.astype(dtype),
        ahead.astype(dtype),
    )


def chunked_filter_smoother(
    time: ArrayLike,
    state_ind: ArrayLike,
    initial_distribution: ArrayLike,
    transition_matrix: ArrayLike,
    log_likelihood_func: Callable[..., Any],
    log_likelihood_args: tuple[Any, ...],
    is_missing: ArrayLike | None = None,
    n_chunks: int = 1,
    log_likelihoods: ArrayLike | None = None,
    cache_log_likelihoods: bool = True,
    dtype: DTypeLike = np.float32,
) -> Smoothed:
    """Filter and smooth; the log likelihood may be computed a chunk of rows at a time.

    Parameters
    ----------
    time : array, shape (n_time,)
        What the log likelihood is computed at.
    state_ind : array of int, shape (n_state_bins,)
        State of every bin.
    initial_distribution : array, shape (n_state_bins,)
        Before the first observation.
    transition_matrix : array, shape (n_state_bins, n_state_bins)
        From row to column.
    log_likelihood_func : callable
        Called as ``log_likelihood_func(time, *log_likelihood_args, is_missing=is_missing)``.
    log_likelihood_args : tuple
        See there.
    is_missing : array of bool, shape (n_time,), optional
        Times to be decoded without spikes.
    n_chunks : int, default 1
        In how many parts; the result is the same.
    log_likelihoods : array, shape (n_time, n_state_bins), optional
        Where they are known.
    cache_log_likelihoods : bool, default True
        Compute them for all times at once and return them.
    dtype : dtype, default float32
        Of the arrays returned; sums are kept in float64 always.

    Returns
    -------
    acausal_posterior : ndarray, shape (n_time, n_state_bins)
        Given all observations.
    acausal_state_probabilities : ndarray, shape (n_time, n_states)
        The same per state.
    marginal_log_likelihood : float
        Log likelihood of all observations.
    causal_state_probabilities, predictive_state_probabilities : ndarray, shape (n_time, n_states)
        Given the observations so far, and those before.
    log_likelihoods : array or None
        None where they were computed a chunk at a time.
    causal_posterior, predictive_posterior : ndarray, shape (n_time, n_state_bins)
        Given the observations so far, and those before.
    """
    chunks = _Chunks(
        time,
        log_likelihood_func,
        log_likelihood_args,
        is_missing,
        n_chunks,
        log_likelihoods,
        cache_log_likelihoods,
    )
    matrix = _data.reals(transition_matrix, "transition_matrix")
    return _both_ways(chunks, state_ind, initial_distribution, lambda _: matrix, dtype)


def chunked_filter_smoother_covariate_dependent(
    time: ArrayLike,
    state_ind: ArrayLike,
    initial_distribution: ArrayLike,
    discrete_transition_matrix: ArrayLike,
    continuous_transition_matrix: ArrayLike,
    log_likelihood_func: Callable[..., Any],
    log_likelihood_args: tuple[Any, ...],
    is_missing: ArrayLike | None = None,
    n_chunks: int = 1,
    log_likelihoods: ArrayLike | None = None,
    cache_log_likelihoods: bool = True,
    dtype: DTypeLike = np.float32,
) -> Smoothed:
    """Do what :func:`chunked_filter_smoother` does with transitions that change over time.

    Parameters
    ----------
    discrete_transition_matrix : array, shape (n_time, n_states, n_states)
        Between states, at every time.
    continuous_transition_matrix : array, shape (n_state_bins, n_state_bins)
        Between bins.
    time, state_ind, initial_distribution, log_likelihood_func, log_likelihood_args, is_missing
        As of :func:`chunked_filter_smoother`.
    n_chunks, log_likelihoods, cache_log_likelihoods, dtype
        As there.

    Returns
    -------
    tuple
        As there.
    """
    chunks = _Chunks(
        time,
        log_likelihood_func,
        log_likelihood_args,
        is_missing,
        n_chunks,
        log_likelihoods,
        cache_log_likelihoods,
    )
    step = _steps(discrete_transition_matrix, continuous_transition_matrix, state_ind)
    return _both_ways(chunks, state_ind, initial_distribution, step, dtype)


def _whole(
    time: ArrayLike,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    is_missing: ArrayLike | None,
    known: Any,
    n_chunks: int,
) -> Any:
    if n_chunks > 1:
        raise NotImplementedError(
            "a path needs the log likelihood of all times at once; n_chunks must be 1 here (a "
            "model's most_likely_sequence() takes chunks)"
        )
    return function(time, *args, is_missing=is_missing) if known is None else known


def most_likely_sequence(
    time: ArrayLike,
    initial_distribution: ArrayLike,
    transition_matrix: ArrayLike,
    log_likelihood_func: Callable[..., Any],
    log_likelihood_args: tuple[Any, ...],
    is_missing: ArrayLike | None = None,
    log_likelihoods: ArrayLike | None = None,
    n_chunks: int = 1,
    dtype: DTypeLike = np.float32,
) -> tuple[Array, Any]:
    """Compute the log likelihood, then the most likely path.

    Parameters
    ----------
    time, initial_distribution, transition_matrix, log_likelihood_func, log_likelihood_args
        As of :func:`chunked_filter_smoother`.
    is_missing, log_likelihoods
        As there.
    n_chunks : int, default 1
        Only 1.
    dtype : dtype, optional
        Accepted and not used: scores are float64.

    Returns
    -------
    path : ndarray of int, shape (n_time,)
        Bin at every time.
    log_likelihoods : array
        What it was found from.
    """
    del dtype
    rows = _whole(
        time, log_likelihood_func, log_likelihood_args, is_missing, log_likelihoods, n_chunks
    )
    return viterbi(initial_distribution, transition_matrix, rows), rows


def most_likely_sequence_covariate_dependent(
    time: ArrayLike,
    state_ind: ArrayLike,
    initial_distribution: ArrayLike,
    discrete_transition_matrix: ArrayLike,
    continuous_transition_matrix: ArrayLike,
    log_likelihood_func: Callable[..., Any],
    log_likelihood_args: tuple[Any, ...],
    is_missing: ArrayLike | None = None,
    log_likelihoods: ArrayLike | None = None,
    n_chunks: int = 1,
    dtype: DTypeLike = np.float32,
) -> tuple[Array, Any]:
    """Do what :func:`most_likely_sequence` does with transitions that change over time.

    Parameters
    ----------
    discrete_transition_matrix : array, shape (n_time, n_states, n_states)
        Between states, at every time.
    continuous_transition_matrix : array, shape (n_state_bins, n_state_bins)
        Between bins.
    time, state_ind, initial_distribution, log_likelihood_func, log_likelihood_args, is_missing
        As of :func:`chunked_filter_smoother`.
    log_likelihoods, n_chunks, dtype
        As of :func:`most_likely_sequence`.

    Returns
    -------
    path : ndarray of int, shape (n_time,)
        Bin at every time.
    log_likelihoods : array
        What it was found from.
    """
    del dtype
    rows = _whole(
        time, log_likelihood_func, log_likelihood_args, is_missing, log_likelihoods, n_chunks
    )
    path = viterbi_covariate_dependent(
        initial_distribution,
        discrete_transition_matrix,
        continuous_transition_matrix,
        state_ind,
        rows,
    )
    return path, rows


def check_converged(
    log_likelihood: float, previous_log_likelihood: float, tolerance: float = 1e-4
) -> tuple[bool, bool]:
    """Say whether an iteration may stop: the log likelihood hardly changes any more.

    Parameters
    ----------
    log_likelihood, previous_log_likelihood : float
        Of this iteration and the one before.
    tolerance : float, default 1e-4
        Largest change, relative to the mean of both.

    Returns
    -------
    is_converged : bool
        Whether the change is below the tolerance.
    is_increasing : bool
        Whether it went up, or down by less than 0.001.

    Examples
    --------
    >>> from tessera.decode.core import check_converged
    >>> check_converged(-100.0, -100.001)
    (True, True)
    """
    change = float(log_likelihood) - float(previous_log_likelihood)
    scale = (abs(float(log_likelihood)) + abs(float(previous_log_likelihood))) / 2
    scale += float(np.spacing(1)) / 2
    return bool(abs(change) / scale < tolerance), bool(change >= _RISE)
