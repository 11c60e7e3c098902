"""The model at pairs of times for many angles, as the original's samplers call it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tessera.xpcs._namespace import Array, namespace
from tessera.xpcs.core._formulas import _places, angles, decay, floored, pair_integral
from tessera.xpcs.core.physics_factors import diffusion_factor, shear_factor
from tessera.xpcs.core.physics_utils import (
    calculate_diffusion_coefficient,
    calculate_shear_rate,
    distance,
    safe_sinc,
    trapezoid_cumsum,
)

__all__ = [
    "ShardGrid",
    "compute_g1_diffusion",
    "compute_g1_total",
    "compute_g1_total_with_precomputed",
    "precompute_shard_grid",
]

_DEFAULT_STEP = 0.001  # seconds, of the original
_LEAST_RATE = 1e-10


class ShardGrid(NamedTuple):
    """What pairs of times need, computed once.

    Parameters
    ----------
    time_safe : array
        The grid, at least half a step.
    idx1, idx2 : array of int
        Places of the pairs on the grid.
    dt_safe : float
        The step.
    """

    time_safe: Array
    idx1: Array
    idx2: Array
    dt_safe: float


def precompute_shard_grid(time_grid: Array, t1: Array, t2: Array, dt: float | None) -> ShardGrid:
    """Find the places of pairs of times on a grid.

    Parameters
    ----------
    time_grid : array, shape (n,)
        Times on an even grid.
    t1, t2 : array, shape (n_pair,)
        Pairs.
    dt : float or None
        The step; None is 0.001.

    Returns
    -------
    ShardGrid
        For :func:`compute_g1_total_with_precomputed`.
    """
    xp = namespace(time_grid, t1, t2)
    step = _DEFAULT_STEP if dt is None else float(dt)
    if step <= 0:
        raise ValueError(f"precompute_shard_grid: dt must be positive, got {step}")
    grid = xp.asarray(time_grid)
    least = max(0.5 * step, 1e-8)
    return ShardGrid(
        xp.where(grid > least, grid, least), _places(grid, t1), _places(grid, t2), step
    )


def _combined(params: Array, phi: Array, fading: Array, integral: Array, factor: float) -> Array:
    xp = namespace(params, phi, fading)
    phis = angles(phi)
    if params.shape[0] < 7:
        return floored(xp.broadcast_to(fading, (len(phis), *fading.shape)))
    strength = factor * xp.cos(xp.deg2rad(params[6] - phis))
    return floored(fading * safe_sinc(strength[:, None] * integral[None, :]) ** 2)


def compute_g1_total_with_precomputed(
    params: Array,
    phi_unique: Array,
    shard_grid: ShardGrid,
    wavevector_q_squared_half_dt: float,
    sinc_prefactor: float,
) -> Array:
    """Compute g1 at the pairs of a prepared grid.

    Parameters
    ----------
    params : array, shape (3,) or (7,)
        Physical parameters.
    phi_unique : array, shape (n_angle,)
        Degrees.
    shard_grid : ShardGrid
        Of :func:`precompute_shard_grid`.
    wavevector_q_squared_half_dt, sinc_prefactor : float
        See :class:`~tessera.xpcs.core.physics_factors.PhysicsFactors`.

    Returns
    -------
    array, shape (n_angle, n_pair)
        Correlations.
    """
    xp = namespace(params, phi_unique, shard_grid.time_safe)
    times = shard_grid.time_safe

    def integral(scale: float, exponent: float, shift: float) -> Array:
        rate = scale * times**exponent + shift
        sums = trapezoid_cumsum(xp.where(rate > _LEAST_RATE, rate, _LEAST_RATE))
        return distance(sums[shard_grid.idx2] - sums[shard_grid.idx1])

    fading = decay(integral(params[0], params[1], params[2]), wavevector_q_squared_half_dt)
    flow = integral(params[3], params[4], params[5]) if params.shape[0] >= 7 else fading
    return _combined(params, phi_unique, fading, flow, sinc_prefactor)


def _compute_g1_diffusion_elementwise(
    params: Array, t1: Array, t2: Array, time_grid: Array, wavevector_q_squared_half_dt: float
) -> Array:
    def rate(times: Array) -> Array:
        return calculate_diffusion_coefficient(times, params[0], params[1], params[2])

    return decay(pair_integral(rate, time_grid, t1, t2), wavevector_q_squared_half_dt)


def _check_pairs(t1: Array, t2: Array) -> None:
    if t1.ndim != 1 or t2.ndim != 1:
        raise ValueError(
            f"expected 1D paired arrays of times, got t1.ndim={t1.ndim}, t2.ndim={t2.ndim}"
        )
    if len(t1) != len(t2):
        raise ValueError(f"expected paired times of same length, got {len(t1)} and {len(t2)}")


def _grid(t1: Array, t2: Array, dt: float, time_grid: Array | None) -> Array:
    xp = namespace(t1, t2)
    if time_grid is not None:
        return xp.asarray(time_grid)
    last = float(np.nanmax(np.concatenate([np.asarray(t1), np.asarray(t2)])))
    n_time = round(last / dt) + 1
    return xp.linspace(0.0, dt * (n_time - 1), n_time)


def compute_g1_diffusion(
    params: Array,
    t1: Array,
    t2: Array,
    q: float,
    dt: float | None = None,
    time_grid: Array | None = None,
) -> Array:
    """Compute the diffusive part of g1 at pairs of times.

    Parameters
    ----------
    params : array
        Physical parameters.
    t1, t2 : array, shape (n_pair,)
        Pairs.
    q : float
        Wave vector.
    dt : float, optional
        The step; default 0.001.
    time_grid : array, optional
        Where rates are integrated; by default steps from 0 to the last time.

    Returns
    -------
    array, shape (n_pair,)
        Correlations.
    """
    _check_pairs(t1, t2)
    step = _DEFAULT_STEP if dt is None else dt
    grid = _grid(t1, t2, step, time_grid)
    return _compute_g1_diffusion_elementwise(params, t1, t2, grid, diffusion_factor(q, step))


def compute_g1_total(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float | None,
    time_grid: Array | None = None,
    _debug: bool = False,
) -> Array:
    """Compute g1 at pairs of times for every angle.

    Parameters
    ----------
    params : array, shape (3,) or (7,)
        Physical parameters.
    t1, t2 : array, shape (n_pair,)
        Pairs.
    phi : array, shape (n_angle,)
        Degrees.
    q, L : float
        Wave vector and gap.
    dt : float or None
        The step; None is 0.001.
    time_grid : array, optional
        Where rates are integrated; by default steps from 0 to the last time.
    _debug : bool, default False
        Accepted for scripts of the original.

    Returns
    -------
    array, shape (n_angle, n_pair)
        Correlations.
    """
    _check_pairs(t1, t2)
    step = _DEFAULT_STEP if dt is None else dt
    grid = _grid(t1, t2, step, time_grid)
    fading = _compute_g1_diffusion_elementwise(params, t1, t2, grid, diffusion_factor(q, step))
    flow = fading
    if params.shape[0] >= 7:
        flow = pair_integral(
            lambda times: calculate_shear_rate(times, params[3], params[4], params[5]), grid, t1, t2
        )
    return _combined(params, phi, fading, flow, shear_factor(q, L, step))
