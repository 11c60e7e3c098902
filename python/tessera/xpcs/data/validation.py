"""Checks of loaded data: what is wrong with them, and a score."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

logger = logging.getLogger("tessera")

KEYS = ("wavevector_q_list", "phi_angles_list", "t1", "t2", "c2_exp")


class ValidationLevel(Enum):
    """How closely to look."""

    NONE = "none"
    BASIC = "basic"
    FULL = "full"
    CUSTOM = "custom"


@dataclass
class ValidationIssue:
    """Something wrong with data.

    Parameters
    ----------
    severity : {'error', 'warning', 'info'}
        How bad it is.
    category : str
        'format', 'data_quality', 'physics', 'statistics', ...
    message : str
        What it is.
    parameter : str, optional
        Which array.
    value : float, optional
        The value.
    recommendation : str, optional
        What to do.
    """

    severity: str
    category: str
    message: str
    parameter: str | None = None
    value: float | None = None
    recommendation: str | None = None


@dataclass
class DataQualityReport:
    """What checks found.

    Parameters
    ----------
    is_valid : bool
        No errors.
    validation_level : str
        How closely was looked.
    total_issues : int
        All of them together.
    errors, warnings, info : list of ValidationIssue
        By severity.
    data_statistics, physics_checks : dict
        Numbers, of the level 'full'.
    quality_score : float
        0 to 1.
    """

    is_valid: bool
    validation_level: str
    total_issues: int
    errors: list[ValidationIssue] = field(default_factory=list)
    warnings: list[ValidationIssue] = field(default_factory=list)
    info: list[ValidationIssue] = field(default_factory=list)
    data_statistics: dict[str, Any] = field(default_factory=dict)
    physics_checks: dict[str, Any] = field(default_factory=dict)
    quality_score: float = 0.0

    def add_issue(self, issue: ValidationIssue) -> None:
        """Add something wrong; an error makes the data invalid.

        Parameters
        ----------
        issue : ValidationIssue
            What.
        """
        places = {"error": self.errors, "warning": self.warnings}
        places.get(issue.severity, self.info).append(issue)
        self.is_valid = self.is_valid and issue.severity != "error"
        self.total_issues += 1

    def get_summary(self) -> dict[str, Any]:
        """Return the numbers of issues and the score.

        Returns
        -------
        dict
            Numbers.
        """
        return {
            "is_valid": self.is_valid,
            "validation_level": self.validation_level,
            "total_issues": self.total_issues,
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "info": len(self.info),
            "quality_score": self.quality_score,
            "has_physics_validation": bool(self.physics_checks),
            "has_statistics": bool(self.data_statistics),
        }


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray) or hasattr(value, "shape")


def _arrays(data: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    found = {key: np.asarray(value) for key, value in data.items() if _is_array(value)}
    return {key: value for key, value in found.items() if value.dtype.kind in "fiub"}


class _Checks:
    """The checks of one call, which fill its report."""

    def __init__(
        self, data: Mapping[str, Any], config: Mapping[str, Any] | None, report: DataQualityReport
    ) -> None:
        self.data, self.config, self.report = data, config or {}, report

    def say(
        self, severity: str, category: str, message: str, parameter: str | None, *rest: Any
    ) -> None:
        value, advice = (*rest, None, None)[:2]
        issue = ValidationIssue(severity, category, message, parameter, value, advice)
        self.report.add_issue(issue)

    def structure(self) -> None:
        for key in KEYS:
            if key not in self.data:
                self.say("error", "format", f"Missing required data key: {key}", key)

    def integrity(self) -> None:
        for key, values in _arrays(self.data).items():
            bad = int((~np.isfinite(values)).sum())
            if bad:
                text = f"Non-finite values found in {key}: {bad} values"
                self.say("error", "data_quality", text, key, bad, "look at the file")
            self._signs(key, values)

    def _signs(self, key: str, values: npt.NDArray[Any]) -> None:
        below, empty = int((values < 0).sum()), int((values <= 0).sum())
        if key == "c2_exp" and below:
            text = f"Negative correlation values found: {below} values"
            self.say("warning", "data_quality", text, key, below, "look at the baseline")
        elif key == "wavevector_q_list" and empty:
            text = f"Non-positive q-values found: {empty} values"
            self.say("error", "physics", text, key, empty, "Q-values must be positive")
        elif key in ("t1", "t2") and below:
            text = f"Negative time values found in {key}: {below} values"
            self.say("error", "physics", text, key, below, "Time values must be non-negative")

    def shapes(self) -> None:
        t1, t2 = (np.asarray(self.data.get(key, [])) for key in ("t1", "t2"))
        try:
            c2 = np.asarray(self.data.get("c2_exp", []))
        except ValueError as error:
            self.say("warning", "validation", f"Could not validate array shapes: {error}", None)
            return
        if t1.shape != t2.shape:
            text = f"t1 and t2 have inconsistent shapes: {t1.shape} vs {t2.shape}"
            self.say("error", "format", text, None)
        if c2.ndim < 3:
            return
        rows, columns = c2.shape[-2:]
        if rows != columns:
            text = f"Correlation matrices not square: {rows} x {columns}"
            self.say("error", "format", text, None)
        if t1.ndim and rows != len(t1):
            text = f"Matrix size {rows} doesn't match time array length {len(t1)}"
            self.say("warning", "format", text, None)

    def physics(self) -> None:
        from tessera.xpcs.core.physics import PhysicsConstants

        low, high = PhysicsConstants.Q_MIN_TYPICAL, PhysicsConstants.Q_MAX_TYPICAL
        q = np.asarray(self.data.get("wavevector_q_list", []), np.float64)
        least, largest = (float(np.nanmin(q)), float(np.nanmax(q))) if q.size else (None, None)
        if least is not None and least < low:
            text = f"Q-values below typical range: min={least:.2e}, typical_min={low:.2e}"
            self.say("warning", "physics", text, "wavevector_q_list", least)
        if largest is not None and largest > high:
            text = f"Q-values above typical range: max={largest:.2e}, typical_max={high:.2e}"
            self.say("warning", "physics", text, "wavevector_q_list", largest)
        fits = least is not None and largest is not None and low <= least <= largest <= high
        self.report.physics_checks = {"q_range_valid": fits, "q_min": least, "q_max": largest}
        dt = (self.config.get("analyzer_parameters") or {}).get("dt")
        if dt is not None and dt < PhysicsConstants.TIME_MIN_XPCS:
            text = f"Time step dt={dt}s below typical {PhysicsConstants.TIME_MIN_XPCS}s"
            self.say("warning", "physics", text, "dt", dt)
        elif dt is not None and dt > PhysicsConstants.TIME_MAX_XPCS:
            text = f"Time step dt={dt}s above typical {PhysicsConstants.TIME_MAX_XPCS}s"
            self.say("info", "physics", text, "dt", dt)

    def matrices(self) -> None:
        for place, matrix in enumerate(np.asarray(self.data.get("c2_exp", []))):
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                continue
            if not np.allclose(matrix, matrix.T, atol=1e-10, equal_nan=True):
                text = f"Correlation matrix {place} not symmetric"
                self.say("warning", "data_quality", text, "c2_exp")
            first = matrix[0, 0] if len(matrix) else 0
            if not 0.5 <= first <= 2:
                text = f"Unusual t=0 correlation value in matrix {place}: {first:.3f}"
                self.say("warning", "data_quality", text, "c2_exp", first)

    def statistics(self) -> None:
        c2 = np.asarray(self.data.get("c2_exp", []))
        known = c2[np.isfinite(c2)] if c2.size else c2
        if not known.size:
            return
        mean, spread = known.mean(), known.std()
        if not 0.5 <= mean <= 2:
            text = f"Unusual mean correlation value: {mean:.3f}"
            self.say("warning", "statistics", text, None, mean, "Check data normalization")
        if spread > mean:
            text = f"High correlation variability: std={spread:.3f}, mean={mean:.3f}"
            self.say("info", "statistics", text, None)

    def numbers(self) -> None:
        self.report.data_statistics = {
            key: _numbers_of(values) for key, values in _arrays(self.data).items()
        }

    def score(self) -> None:
        report = self.report
        score = 1 - 0.2 * len(report.errors) - 0.05 * len(report.warnings)
        if report.data_statistics:
            missing = sum(1 - entry["finite_fraction"] for entry in report.data_statistics.values())
            score += 0.1 - 0.1 * missing
        if report.physics_checks.get("q_range_valid", False):
            score += 0.1
        report.quality_score = max(0.0, min(1.0, score))


def _numbers_of(values: npt.NDArray[Any]) -> dict[str, Any]:
    known: npt.NDArray[Any] = values[np.isfinite(values)]
    functions: dict[str, Callable[[npt.NDArray[Any]], Any]] = {
        "mean": np.mean,
        "std": np.std,
        "min": np.min,
        "max": np.max,
        "sum": np.sum,
    }
    found: dict[str, Any] = {"shape": values.shape, "dtype": str(values.dtype)}
    found |= {name: float(of(known)) if known.size else 0.0 for name, of in functions.items()}
    ends = [float(values.flat[at]) if values.size else 0.0 for at in (0, -1)]
    first, last = (end if np.isfinite(end) else 0.0 for end in ends)
    share = known.size / values.size if values.size else 0.0
    return found | {"finite_fraction": share, "first": first, "last": last}


def validate_xpcs_data(
    data: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    validation_level: str = "basic",
) -> DataQualityReport:
    """Look for what is wrong with loaded data.

    Parameters
    ----------
    data : dict
        What a loader gives.
    config : dict, optional
        The configuration, for the time step.
    validation_level : {'none', 'basic', 'full'}
        How closely.

    Returns
    -------
    DataQualityReport
        What was found.

    Examples
    --------
    >>> validate_xpcs_data({"t1": [0.0, 0.1], "t2": [0.0, 0.1]}).is_valid
    False
    """
    report = DataQualityReport(True, validation_level, 0)
    if validation_level == "none":
        return report
    checks = _Checks(data, config, report)
    try:
        for check in (checks.structure, checks.integrity, checks.shapes):
            check()
        if validation_level == "full":
            for check in (checks.physics, checks.matrices, checks.statistics, checks.numbers):
                check()
        checks.score()
    except (TypeError, ValueError, IndexError) as error:
        checks.say("error", "validation", f"Validation process failed: {error}", None)
    return report


def _fingerprint(data: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for key in sorted(data):
        digest.update(key.encode())
        value = data[key]
        if hasattr(value, "shape"):
            values = np.ascontiguousarray(value)
            digest.update(f"{values.shape}{values.dtype}".encode())
            digest.update(values.tobytes())
        else:
            digest.update(repr(value).encode())
    return digest.hexdigest()


@dataclass
class IncrementalValidationCache:
    """A report that is kept.

    Parameters
    ----------
    data_hash : str
        Of the data it is about.
    validation_level : str
        How closely was looked.
    report : DataQualityReport
        The report.
    timestamp : float
        When, in seconds.
    component_hashes : dict
        Hashes of single arrays.
    """

    data_hash: str
    validation_level: str
    report: DataQualityReport
    timestamp: float
    component_hashes: dict[str, str] = field(default_factory=dict)

    def is_valid_for_data(
        self, data: Mapping[str, Any], validation_level: str, max_age: float = 3600
    ) -> bool:
        """Return whether the report is about these data and not too old.

        Parameters
        ----------
        data : dict
            The data.
        validation_level : str
            How closely.
        max_age : float
            Seconds.

        Returns
        -------
        bool
            Whether it may be used.
        """
        if self.validation_level != validation_level or time.time() - self.timestamp > max_age:
            return False
        return _fingerprint(data) == self.data_hash


_kept: dict[str, IncrementalValidationCache] = {}
_MOST_KEPT = 100


def validate_xpcs_data_incremental(
    data: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    validation_level: str = "basic",
    previous_report: DataQualityReport | None = None,
    force_revalidate: bool = False,
) -> DataQualityReport:
    """Look for what is wrong with data, unless these were looked at before.

    Parameters
    ----------
    data, config
        As in :func:`validate_xpcs_data`.
    validation_level : {'none', 'basic', 'full', 'incremental'}
        How closely; 'incremental' looks at what changed since previous_report alone.
    previous_report : DataQualityReport, optional
        Of level 'full'.
    force_revalidate : bool, default False
        Look again in any case.

    Returns
    -------
    DataQualityReport
        What was found.
    """
    if validation_level == "none":
        return DataQualityReport(True, validation_level, 0, quality_score=1.0)
    key = f"{validation_level}:{_fingerprint(data)}"
    kept = _kept.get(key)
    if kept is not None and not force_revalidate and kept.is_valid_for_data(data, validation_level):
        return kept.report
    if validation_level == "incremental" and previous_report is not None:
        report = _changes(data, config, previous_report)
    else:
        level = "basic" if validation_level == "incremental" else validation_level
        report = validate_xpcs_data(data, config, level)
    _kept[key] = IncrementalValidationCache(
        key.partition(":")[2], validation_level, report, time.time()
    )
    for oldest in list(_kept)[: max(0, len(_kept) - _MOST_KEPT)]:
        del _kept[oldest]
    return report


def _changes(
    data: Mapping[str, Any], config: Mapping[str, Any] | None, before: DataQualityReport
) -> DataQualityReport:
    now = {key: _numbers_of(values) for key, values in _arrays(data).items() if key in KEYS}
    changed = [key for key, entry in now.items() if before.data_statistics.get(key) != entry]
    if not changed:
        return before
    report = DataQualityReport(before.is_valid, "incremental", 0)
    report.data_statistics = {**before.data_statistics, **now}
    report.physics_checks = dict(before.physics_checks)
    for key in changed:
        part = validate_data_component(data, key, "basic", config)
        for issue in part.errors + part.warnings + part.info:
            report.add_issue(issue)
    _Checks(data, config, report).score()
    return report


def validate_data_component(
    data: Mapping[str, Any],
    component_name: str,
    validation_level: str = "basic",
    config: Mapping[str, Any] | None = None,
) -> DataQualityReport:
    """Look for what is wrong with one array.

    Parameters
    ----------
    data : dict
        What a loader gives.
    component_name : str
        Which array.
    validation_level : str
        Part of the report's level.
    config : dict, optional
        The configuration.

    Returns
    -------
    DataQualityReport
        What was found.
    """
    report = DataQualityReport(True, f"{validation_level}_component", 0)
    checks = _Checks({}, config, report)
    if component_name not in data:
        text = f"Required component '{component_name}' not found"
        checks.say("error", "format", text, component_name)
        return report
    values = np.asarray(data[component_name])
    checks.data = {component_name: values}
    checks.integrity()
    if component_name == "phi_angles_list" and (np.abs(values) > 360).any():
        text = "Phi angles outside typical range [-360, 360]"
        checks.say("warning", "data_quality", text, component_name)
    known = values[np.isfinite(values)]
    if component_name == "c2_exp" and known.size:
        mean = known.mean()
        if not 0.1 <= mean <= 10:
            text = f"Unusual correlation values: mean={mean:.3f}"
            checks.say("warning", "data_quality", text, component_name)
    checks.score()
    return report


def clear_validation_cache() -> None:
    """Forget the reports that are kept."""
    _kept.clear()


def get_cache_stats() -> dict[str, Any]:
    """Return how many reports are kept.

    Returns
    -------
    dict
        ``cache_size`` and ages in seconds.
    """
    if not _kept:
        return {"cache_size": 0, "message": "Cache is empty"}
    ages = [time.time() - entry.timestamp for entry in _kept.values()]
    return {
        "cache_size": len(_kept),
        "oldest_entry_age": max(ages),
        "newest_entry_age": min(ages),
        "average_age": sum(ages) / len(ages),
    }


__all__ = [
    "DataQualityReport",
    "IncrementalValidationCache",
    "ValidationIssue",
    "ValidationLevel",
    "clear_validation_cache",
    "get_cache_stats",
    "validate_data_component",
    "validate_xpcs_data",
    "validate_xpcs_data_incremental",
]
