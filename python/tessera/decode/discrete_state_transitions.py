"""How the discrete states follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Floats
from tessera.decode._formula import Design
from tessera.decode._options import number
from tessera.decode._transition_estimates import (
    dirichlet_gradient,
    dirichlet_hessian,
    dirichlet_neg_log_likelihood,
    estimate_joint_distribution,
    estimate_non_stationary_state_transition,
    estimate_stationary_state_transition,
    get_transition_prior,
    jax_centered_log_softmax_forward,
    multinomial_gradient,
    multinomial_hessian,
    multinomial_neg_log_likelihood,
)
from tessera.decode._validation import (
    ensure_all_finite,
    ensure_all_non_negative,
    ensure_in_range,
    ensure_square_matrix,
    ensure_stochastic_matrix,
)
from tessera.decode.exceptions import ShapeValidationError, TypeValidationError, ValidationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tessera.decode._types import Covariates

__all__ = [
    "DiscreteNonStationaryCustom",
    "DiscreteNonStationaryDiagonal",
    "DiscreteStationaryCustom",
    "DiscreteStationaryDiagonal",
    "centered_softmax_forward",
    "centered_softmax_inverse",
    "dirichlet_gradient",
    "dirichlet_hessian",
    "dirichlet_neg_log_likelihood",
    "estimate_joint_distribution",
    "estimate_non_stationary_state_transition",
    "estimate_stationary_state_transition",
    "get_transition_prior",
    "jax_centered_log_softmax_forward",
    "make_transition_from_diag",
    "multinomial_gradient",
    "multinomial_hessian",
    "multinomial_neg_log_likelihood",
    "predict_discrete_state_transitions",
    "set_initial_discrete_transition",
]

_FORMULA = "1 + bs(speed, knots=[1.0, 4.0, 16.0, 32.0, 64.0])"
_ROUNDING = 1e-6  # how far the sum of a row may be from 1
_TINY = 1e-300  # keeps the logarithm of an impossible transition finite
_SPEED_KNOTS = (1.0, 4.0, 16.0, 32.0, 64.0)  # cm/s
_NON_LOCAL_DIAGONAL = (0.90, 0.90, 0.90, 0.98)  # local, no spike, continuous, fragmented


def make_transition_from_diag(diag: ArrayLike) -> Floats:
    """Return a matrix with this diagonal; what is left of a row is shared by the others.

    Parameters
    ----------
    diag : sequence of float, shape (n_states,)
        Probability of staying.

    Returns
    -------
    ndarray, shape (n_states, n_states)
        Rows sum to 1.

    Examples
    --------
    >>> from tessera.decode.discrete_state_transitions import make_transition_from_diag
    >>> make_transition_from_diag([0.5, 1.0])
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    values = _data.vector(diag, "diagonal_values")
    for i, value in enumerate(values):
        number(value, f"diagonal_values[{i}]", 0, high=1)
    n = len(values)
    if n == 1:
        return np.ones((1, 1))
    matrix = np.repeat(((1 - values) / (n - 1))[:, np.newaxis], n, axis=1)
    matrix[np.diag_indices(n)] = values
    return matrix


def centered_softmax_forward(y: ArrayLike) -> Floats:
    """Turn numbers into probabilities: softmax of them and a 0.

    Parameters
    ----------
    y : array, shape (..., n - 1)
        Logarithms of ratios to the last probability.

    Returns
    -------
    ndarray, shape (..., n)
        Probabilities along the last axis.

    Examples
    --------
    >>> from tessera.decode.discrete_state_transitions import centered_softmax_forward
    >>> centered_softmax_forward([0.0])
    array([0.5, 0.5])
    """
    array = np.asarray(y, dtype=np.float64)
    padded = np.concatenate((array, np.zeros((*array.shape[:-1], 1))), axis=-1)
    padded = np.exp(padded - padded.max(axis=-1, keepdims=True))
    probabilities: Floats = padded / padded.sum(axis=-1, keepdims=True)
    return probabilities


