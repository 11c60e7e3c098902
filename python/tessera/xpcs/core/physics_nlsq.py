"""The model as the original's least squares call it: on grids of times only."""

from __future__ import annotations

from tessera.xpcs._namespace import HAS_JAX, Array
from tessera.xpcs.core._formulas import g1_diffusion, g1_shear, g1_total, g2_scaled
from tessera.xpcs.core.jax_backend import compute_g2_scaled, compute_g2_scaled_with_factors

__all__ = ["compute_g2_scaled", "compute_g2_scaled_with_factors", "jax_available"]

jax_available = HAS_JAX


def _compute_g1_diffusion_meshgrid(
    params: Array, t1: Array, t2: Array, wavevector_q_squared_half_dt: float, dt: float
) -> Array:
    return g1_diffusion(params, t1, t2, wavevector_q_squared_half_dt, dt)


def _compute_g1_shear_meshgrid(
    params: Array, t1: Array, t2: Array, phi: Array, sinc_prefactor: float, dt: float
) -> Array:
    return g1_shear(params, t1, t2, phi, sinc_prefactor, dt)


_compute_g1_total_meshgrid = g1_total
_compute_g2_scaled_meshgrid = g2_scaled
