"""Scaling by linear least squares, bounds of a mode, and what a fit is summed up in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._namespace import HAS_JAX, Array, namespace
from tessera.xpcs.core.theory import TheoryEngine

__all__ = [
    "DatasetSize",
    "FitResult",
    "ParameterSpace",
    "ScaledFittingEngine",
    "UnifiedHomodyneEngine",
    "solve_least_squares_chunked_jax",
    "solve_least_squares_general_jax",
    "solve_least_squares_jax",
]

Bounds = tuple[float, float]
_DIFFUSION = ("D0", "alpha", "D_offset")
_SHEAR = ("gamma_dot_t0", "beta", "gamma_dot_t_offset", "phi0")
_OTHER_NAMES = {
    "gamma_dot_0": "gamma_dot_t0",
    "gamma_dot_offset": "gamma_dot_t_offset",
    "phi_0": "phi0",
}
_LEAST_CONTRAST = 1e-6
_IMPOSSIBLE = 1e10  # likelihood of parameters the model cannot take


def _names(analysis_mode: str) -> tuple[str, ...]:
    return _DIFFUSION + _SHEAR if analysis_mode == "laminar_flow" else _DIFFUSION


@dataclass
class ParameterSpace:
    """Bounds and priors of scaling and physical parameters.

    Parameters
    ----------
    contrast_bounds, offset_bounds : (float, float)
        Of the scaling.
    contrast_prior, offset_prior : (float, float)
        Mean and standard deviation.
    D0_bounds, alpha_bounds, D_offset_bounds : (float, float)
        Of diffusion.
    gamma_dot_t0_bounds, beta_bounds, gamma_dot_t_offset_bounds, phi0_bounds : (float, float)
        Of flow.
    D0_prior, alpha_prior, D_offset_prior : (float, float)
        Mean and standard deviation.
    gamma_dot_t0_prior, beta_prior, gamma_dot_t_offset_prior, phi0_prior : (float, float)
        Mean and standard deviation.
    fitted_range, theory_range : (float, float)
        Where values of data and model lie.
    config_manager : ConfigManager or dict, optional
        A configuration, whose bounds go before those above.
    """

    contrast_bounds: Bounds = (0.0, 1.0)
    offset_bounds: Bounds = (0.5, 1.5)
    contrast_prior: Bounds = (0.5, 0.25)
    offset_prior: Bounds = (1.0, 0.25)
    D0_bounds: Bounds = (100.0, 1e5)
    alpha_bounds: Bounds = (-2.0, 2.0)
    D_offset_bounds: Bounds = (-1e5, 1e5)
    gamma_dot_t0_bounds: Bounds = (1e-6, 0.5)
    beta_bounds: Bounds = (-2.0, 2.0)
    gamma_dot_t_offset_bounds: Bounds = (-0.1, 0.1)
    phi0_bounds: Bounds = (-10.0, 10.0)
    D0_prior: Bounds = (1000.0, 1000.0)
    alpha_prior: Bounds = (0.5, 0.5)
    D_offset_prior: Bounds = (10.0, 200.0)
    gamma_dot_t0_prior: Bounds = (0.01, 0.1)
    beta_prior: Bounds = (0.0, 0.5)
    gamma_dot_t_offset_prior: Bounds = (0.0, 0.02)
    phi0_prior: Bounds = (0.0, 5.0)
    fitted_range: Bounds = (0.0, 2.0)
    theory_range: Bounds = (0.0, 1.0)
    config_manager: object | None = None

    def _configured(self) -> dict[str, Bounds]:
        """Return the bounds a configuration states."""
        config: Any = getattr(self.config_manager, "config", self.config_manager)
        if not isinstance(config, Mapping):
            return {}
        entries = (config.get("parameter_space") or {}).get("bounds") or []
        if isinstance(entries, Mapping):
            entries = [{"name": name, **dict(entry)} for name, entry in entries.items()]
        return {
            _OTHER_NAMES.get(entry["name"], entry["name"]): (
                float(entry["min"]),
                float(entry["max"]),
            )
            for entry in entries
            if {"name", "min", "max"} <= set(entry)
        }

    def get_param_bounds(self, analysis_mode: str) -> list[Bounds]:
        """Return the bounds of a mode's physical parameters.

        Parameters
        ----------
        analysis_mode : str
            The mode.

        Returns
        -------
        list of (float, float)
            In the order of every vector.
        """
        said = self._configured()
        names = _names(analysis_mode)
        return [said.get(name, getattr(self, f"{name}_bounds")) for name in names]

    def get_param_priors(self, analysis_mode: str) -> list[Bounds]:
        """Return means and standard deviations of a mode's physical parameters.

        Parameters
        ----------
        analysis_mode : str
            The mode.

        Returns
        -------
        list of (float, float)
            In the order of every vector.
        """
        return [getattr(self, f"{name}_prior") for name in _names(analysis_mode)]

    def _get_default_bound_for_param(self, param_name: str) -> Bounds:
        name = _OTHER_NAMES.get(param_name, param_name)
        found: Bounds = getattr(self, f"{name}_bounds", (0.0, 1.0))
        return found


class DatasetSize:
    """Words for numbers of points."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"

    @staticmethod
    def categorize(data_size: int) -> str:
        """Return the word.

        Parameters
        ----------
        data_size : int
            Number of points.

        Returns
        -------
        str
            'small' below 1e6, 'medium' below 1e7, else 'large'.
        """
        if data_size < 1_000_000:
            return DatasetSize.SMALL
        return DatasetSize.MEDIUM if data_size < 10_000_000 else DatasetSize.LARGE


