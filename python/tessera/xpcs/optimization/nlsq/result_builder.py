"""Results put together from what a solver gave."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from logging import Logger
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

_FACTS = ("message", "success", "nfev", "njev", "fun", "jac", "optimality")


@dataclass
class QualityMetrics:
    """How good a fit is."""

    chi_squared: float
    reduced_chi_squared: float
    quality_flag: str
    n_at_bounds: int = 0


def compute_quality_metrics(
    residuals: npt.ArrayLike,
    n_data: int,
    n_params: int,
    parameter_status: list[str] | None = None,
) -> QualityMetrics:
    """Judge residuals; parameters on bounds weigh against a fit."""
    chi2 = float(np.sum(np.asarray(residuals) ** 2))
    reduced = chi2 / max(n_data - n_params, 1)
    at_bounds = sum(word.startswith("at_") for word in parameter_status or ())
    if reduced < 2.0 and at_bounds == 0:
        flag = "good"
    elif reduced < 5.0 and at_bounds <= 2:
        flag = "marginal"
    else:
        flag = "poor"
    return QualityMetrics(chi2, reduced, flag, at_bounds)


def compute_uncertainties(covariance: npt.NDArray[Any] | None) -> Floats:
    """Return standard deviations; variances below 0 count as 0."""
    if covariance is None or covariance.size == 0:
        return np.array([])
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def _from_dict(result: dict[str, Any]) -> tuple[Floats, Floats, dict[str, Any]]:
    found = result.get("x", result.get("popt"))
    if found is None:
        raise ValueError(f"Result dict has neither 'x' nor 'popt': {', '.join(result)}")
    values = np.asarray(found)
    info = {
        "streaming_diagnostics": result.get("streaming_diagnostics", {}),
        "success": result.get("success", True),
        "message": result.get("message", ""),
        "best_loss": result.get("best_loss"),
        "final_epoch": result.get("final_epoch"),
    }
    return values, np.asarray(result.get("pcov", np.eye(len(values)))), info


def normalize_nlsq_result(
    result: Any, strategy_name: str = "unknown", logger: Logger | None = None
) -> tuple[Floats, Floats, dict[str, Any]]:
    """Return parameters, covariance and facts of whatever a solver gave."""
    if isinstance(result, dict):
        return _from_dict(result)
    if isinstance(result, tuple):
        if len(result) not in (2, 3):
            raise TypeError(
                f"Unexpected tuple length: {len(result)}; expected (popt, pcov) or "
                "(popt, pcov, info)"
            )
        facts = result[2] if len(result) == 3 else {}
        if not isinstance(facts, dict):
            facts = {"raw_info": facts}
        return np.asarray(result[0]), np.asarray(result[1]), facts
    if hasattr(result, "x") or hasattr(result, "popt"):
        found = getattr(result, "x", getattr(result, "popt", None))
        if found is None:
            raise AttributeError("Result object has neither 'x' nor 'popt'")
        values = np.asarray(found)
        pcov = getattr(result, "pcov", None)
        info = {name: getattr(result, name) for name in _FACTS if hasattr(result, name)}
        if isinstance(getattr(result, "info", None), dict):
            info |= result.info
        return values, np.eye(len(values)) if pcov is None else np.asarray(pcov), info
    raise TypeError(
        f"Unrecognized NLSQ result format: {type(result)}; expected a tuple, a dict or an object "
        "with 'x' or 'popt'"
    )


def determine_convergence_status(info: dict[str, Any], quality_metrics: QualityMetrics) -> str:
    """Return 'converged', 'max_iter' or 'failed'."""
    if "success" not in info:
        return "converged" if quality_metrics.reduced_chi_squared < 5.0 else "failed"
    if info["success"]:
        return "converged"
    said = str(info.get("message", "")).lower()
    return "max_iter" if "max" in said and ("iter" in said or "fev" in said) else "failed"


@dataclass
class ResultBuilder:
    """Collects the parts of a result."""

    parameters: npt.NDArray[Any] | None = None
    covariance: npt.NDArray[Any] | None = None
    n_data: int = 0
    start_time: float = field(default_factory=time.time)
    recovery_actions: list[str] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    stratification_diagnostics: Any = None
    nlsq_diagnostics: dict[str, Any] | None = None

    def _with(self, name: str, value: Any) -> ResultBuilder:
        setattr(self, name, value)
        return self

    def with_parameters(self, params: npt.ArrayLike) -> ResultBuilder:
        """Set the parameters."""
        return self._with("parameters", np.asarray(params))

    def with_covariance(self, cov: npt.ArrayLike) -> ResultBuilder:
        """Set the covariance."""
        return self._with("covariance", np.asarray(cov))

    def with_data_size(self, n_data: int) -> ResultBuilder:
        """Set the number of points."""
        return self._with("n_data", n_data)

    def with_start_time(self, start_time: float) -> ResultBuilder:
        """Set when it began."""
        return self._with("start_time", start_time)

    def with_recovery_actions(self, actions: list[str]) -> ResultBuilder:
        """Set what was tried after failures."""
        return self._with("recovery_actions", actions)

    def with_info(self, info: dict[str, Any]) -> ResultBuilder:
        """Set what the solver said."""
        return self._with("info", info)

    def with_stratification_diagnostics(self, diags: object) -> ResultBuilder:
        """Set how data were ordered."""
        return self._with("stratification_diagnostics", diags)

    def with_nlsq_diagnostics(self, diags: dict[str, Any]) -> ResultBuilder:
        """Set how it went."""
        return self._with("nlsq_diagnostics", diags)

    def with_fourier_covariance_transform(
        self, fourier_reparameterizer: Any, n_phi: int, n_physical: int
    ) -> ResultBuilder:
        """Carry the covariance over from Fourier coefficients to angles."""
        series = fourier_reparameterizer
        if self.covariance is None or series is None or not series.use_fourier:
            return self
        slopes = getattr(series, "get_jacobian_transform", lambda: None)()
        n_coeffs = 2 * series.n_coeffs_per_param
        if slopes is None or self.covariance.shape[0] != n_coeffs + n_physical:
            return self
        whole = np.zeros((2 * n_phi + n_physical, n_coeffs + n_physical))
        half = n_coeffs // 2
        whole[:n_phi, :half] = whole[n_phi : 2 * n_phi, half:n_coeffs] = slopes
        whole[2 * n_phi :, n_coeffs:] = np.eye(n_physical)
        self.covariance = whole @ self.covariance @ whole.T
        return self

    def _quality(self, residual_fn: Any, xdata: Any, n_params: int) -> QualityMetrics:
        if residual_fn is not None and xdata is not None:
            try:
                found = residual_fn(xdata, *np.asarray(self.parameters))
                return compute_quality_metrics(found, self.n_data, n_params)
            except (ValueError, RuntimeError, TypeError):
                pass
        chi2 = 2.0 * float(self.info.get("fun", 0.0))  # solvers give half of it
        return QualityMetrics(chi2, chi2 / max(self.n_data - n_params, 1), "unknown")

    def build(self, residual_fn: Any = None, xdata: Any = None) -> dict[str, Any]:
        """Return the result as a dict."""
        if self.parameters is None:
            raise ValueError("Parameters must be set before building result")
        n_params = len(self.parameters)
        quality = self._quality(residual_fn, xdata, n_params)
        known = self.covariance is not None
        return {
            "parameters": self.parameters,
            "uncertainties": (
                compute_uncertainties(self.covariance) if known else np.zeros(n_params)
            ),
            "covariance": self.covariance if known else np.eye(n_params),
            "chi_squared": quality.chi_squared,
            "reduced_chi_squared": quality.reduced_chi_squared,
            "convergence_status": determine_convergence_status(self.info, quality),
            "iterations": int(self.info.get("nfev", 0)),
            "execution_time": time.time() - self.start_time,
            "device_info": {"type": "cpu", "name": "CPU"},
            "recovery_actions": self.recovery_actions,
            "quality_flag": quality.quality_flag,
            "stratification_diagnostics": self.stratification_diagnostics,
            "nlsq_diagnostics": self.nlsq_diagnostics,
        }