def centered_softmax_inverse(y: ArrayLike) -> Floats:
    """Undo :func:`centered_softmax_forward`.

    Parameters
    ----------
    y : array, shape (..., n)
        Probabilities along the last axis; 0 counts as 1e-300, in float32 as its least number.

    Returns
    -------
    ndarray, shape (..., n - 1)
        Logarithms of ratios to the last one; float32 of float32.
    """
    values = _data.array_of(y, "y")
    is_single = values.dtype == np.float32
    least = float(np.finfo(np.float32).tiny) if is_single else _TINY
    logs = np.log(np.maximum(values.astype(np.float64), least))
    inverse: Floats = logs[..., :-1] - logs[..., -1:]
    return inverse.astype(np.float32) if is_single else inverse


def set_initial_discrete_transition(
    speed: ArrayLike | None,
    speed_knots: ArrayLike | None = None,
    is_stationary: bool = False,
) -> tuple[Floats, Floats | None, Floats | None]:
    """Return the transitions that non-local models begin with.

    Parameters
    ----------
    speed : array, shape (n_time,)
        Of the animal, cm/s; transitions depend on that of the sample before.
    speed_knots : sequence of float, optional
        Knots of the splines.
    is_stationary : bool, default False
        Transitions do not depend on speed.

    Returns
    -------
    transitions : ndarray, shape (4, 4) or (n_time, 4, 4)
        From row to column.
    coefficients : ndarray, shape (n_coefficients, 4, 3), or None
        At which they begin.
    design : ndarray, shape (n_time, n_coefficients), or None
        Splines of speed.
    """
    if is_stationary:
        return make_transition_from_diag(_NON_LOCAL_DIAGONAL), None, None
    if speed is None:
        raise ValidationError("speed is missing: transitions that are not stationary depend on it")
    values = _data.vector(speed, "speed")
    knots = _SPEED_KNOTS if speed_knots is None else _data.vector(speed_knots, "speed_knots")
    formula = f"1 + bs(speed, knots=[{', '.join(repr(float(knot)) for knot in knots)}])"
    kind = DiscreteNonStationaryDiagonal(_NON_LOCAL_DIAGONAL, formula)
    return kind.make_state_transition({"speed": np.concatenate(([0.0], values[:-1]))})


def check_matrix(values: ArrayLike, name: str = "discrete_transition_type") -> Floats:
    """Refuse what is no matrix of transition probabilities."""
    matrix = _data.reals(values, name)
    ensure_all_finite(matrix, name)
    ensure_square_matrix(matrix, name)
    ensure_all_non_negative(matrix, name)
    ensure_in_range(matrix, name, 0.0, 1.0)
    ensure_stochastic_matrix(matrix, name, _ROUNDING)
    return matrix


class _Stationary:
    is_stationary = True

    def matrix(self) -> Floats:
        """Return the transition matrix.

        Returns
        -------
        ndarray, shape (n_states, n_states)
            From row to column; rows sum to 1.

        Raises
        ------
        ValidationError
            Where an entry is no probability, or a row does not sum to 1.
        """
        raise NotImplementedError

    def make_state_transition(self, *args: Any, **kwargs: Any) -> tuple[Floats, None, None]:
        """Return the matrix as models that depend on covariates return theirs.

        Parameters
        ----------
        *args, **kwargs
            What the others need.

        Returns
        -------
        matrix : ndarray, shape (n_states, n_states)
            From row to column.
        coefficients, design : None
            There are none.
        """
        del args, kwargs
        return self.matrix(), None, None