@dataclass
class FitResult:
    """What a fit found, as the original's older functions return it.

    Parameters
    ----------
    params : ndarray
        Physical parameters.
    contrast, offset : float
        Scaling.
    chi_squared, reduced_chi_squared : float
        Of the residuals.
    degrees_of_freedom : int
        Points less parameters.
    p_value : float
        Of chi squared.
    param_errors : ndarray, optional
        Standard deviations.
    contrast_error, offset_error : float, optional
        Standard deviations.
    residual_std, max_residual : float
        Of the residuals.
    fit_iterations : int
        Steps.
    converged : bool
        The fit ended of itself.
    computation_time : float
        Seconds.
    backend, dataset_size, analysis_mode : str
        How it was computed.
    """

    params: npt.NDArray[Any]
    contrast: float
    offset: float
    chi_squared: float
    reduced_chi_squared: float
    degrees_of_freedom: int
    p_value: float
    param_errors: npt.NDArray[Any] | None = None
    contrast_error: float | None = None
    offset_error: float | None = None
    residual_std: float = 0.0
    max_residual: float = 0.0
    fit_iterations: int = 0
    converged: bool = True
    computation_time: float = 0.0
    backend: str = "JAX" if HAS_JAX else "NumPy"
    dataset_size: str = "unknown"
    analysis_mode: str = "unknown"

    def get_summary(self) -> dict[str, Any]:
        """Return all of it as nested dicts.

        Returns
        -------
        dict
            ``parameters``, ``errors``, ``fit_quality`` and ``convergence``.
        """
        errors = None if self.param_errors is None else self.param_errors.tolist()
        quality = (
            "chi_squared reduced_chi_squared degrees_of_freedom p_value residual_std max_residual"
        )
        return {
            "parameters": {
                "physical": self.params.tolist(),
                "contrast": self.contrast,
                "offset": self.offset,
            },
            "errors": {
                "physical": errors,
                "contrast": self.contrast_error,
                "offset": self.offset_error,
            },
            "fit_quality": {name: getattr(self, name) for name in quality.split()},
            "convergence": {
                "converged": self.converged,
                "iterations": self.fit_iterations,
                "computation_time": self.computation_time,
                "backend": self.backend,
                "dataset_size": self.dataset_size,
                "analysis_mode": self.analysis_mode,
            },
        }


def _solve(square: Array, theory: Array, data: Array, product: Array, n: Array) -> Any:
    """Return contrast and offset from sums; 1 and 1 where the model is constant."""
    xp = namespace(square, data)
    determinant = square * n - theory * theory
    fine = xp.abs(determinant) > 1e-12
    divisor = xp.where(fine, determinant, 1.0)
    contrast = xp.where(fine, (n * product - theory * data) / divisor, 1.0)
    offset = xp.where(fine, (square * data - theory * product) / divisor, 1.0)
    return xp.where(contrast > _LEAST_CONTRAST, contrast, _LEAST_CONTRAST), offset


