"""The model on whole grids and at single pairs of times, in NumPy or JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.xpcs._namespace import Array, namespace
from tessera.xpcs.core.physics_utils import (
    calculate_diffusion_coefficient,
    calculate_shear_rate,
    create_time_integral_matrix,
    distance,
    safe_sinc,
    trapezoid_cumsum,
)

# Where the original has no grid of times it takes this many steps from 0.
_STEPS_WITHOUT_GRID = 10001
_LEAST_G1 = 1e-10


def _axis(t1: Array) -> Array:
    """Return the times of a grid, which lie along its first axis."""
    return t1[:, 0] if t1.ndim == 2 else namespace(t1).atleast_1d(t1)


def _places(grid: Array, times: Array) -> Array:
    xp = namespace(grid, times)
    found = xp.searchsorted(grid, xp.atleast_1d(xp.asarray(times)), side="left")
    return xp.clip(found, 0, grid.shape[0] - 1)


def pair_integral(rate: Any, grid: Array, t1: Array, t2: Array) -> Array:
    """Integrate a rate between pairs of times: in steps, from tables over the grid."""
    sums = trapezoid_cumsum(rate(grid))
    return distance(sums[_places(grid, t2)] - sums[_places(grid, t1)])


def _integral(rate: Any, t1: Array, t2: Array, dt: float, grid: Array | None) -> Array:
    if t1.ndim == 1:
        xp = namespace(t1)
        steps = xp.arange(_STEPS_WITHOUT_GRID) * dt if grid is None else grid
        return pair_integral(rate, steps, t1, t2)
    return create_time_integral_matrix(rate(_axis(t1)))


def decay(integral: Array, factor: float) -> Array:
    """Return exp(-factor integral), the exponent within what double precision can say."""
    xp = namespace(integral, factor)
    return xp.exp(xp.clip(-factor * integral, -700.0, 0.0))


def g1_diffusion(
    params: Array,
    t1: Array,
    t2: Array,
    factor: float,
    dt: float,
    time_grid: Array | None = None,
) -> Array:
    """Return the diffusive part: a matrix for grids of times, a vector for pairs."""

    def rate(times: Array) -> Array:
        return calculate_diffusion_coefficient(times, params[0], params[1], params[2])

    return decay(_integral(rate, t1, t2, dt, time_grid), factor)


def angles(phi: Array) -> Array:
    """Return angles as a vector."""
    return namespace(phi).asarray(phi).reshape(-1)


def g1_shear(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    factor: float,
    dt: float,
    time_grid: Array | None = None,
) -> Array:
    """Return the part of flow: for grids a matrix for every angle, for pairs a vector."""
    xp = namespace(params, t1, phi)
    phis = angles(phi)
    if params.shape[0] < 7:
        return xp.ones_like(t1) if t1.ndim == 1 else xp.ones((len(phis), *2 * (t1.shape[0],)))

    def rate(times: Array) -> Array:
        return calculate_shear_rate(times, params[3], params[4], params[5])

    integral = _integral(rate, t1, t2, dt, time_grid)
    strength = factor * xp.cos(xp.deg2rad(params[6] - phis))
    if t1.ndim != 1:
        strength = strength[:, None, None]
    return safe_sinc(strength * integral) ** 2


def floored(g1: Array) -> Array:
    """Return correlations that are at least 1e-10."""
    return namespace(g1).where(g1 > _LEAST_G1, g1, _LEAST_G1)


def g1_total(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    diffusion: float,
    shear: float,
    dt: float,
    time_grid: Array | None = None,
) -> Array:
    """Return the product of both parts."""
    moving = g1_shear(params, t1, t2, phi, shear, dt, time_grid)
    return floored(g1_diffusion(params, t1, t2, diffusion, dt, time_grid) * moving)


def g2_scaled(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    diffusion: float,
    shear: float,
    contrast: float,
    offset: float,
    dt: float,
) -> Array:
    """Return offset + contrast g1^2."""
    return offset + contrast * g1_total(params, t1, t2, phi, diffusion, shear, dt) ** 2


def in_one_library(*values: Array) -> tuple[Array, ...]:
    """Return all as arrays of NumPy, or all of JAX if any of them is."""
    xp = namespace(*values)
    if xp is np:
        return tuple(np.asarray(value, np.float64) for value in values)
    return tuple(xp.asarray(value) for value in values)