class _NonStationary:
    is_stationary = False
    formula: str

    def matrix(self) -> Floats:
        """Return the transition matrix the coefficients start from.

        Returns
        -------
        ndarray, shape (n_states, n_states)
            From row to column; rows sum to 1.

        Raises
        ------
        ValidationError
            Where an entry is no probability, or a row does not sum to 1.
        """
        raise NotImplementedError

    def design(self, covariate_data: Covariates) -> Design:
        """Evaluate the formula.

        Parameters
        ----------
        covariate_data : mapping of str to array, or pandas.DataFrame
            Covariates by name, one value per time.

        Returns
        -------
        Design
            The columns, and how to make them at other covariates.
        """
        return Design(self.formula, covariate_data)

    def coefficients(self, n_coefficient: int) -> Floats:
        """Return where expectation maximisation begins.

        Parameters
        ----------
        n_coefficient : int
            Columns of the design.

        Returns
        -------
        ndarray, shape (n_coefficients, n_states, n_states - 1)
            The intercept gives the matrix, all else is 0.
        """
        matrix = self.matrix()
        n = len(matrix)
        start = np.zeros((n_coefficient, n, n - 1))
        start[0] = centered_softmax_inverse(matrix)
        return start

    def make_state_transition(self, covariate_data: Covariates) -> tuple[Floats, Floats, Floats]:
        """Evaluate the formula on covariates.

        Parameters
        ----------
        covariate_data : mapping of str to array, or pandas.DataFrame
            Covariates by name, one value per time.

        Returns
        -------
        transitions : ndarray, shape (n_time, n_states, n_states)
            The matrix at every time.
        coefficients : ndarray, shape (n_coefficients, n_states, n_states - 1)
            What expectation maximisation begins with.
        design : ndarray, shape (n_time, n_coefficients)
            The formula's columns.
        """
        design = self.design(covariate_data).matrix
        coefficients = self.coefficients(design.shape[1])
        matrix = self.matrix()
        return np.repeat(matrix[np.newaxis], len(design), axis=0), coefficients, design


@dataclass
class DiscreteStationaryDiagonal(_Stationary):
    """Stay with some probability; else go to any other state, all alike.

    Parameters
    ----------
    diagonal_values : array, shape (n_states,)
        Probability of staying, per time bin.

    Examples
    --------
    >>> from tessera.decode import DiscreteStationaryDiagonal
    >>> DiscreteStationaryDiagonal([0.9, 0.8]).matrix()
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """

    diagonal_values: ArrayLike

    def matrix(self) -> Floats:
        """Return the transition matrix.

        Returns
        -------
        ndarray, shape (n_states, n_states)
            From row to column; rows sum to 1.

        Raises
        ------
        ValidationError
            Where an entry is no probability, or a row does not sum to 1.
        """
        return check_matrix(make_transition_from_diag(self.diagonal_values), "diagonal_values")


@dataclass
class DiscreteStationaryCustom(_Stationary):
    """A matrix of transition probabilities, from row to column.

    Parameters
    ----------
    values : array, shape (n_states, n_states)
        Rows sum to 1.

    Examples
    --------
    >>> from tessera.decode import DiscreteStationaryCustom
    >>> DiscreteStationaryCustom([[0.9, 0.1], [0.0, 1.0]]).matrix()[1]
    array([0., 1.])
    """

    values: ArrayLike

    def matrix(self) -> Floats:
        """Return the transition matrix.

        Returns
        -------
        ndarray, shape (n_states, n_states)
            From row to column; rows sum to 1.

        Raises
        ------
        ValidationError
            Where an entry is no probability, or a row does not sum to 1.
        """
        return check_matrix(self.values, "values")


@dataclass
class DiscreteNonStationaryDiagonal(_NonStationary):
    """Transitions that depend on covariates; they begin as a diagonal says.

    Parameters
    ----------
    diagonal_values : array, shape (n_states,)
        Probability of staying, at which transitions begin.
    formula : str
        How they depend on covariates, in the language of patsy and R: sums of columns, ``bs(...)``
        for B-splines. The default is that of the original, over ``speed``.

    Examples
    --------
    >>> from tessera.decode import DiscreteNonStationaryDiagonal
    >>> kind = DiscreteNonStationaryDiagonal([0.9, 0.8], formula="1 + speed")
    >>> transitions, coefficients, design = kind.make_state_transition({"speed": [0.0, 10.0, 20.0]})
    >>> transitions.shape, coefficients.shape, design.shape
    ((3, 2, 2), (2, 2, 1), (3, 2))
    """

    diagonal_values: ArrayLike
    formula: str = _FORMULA

    def matrix(self) -> Floats:
        """Return the transition matrix the coefficients start from.

        Returns
        -------
        ndarray, shape (n_states, n_states)
            From row to column; rows sum to 1.

        Raises
        ------
        ValidationError
            Where an entry is no probability, or a row does not sum to 1.
        """
        return check_matrix(make_transition_from_diag(self.diagonal_values), "diagonal_values")


