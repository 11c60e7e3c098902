"""Angles of ``phi_filtering``: which of them a fit and figures take.

The original's functions fall back to all angles where no range holds one, with a warning; files
that are read with :func:`tessera.xpcs.load` make that an error instead.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tessera.xpcs.config.manager import ConfigManager

logger = logging.getLogger("tessera")

Selected = tuple[list[int], npt.NDArray[Any], npt.NDArray[Any]]


@overload
def normalize_angle_to_symmetric_range(angle: float) -> float: ...
@overload
def normalize_angle_to_symmetric_range(angle: npt.NDArray[Any]) -> npt.NDArray[Any]: ...
def normalize_angle_to_symmetric_range(
    angle: float | npt.NDArray[Any],
) -> float | npt.NDArray[Any]:
    """Turn angles into (-180, 180] degrees.

    Parameters
    ----------
    angle : float or array
        Degrees.

    Returns
    -------
    float or array
        The same directions.

    Examples
    --------
    >>> normalize_angle_to_symmetric_range(210.0)
    -150.0
    """
    turned = np.asarray(angle) % 360
    turned = np.where(turned > 180, turned - 360, turned)
    return float(turned) if np.isscalar(angle) else turned


def angle_in_range(angle: float, min_angle: float, max_angle: float) -> bool:
    """Return whether an angle lies in a range, ends included.

    Parameters
    ----------
    angle : float
        Degrees.
    min_angle, max_angle : float
        The range; where the first is larger it goes through 180.

    Returns
    -------
    bool
        Whether it does.
    """
    if min_angle <= max_angle:
        return bool(min_angle <= angle <= max_angle)
    return bool(angle >= min_angle or angle <= max_angle)


def _items(values: Any, places: npt.NDArray[Any]) -> Any:
    """Return items of an array of whichever library; of a list as NumPy's."""
    return values[places] if hasattr(values, "shape") else np.asarray(values)[places]


def _ranges(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the ranges of a configuration; none where filtering is off."""
    section = config.get("phi_filtering") or {}
    return list(section.get("target_ranges") or []) if section.get("enabled", False) else []


def apply_angle_filtering(
    phi_angles: npt.NDArray[Any], c2_exp: npt.NDArray[Any], config: Mapping[str, Any]
) -> Selected:
    """Take the angles of ``phi_filtering.target_ranges``; all of them where none is in a range.

    Parameters
    ----------
    phi_angles : array
        Degrees.
    c2_exp : array
        A matrix for each.
    config : dict
        The configuration.

    Returns
    -------
    tuple
        Places, angles and matrices that were taken.
    """
    ranges = _ranges(config)
    kept = [
        place
        for place, angle in enumerate(phi_angles)
        if any(
            angle_in_range(angle, item.get("min_angle", -180), item.get("max_angle", 180))
            for item in ranges
        )
    ]
    if not kept:
        if ranges:
            logger.warning(
                "No angles matched phi_filtering criteria, using all angles: %s",
                np.asarray(phi_angles).tolist(),
            )
        return list(range(len(phi_angles))), phi_angles, c2_exp
    places = np.array(kept)
    return kept, _items(phi_angles, places), _items(c2_exp, places)


def apply_angle_filtering_for_optimization(
    data: Mapping[str, Any], config: Mapping[str, Any] | ConfigManager
) -> dict[str, Any]:
    """Return data of the angles a fit takes, turned into (-180, 180].

    Parameters
    ----------
    data : dict
        ``phi_angles_list``, ``c2_exp`` and more, which stays.
    config : dict or ConfigManager
        The configuration.

    Returns
    -------
    dict
        A shallow copy.
    """
    found = dict(data)
    angles = np.asarray(data.get("phi_angles_list", []))
    matrices = data.get("c2_exp", [])
    if len(angles) == 0 or len(matrices) == 0:
        logger.warning("No phi angles or C2 data available, cannot apply filtering")
        return found
    far = angles[np.abs(angles) > 360]
    if len(far):
        logger.warning("Found %d angle(s) with |phi| > 360 deg: %s: radians?", len(far), far)
    angles = normalize_angle_to_symmetric_range(angles)
    found["phi_angles_list"] = angles
    said = config if isinstance(config, Mapping) else config.get_config()
    ranges = _ranges(said)
    if not ranges:
        if (said.get("phi_filtering") or {}).get("enabled", False):
            logger.warning("Phi filtering enabled but no target_ranges specified, using all angles")
        return found
    turn = normalize_angle_to_symmetric_range
    turned = [
        {
            "min_angle": turn(float(item.get("min_angle", -180))),
            "max_angle": turn(float(item.get("max_angle", 180))),
        }
        for item in ranges
    ]
    section = {"phi_filtering": {"enabled": True, "target_ranges": turned}}
    _, found["phi_angles_list"], found["c2_exp"] = apply_angle_filtering(angles, matrices, section)
    return found


def apply_angle_filtering_for_plot(
    phi_angles: npt.NDArray[Any], c2_exp: npt.NDArray[Any], data: Mapping[str, Any]
) -> Selected:
    """Take the angles figures show.

    Parameters
    ----------
    phi_angles : array
        Degrees.
    c2_exp : array
        A matrix for each.
    data : dict
        Its ``config`` is the configuration; without one all angles are taken.

    Returns
    -------
    tuple
        Places, angles and matrices that were taken.
    """
    config = data.get("config")
    if config is None:
        return list(range(len(phi_angles))), phi_angles, c2_exp
    if (config.get("phi_filtering") or {}).get("enabled", False) and not _ranges(config):
        logger.warning("Phi filtering enabled but no target_ranges specified, plotting all angles")
    return apply_angle_filtering(phi_angles, c2_exp, config)


__all__ = [
    "angle_in_range",
    "apply_angle_filtering",
    "apply_angle_filtering_for_optimization",
    "apply_angle_filtering_for_plot",
    "normalize_angle_to_symmetric_range",
]
