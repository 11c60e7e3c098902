"""What models say of their derivatives, how fast those are, and which optimisers suit them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._namespace import HAS_JAX, Array
from tessera.xpcs.core.jax_backend import (
    get_device_info,
    gradient_g2,
    hessian_g2,
    numpy_gradients_available,
    validate_backend,
)

__all__ = ["BenchmarkingMixin", "GradientCapabilityMixin", "OptimizationRecommendationMixin"]

_SETUP = {"q": 0.01, "L": 1e6, "contrast": 0.8, "offset": 1.0, "dt": 0.001}


class GradientCapabilityMixin:
    """Derivatives of a model."""

    def get_gradient_function(self) -> Callable[..., Array]:
        """Return the function of first derivatives.

        Returns
        -------
        callable
            :func:`~tessera.xpcs.core.jax_backend.gradient_g2`.
        """
        return gradient_g2

    def get_hessian_function(self) -> Callable[..., Array]:
        """Return the function of second derivatives.

        Returns
        -------
        callable
            :func:`~tessera.xpcs.core.jax_backend.hessian_g2`.
        """
        return hessian_g2

    def supports_gradients(self) -> bool:
        """Return True: derivatives are exact and need nothing installed.

        Returns
        -------
        bool
            True.
        """
        return True

    def get_best_gradient_method(self) -> str:
        """Name what derivatives are computed with.

        Returns
        -------
        str
            'jax_native' where JAX is installed, so that it can trace the model, else
            'exact_derivatives'.
        """
        return "jax_native" if HAS_JAX else "exact_derivatives"

    def get_gradient_capabilities(self) -> dict[str, Any]:
        """Say what derivatives there are.

        Returns
        -------
        dict
            ``gradient_available``, ``hessian_available``, ``best_method``, ``backend_type``,
            ``backend_summary``, ``device_info`` and more.
        """
        found = validate_backend()
        return {
            "gradient_available": found["gradient_support"],
            "hessian_available": found["hessian_support"],
            "best_method": "exact derivatives",
            "backend_type": found["backend_type"],
            "performance_estimate": found["performance_estimate"],
            "performance_warning": None,
            "jax_available": HAS_JAX,
            "numpy_gradients_available": numpy_gradients_available,
            "device_info": get_device_info(),
            "recommendations": found["recommendations"],
            "fallback_stats": found["fallback_stats"],
            "backend_summary": "exact derivatives, on the CPU",
        }


class BenchmarkingMixin:
    """Times and checks of a model's derivatives."""

    analysis_mode: str
    get_default_parameters: Callable[..., Array]
    compute_g2: Callable[..., Array]

    def benchmark_gradient_performance(
        self, test_params: npt.ArrayLike | None = None
    ) -> dict[str, Any]:
        """Time the model with its derivatives on a small grid.

        Parameters
        ----------
        test_params : array, optional
            Where; by default at the model's defaults.

        Returns
        -------
        dict
            ``test_conditions``, ``methods`` and ``best_method``.
        """
        theta = np.asarray(
            self.get_default_parameters() if test_params is None else test_params, np.float64
        )
        times, phi = np.array([0.0, 0.1, 0.2]), np.array([0.0, 45.0, 90.0])
        begin = time.perf_counter()
        value = self.compute_g2(theta, times, times, phi, **_SETUP)
        slopes = gradient_g2(theta, times, times, phi, **_SETUP)
        seconds = time.perf_counter() - begin
        name = "exact derivatives"
        return {
            "test_conditions": {
                "n_parameters": len(theta),
                "n_time_points": len(times),
                "n_angles": len(phi),
                "analysis_mode": self.analysis_mode,
            },
            "methods": {
                "exact": {
                    "name": name,
                    "computation_time": seconds,
                    "success": True,
                    "forward_shape": value.shape,
                    "gradient_shape": slopes.shape,
                    "performance_ratio": 1.0,
                }
            },
            "best_method": {"method": "exact", "name": name, "time": seconds},
            "performance_ratio": None,
        }

    def validate_gradient_accuracy(
        self, test_params: npt.ArrayLike | None = None, tolerance: float = 1e-6
    ) -> dict[str, Any]:
        """Compare derivatives with differences.

        Parameters
        ----------
        test_params : array, optional
            Where; by default at the model's defaults.
        tolerance : float, default 1e-6
            Of the largest difference, relative to the largest derivative of that parameter.

        Returns
        -------
        dict
            ``test_conditions``, ``accuracy_assessment`` and ``recommendations``.
        """
        theta = np.asarray(
            self.get_default_parameters() if test_params is None else test_params, np.float64
        )
        times, phi = np.arange(5) * 0.1, np.zeros(1)
        slopes = gradient_g2(theta, times, times, phi, **_SETUP)
        worst = 0.0
        for place, value in enumerate(theta):
            step = np.zeros_like(theta)
            step[place] = 1e-5 * max(abs(value), 1e-3)
            high, low = (
                self.compute_g2(theta + sign * step, times, times, phi, **_SETUP)
                for sign in (1, -1)
            )
            difference = (high - low) / (2 * step[place])
            largest = max(float(np.abs(slopes[..., place]).max()), 1e-12)
            worst = max(worst, float(np.abs(slopes[..., place] - difference).max()) / largest)
        return {
            "test_conditions": {
                "parameters": theta.tolist(),
                "tolerance": tolerance,
                "analysis_mode": self.analysis_mode,
            },
            "accuracy_assessment": {
                "gradient_computed": True,
                "gradient_shape": slopes.shape,
                "gradient_finite": bool(np.isfinite(slopes).all()),
                "gradient_magnitude": float(np.linalg.norm(slopes)),
                "max_gradient_component": float(np.abs(slopes).max()),
                "max_relative_difference": worst,
                "method_used": "exact_derivatives",
            },
            "recommendations": [
                "derivatives and differences agree"
                if worst <= tolerance
                else f"derivatives and differences are {worst:.1e} apart: rounding of differences"
            ],
        }


