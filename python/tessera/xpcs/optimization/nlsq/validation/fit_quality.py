"""A judgement of a fit: chi squared, bounds, significance, condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.optimization.nlsq.data_prep import classify_parameter_status
from tessera.xpcs.utils.logging import get_logger

_FAILED = ("max_iter", "failed", "diverged", "max_iterations")


@dataclass
class FitQualityConfig:
    """Limits of the judgement."""

    enable: bool = True
    reduced_chi_squared_threshold: float = 10.0
    chi2_good_threshold: float = 2.0
    chi2_acceptable_threshold: float = 5.0
    min_parameter_significance: float = 2.0
    max_condition_number: float = 1e12
    warn_on_max_restarts: bool = True
    warn_on_bounds_hit: bool = True
    warn_on_convergence_failure: bool = True
    bounds_tolerance: float = 1e-9

    @classmethod
    def from_validation_config(
        cls, validation_config: Mapping[str, Any] | None
    ) -> FitQualityConfig:
        """Take the limits a configuration has."""
        names = (
            "chi2_good_threshold",
            "chi2_acceptable_threshold",
            "min_parameter_significance",
            "max_condition_number",
        )
        given = validation_config or {}
        return cls(**{name: given[name] for name in names if name in given})


@dataclass
class FitQualityReport:
    """What was found."""

    passed: bool = True
    warnings: list[str] = field(default_factory=list)
    checks_performed: dict[str, bool] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "quality_validation_passed": self.passed,
            "quality_warnings": self.warnings,
            "quality_checks": self.checks_performed,
        }

    def check(self, name: str, passed: bool, warning: str, counts: bool = True) -> None:
        """Keep the outcome of a check; one that does not count cannot fail a fit."""
        self.checks_performed[name] = passed
        if not passed:
            self.warnings.append(warning)
            self.passed = self.passed and not counts
            get_logger(__name__).warning(warning)


def _is_physical_param(label: str) -> bool:
    return not any(
        label == name or label.startswith((f"{name}_", f"{name}["))
        for name in ("contrast", "offset")
    )


def _check_chi2(report: FitQualityReport, result: Any, config: FitQualityConfig) -> None:
    reduced = getattr(result, "reduced_chi_squared", None)
    if reduced is None:
        return
    most = config.reduced_chi_squared_threshold
    why = (
        "; no errors were given (sigma is the default), so it says little: look at the residuals"
        if getattr(result, "sigma_is_default", False)
        else ": look at the fit"
    )
    report.check(
        "reduced_chi_squared",
        bool(reduced <= most),
        f"Reduced chi-squared ({reduced:.4g}) exceeds threshold ({most}){why}",
    )
    report.checks_performed["chi2_quality"] = bool(reduced <= config.chi2_acceptable_threshold)


def _check_significance(report: FitQualityReport, result: Any, config: FitQualityConfig) -> None:
    try:
        values = np.asarray(result.parameters, np.float64)
        deviations = np.asarray(result.uncertainties, np.float64)
    except (AttributeError, TypeError, ValueError):
        return
    if values.shape != deviations.shape or values.ndim != 1:
        return
    known = np.isfinite(deviations) & (deviations > 0)
    if not known.any():
        return
    least = config.min_parameter_significance
    faint = int(np.sum(np.abs(values[known]) / deviations[known] < least))
    report.check(
        "parameter_significance",
        faint == 0,
        f"{faint} parameter(s) below significance threshold (|value| < {least} sd)",
        counts=False,
    )


def _check_condition(report: FitQualityReport, result: Any, config: FitQualityConfig) -> None:
    found = getattr(result, "covariance", None)
    found = getattr(result, "pcov", None) if found is None else found
    try:
        matrix = np.asarray(found, np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            return
        condition = float(np.linalg.cond(matrix))
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return
    if np.isfinite(condition):
        report.check(
            "condition_number",
            condition <= config.max_condition_number,
            f"Covariance matrix condition number ({condition:.2e}) exceeds threshold "
            f"({config.max_condition_number:.2e}): parameters are hard to tell apart",
        )


def _check_bounds(
    report: FitQualityReport,
    result: Any,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike],
    config: FitQualityConfig,
    labels: Sequence[str],
) -> None:
    values = getattr(result, "parameters", None)
    low, high = (np.asarray(side) for side in bounds)
    if values is None or not len(values) == len(low) == len(high) > 0:
        return
    names = [labels[i] if i < len(labels) else f"param[{i}]" for i in range(len(values))]
    words = classify_parameter_status(values, low, high, config.bounds_tolerance)
    hit = [
        f"{name} ({word})"
        for name, word in zip(names, words, strict=True)
        if word != "active" and _is_physical_param(name)
    ]
    report.check(
        "physical_bounds",
        not hit,
        f"Physical parameters at bounds: {', '.join(hit)}: widen the bounds or begin elsewhere",
    )


def validate_fit_quality(
    result: Any,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    config: FitQualityConfig | None = None,
    param_labels: Sequence[str] | None = None,
) -> FitQualityReport:
    """Judge a result."""
    own = config or FitQualityConfig()
    if not own.enable:
        return FitQualityReport(checks_performed={"enabled": False})
    report = FitQualityReport()
    _check_chi2(report, result, own)
    _check_significance(report, result, own)
    _check_condition(report, result, own)
    reason = (getattr(result, "device_info", None) or {}).get("convergence_reason", "")
    if own.warn_on_max_restarts and reason:
        report.check(
            "cmaes_convergence",
            reason != "max_restarts",
            "CMA-ES reached maximum restarts without convergence: allow more, or another sigma",
        )
    if own.warn_on_bounds_hit and bounds is not None:
        _check_bounds(report, result, bounds, own, list(param_labels or ()))
    status = str(getattr(result, "convergence_status", "") or "")
    if own.warn_on_convergence_failure and status:
        report.check(
            "convergence_status",
            status.lower() not in _FAILED,
            f"Optimization did not converge successfully (status: {status})",
        )
    return report
