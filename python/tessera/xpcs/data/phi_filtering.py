"""Angles in ranges, for scripts that choose them on their own."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

logger = logging.getLogger("tessera")

Ranges = Sequence[tuple[float, float]]


def _mask(angles: npt.NDArray[Any], ranges: Ranges) -> npt.NDArray[np.bool_]:
    """Return which angles lie in any range; one whose first end is larger goes through 180."""
    found = np.zeros(len(angles), np.bool_)
    for low, high in ranges:
        above, below = angles >= low, angles <= high
        found |= (above | below) if low > high else (above & below)
    return found


class PhiAngleFilter:
    """The original's choice of angles.

    Parameters
    ----------
    config : dict, optional
        ``optimization_config.angle_filtering`` has ``enabled``, ``target_ranges`` and
        ``fallback_to_all_angles``.

    Attributes
    ----------
    target_ranges : list of tuple
        Degrees, ends included.
    filtering_enabled, fallback_enabled : bool
        Whether anything is chosen, and whether all are taken where none is in a range.
    """

    DEFAULT_TARGET_RANGES: ClassVar[list[tuple[float, float]]] = [(-10.0, 10.0), (170.0, 190.0)]

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config = dict(config or {})
        said = (self.config.get("optimization_config") or {}).get("angle_filtering") or {}
        ranges = [
            (float(item.get("min_angle", -10.0)), float(item.get("max_angle", 10.0)))
            for item in said.get("target_ranges") or []
        ]
        self.target_ranges = ranges or list(self.DEFAULT_TARGET_RANGES)
        self.fallback_enabled = bool(said.get("fallback_to_all_angles", True))
        self.filtering_enabled = bool(said.get("enabled", True))

    def filter_angles_for_optimization(
        self,
        phi_angles: npt.ArrayLike,
        target_ranges: Ranges | None = None,
        fallback_enabled: bool | None = None,
    ) -> tuple[list[int], npt.NDArray[Any]]:
        """Take the angles in ranges.

        Parameters
        ----------
        phi_angles : array
            Degrees.
        target_ranges : list of tuple, optional
            Other ranges than the configuration's.
        fallback_enabled : bool, optional
            Whether all are taken where none is in a range; else that is a ValueError.

        Returns
        -------
        tuple
            Places and angles.
        """
        angles = np.asarray(phi_angles)
        everything = list(range(len(angles))), angles
        if not self.filtering_enabled:
            return everything
        ranges = self.target_ranges if target_ranges is None else target_ranges
        places = np.flatnonzero(_mask(angles, ranges)).tolist()
        if places:
            return places, angles[places]
        fallback = self.fallback_enabled if fallback_enabled is None else fallback_enabled
        message = f"No angles found in target ranges {list(ranges)}"
        if not fallback:
            raise ValueError(f"{message} and fallback is disabled; there are {angles.tolist()}")
        logger.warning("%s: all are taken", message)
        return everything

    def validate_target_ranges(self, target_ranges: Ranges) -> bool:
        """Return whether all ends lie between -360 and 360.

        Parameters
        ----------
        target_ranges : list of tuple
            The ranges.

        Returns
        -------
        bool
            Whether they do.
        """
        return all(-360 <= end <= 360 for pair in target_ranges for end in pair)

    def get_angle_statistics(self, phi_angles: npt.ArrayLike) -> dict[str, Any]:
        """Count angles by range.

        Parameters
        ----------
        phi_angles : array
            Degrees.

        Returns
        -------
        dict
            ``total_angles``, ``angle_range``, ``target_ranges``, ``angles_per_range``.
        """
        angles = np.asarray(phi_angles, np.float64)
        spread = {
            name: float(getattr(np, f"nan{name}")(angles)) if angles.size else float("nan")
            for name in ("min", "max", "mean", "std")
        }
        found = []
        for pair in self.target_ranges:
            inside = angles[_mask(angles, [pair])]
            share = 100 * len(inside) / len(angles) if len(angles) else 0.0
            found.append(
                {
                    "range": pair,
                    "count": len(inside),
                    "percentage": float(share),
                    "angles": inside.tolist(),
                }
            )
        return {
            "total_angles": len(angles),
            "angle_range": spread,
            "target_ranges": self.target_ranges,
            "angles_per_range": found,
        }


def filter_phi_angles(
    phi_angles: npt.ArrayLike,
    config: Mapping[str, Any] | None = None,
    target_ranges: Ranges | None = None,
    fallback_enabled: bool | None = None,
) -> tuple[list[int], npt.NDArray[Any]]:
    """Take the angles in ranges.

    Parameters
    ----------
    phi_angles : array
        Degrees.
    config : dict, optional
        As in :class:`PhiAngleFilter`.
    target_ranges, fallback_enabled
        As in :meth:`PhiAngleFilter.filter_angles_for_optimization`.

    Returns
    -------
    tuple
        Places and angles.

    Examples
    --------
    >>> filter_phi_angles([0.0, 45.0, 175.0])
    ([0, 2], array([  0., 175.]))
    """
    chosen = PhiAngleFilter(config)
    return chosen.filter_angles_for_optimization(phi_angles, target_ranges, fallback_enabled)


def create_anisotropic_ranges() -> list[tuple[float, float]]:
    """Return ranges along and across the flow.

    Returns
    -------
    list of tuple
        Four ranges of 20 degrees.
    """
    return [(centre - 10.0, centre + 10.0) for centre in (0.0, 90.0, 180.0, 270.0)]


def create_isotropic_ranges() -> list[tuple[float, float]]:
    """Return ranges along the flow.

    Returns
    -------
    list of tuple
        Two ranges of 20 degrees.
    """
    return list(PhiAngleFilter.DEFAULT_TARGET_RANGES)


def filter_phi_angles_jax(
    phi_angles: npt.ArrayLike, target_ranges: Ranges
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Take the angles in ranges; without any, none.

    Parameters
    ----------
    phi_angles : array
        Degrees.
    target_ranges : list of tuple
        The ranges.

    Returns
    -------
    tuple of arrays
        Places and angles.
    """
    angles = np.asarray(phi_angles)
    places = np.flatnonzero(_mask(angles, target_ranges))
    return places, angles[places]


__all__ = [
    "PhiAngleFilter",
    "create_anisotropic_ranges",
    "create_isotropic_ranges",
    "filter_phi_angles",
    "filter_phi_angles_jax",
]
