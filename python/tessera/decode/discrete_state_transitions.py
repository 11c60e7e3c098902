"""How the discrete states follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Floats
from tessera.decode._formula import Design
from tessera.decode._options import number
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
    "make_transition_from_diag",
    "predict_discrete_state_transitions",
]

_FORMULA = "1 + bs(speed, knots=[1.0, 4.0, 16.0, 32.0, 64.0])"
_ROUNDING = 1e-6  # how far the sum of a row may be from 1
_TINY = 1e-300  # keeps the logarithm of an impossible transition finite


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
    """Return softmax([y, 0]) along the last axis."""
    array = np.asarray(y, dtype=np.float64)
    padded = np.concatenate((array, np.zeros((*array.shape[:-1], 1))), axis=-1)
    padded = np.exp(padded - padded.max(axis=-1, keepdims=True))
    probabilities: Floats = padded / padded.sum(axis=-1, keepdims=True)
    return probabilities


def centered_softmax_inverse(y: ArrayLike) -> Floats:
    """Return what :func:`centered_softmax_forward` maps to y."""
    logs = np.log(np.maximum(np.asarray(y, dtype=np.float64), _TINY))
    inverse: Floats = logs[..., :-1] - logs[..., -1:]
    return inverse


def check_matrix(values: ArrayLike, name: str = "discrete_transition_type") -> Floats:
    """Refuse what is no matrix of transition probabilities."""
    matrix = _data.reals(values, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeValidationError(f"{name}: expected a square matrix, got shape {matrix.shape}")
    outside = np.argwhere((matrix < 0) | (matrix > 1) | np.isnan(matrix))
    if outside.size:
        i, j = outside[0]
        raise ValidationError(f"{name}: entry ({i}, {j}) is {matrix[i, j]}, not from 0 to 1")
    sums = matrix.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > _ROUNDING)
    if wrong.size:
        raise ValidationError(f"{name}: row {wrong[0]} sums to {sums[wrong[0]]:.9g}, expected 1")
    return matrix


class _Stationary:
    is_stationary = True

    def matrix(self) -> Floats:
        """Return the transition matrix."""
        raise NotImplementedError

    def make_state_transition(self, *args: Any, **kwargs: Any) -> tuple[Floats, None, None]:
        """Return (matrix, no coefficients, no design)."""
        del args, kwargs
        return self.matrix(), None, None


class _NonStationary:
    is_stationary = False
    formula: str

    def matrix(self) -> Floats:
        """Return the transition matrix the coefficients start from."""
        raise NotImplementedError

    def design(self, covariate_data: Covariates) -> Design:
        """Evaluate the formula."""
        return Design(self.formula, covariate_data)

    def coefficients(self, n_coefficient: int) -> Floats:
        """Return the start: the intercept gives the matrix, all else is 0."""
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
    """Stay with probability ``diagonal_values``; else go to any other state."""

    diagonal_values: ArrayLike

    def matrix(self) -> Floats:
        """Return the transition matrix."""
        return check_matrix(make_transition_from_diag(self.diagonal_values), "diagonal_values")


@dataclass
class DiscreteStationaryCustom(_Stationary):
    """A matrix of transition probabilities, from row to column."""

    values: ArrayLike

    def matrix(self) -> Floats:
        """Return the transition matrix."""
        return check_matrix(self.values, "values")


@dataclass
class DiscreteNonStationaryDiagonal(_NonStationary):
    """Transitions that depend on covariates; they begin as ``diagonal_values``."""

    diagonal_values: ArrayLike
    formula: str = _FORMULA

    def matrix(self) -> Floats:
        """Return the transition matrix the coefficients start from."""
        return check_matrix(make_transition_from_diag(self.diagonal_values), "diagonal_values")


@dataclass
class DiscreteNonStationaryCustom(_NonStationary):
    """Transitions that depend on covariates; they begin as ``values``."""

    values: ArrayLike
    formula: str = _FORMULA

    def matrix(self) -> Floats:
        """Return the transition matrix the coefficients start from."""
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
