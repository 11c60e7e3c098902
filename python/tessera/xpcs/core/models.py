"""Models as objects: names, bounds and defaults of parameters with the formula they belong to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera._documented import parameters_of
from tessera.xpcs._arguments import Floats
from tessera.xpcs._namespace import Array, is_traced, namespace
from tessera.xpcs.core.jax_backend import (
    compute_chi_squared,
    compute_g1_diffusion,
    compute_g1_shear,
    compute_g1_total,
    compute_g2_scaled,
)
from tessera.xpcs.core.model_mixins import (
    BenchmarkingMixin,
    GradientCapabilityMixin,
    OptimizationRecommendationMixin,
)
from tessera.xpcs.core.physics import get_parameter_info, validate_parameters
from tessera.xpcs.core.physics_utils import safe_len

__all__ = [
    "CombinedModel",
    "DiffusionModel",
    "PhysicsModelBase",
    "ShearModel",
    "create_model",
    "get_available_models",
]

_MODES = ("static", "laminar_flow", "static_isotropic", "static_anisotropic")
_STANDING = [100.0, 0.0, 10.0]  # diffusion beside which the original evaluates flow alone


class PhysicsModelBase(ABC):
    """What all models have.

    Parameters
    ----------
    name : str
        Of the model.
    parameter_names : list of str
        In the order of every vector.
    """

    def __init__(self, name: str, parameter_names: list[str]) -> None:
        self.name = name
        self.parameter_names = parameter_names
        self.n_params = len(parameter_names)

    @abstractmethod
    @parameters_of(compute_g1_total, compute_g1_diffusion, compute_g1_shear)
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
        array
            Correlations.
        """

    @abstractmethod
    def get_parameter_bounds(self) -> list[tuple[float, float]]:
        """Return bounds.

        Returns
        -------
        list of (float, float)
            Of every parameter.
        """

    @abstractmethod
    def get_default_parameters(self) -> Floats:
        """Return values to begin with.

        Returns
        -------
        ndarray
            One for every parameter.
        """

    def validate_parameters(self, params: npt.ArrayLike) -> bool:
        """Return whether values lie within their bounds.

        Parameters
        ----------
        params : array
            One for every parameter.

        Returns
        -------
        bool
            All do.
        """
        return validate_parameters(params, self.get_parameter_bounds())

    def get_parameter_dict(self, params: npt.ArrayLike) -> dict[str, float]:
        """Return values by name.

        Parameters
        ----------
        params : array
            One for every parameter.

        Returns
        -------
        dict
            The values.
        """
        n_given = safe_len(params)
        if n_given != self.n_params:
            raise ValueError(f"Expected {self.n_params} parameters, got {n_given}")
        values: Any = params if is_traced(params) else np.atleast_1d(np.asarray(params)).tolist()
        return dict(zip(self.parameter_names, values, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name='{self.name}', n_params={self.n_params})"


class DiffusionModel(PhysicsModelBase):
    """Diffusion that may change with time: D0, alpha, D_offset."""

    def __init__(self) -> None:
        super().__init__("anomalous_diffusion", get_parameter_info("diffusion")["names"])

    @parameters_of(compute_g1_total, compute_g1_diffusion, compute_g1_shear)
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
        """Compute g1; angles and gap do not matter.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        array, shape (n, n)
            Correlations.
        """
        return compute_g1_diffusion(params, t1, t2, q, dt)

    def get_parameter_bounds(self) -> list[tuple[float, float]]:
        """Return bounds.

        Returns
        -------
        list of (float, float)
            Of every parameter.
        """
        return list(get_parameter_info("diffusion")["bounds"])

    def get_default_parameters(self) -> Floats:
        """Return values to begin with.

        Returns
        -------
        ndarray, shape (3,)
            One for every parameter.
        """
        return np.array(_STANDING)


class ShearModel(PhysicsModelBase):
    """Flow alone: gamma_dot_t0, beta, gamma_dot_t_offset, phi0."""

    def __init__(self) -> None:
        super().__init__("time_dependent_shear", get_parameter_info("shear")["names"])

    @parameters_of(compute_g1_total, compute_g1_diffusion, compute_g1_shear)
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
        """Compute the part of g1 that flow makes.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        array, shape (n_angle, n, n)
            Correlations.
        """
        if dt is None:
            raise TypeError("dt: flow needs the time between frames; give dt=...")
        xp = namespace(params, t1)
        whole = xp.concatenate([xp.asarray(_STANDING), xp.asarray(params)])
        return compute_g1_shear(whole, t1, t2, phi, q, L, dt)

    def get_parameter_bounds(self) -> list[tuple[float, float]]:
        """Return bounds.

        Returns
        -------
        list of (float, float)
            Of every parameter.
        """
        return list(get_parameter_info("shear")["bounds"])

    def get_default_parameters(self) -> Floats:
        """Return values to begin with.

        Returns
        -------
        ndarray, shape (4,)
            One for every parameter.
        """
        return np.array([0.01, 0.0, 0.0, 0.0])


class CombinedModel(
    PhysicsModelBase, GradientCapabilityMixin, BenchmarkingMixin, OptimizationRecommendationMixin
):
    """Diffusion, and flow unless the mode is static.

    Parameters
    ----------
    analysis_mode : {'laminar_flow', 'static', 'static_isotropic', 'static_anisotropic'}
        Which parameters there are.
    """

    def __init__(self, analysis_mode: str = "laminar_flow") -> None:
        self.analysis_mode = analysis_mode
        self._static = analysis_mode in _MODES and analysis_mode != "laminar_flow"
        model = "diffusion" if self._static else "combined"
        super().__init__(
            "static_diffusion" if self._static else "laminar_flow_complete",
            get_parameter_info(model)["names"],
        )
        self.diffusion_model = DiffusionModel()
        self.shear_model = ShearModel()

    @parameters_of(compute_g1_total, compute_g1_diffusion, compute_g1_shear)
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
        if self._static:
            return compute_g1_diffusion(params, t1, t2, q, dt)
        return compute_g1_total(params, t1, t2, phi, q, L, dt)

    def compute_g1_batch(
        self,
        params: Array,
        t1_batch: Array,
        t2_batch: Array,
        phi_batch: Array,
        q: float,
        L: float,  # noqa: N803
        dt: float | None = None,
    ) -> Array:
        """Compute g1 at triples of two times and an angle, each as if it were alone.

        Parameters
        ----------
        params : array
            Physical parameters.
        t1_batch, t2_batch, phi_batch : array, shape (n,)
            The triples.
        q, L, dt : float
            Wave vector, gap, time between frames.

        Returns
        -------
        array, shape (n,)
            Correlations.
        """
        xp = namespace(params, t1_batch)
        return xp.stack(
            [
                self.compute_g1(
                    params, xp.asarray([a]), xp.asarray([b]), xp.asarray([phi]), q, L, dt
                ).reshape(-1)[0]
                for a, b, phi in zip(t1_batch, t2_batch, phi_batch, strict=True)
            ]
        )

    @parameters_of(compute_g2_scaled, compute_g1_total, compute_g1_diffusion, compute_g1_shear)
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
        dt: float,
    ) -> Array:
        """Compute c2 = offset + contrast g1^2.

        Parameters
        ----------
        {parameters}

        Returns
        -------
        array, shape (n_angle, n, n)
            Correlations.
        """
        if dt is None:
            raise TypeError("dt parameter is required and cannot be None")
        return compute_g2_scaled(params, t1, t2, phi, q, L, contrast, offset, dt)

    @parameters_of(
        compute_chi_squared,
        compute_g2_scaled,
        compute_g1_total,
        compute_g1_diffusion,
        compute_g1_shear,
    )
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
        return compute_chi_squared(params, data, sigma, t1, t2, phi, q, L, contrast, offset, dt)

    def get_parameter_bounds(self) -> list[tuple[float, float]]:
        """Return bounds.

        Returns
        -------
        list of (float, float)
            Of every parameter.
        """
        shear = [] if self._static else self.shear_model.get_parameter_bounds()
        return self.diffusion_model.get_parameter_bounds() + shear

    def get_default_parameters(self) -> Floats:
        """Return values to begin with.

        Returns
        -------
        ndarray
            One for every parameter.
        """
        parts = [self.diffusion_model.get_default_parameters()]
        if not self._static:
            parts.append(self.shear_model.get_default_parameters())
        return np.concatenate(parts)


def create_model(analysis_mode: str) -> CombinedModel:
    """Make the model of a mode.

    Parameters
    ----------
    analysis_mode : {'static', 'laminar_flow', 'static_isotropic', 'static_anisotropic'}
        The mode.

    Returns
    -------
    CombinedModel
        The model.

    Examples
    --------
    >>> from tessera.xpcs.core.models import create_model
    >>> create_model("static_isotropic").parameter_names
    ['D0', 'alpha', 'D_offset']
    """
    if analysis_mode not in _MODES:
        raise ValueError(
            f"Invalid analysis mode {analysis_mode!r}: choose one of {', '.join(_MODES)}"
        )
    return CombinedModel(analysis_mode)


def get_available_models() -> list[str]:
    """Return the modes.

    Returns
    -------
    list of str
        What :func:`create_model` takes.
    """
    return list(_MODES)