def solve_least_squares_jax(theory_batch: Array, exp_batch: Array) -> tuple[Array, Array]:
    """Find contrast and offset of every angle by linear least squares.

    Parameters
    ----------
    theory_batch, exp_batch : array, shape (n_angle, n)
        Model without scaling, and data.

    Returns
    -------
    contrast, offset : array, shape (n_angle,)
        The contrast is at least 1e-6; both are 1 where the model is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera.xpcs.core.fitting import solve_least_squares_jax
    >>> x = np.array([[0.0, 1.0, 2.0]])
    >>> [float(v[0]) for v in solve_least_squares_jax(x, 1.0 + 0.25 * x)]
    [0.25, 1.0]
    """
    xp = namespace(theory_batch, exp_batch)
    theory, data = xp.asarray(theory_batch), xp.asarray(exp_batch)
    found: tuple[Array, Array] = _solve(
        xp.sum(theory * theory, axis=1),
        xp.sum(theory, axis=1),
        xp.sum(data, axis=1),
        xp.sum(theory * data, axis=1),
        theory.shape[1],
    )
    return found


def solve_least_squares_general_jax(
    design_matrix: Array, target_vector: Array, regularization: float = 1e-10
) -> Array:
    """Solve linear least squares with any number of parameters.

    Parameters
    ----------
    design_matrix : array, shape (n, n_param)
        A column for every parameter.
    target_vector : array, shape (n,)
        Data.
    regularization : float, default 1e-10
        Added to the diagonal of the normal equations.

    Returns
    -------
    array, shape (n_param,)
        Parameters.
    """
    xp = namespace(design_matrix, target_vector)
    design = xp.asarray(design_matrix)
    n_param = design.shape[1]
    # The same minimum as the normal equations have, without squaring the condition number.
    stacked = xp.concatenate([design, regularization**0.5 * xp.eye(n_param)])
    target = xp.concatenate([xp.asarray(target_vector), xp.zeros(n_param)])
    return xp.linalg.lstsq(stacked, target, rcond=None)[0]


def solve_least_squares_chunked_jax(theory_chunks: Array, exp_chunks: Array) -> tuple[Array, Array]:
    """Find one contrast and offset for data that come in pieces.

    Parameters
    ----------
    theory_chunks, exp_chunks : sequence of array
        Model without scaling, and data.

    Returns
    -------
    contrast, offset : array, shape ()
        As :func:`solve_least_squares_jax` finds them from the whole.
    """
    xp = namespace(theory_chunks, exp_chunks)
    sums: list[Any] = [0.0] * 4
    n_data = 0
    for theory, data in zip(theory_chunks, exp_chunks, strict=True):
        terms = (theory * theory, theory, data, theory * data)
        sums = [total + xp.sum(term) for total, term in zip(sums, terms, strict=True)]
        n_data += theory.shape[0]
    square, model, measured, product = (xp.asarray(total) for total in sums)
    contrast, offset = _solve(square, model, measured, product, n_data)
    return xp.asarray(contrast), xp.asarray(offset)


