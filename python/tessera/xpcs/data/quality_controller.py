"""``quality_control``: scores of data at each step of loading, repairs, and a report."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from tessera.xpcs.data._repair import is_about, repair
from tessera.xpcs.data.validation import ValidationIssue, validate_xpcs_data

logger = logging.getLogger("tessera")


class QualityControlStage(Enum):
    """Steps of loading."""

    RAW_DATA = "raw_data"
    FILTERED_DATA = "filtered_data"
    PREPROCESSED_DATA = "preprocessed_data"
    FINAL_DATA = "final_data"


class QualityLevel(Enum):
    """How closely to look."""

    NONE = "none"
    BASIC = "basic"
    STANDARD = "standard"
    COMPREHENSIVE = "comprehensive"


class RepairStrategy(Enum):
    """What may be changed."""

    DISABLED = "disabled"
    CONSERVATIVE = "conservative"
    AGGRESSIVE = "aggressive"


@dataclass
class QualityMetrics:
    """Numbers of one step; scores go to 100.

    Parameters
    ----------
    overall_score, correlation_validity, q_range_validity, signal_to_noise, correlation_decay
        Scores.
    symmetry_score, filtering_efficiency, repair_success_rate
        Scores.
    finite_fraction, transformation_fidelity : float
        Shares.
    shape_consistency, data_range_valid, time_consistency, preprocessing_success : bool
        Whether all is well.
    issues_detected, issues_repaired : int
        Counts.
    """

    overall_score: float = 0.0
    finite_fraction: float = 0.0
    shape_consistency: bool = True
    data_range_valid: bool = True
    correlation_validity: float = 0.0
    time_consistency: bool = True
    q_range_validity: float = 0.0
    signal_to_noise: float = 0.0
    correlation_decay: float = 0.0
    symmetry_score: float = 0.0
    filtering_efficiency: float = 0.0
    preprocessing_success: bool = True
    transformation_fidelity: float = 0.0
    issues_detected: int = 0
    issues_repaired: int = 0
    repair_success_rate: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by topic.

        Returns
        -------
        dict
            Plain values.
        """
        topics = {
            "data_integrity": ("finite_fraction", "shape_consistency", "data_range_valid"),
            "physics_validation": ("correlation_validity", "time_consistency", "q_range_validity"),
            "statistical_analysis": ("signal_to_noise", "correlation_decay", "symmetry_score"),
            "processing_metrics": (
                "filtering_efficiency",
                "preprocessing_success",
                "transformation_fidelity",
            ),
            "auto_repair": ("issues_detected", "issues_repaired", "repair_success_rate"),
        }
        found: dict[str, Any] = {"overall_score": self.overall_score}
        for topic, names in topics.items():
            found[topic] = {name: getattr(self, name) for name in names}
        return found


@dataclass
class QualityControlResult:
    """What was found at one step.

    Parameters
    ----------
    stage : QualityControlStage
        The step.
    passed : bool
        Whether the score reaches ``pass_threshold``.
    metrics : QualityMetrics
        Numbers.
    issues : list of ValidationIssue
        What is wrong.
    repairs_applied, recommendations : list of str
        What was changed, and what to do.
    processing_time : float
        Seconds.
    data_shape_before, data_shape_after : tuple, optional
        Shapes of the matrices.
    data_modified : bool
        Whether repairs changed anything.
    """

    stage: QualityControlStage
    passed: bool
    metrics: QualityMetrics
    issues: list[ValidationIssue] = field(default_factory=list)
    repairs_applied: list[str] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    processing_time: float = 0.0
    data_shape_before: tuple[int, ...] | None = None
    data_shape_after: tuple[int, ...] | None = None
    data_modified: bool = False

    def get_summary(self) -> dict[str, Any]:
        """Return the main numbers.

        Returns
        -------
        dict
            Plain values.
        """
        return {
            "stage": self.stage.value,
            "passed": self.passed,
            "overall_score": self.metrics.overall_score,
            "issues_count": len(self.issues),
            "repairs_count": len(self.repairs_applied),
            "recommendations_count": len(self.recommendations),
            "processing_time": self.processing_time,
            "data_modified": self.data_modified,
        }


