"""The model with its arguments checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera._documented import parameters_of
from tessera.xpcs._namespace import HAS_JAX, Array, is_traced
from tessera.xpcs.core.jax_backend import (
    batch_chi_squared,
    compute_chi_squared,
    compute_g1_diffusion,
    compute_g1_shear,
    compute_g1_total,
    compute_g2_scaled,
    vectorized_g2_computation,
)
from tessera.xpcs.core.models import create_model
from tessera.xpcs.core.physics_utils import safe_len

__all__ = ["TheoryEngine", "compute_chi2_theory", "compute_g2_theory"]

_COSTS = {"static": 10, "static_isotropic": 10, "static_anisotropic": 15, "laminar_flow": 50}
_G1 = (compute_g1_total, compute_g1_diffusion, compute_g1_shear)
_G2 = (compute_g2_scaled, *_G1)


def _check_setup(q: float, L: float) -> None:  # noqa: N803
    if q <= 0:
        raise ValueError(f"Wave vector q must be positive, got {q}")
    if L <= 0:
        raise ValueError(f"L, the gap, must be positive, got {L}")


def _check_scaling(contrast: float) -> None:
    if not is_traced(contrast) and contrast <= 0:
        raise ValueError(f"Contrast must be positive, got {contrast}")


def _check_data(data: Array, sigma: Array, t1: Array, t2: Array, phi: Array) -> None:
    if is_traced(data):
        return
    wanted = (np.atleast_1d(phi).shape[0], safe_len(t1), safe_len(t2))
    for name, values in (("Data", data), ("Sigma", sigma)):
        if np.shape(values) != wanted:
            raise ValueError(f"{name} shape {np.shape(values)} doesn't match expected {wanted}")
    if np.any(np.asarray(sigma) <= 0):
        raise ValueError("All uncertainties must be positive")
    if not np.isfinite(data).all():
        raise ValueError("Data contains non-finite values")
    if not np.isfinite(sigma).all():
        raise ValueError("Uncertainties contain non-finite values")


class TheoryEngine:
    """The model of a mode, which checks what it is given.

    Parameters
    ----------
    analysis_mode : {'laminar_flow', 'static', 'static_isotropic', 'static_anisotropic'}
        The mode.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.xpcs.core import TheoryEngine
    >>> t = np.arange(20) * 0.1
    >>> engine = TheoryEngine("static_isotropic")
    >>> engine.compute_g1(np.array([1e4, 0.0, 0.0]), t, t, np.zeros(1), 0.0054, 2e6, 0.1).shape
    (20, 20)
    """

    def __init__(self, analysis_mode: str = "laminar_flow") -> None:
        self.analysis_mode = analysis_mode
        self.model = create_model(analysis_mode)

    @parameters_of(*_G1)
    def compute_g1(
        self,
        params: Array,
        t1: Array,
        t2: Array,
        phi: Array,
        q: float,
        L: float,  # noqa: N803
        dt: float | None = None,
    ) -> Array:
        """Compute g1.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        array, shape (n, n) without flow, else (n_angle, n, n)
            Correlations.
        """
        _check_setup(q, L)
        return self.model.compute_g1(params, t1, t2, phi, q, L, dt)

    @parameters_of(*_G2)
    def compute_g2(
        self,
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
        """Compute c2 = offset + contrast g1^2.

        Parameters
        ----------
        {parameters}
        dt : float
            Time between frames; there is no default to guess.

        Returns
        -------
        array, shape (n_angle, n, n)
            Correlations.
        """
        if dt is None:
            raise ValueError("TheoryEngine.compute_g2 requires an explicit dt, in seconds")
        _check_setup(q, L)
        _check_scaling(contrast)
        return self.model.compute_g2(params, t1, t2, phi, q, L, contrast, offset, dt)

    @parameters_of(compute_chi_squared, *_G2)
    def compute_chi_squared(
        self,
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

        Returns
        -------
        float
            Chi squared.
        """
        _check_setup(q, L)
        _check_scaling(contrast)
        _check_data(data, sigma, t1, t2, phi)
        return self.model.compute_chi_squared(
            params, data, sigma, t1, t2, phi, q, L, contrast, offset, dt
        )

    @parameters_of(vectorized_g2_computation, compute_chi_squared, *_G2)
    def batch_computation(
        self,
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
        if params_batch.ndim != 2:
            raise ValueError("params_batch must be 2D array (n_sets, n_params)")
        if params_batch.shape[1] != self.model.n_params:
            raise ValueError(
                f"Expected {self.model.n_params} parameters, got {params_batch.shape[1]}"
            )
        return batch_chi_squared(params_batch, data, sigma, t1, t2, phi, q, L, contrast, offset, dt)

    def estimate_computation_cost(self, t1: Array, t2: Array, phi: Array) -> dict[str, Any]:
        """Say about how much one evaluation takes.

        Parameters
        ----------
        t1, t2, phi : array
            Times and angles.

        Returns
        -------
        dict
            ``n_time_pairs``, ``n_angles``, ``n_total_points``, ``estimated_operations``,
            ``estimated_memory_mb``, ``performance_tier`` ('light', 'medium', 'heavy') and more.
        """
        n_pairs = safe_len(t1) * safe_len(t2)
        n_angles = np.atleast_1d(phi).shape[0]
        n_points = n_pairs * n_angles
        operations = n_points * _COSTS[self.analysis_mode]
        tiers = ((1e6, "light"), (1e8, "medium"))
        return {
            "n_time_pairs": n_pairs,
            "n_angles": n_angles,
            "n_total_points": n_points,
            "estimated_operations": operations,
            "estimated_memory_mb": n_points * 32 / 1024**2,  # four doubles a point
            "analysis_mode": self.analysis_mode,
            "backend": "JAX" if HAS_JAX else "NumPy",
            "performance_tier": next((t for most, t in tiers if operations < most), "heavy"),
        }

    def get_model_info(self) -> dict[str, Any]:
        """Return all about the model.

        Returns
        -------
        dict
            See
            :meth:`~tessera.xpcs.core.model_mixins.OptimizationRecommendationMixin.get_model_info`.
        """
        return {
            **self.model.get_model_info(),
            "theory_engine_version": "2.0",
            "backend_available": True,
            "supports_batch_computation": True,
        }

    def __repr__(self) -> str:
        return f"TheoryEngine(mode='{self.analysis_mode}', backend=tessera)"


@parameters_of(*_G2)
def compute_g2_theory(
    params: Array,
    t1: Array,
    t2: Array,
    phi: Array,
    q: float,
    L: float,  # noqa: N803
    contrast: float,
    offset: float,
    analysis_mode: str = "laminar_flow",
    dt: float | None = None,
) -> Array:
    """Compute c2; see :meth:`TheoryEngine.compute_g2`.

    Parameters
    ----------
    {parameters}
    analysis_mode : str, default 'laminar_flow'
        The mode.

    Returns
    -------
    array, shape (n_angle, n, n)
        Correlations.
    """
    engine = TheoryEngine(analysis_mode)
    return engine.compute_g2(params, t1, t2, phi, q, L, contrast, offset, dt)


@parameters_of(compute_chi_squared, *_G2)
def compute_chi2_theory(
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
    analysis_mode: str = "laminar_flow",
    dt: float | None = None,
) -> Array:
    """Compute chi squared; see :meth:`TheoryEngine.compute_chi_squared`.

    Parameters
    ----------
    {parameters}
    analysis_mode : str, default 'laminar_flow'
        The mode.

    Returns
    -------
    float
        Chi squared.
    """
    engine = TheoryEngine(analysis_mode)
    return engine.compute_chi_squared(params, data, sigma, t1, t2, phi, q, L, contrast, offset, dt)