class UnifiedHomodyneEngine:
    """A model with bounds, scaling and likelihood.

    Parameters
    ----------
    analysis_mode : str, default 'laminar_flow'
        The mode.
    parameter_space : ParameterSpace, optional
        Bounds and priors.

    Examples
    --------
    >>> from tessera.xpcs.core import ScaledFittingEngine
    >>> ScaledFittingEngine("static_isotropic").get_parameter_info()["parameter_count"]
    3
    """

    def __init__(
        self, analysis_mode: str = "laminar_flow", parameter_space: ParameterSpace | None = None
    ) -> None:
        self.analysis_mode = analysis_mode
        self.parameter_space = parameter_space or ParameterSpace()
        self.theory_engine = TheoryEngine(analysis_mode)
        self.param_bounds = self.parameter_space.get_param_bounds(analysis_mode)
        self.param_priors = self.parameter_space.get_param_priors(analysis_mode)

    def estimate_scaling_parameters(
        self, data: npt.NDArray[Any], theory: npt.NDArray[Any], validate_bounds: bool = True
    ) -> tuple[float, float]:
        """Find contrast and offset, the means over angles.

        Parameters
        ----------
        data, theory : array, shape (n,) or (n_angle, n)
            Data, and the model without scaling.
        validate_bounds : bool, default True
            Clip to the bounds.

        Returns
        -------
        (float, float)
            Contrast and offset.
        """
        found = solve_least_squares_jax(np.atleast_2d(theory), np.atleast_2d(data))
        contrast, offset = (float(np.mean(values)) for values in found)
        if validate_bounds:
            contrast = float(np.clip(contrast, *self.parameter_space.contrast_bounds))
            offset = float(np.clip(offset, *self.parameter_space.offset_bounds))
        return contrast, offset

    def compute_likelihood(
        self,
        params: npt.ArrayLike,
        contrast: float,
        offset: float,
        data: npt.NDArray[Any],
        sigma: npt.NDArray[Any],
        t1: npt.ArrayLike,
        t2: npt.ArrayLike,
        phi: npt.ArrayLike,
        q: float,
        L: float,  # noqa: N803
        dt: float | None = None,
    ) -> float:
        """Compute the negative log likelihood of Gaussian errors.

        Parameters
        ----------
        params : array
            Physical parameters.
        contrast, offset : float
            Scaling.
        data, sigma : array, shape (n_angle, n, n)
            Measurement and its standard deviation.
        t1, t2, phi : array
            Times and angles.
        q, L, dt : float
            Wave vector, gap, time between frames.

        Returns
        -------
        float
            1e10 where the model cannot be computed.
        """
        try:
            g1 = np.asarray(self.theory_engine.compute_g1(params, t1, t2, phi, q, L, dt=dt))
            residual = (np.asarray(data) - contrast * g1**2 - offset) / sigma
        except (ValueError, ArithmeticError):
            return _IMPOSSIBLE
        return float(
            0.5 * np.sum(residual**2) + 0.5 * np.sum(np.log(2 * np.pi * np.asarray(sigma) ** 2))
        )

    def detect_dataset_size(self, data: npt.NDArray[Any]) -> str:
        """Return the word for the size of data.

        Parameters
        ----------
        data : array
            Data.

        Returns
        -------
        str
            See :class:`DatasetSize`.
        """
        return DatasetSize.categorize(data.size)

    def validate_inputs(
        self,
        data: npt.NDArray[Any],
        sigma: npt.NDArray[Any] | None,
        t1: npt.ArrayLike,
        t2: npt.ArrayLike,
        phi: npt.ArrayLike,
        q: float,
        L: float,  # noqa: N803
    ) -> None:
        """Raise ValueError for data that cannot be fitted.

        Parameters
        ----------
        data, sigma : array
            Measurement and its standard deviation.
        t1, t2, phi : array
            Times and angles.
        q, L : float
            Wave vector and gap.
        """
        if data.size == 0:
            raise ValueError("Data array is empty")
        if sigma is not None:
            if data.shape != sigma.shape:
                raise ValueError("Data and sigma must have same shape")
            if np.any(sigma <= 0):
                raise ValueError("All uncertainties must be positive")
            if not np.isfinite(sigma).all():
                raise ValueError("Sigma contains non-finite values")
        if q <= 0 or L <= 0:
            raise ValueError("q and L must be positive")
        if not np.isfinite(data).all():
            raise ValueError("Data contains non-finite values")

    def get_parameter_info(self) -> dict[str, Any]:
        """Return bounds and priors.

        Returns
        -------
        dict
            ``analysis_mode``, ``parameter_count``, ``physical_bounds``, ``physical_priors``,
            ``scaling_bounds``, ``scaling_priors`` and ``data_ranges``.
        """
        space = self.parameter_space
        return {
            "analysis_mode": self.analysis_mode,
            "parameter_count": len(self.param_bounds),
            "physical_bounds": self.param_bounds,
            "physical_priors": self.param_priors,
            "scaling_bounds": {"contrast": space.contrast_bounds, "offset": space.offset_bounds},
            "scaling_priors": {"contrast": space.contrast_prior, "offset": space.offset_prior},
            "data_ranges": {"fitted": space.fitted_range, "theory": space.theory_range},
        }


ScaledFittingEngine = UnifiedHomodyneEngine