@dataclass
class QualityControlConfig:
    """The section ``quality_control``.

    Parameters
    ----------
    enabled : bool
        Look at all.
    validation_level : {'none', 'basic', 'standard', 'comprehensive'}
        How closely.
    auto_repair : {'disabled', 'conservative', 'aggressive'}
        What may be changed.
    pass_threshold, warn_threshold, excellent_threshold : float
        Scores between poor, acceptable, good and excellent.
    enable_raw_validation, enable_filtering_validation : bool
        Which steps.
    enable_preprocessing_validation, enable_final_validation : bool
        Which steps.
    repair_nan_values, repair_infinite_values, repair_negative_correlations : bool
        Which repairs; negative values with 'aggressive' alone.
    repair_scaling_issues, repair_format_inconsistencies : bool
        Which repairs.
    cache_validation_results, incremental_validation, parallel_validation : bool
        Accepted for scripts of the original: every step is looked at.
    generate_reports, export_detailed_reports, save_quality_history : bool
        Whether reports are made, written, and results kept.
    """

    enabled: bool = True
    validation_level: str = "standard"
    auto_repair: str = "conservative"
    pass_threshold: float = 50.0
    warn_threshold: float = 70.0
    excellent_threshold: float = 85.0
    enable_raw_validation: bool = True
    enable_filtering_validation: bool = True
    enable_preprocessing_validation: bool = True
    enable_final_validation: bool = True
    repair_nan_values: bool = True
    repair_infinite_values: bool = True
    repair_negative_correlations: bool = False
    repair_scaling_issues: bool = True
    repair_format_inconsistencies: bool = True
    cache_validation_results: bool = True
    incremental_validation: bool = True
    parallel_validation: bool = False
    generate_reports: bool = True
    export_detailed_reports: bool = False
    save_quality_history: bool = True

    @classmethod
    def from_config_dict(cls, config: Mapping[str, Any]) -> QualityControlConfig:
        """Read the section of a configuration.

        Parameters
        ----------
        config : dict
            The configuration.

        Returns
        -------
        QualityControlConfig
            What is not said has its default.
        """
        said = dict(config.get("quality_control") or {})
        said |= said.get("reporting") or {}
        known = {entry.name for entry in fields(cls)}
        return cls(**{key: value for key, value in said.items() if key in known})

    def level_of(self, score: float) -> str:
        """Return what a score is in a word.

        Parameters
        ----------
        score : float
            To 100.

        Returns
        -------
        str
            'excellent', 'good', 'acceptable' or 'poor'.
        """
        if score >= self.excellent_threshold:
            return "excellent"
        if score >= self.warn_threshold:
            return "good"
        return "acceptable" if score >= self.pass_threshold else "poor"


_SWITCHES = {
    QualityControlStage.RAW_DATA: "enable_raw_validation",
    QualityControlStage.FILTERED_DATA: "enable_filtering_validation",
    QualityControlStage.PREPROCESSED_DATA: "enable_preprocessing_validation",
    QualityControlStage.FINAL_DATA: "enable_final_validation",
}


