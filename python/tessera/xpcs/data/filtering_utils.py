"""``data_filtering``: matrices by wavevector, angle and quality."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

logger = logging.getLogger("tessera")


class FilterCriteria(Enum):
    """How several filters are combined."""

    AND = "AND"
    OR = "OR"


class DataFilteringError(Exception):
    """Filters left nothing."""


@dataclass
class FilteringResult:
    """What filters took.

    Parameters
    ----------
    selected_indices : array or None
        Places.
    total_available, total_selected : int
        How many there were and are.
    filters_applied : list of str
        Which filters.
    filter_statistics : dict
        Numbers of each.
    fallback_used : bool
        Whether all were taken because none was left.
    warnings, errors : list of str
        What went wrong.
    """

    selected_indices: npt.NDArray[Any] | None
    total_available: int
    total_selected: int
    filters_applied: list[str] = field(default_factory=list)
    filter_statistics: dict[str, Any] = field(default_factory=dict)
    fallback_used: bool = False
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def matrix_quality(matrix: npt.ArrayLike) -> float:
    """Return how good a matrix looks, 0 to 1.

    Weighted: finite share 0.4, first value between 0.5 and 2 0.3, symmetry 0.2, mean between 0.1
    and 5 0.1; below 90 % finite values 0.
    """
    c2 = np.asarray(matrix, np.float64)
    finite = np.isfinite(c2).mean() if c2.size else 0.0
    if finite < 0.9:
        return 0.0
    first = 1.0 if 0.5 <= c2[0, 0] <= 2 else 0.5
    symmetry = 0.5
    if c2.shape[0] == c2.shape[1]:
        symmetry = max(0.0, 1 - 100 * float(np.nanmean(np.abs(c2 - c2.T))))
    level = 1.0 if 0.1 <= np.nanmean(c2) <= 5 else 0.5
    return float(0.4 * finite + 0.3 * first + 0.2 * symmetry + 0.1 * level)


def _statistics(mask: npt.NDArray[np.bool_], name: str, low: Any, high: Any, of: Any) -> Any:
    known = len(mask) > 0
    return {
        f"{name}_min": low,
        f"{name}_max": high,
        "selected_count": int(mask.sum()),
        f"data_{name}_min": float(np.nanmin(of)) if known else None,
        f"data_{name}_max": float(np.nanmax(of)) if known else None,
        "selection_fraction": float(mask.mean()) if known else 0.0,
    }


class XPCSDataFilter:
    """The filters of a configuration.

    Parameters
    ----------
    config : dict, optional
        ``data_filtering`` has ``enabled``, ``q_range``, ``phi_range``, ``quality_threshold``,
        ``combine_criteria`` ('AND' or 'OR'), ``fallback_on_empty`` and ``validation_level``.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config = dict(config or {})
        self.filtering_config: dict[str, Any] = dict(self.config.get("data_filtering") or {})
        said = self.filtering_config
        self.enabled = bool(said.get("enabled", False))
        self.validation_level = said.get("validation_level", "basic")
        self.fallback_on_empty = bool(said.get("fallback_on_empty", True))
        self.combine_criteria = FilterCriteria(said.get("combine_criteria", "AND"))

    def apply_filtering(
        self,
        dqlist: npt.ArrayLike,
        dphilist: npt.ArrayLike,
        correlation_matrices: Sequence[npt.ArrayLike] | None = None,
    ) -> FilteringResult:
        """Take the matrices all filters (AND) or any of them (OR) let pass.

        Parameters
        ----------
        dqlist, dphilist : array
            Wavevector and angle of each matrix.
        correlation_matrices : list of array, optional
            The matrices; without them ``quality_threshold`` is not looked at.

        Returns
        -------
        FilteringResult
            What was taken.
        """
        q, phi = np.asarray(dqlist), np.asarray(dphilist)
        result = FilteringResult(np.arange(len(q)), len(q), len(q))
        if not self.enabled:
            return result
        masks = {
            "q_range": self._range("q", q, result, wraps=False),
            "phi_range": self._range("phi", phi, result, wraps=True),
            "quality": self._quality(correlation_matrices, result),
        }
        self._refuse_stride(len(q))
        applied = {name: mask for name, mask in masks.items() if mask is not None}
        result.filters_applied = list(applied)
        if not applied:
            return result
        combine = np.all if self.combine_criteria is FilterCriteria.AND else np.any
        passed = combine(list(applied.values()), axis=0)
        result.filter_statistics["combination"] = {
            "criteria": self.combine_criteria.value,
            "individual_selections": {name: int(mask.sum()) for name, mask in applied.items()},
            "combined_selection": int(passed.sum()),
        }
        if passed.any():
            result.selected_indices = np.flatnonzero(passed)
            result.total_selected = int(passed.sum())
            return result
        if not self.fallback_on_empty:
            raise DataFilteringError(
                "Filtering resulted in empty dataset and fallback is disabled "
                "(data_filtering.fallback_on_empty)"
            )
        result.fallback_used = True
        result.warnings.append("Empty filter result - fallback to all indices")
        logger.warning("data_filtering leaves nothing: all matrices are taken")
        return result

    def _range(
        self, name: str, values: npt.NDArray[Any], result: FilteringResult, *, wraps: bool
    ) -> npt.NDArray[np.bool_] | None:
        said = self.filtering_config.get(f"{name}_range") or {}
        low, high = said.get("min"), said.get("max")
        if low is None and high is None:
            return None
        above = values >= low if low is not None else np.ones(len(values), np.bool_)
        below = values <= high if high is not None else np.ones(len(values), np.bool_)
        around = wraps and low is not None and high is not None and low > high
        mask: npt.NDArray[np.bool_] = (above | below) if around else (above & below)
        result.filter_statistics[f"{name}_range"] = _statistics(mask, name, low, high, values)
        return mask

    def _quality(
        self, matrices: Sequence[npt.ArrayLike] | None, result: FilteringResult
    ) -> npt.NDArray[np.bool_] | None:
        threshold = self.filtering_config.get("quality_threshold")
        if threshold is None or matrices is None:
            return None
        scores = np.array([self._calculate_matrix_quality_score(matrix) for matrix in matrices])
        mask: npt.NDArray[np.bool_] = scores >= threshold
        spread = {
            name: float(getattr(np, name)(scores)) if len(scores) else 0.0
            for name in ("mean", "std", "min", "max")
        }
        result.filter_statistics["quality"] = {
            "threshold": threshold,
            "selected_count": int(mask.sum()),
            "quality_scores": spread,
            "selection_fraction": float(mask.mean()) if len(mask) else 0.0,
        }
        return mask

    def _calculate_matrix_quality_score(self, matrix: npt.ArrayLike) -> float:
        return matrix_quality(matrix)

    def _refuse_stride(self, count: int) -> None:
        stride = (self.filtering_config.get("frame_filtering") or {}).get("stride", 1)
        if stride > 1:
            raise ValueError(
                f"data_filtering.frame_filtering.stride: {stride} would leave out most of {count} "
                "matrices; remove it, and choose frames with analyzer_parameters.start_frame and "
                "end_frame"
            )


def apply_data_filtering(
    dqlist: npt.ArrayLike,
    dphilist: npt.ArrayLike,
    config: Mapping[str, Any],
    correlation_matrices: Sequence[npt.ArrayLike] | None = None,
) -> npt.NDArray[Any] | None:
    """Return the places of the matrices that pass a configuration's filters.

    Parameters
    ----------
    dqlist, dphilist : array
        Wavevector and angle of each matrix.
    config : dict
        The configuration; see :class:`XPCSDataFilter`.
    correlation_matrices : list of array, optional
        The matrices.

    Returns
    -------
    array
        Places.

    Examples
    --------
    >>> said = {"enabled": True, "phi_range": {"min": -10, "max": 10}}
    >>> apply_data_filtering([0.01] * 3, [0, 45, 5], {"data_filtering": said})
    array([0, 2])
    """
    found = XPCSDataFilter(config).apply_filtering(dqlist, dphilist, correlation_matrices)
    return found.selected_indices


__all__ = [
    "DataFilteringError",
    "FilterCriteria",
    "FilteringResult",
    "XPCSDataFilter",
    "apply_data_filtering",
]
