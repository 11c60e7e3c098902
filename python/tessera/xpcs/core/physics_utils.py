"""Small formulas of the model: rates, their integrals, guarded functions.

They run in the library of their arguments, NumPy or JAX, so JAX can differentiate them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tessera.xpcs._namespace import Array, namespace
from tessera.xpcs.core.diagonal_correction import (
    apply_diagonal_correction,
    apply_diagonal_correction_batch,
)

__all__ = [
    "EPS",
    "PI",
    "apply_diagonal_correction",
    "apply_diagonal_correction_batch",
    "calculate_diffusion_coefficient",
    "calculate_shear_rate",
    "calculate_shear_rate_cmc",
    "create_time_integral_matrix",
    "safe_exp",
    "safe_len",
    "safe_sinc",
    "trapezoid_cumsum",
]

PI = np.pi
EPS = 1e-12

_LEAST_RATE = 1e-10  # rates below it count as it
_LEAST_TIME = 1e-8
_ROUNDED = 1e-12  # keeps the distance of two integrals smooth where they meet


def safe_len(obj: object) -> int:
    """Return the length of something; 1 of what has none.

    Parameters
    ----------
    obj : object
        An array, a sequence, an iterable or a number.

    Returns
    -------
    int
        The length of the first axis.
    """
    shape = getattr(obj, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    try:
        if hasattr(obj, "__len__"):
            return len(obj)
        if isinstance(obj, Iterable):
            return len(list(obj))
    except (TypeError, ValueError):
        pass
    return 1


def safe_exp(x: Array, max_val: float = 700.0) -> Array:
    """Return the exponential of numbers held within what double precision can say.

    Parameters
    ----------
    x : array
        Exponents.
    max_val : float, default 700
        They are clipped to this size.

    Returns
    -------
    array
        Of the same shape.
    """
    xp = namespace(x)
    return xp.exp(xp.clip(xp.asarray(x), -max_val, max_val))


def safe_sinc(x: Array) -> Array:
    """Return sin(x) / x, from its series where x is small.

    Parameters
    ----------
    x : array
        Angles in radians.

    Returns
    -------
    array
        Of the same shape, 1 at 0.
    """
    xp = namespace(x)
    x = xp.asarray(x)
    square = x * x
    series = 1.0 - square / 6.0 + square * square / 120.0
    divisor = xp.where(xp.abs(x) > EPS, x, 1.0)
    return xp.where(xp.abs(x) < 1e-4, series, xp.sin(x) / divisor)


def _first_step(time_array: Array) -> Array:
    xp = namespace(time_array)
    return xp.abs(time_array[min(1, time_array.shape[0] - 1)] - time_array[0])


def _safe_times(time_array: Array) -> Array:
    """Return times that are at least half a step: powers of 0 are infinite."""
    xp = namespace(time_array)
    half = 0.5 * _first_step(time_array)
    least = xp.where(half > _LEAST_TIME, half, _LEAST_TIME)
    return xp.where(time_array > least, time_array, least)


def _rate(time_array: Array, scale: float, exponent: float, shift: float) -> Array:
    xp = namespace(time_array, scale, exponent, shift)
    rate = scale * _safe_times(xp.asarray(time_array)) ** exponent + shift
    return xp.where(rate.real > _LEAST_RATE, rate, _LEAST_RATE)


def calculate_diffusion_coefficient(
    time_array: Array,
    D0: float,  # noqa: N803
    alpha: float,
    D_offset: float,  # noqa: N803
) -> Array:
    """Return D(t) = D0 t^alpha + D_offset, at least 1e-10.

    Parameters
    ----------
    time_array : array, shape (n,)
        Times; those below half a step count as half a step.
    D0, alpha, D_offset : float
        Scale, exponent and offset.

    Returns
    -------
    array, shape (n,)
        Diffusion coefficients.
    """
    return _rate(time_array, D0, alpha, D_offset)


def calculate_shear_rate(
    time_array: Array, gamma_dot_0: float, beta: float, gamma_dot_offset: float
) -> Array:
    """Return the shear rate gamma_dot_0 t^beta + gamma_dot_offset, at least 1e-10.

    Parameters
    ----------
    time_array : array, shape (n,)
        Times; those below half a step count as half a step.
    gamma_dot_0, beta, gamma_dot_offset : float
        Scale, exponent and offset.

    Returns
    -------
    array, shape (n,)
        Rates.
    """
    return _rate(time_array, gamma_dot_0, beta, gamma_dot_offset)


def calculate_shear_rate_cmc(
    time_array: Array, gamma_dot_0: float, beta: float, gamma_dot_offset: float
) -> Array:
    """Return the same as :func:`calculate_shear_rate`; the original has two of it.

    Parameters
    ----------
    time_array, gamma_dot_0, beta, gamma_dot_offset
        As there.

    Returns
    -------
    array, shape (n,)
        Rates.
    """
    return calculate_shear_rate(time_array, gamma_dot_0, beta, gamma_dot_offset)


def trapezoid_cumsum(values: Array) -> Array:
    """Integrate by trapezoids, in steps, from the first value.

    Parameters
    ----------
    values : array, shape (n,)
        Rates on an even grid.

    Returns
    -------
    array, shape (n,)
        Integrals; the first is 0.
    """
    xp = namespace(values)
    values = xp.asarray(values)
    sums = xp.cumsum(0.5 * (values[:-1] + values[1:]))
    return xp.concatenate([xp.zeros(1, dtype=values.dtype), sums])


def distance(difference: Array) -> Array:
    """Return the size of differences of integrals, rounded off at 0."""
    return namespace(difference).sqrt(difference**2 + _ROUNDED)


def create_time_integral_matrix(time_dependent_array: Array) -> Array:
    """Return the integral of a rate between every two times, in steps.

    Parameters
    ----------
    time_dependent_array : array, shape (n,)
        Rates on an even grid.

    Returns
    -------
    array, shape (n, n)
        Sizes of the integrals, 1e-6 on the diagonal, where the original rounds them off.
    """
    xp = namespace(time_dependent_array)
    sums = trapezoid_cumsum(xp.atleast_1d(xp.asarray(time_dependent_array)))
    return distance(sums[:, None] - sums[None, :])


_calculate_diffusion_coefficient_impl_jax = calculate_diffusion_coefficient
_calculate_shear_rate_impl_jax = calculate_shear_rate
_create_time_integral_matrix_impl_jax = create_time_integral_matrix
_trapezoid_cumsum = trapezoid_cumsum