class DataQualityController:
    """Looks at data while they are loaded.

    Parameters
    ----------
    config : dict
        The configuration.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.quality_config = QualityControlConfig.from_config_dict(config)
        self._quality_history: list[QualityControlResult] = []

    def validate_data_stage(
        self,
        data: dict[str, Any],
        stage: QualityControlStage,
        previous_result: QualityControlResult | None = None,
    ) -> QualityControlResult:
        """Look at data after one step, and repair what may be.

        Parameters
        ----------
        data : dict
            What a loader gives; repairs change it.
        stage : QualityControlStage
            The step.
        previous_result : QualityControlResult, optional
            Of the step before.

        Returns
        -------
        QualityControlResult
            What was found.
        """
        begin = time.time()
        shape = np.shape(data.get("c2_exp", ()))
        result = QualityControlResult(stage, True, QualityMetrics(), data_shape_before=shape)
        config = self.quality_config
        if not config.enabled or not getattr(config, _SWITCHES[stage]):
            result.metrics.overall_score = 100.0
            return result
        self._look(data, result, previous_result)
        if config.auto_repair != "disabled" and result.issues:
            self._repair(data, result)
        result.metrics.overall_score = self._score(result)
        result.passed = result.metrics.overall_score >= config.pass_threshold
        result.recommendations = _advice(result, config)
        result.processing_time = time.time() - begin
        if config.save_quality_history:
            self._quality_history.append(result)
        logger.info(
            "quality of %s: %.1f, %d issues, %d repairs",
            stage.value,
            result.metrics.overall_score,
            len(result.issues),
            len(result.repairs_applied),
        )
        return result

    def _look(
        self,
        data: Mapping[str, Any],
        result: QualityControlResult,
        before: QualityControlResult | None,
    ) -> None:
        plain = self.quality_config.validation_level in ("none", "basic")
        report = validate_xpcs_data(data, self.config, "basic" if plain else "full")
        result.issues = report.errors + report.warnings + report.info
        if report.physics_checks:
            fits = report.physics_checks["q_range_valid"]
            result.metrics.q_range_validity = 100.0 if fits else 50.0
        _measure(data, result.metrics)
        then = before.data_shape_before if before is not None else None
        now = result.data_shape_before
        if result.stage is QualityControlStage.FILTERED_DATA and then and then[0] and now:
            result.metrics.filtering_efficiency = 100 * now[0] / then[0]
        elif before is not None:
            result.metrics.filtering_efficiency = before.metrics.filtering_efficiency
        if result.stage is QualityControlStage.PREPROCESSED_DATA and before is not None:
            share = result.metrics.finite_fraction / max(0.1, before.metrics.finite_fraction)
            result.metrics.transformation_fidelity = min(1.0, share)
            _check_artifacts(data, result)

    def _repair(self, data: dict[str, Any], result: QualityControlResult) -> None:
        result.repairs_applied = repair(data, self.quality_config)
        metrics = result.metrics
        serious = [issue for issue in result.issues if issue.severity in ("error", "warning")]
        metrics.issues_detected = len(serious)
        metrics.issues_repaired = len(result.repairs_applied)
        if serious:
            metrics.repair_success_rate = 100 * metrics.issues_repaired / len(serious)
        if result.repairs_applied:
            result.data_modified = True
            result.data_shape_after = np.shape(data.get("c2_exp", ()))
            _measure(data, metrics)
            result.issues = [
                issue for issue in result.issues if not is_about(issue, result.repairs_applied)
            ]

    def _score(self, result: QualityControlResult) -> float:
        metrics = result.metrics
        parts = (
            (100 * metrics.finite_fraction, 0.2),
            (metrics.correlation_validity, 0.25),
            (min(metrics.signal_to_noise, 100), 0.2),
            (metrics.symmetry_score, 0.15),
            (metrics.q_range_validity, 0.1),
            (100 if metrics.time_consistency else 50, 0.1),
        )
        cost = {"error": 10, "warning": 5}
        score = sum(value * weight for value, weight in parts)
        score -= sum(cost.get(issue.severity, 0) for issue in result.issues)
        return float(np.clip(score + 0.1 * metrics.repair_success_rate, 0, 100))

    def generate_quality_report(
        self,
        results: Sequence[QualityControlResult],
        output_path: str | os.PathLike[str] | None = None,
    ) -> dict[str, Any]:
        """Return what was found at all steps.

        Parameters
        ----------
        results : list of QualityControlResult
            The steps.
        output_path : path, optional
            Where it is written as JSON, too, with ``export_detailed_reports``.

        Returns
        -------
        dict
            Plain values.
        """
        config = self.quality_config
        scores = [result.metrics.overall_score for result in results]
        report: dict[str, Any] = {
            "metadata": {
                "report_timestamp": time.time(),
                "report_version": "1.0.0",
                "quality_controller_config": {
                    "validation_level": config.validation_level,
                    "auto_repair": config.auto_repair,
                    "thresholds": {
                        "pass": config.pass_threshold,
                        "warn": config.warn_threshold,
                        "excellent": config.excellent_threshold,
                    },
                },
            },
            "overall_summary": _summary(results, config),
            "stage_results": {result.stage.value: _stage(result) for result in results},
            "quality_evolution": _evolution(results, scores),
            "recommendations": results[-1].recommendations if results else [],
            "detailed_metrics": {r.stage.value: r.metrics.to_dict() for r in results},
        }
        if output_path is not None and config.export_detailed_reports:
            path = Path(output_path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(report, indent=2, default=str), encoding="utf-8")
        return report

    def get_quality_history(self) -> list[dict[str, Any]]:
        """Return the main numbers of all steps so far.

        Returns
        -------
        list of dict
            One for each.
        """
        return [result.get_summary() for result in self._quality_history]

    def clear_cache(self) -> None:
        """Do nothing: no result is used twice here."""

    def get_performance_stats(self) -> dict[str, Any]:
        """Return how long the steps so far took.

        Returns
        -------
        dict
            Seconds.
        """
        times = [result.processing_time for result in self._quality_history]
        if not times:
            return {"message": "No quality control history available"}
        return {
            "total_validations": len(times),
            "average_processing_time": float(np.mean(times)),
            "max_processing_time": max(times),
            "min_processing_time": min(times),
            "cache_size": 0,
            "stages_processed": len({result.stage for result in self._quality_history}),
        }


def _measure(data: Mapping[str, Any], metrics: QualityMetrics) -> None:
    """Fill in what the arrays themselves tell."""
    c2 = np.asarray(data.get("c2_exp", ()), np.float64)
    known = c2[np.isfinite(c2)]
    metrics.finite_fraction = known.size / c2.size if c2.size else 0.0
    shapes = [np.shape(data.get(key, ())) for key in ("t1", "t2")]
    fits = c2.ndim == 3 and shapes[0] == shapes[1] and shapes[0][-1:] == c2.shape[-1:]
    metrics.time_consistency = metrics.shape_consistency = fits
    if not known.size:
        return
    mean, spread = known.mean(), known.std()
    inner, outer = 0.5 <= mean <= 3, 0.1 <= mean <= 5
    metrics.correlation_validity = 85.0 if inner else 60.0 if outer else 30.0
    metrics.data_range_valid = bool(outer)
    metrics.signal_to_noise = float(min(10 * mean / spread, 100)) if spread > 0 else 100.0
    if c2.ndim != 3 or c2.shape[1] != c2.shape[2]:
        return
    c2 = np.where(np.isfinite(c2), c2, np.nan)
    c2 = c2[np.isfinite(c2).any(axis=(1, 2))]
    most = np.nanmax(np.abs(c2), axis=(1, 2))
    error = np.nanmean(np.abs(c2 - c2.transpose(0, 2, 1)), axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        metrics.symmetry_score = float(np.nanmean(np.maximum(0, 100 * (1 - error / most))))
        diagonal = np.diagonal(c2, axis1=1, axis2=2)
        if diagonal.shape[1] > 10:
            decay = (diagonal[:, 0] - diagonal[:, 10]) / diagonal[:, 0]
            decay = decay[(decay >= 0) & (decay <= 1)]
            metrics.correlation_decay = float(100 * decay.mean()) if decay.size else 0.0


def _check_artifacts(data: Mapping[str, Any], result: QualityControlResult) -> None:
    c2 = np.asarray(data.get("c2_exp", ()), np.float64)
    fits = bool(np.isfinite(c2).all() and (c2 >= -10).all() and (c2 <= 100).all())
    result.metrics.preprocessing_success = fits
    if not fits:
        text = "Preprocessing introduced artifacts or corrupted data"
        result.issues.append(ValidationIssue("error", "preprocessing", text))


def _advice(result: QualityControlResult, config: QualityControlConfig) -> list[str]:
    metrics = result.metrics
    found = []
    if metrics.finite_fraction < 0.95:
        found.append("Consider additional data cleaning to remove non-finite values")
    if metrics.correlation_validity < 70:
        found.append("Check correlation calculation and normalization procedures")
    if metrics.signal_to_noise < 30:
        found.append("Consider noise reduction preprocessing or longer acquisition times")
    if metrics.symmetry_score < 80:
        found.append("Review correlation matrix reconstruction method")
    level = config.level_of(metrics.overall_score)
    if level == "poor":
        found.append("Data quality below acceptable threshold - review preprocessing settings")
    elif result.stage is QualityControlStage.FINAL_DATA:
        found.append(f"{level.capitalize()} data quality")
    return found


def _summary(
    results: Sequence[QualityControlResult], config: QualityControlConfig
) -> dict[str, Any]:
    if not results:
        return {"status": "no_data", "overall_score": 0.0}
    score = results[-1].metrics.overall_score
    return {
        "status": config.level_of(score),
        "overall_score": score,
        "total_stages_processed": len(results),
        "total_issues_found": sum(len(result.issues) for result in results),
        "total_repairs_applied": sum(len(result.repairs_applied) for result in results),
        "average_processing_time": float(np.mean([result.processing_time for result in results])),
        "data_modified": any(result.data_modified for result in results),
        "all_stages_passed": all(result.passed for result in results),
    }


def _stage(result: QualityControlResult) -> dict[str, Any]:
    names = ("severity", "category", "message", "recommendation")
    return {
        "summary": result.get_summary(),
        "metrics": result.metrics.to_dict(),
        "issues": [{name: getattr(issue, name) for name in names} for issue in result.issues],
        "repairs_applied": result.repairs_applied,
        "recommendations": result.recommendations,
    }


def _evolution(results: Sequence[QualityControlResult], scores: Sequence[float]) -> dict[str, Any]:
    if len(results) < 2:
        return {"evolution": "insufficient_data"}
    return {
        "score_progression": {r.stage.value: r.metrics.overall_score for r in results},
        "quality_trend": "improving" if scores[-1] > scores[0] else "declining",
        "max_improvement": max(scores) - min(scores),
        "final_vs_initial": scores[-1] - scores[0],
        "bottlenecks": [result.stage.value for result in results if not result.passed],
    }


def create_quality_controller(config: Mapping[str, Any]) -> DataQualityController:
    """Return the controller of a configuration.

    Parameters
    ----------
    config : dict
        The configuration.

    Returns
    -------
    DataQualityController
        The controller.
    """
    return DataQualityController(config)


def validate_data_with_quality_control(
    data: dict[str, Any],
    config: Mapping[str, Any],
    stage: QualityControlStage = QualityControlStage.FINAL_DATA,
) -> QualityControlResult:
    """Look at data once.

    Parameters
    ----------
    data : dict
        What a loader gives; repairs change it.
    config : dict
        The configuration.
    stage : QualityControlStage
        After which step they are looked at.

    Returns
    -------
    QualityControlResult
        What was found.
    """
    return DataQualityController(config).validate_data_stage(data, stage)


__all__ = [
    "DataQualityController",
    "QualityControlConfig",
    "QualityControlResult",
    "QualityControlStage",
    "QualityLevel",
    "QualityMetrics",
    "RepairStrategy",
    "create_quality_controller",
    "validate_data_with_quality_control",
]