class OptimizationRecommendationMixin:
    """Advice, and all about a model in one dict."""

    name: str
    analysis_mode: str
    n_params: int
    parameter_names: list[str]
    get_default_parameters: Callable[..., Array]
    get_parameter_bounds: Callable[..., list[tuple[float, float]]]
    get_gradient_capabilities: Callable[..., dict[str, Any]]
    get_best_gradient_method: Callable[..., str]

    def get_optimization_recommendations(self) -> list[str]:
        """Say how to fit this model.

        Returns
        -------
        list of str
            A sentence each.
        """
        said = ["derivatives are exact: use fit_nlsq_jax or another method with gradients"]
        if self.analysis_mode.startswith("static"):
            said.append("static mode (3 parameters): one start is mostly enough")
        else:
            said.append("laminar flow (7 parameters): use several starts, n_start=8 or more")
        return said

    def get_model_info(self) -> dict[str, Any]:
        """Return all about the model.

        Returns
        -------
        dict
            ``name``, ``analysis_mode``, ``n_parameters``, ``parameter_names``,
            ``parameter_bounds``, ``default_parameters`` and what it can do.
        """
        abilities = self.get_gradient_capabilities()
        return {
            "name": self.name,
            "analysis_mode": self.analysis_mode,
            "n_parameters": self.n_params,
            "parameter_names": self.parameter_names,
            "parameter_bounds": self.get_parameter_bounds(),
            "default_parameters": self.get_default_parameters().tolist(),
            "supports_gradients": True,
            "gradient_method": self.get_best_gradient_method(),
            "gradient_capabilities": abilities,
            "jax_available": HAS_JAX,
            "numpy_gradients_available": numpy_gradients_available,
            "backend_summary": abilities["backend_summary"],
            "optimization_recommendations": self.get_optimization_recommendations(),
            "performance_estimate": abilities["performance_estimate"],
            "device_info": abilities["device_info"],
        }