@dataclass
class DiscreteNonStationaryCustom(_NonStationary):
    """Transitions that depend on covariates; they begin as a matrix says.

    Parameters
    ----------
    values : array, shape (n_states, n_states)
        From row to column, at which transitions begin.
    formula : str
        How they depend on covariates, in the language of patsy and R: sums of columns, ``bs(...)``
        for B-splines. The default is that of the original, over ``speed``.
    """

    values: ArrayLike
    formula: str = _FORMULA

    def matrix(self) -> Floats:
        """Return the transition matrix the coefficients start from.

        Returns
        -------
        ndarray, shape (n_states, n_states)
            From row to column; rows sum to 1.

        Raises
        ------
        ValidationError
            Where an entry is no probability, or a row does not sum to 1.
        """
        return check_matrix(self.values, "values")


def predict_discrete_state_transitions(
    discrete_transition_design_matrix: ArrayLike | None,
    discrete_transition_coefficients: ArrayLike,
    discrete_transition_covariate_data: Covariates | None = None,
) -> Floats:
    """Return the transition matrix at every time.

    Parameters
    ----------
    discrete_transition_design_matrix : Design or array, shape (n_time, n_coefficients)
        The formula or its columns.
    discrete_transition_coefficients : array, shape (n_coefficients, n_states, n_states - 1)
        One set per state.
    discrete_transition_covariate_data : mapping of str to array, optional
        Where to evaluate the formula, instead of at its first covariates. A model's
        ``discrete_transition_design_matrix_`` and patsy's matrices know their formula; with a plain
        array the columns (n_time, n_coefficients) themselves are given here.

    Returns
    -------
    ndarray, shape (n_time, n_states, n_states)
        From row to column.
    """
    design: Any = discrete_transition_design_matrix
    data = discrete_transition_covariate_data
    if isinstance(design, Design):
        design = design.matrix if data is None else design.build(data)
    elif data is not None:
        design = _rebuilt(design, data)
    columns = _data.position(design, "discrete_transition_design_matrix")
    coefficients = _data.reals(discrete_transition_coefficients, "discrete_transition_coefficients")
    if coefficients.ndim != 3 or len(coefficients) != columns.shape[1]:
        raise ShapeValidationError(
            f"discrete_transition_coefficients: expected shape ({columns.shape[1]}, n_states, "
            f"n_states - 1), one per column of the design matrix, got {coefficients.shape}"
        )
    eta = np.einsum("tc,cij->tij", columns, coefficients)
    return centered_softmax_forward(eta)


def _rebuilt(design: Any, data: Any) -> Any:
    """Return the columns at other covariates: by patsy's formula, or as they are given."""
    info = getattr(design, "design_info", None)  # ours and patsy's matrices know their formula
    if isinstance(info, Design):
        return info.build(data)
    if info is not None:
        from patsy import build_design_matrices

        return build_design_matrices([info], data)[0]
    if isinstance(data, np.ndarray) and data.ndim == 2:
        if data.shape[1] != np.shape(design)[-1]:
            raise ShapeValidationError(
                f"discrete_transition_covariate_data: {data.shape[1]} columns, the design matrix "
                f"has {np.shape(design)[-1]}"
            )
        return data
    raise TypeValidationError(
        "discrete_transition_covariate_data: the design matrix is a plain array, which has no "
        "formula to evaluate covariates by; pass a model's discrete_transition_design_matrix_ or "
        "patsy's matrix, or the columns (n_time, n_coefficients) at these covariates"
    )
