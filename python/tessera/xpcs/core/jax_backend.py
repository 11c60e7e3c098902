"""The model by the original's names: g1, g2, chi squared and their derivatives.

Arrays of NumPy give arrays of NumPy; arrays of JAX give arrays of JAX, and can be traced.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from tessera._documented import parameters_of
from tessera.xpcs._namespace import HAS_JAX, Array, LateArrayModule, is_traced, namespace
from tessera.xpcs.core import _derivatives, _formulas
from tessera.xpcs.core._formulas import in_one_library
from tessera.xpcs.core.diagonal_correction import (
    apply_diagonal_correction,
    apply_diagonal_correction_batch,
)
from tessera.xpcs.core.physics_factors import diffusion_factor, shear_factor
from tessera.xpcs.core.physics_utils import PI, safe_sinc

__all__ = [
    "PI",
    "apply_diagonal_correction",
    "apply_diagonal_correction_batch",
    "batch_chi_squared",
    "clear_meshgrid_cache",
    "compute_chi_squared",
    "compute_g1_diffusion",
    "compute_g1_shear",
    "compute_g1_total",
    "compute_g2_scaled",
    "compute_g2_scaled_with_factors",
    "get_cache_stats",
    "get_cached_meshgrid",
    "get_device_info",
    "get_performance_summary",
    "gradient_chi2",
    "gradient_g2",
    "hessian_chi2",
    "hessian_g2",
    "jax_available",
    "jnp",
    "numpy_gradients_available",
    "reset_cache_stats",
    "safe_sinc",
    "validate_backend",
    "vectorized_g2_computation",
]

JAX_AVAILABLE = jax_available = HAS_JAX
numpy_gradients_available = True
jnp = LateArrayModule()

_DEFAULT_STEP = 0.001  # seconds, of the original
_MESHGRID_CACHE_MAX_SIZE = 64
_LARGEST_CACHED = 2000
_NO_COUNTS = {"hits": 0, "misses": 0, "evictions": 0, "skipped_large": 0, "skipped_traced": 0}
_meshgrid_cache: OrderedDict[tuple[object, ...], tuple[Array, Array]] = OrderedDict()
_cache_stats: dict[str, int] = dict(_NO_COUNTS)


def _key(times: Array) -> tuple[object, ...]:
    values = np.asarray(times)
    return (type(times).__name__, values.shape, str(values.dtype), values.tobytes())


def get_cached_meshgrid(t1: Array, t2: Array) -> tuple[Array, Array]:
    """Return grids of two vectors of times, kept for the next call with the same times.

    Parameters
    ----------
    t1, t2 : array, shape (n,)
        Times; grids, and more than 2000 times, are returned as they are.

    Returns
    -------
    (array, array)
        Grids of shape (n1, n2).
    """
    if t1.ndim != 1 or t2.ndim != 1:
        return t1, t2
    if len(t1) > _LARGEST_CACHED:
        _cache_stats["skipped_large"] += 1
        return t1, t2
    if is_traced(t1, t2):
        _cache_stats["skipped_traced"] += 1
        return _grid(t1, t2)
    key = (*_key(t1), *_key(t2))
    if key in _meshgrid_cache:
        _meshgrid_cache.move_to_end(key)
        _cache_stats["hits"] += 1
        return _meshgrid_cache[key]
    _cache_stats["misses"] += 1
    if len(_meshgrid_cache) >= _MESHGRID_CACHE_MAX_SIZE:
        _meshgrid_cache.popitem(last=False)
        _cache_stats["evictions"] += 1
    _meshgrid_cache[key] = _grid(t1, t2)
    return _meshgrid_cache[key]


def clear_meshgrid_cache() -> None:
    """Forget all grids."""
    _meshgrid_cache.clear()


def get_cache_stats() -> dict[str, int | float]:
    """Return how often grids were found.

    Returns
    -------
    dict
        ``hits``, ``misses``, ``evictions``, ``skipped_large``, ``skipped_traced``, ``hit_rate``,
        ``cache_size`` and ``max_cache_size``.
    """
    asked = _cache_stats["hits"] + _cache_stats["misses"]
    return {
        **_cache_stats,
        "hit_rate": _cache_stats["hits"] / asked if asked else 0.0,
        "cache_size": len(_meshgrid_cache),
        "max_cache_size": _MESHGRID_CACHE_MAX_SIZE,
    }


def reset_cache_stats() -> None:
    """Count from 0 again."""
    _cache_stats.update(_NO_COUNTS)


def _grid(t1: Array, t2: Array) -> tuple[Array, Array]:
    """Return grids of times; those that are grids already are left."""
    if t1.ndim == 1 and t2.ndim == 1:
        first, second = namespace(t1, t2).meshgrid(t1, t2, indexing="ij")
        return first, second
    return t1, t2


def compute_g1_diffusion(
    params: Array, t1: Array, t2: Array, q: float, dt: float | None = None
) -> Array:
    """Compute the diffusive part of g1.

    Parameters
    ----------
    params : array, shape (3,) or (7,)
        D0, alpha, D_offset and, with flow, gamma_dot_t0, beta, gamma_dot_t_offset, phi0.
    t1, t2 : array, shape (n,) or (n, n)
        Times, or grids of them.
    q : float
        Wave vector, 1 / Å.
    dt : float, optional
        Time between frames; by default that of the times.

    Returns
    -------
    array, shape (n, n)
        Correlations.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.xpcs.core import compute_g1_diffusion
    >>> t = np.arange(3) * 0.1
    >>> compute_g1_diffusion(np.array([1000.0, 0.0, 0.0]), t, t, 0.01, 0.1)[0].round(4).tolist()
    [1.0, 0.995, 0.99]
    """
    params, t1, t2 = in_one_library(params, t1, t2)
    t1, t2 = _grid(t1, t2)
    if dt is None:
        dt = float(t1[1, 0] - t1[0, 0]) if t1.shape[0] > 1 else 1.0
    return _formulas.g1_diffusion(params, t1, t2, diffusion_factor(q, dt), dt)


@parameters_of(compute_g1_diffusion)
def compute_g1_shear(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
) -> Array:
    """Compute the part of g1 that flow makes: sinc squared of the phase.

    Parameters
    ----------
    {parameters}
    phi : array, shape (n_angle,)
        Angles in degrees.
    L : float
        Gap, Å.
    dt : float
        Time between frames.

    Returns
    -------
    array, shape (n_angle, n, n)
        Correlations; 1 without parameters of flow.
    """
    params, t1, t2, phi = in_one_library(params, t1, t2, phi)
    t1, t2 = _grid(t1, t2)
    return _formulas.g1_shear(params, t1, t2, phi, shear_factor(q, L, dt), dt)


@parameters_of(compute_g1_diffusion, compute_g1_shear)
def compute_g1_total(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float | None,
) -> Array:
    """Compute g1: diffusion and flow.

    Parameters
    ----------
    {parameters}
    dt : float or None
        Time between frames; None is 0.001.

    Returns
    -------
    array, shape (n_angle, n, n)
        Correlations, at least 1e-10.
    """
    params, t1, t2, phi = in_one_library(params, t1, t2, phi)
    t1, t2 = _grid(t1, t2)
    step = _DEFAULT_STEP if dt is None else dt
    return _formulas.g1_total(
        params, t1, t2, phi, diffusion_factor(q, step), shear_factor(q, L, step), step
    )


@parameters_of(compute_g1_total, compute_g1_diffusion, compute_g1_shear)
def compute_g2_scaled(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None,
) -> Array:
    """Compute c2 = offset + contrast g1^2.

    Parameters
    ----------
    {parameters}
    contrast, offset : float
        Scaling.

    Returns
    -------
    array, shape (n_angle, n, n)
        Correlations.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.xpcs.core import compute_g2_scaled
    >>> t, theta = np.arange(50) * 0.1, np.array([1e4, -0.5, 10.0])
    >>> compute_g2_scaled(theta, t, t, np.array([0.0, 45.0]), 0.0054, 2e6, 0.3, 1.0, 0.1).shape
    (2, 50, 50)
    """
    params, t1, t2, phi = in_one_library(params, t1, t2, phi)
    t1, t2 = _grid(t1, t2)
    step = _DEFAULT_STEP if dt is None else dt
    factors = diffusion_factor(q, step), shear_factor(q, L, step)
    return _formulas.g2_scaled(params, t1, t2, phi, *factors, contrast, offset, step)


@parameters_of(compute_g2_scaled, compute_g1_total, compute_g1_diffusion, compute_g1_shear)
def compute_g2_scaled_with_factors(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    wavevector_q_squared_half_dt: float,
    sinc_prefactor: float,
    contrast: float,
    offset: float,
    dt: float,
) -> Array:
    """Compute c2 from factors computed before.

    Parameters
    ----------
    {parameters}
    wavevector_q_squared_half_dt, sinc_prefactor : float
        See :class:`~tessera.xpcs.core.physics_factors.PhysicsFactors`.

    Returns
    -------
    array, shape (n_angle, n, n)
        Correlations.
    """
    params, t1, t2, phi = in_one_library(params, t1, t2, phi)
    t1, t2 = _grid(t1, t2)
    factors = wavevector_q_squared_half_dt, sinc_prefactor
    return _formulas.g2_scaled(params, t1, t2, phi, *factors, contrast, offset, dt)


@parameters_of(compute_g2_scaled, compute_g1_total, compute_g1_diffusion, compute_g1_shear)
def compute_chi_squared(
    params: Array,
    data: Array,
    sigma: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None = None,
) -> Array:
    """Compute the sum of squared residuals over sigma.

    Parameters
    ----------
    {parameters}
    data, sigma : array, shape (n_angle, n, n)
        Measurement and its standard deviation.

    Returns
    -------
    float
        Chi squared.
    """
    xp = namespace(params, data, sigma, t1)
    theory = compute_g2_scaled(params, t1, t2, phi, q, L, contrast, offset, dt)
    return xp.sum(((xp.asarray(data) - theory) / xp.asarray(sigma)) ** 2)


def _exact(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    dt: float | None,
) -> tuple[Any, ...]:
    """Return the arguments of the derivatives."""
    theta, first, _, phis = (
        np.asarray(value, np.float64) for value in (params, *_grid(*in_one_library(t1, t2)), phi)
    )
    step = _DEFAULT_STEP if dt is None else dt
    times = np.ascontiguousarray(first[:, 0])
    return (
        theta,
        times,
        phis.reshape(-1),
        diffusion_factor(q, step),
        shear_factor(q, L, step),
        contrast,
    )


@parameters_of(compute_g2_scaled, compute_g1_total, compute_g1_diffusion, compute_g1_shear)
def gradient_g2(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None = None,
) -> Array:
    """Compute the derivatives of c2 by the parameters; the original can do no grids.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    ndarray, shape (n_angle, n, n, n_param)
        Exact derivatives.
    """
    return _derivatives.value_and_slopes(*_exact(params, t1, t2, phi, q, L, contrast, dt))[1]


@parameters_of(compute_g2_scaled, compute_g1_total, compute_g1_diffusion, compute_g1_shear)
def hessian_g2(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None = None,
) -> Array:
    """Compute the second derivatives of c2 by the parameters.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    ndarray, shape (n_angle, n, n, n_param, n_param)
        Exact derivatives.
    """
    return _derivatives.curvatures(*_exact(params, t1, t2, phi, q, L, contrast, dt))


@parameters_of(
    compute_chi_squared,
    compute_g2_scaled,
    compute_g1_total,
    compute_g1_diffusion,
    compute_g1_shear,
)
def gradient_chi2(
    params: Array,
    data: Array,
    sigma: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None = None,
) -> Array:
    """Compute the derivatives of chi squared by the parameters.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    ndarray, shape (n_param,)
        Exact derivatives.
    """
    value, slopes = _derivatives.value_and_slopes(*_exact(params, t1, t2, phi, q, L, contrast, dt))
    weighted = (np.asarray(data) - offset - value) / np.asarray(sigma) ** 2
    return -2.0 * np.einsum("atu,atup->p", weighted, slopes)


@parameters_of(
    compute_chi_squared,
    compute_g2_scaled,
    compute_g1_total,
    compute_g1_diffusion,
    compute_g1_shear,
)
def hessian_chi2(
    params: Array,
    data: Array,
    sigma: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None = None,
) -> Array:
    """Compute the second derivatives of chi squared by the parameters.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    ndarray, shape (n_param, n_param)
        Exact derivatives.
    """
    own = _exact(params, t1, t2, phi, q, L, contrast, dt)
    value, slopes = _derivatives.value_and_slopes(*own)
    weight = 1.0 / np.broadcast_to(np.asarray(sigma, np.float64), value.shape) ** 2
    residual = (np.asarray(data) - offset - value) * weight
    return 2.0 * (
        np.einsum("atup,atu,atuq->pq", slopes, weight, slopes)
        - np.einsum("atu,atupq->pq", residual, _derivatives.curvatures(*own))
    )


@parameters_of(compute_g2_scaled, compute_g1_total, compute_g1_diffusion, compute_g1_shear)
def vectorized_g2_computation(
    params_batch: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None = None,
) -> Array:
    """Compute c2 for many vectors of parameters.

    Parameters
    ----------
    {parameters}
    params_batch : array, shape (n_set, n_param)
        A vector a row.

    Returns
    -------
    array, shape (n_set, n_angle, n, n)
        Correlations.
    """
    return namespace(params_batch, t1).stack(
        [compute_g2_scaled(row, t1, t2, phi, q, L, contrast, offset, dt) for row in params_batch]
    )


@parameters_of(
    vectorized_g2_computation,
    compute_chi_squared,
    compute_g2_scaled,
    compute_g1_total,
    compute_g1_diffusion,
    compute_g1_shear,
)
def batch_chi_squared(
    params_batch: Array,
    data: Array,
    sigma: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    dt: float | None = None,
) -> Array:
    """Compute chi squared for many vectors of parameters.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    array, shape (n_set,)
        Chi squared of each.
    """
    own = (data, sigma, t1, t2, phi, q, L, contrast, offset, dt)
    return namespace(params_batch, data, t1).stack(
        [compute_chi_squared(row, *own) for row in params_batch]
    )


def validate_backend() -> dict[str, Any]:
    """Try out the model and its derivatives.

    Returns
    -------
    dict
        ``jax_available``, ``gradient_support``, ``hessian_support``, ``backend_type``,
        ``performance_estimate``, ``recommendations``, ``test_results`` and more.
    """
    times = np.array([0.0, 0.001, 0.002])
    own = (np.array([100.0, 0.0, 10.0]), times, times, np.zeros(1), 0.01, 1e6, 0.5, 1.0, 0.001)
    tests: dict[str, str] = {}
    for name, function in (
        ("forward_computation", compute_g2_scaled),
        ("gradient_computation", gradient_g2),
        ("hessian_computation", hessian_g2),
    ):
        fine = bool(np.isfinite(np.asarray(function(*own))).all())
        tests[name] = "success" if fine else "failed: values are not finite"
    return {
        **get_performance_summary(),
        "gradient_support": tests["gradient_computation"] == "success",
        "hessian_support": tests["hessian_computation"] == "success",
        "performance_estimate": "optimal (1x)",
        "test_results": tests,
    }


def get_device_info() -> dict[str, Any]:
    """Say where these functions compute.

    Returns
    -------
    dict
        ``available``, ``devices``, ``backend``, ``device_count``, ``fallback_active``,
        ``performance_impact`` and ``recommendations``. Fits run in the compiled library, whatever
        this says: see :func:`tessera.xpcs.get_device_status`.
    """
    return {
        "available": True,
        "devices": ["cpu:0"],
        "backend": "cpu",
        "device_count": 1,
        "fallback_active": False,
        "performance_impact": "optimal",
        "recommendations": ["fits run in the compiled library and need nothing else"],
    }


def get_performance_summary() -> dict[str, Any]:
    """Say what derivatives are computed with.

    Returns
    -------
    dict
        ``backend_type``, ``jax_available``, ``numpy_gradients_available``, ``fallback_stats``,
        ``performance_multiplier`` and ``recommendations``.
    """
    return {
        "backend_type": "jax_native" if HAS_JAX else "exact_derivatives",
        "jax_available": HAS_JAX,
        "numpy_gradients_available": numpy_gradients_available,
        "fallback_stats": {
            "gradient_calls": 0,
            "hessian_calls": 0,
            "jit_bypassed": 0,
            "vmap_loops": 0,
        },
        "performance_multiplier": "1x",
        "recommendations": [],
    }


_compute_g1_diffusion_core = _formulas.g1_diffusion
_compute_g1_shear_core = _formulas.g1_shear
_compute_g1_total_core = _formulas.g1_total
_compute_g2_scaled_core = _formulas.g2_scaled
