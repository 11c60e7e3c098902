"""Repairs of loaded data, each told as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tessera.xpcs.data.quality_controller import QualityControlConfig
    from tessera.xpcs.data.validation import ValidationIssue

# Above the first a mean is divided by the second; below 0.01 it is multiplied by 10.
_TOO_LARGE = ((100.0, 100.0), (10.0, 10.0))
_TOO_SMALL = 0.01


def _infinite(values: npt.NDArray[Any]) -> bool:
    """Put the largest and least value in place of the infinite ones."""
    known = values[np.isfinite(values)]
    above, below = np.isposinf(values), np.isneginf(values)
    if not known.size or not (above.any() or below.any()):
        return False
    values[above] = known.max()
    values[below] = known.min()
    return True


def _nan(values: npt.NDArray[Any]) -> bool:
    """Put the median in place of what is not a number, matrix by matrix."""
    changed = False
    for part in values if values.ndim == 3 else [values]:
        missing = np.isnan(part)
        if missing.any() and not missing.all():
            part[missing] = np.nanmedian(part)
            changed = True
    return changed


def _rescale(c2: npt.NDArray[Any]) -> str | None:
    """Divide correlations that are far too large; returns what was done."""
    mean = np.nanmean(c2) if np.isfinite(c2).any() else 1.0
    for limit, factor in _TOO_LARGE:
        if mean > limit:
            c2 /= factor
            return f"1/{factor:.0f}"
    if 0 < mean < _TOO_SMALL:
        c2 *= 10
        return "x10"
    return None


def repair(data: dict[str, Any], config: QualityControlConfig) -> list[str]:
    """Repair what the configuration lets; arrays are replaced, never changed in place."""
    told: list[str] = []
    for key, value in data.items():
        if not isinstance(value, list | np.ndarray):
            continue
        values = np.array(value, np.float64)
        before = len(told)
        if config.repair_infinite_values and _infinite(values):
            told.append(f"Repaired infinite values in {key}")
        if config.repair_nan_values and _nan(values):
            told.append(f"Repaired NaN values in {key}")
        if key == "c2_exp":
            aggressive = config.auto_repair == "aggressive"
            if config.repair_negative_correlations and aggressive and (values < 0).any():
                values[values < 0] = 1e-6
                told.append("Repaired negative correlation values")
            if config.repair_scaling_issues and (done := _rescale(values)) is not None:
                told.append(f"Applied correlation rescaling ({done})")
        if len(told) > before:
            data[key] = values
    return told


_WORDS = {"nan": "non-finite", "infinite": "non-finite", "negative": "negative"}


def is_about(issue: ValidationIssue, repairs: list[str]) -> bool:
    """Return whether one of the repairs did away with an issue."""
    text = issue.message.lower()
    if any("rescaling" in line for line in repairs) and "unusual" in text:
        return True
    return any(
        word in line.lower() and meant in text
        for line in repairs
        for word, meant in _WORDS.items()
        if issue.parameter is None or issue.parameter in line or word == "negative"
    )
