"""How much memory the original's solver would take, and which of its ways fits.

Fits here choose for themselves within the memory limit; see :func:`tessera.xpcs.plan`.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Any

DEFAULT_MEMORY_FRACTION = 0.75
MEMORY_FRACTION_ENV_VAR = "NLSQ_MEMORY_FRACTION"
FALLBACK_THRESHOLD_GB = 16.0
MIN_MEMORY_FRACTION = 0.1
MAX_MEMORY_FRACTION = 0.9
_GIB = 1024.0**3


def detect_total_system_memory() -> float | None:
    """Return the bytes of memory of this machine, or None if nobody says."""
    try:
        import psutil  # type: ignore[import-untyped]

        total = float(psutil.virtual_memory().total)
        if total > 0:
            return total
    except (ImportError, OSError, ValueError, AttributeError):
        pass
    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return None
    return total if total > 0 else None


def _fraction(given: float | None) -> tuple[float, str]:
    """Return the share of memory to use, and who said so."""
    if given is not None:
        return given, "argument"
    word = os.environ.get(MEMORY_FRACTION_ENV_VAR)
    if word is not None:
        try:
            return float(word), "env"
        except ValueError:
            warnings.warn(
                f"Invalid {MEMORY_FRACTION_ENV_VAR}={word!r}: {DEFAULT_MEMORY_FRACTION} is used",
                UserWarning,
                stacklevel=3,
            )
    return DEFAULT_MEMORY_FRACTION, "default"


def get_adaptive_memory_threshold(
    memory_fraction: float | None = None,
) -> tuple[float, dict[str, Any]]:
    """Return how many GiB may be used, and how that was found."""
    asked, source = _fraction(memory_fraction)
    fraction = max(MIN_MEMORY_FRACTION, min(asked, MAX_MEMORY_FRACTION))
    if fraction != asked:
        warnings.warn(
            f"Memory fraction {asked} clamped to [{MIN_MEMORY_FRACTION}, {MAX_MEMORY_FRACTION}]: "
            f"{fraction}",
            UserWarning,
            stacklevel=2,
        )
    info: dict[str, Any] = {"memory_fraction": fraction, "source": source}
    total = detect_total_system_memory()
    if total is None:
        warnings.warn(
            f"Could not detect system memory: {FALLBACK_THRESHOLD_GB} GB are assumed",
            UserWarning,
            stacklevel=2,
        )
        info |= {"total_memory_gb": 0.0, "detection_method": "fallback"}
        return FALLBACK_THRESHOLD_GB, info
    try:
        import psutil  # noqa: F401

        info["detection_method"] = "psutil"
    except ImportError:
        info["detection_method"] = "sysconf"
    info["total_memory_gb"] = total / _GIB
    return total / _GIB * fraction, info


def estimate_peak_memory_gb(
    n_points: int, n_params: int, bytes_per_element: int = 8, jacobian_overhead: float = 6.5
) -> float:
    """Return the GiB that a whole Jacobian and its copies would take."""
    return n_points * n_params * bytes_per_element * jacobian_overhead / _GIB


class NLSQStrategy(Enum):
    """Ways of the original."""

    STANDARD = "standard"
    OUT_OF_CORE = "out_of_core"
    HYBRID_STREAMING = "hybrid_streaming"


@dataclass(frozen=True)
class StrategyDecision:
    """A way and the numbers it was chosen by."""

    strategy: NLSQStrategy
    threshold_gb: float
    index_memory_gb: float
    peak_memory_gb: float
    reason: str


def select_nlsq_strategy(
    n_points: int, n_params: int, memory_fraction: float = DEFAULT_MEMORY_FRACTION
) -> StrategyDecision:
    """Return the way the original would go."""
    limit, _ = get_adaptive_memory_threshold(memory_fraction)
    index = n_points * 8 / _GIB
    peak = estimate_peak_memory_gb(n_points, n_params) if n_params > 0 else 0.0
    if index > limit:
        way = NLSQStrategy.HYBRID_STREAMING
        why = f"Index array ({index:.2f} GB) exceeds threshold ({limit:.2f} GB)"
    elif peak > limit:
        way = NLSQStrategy.OUT_OF_CORE
        why = f"Peak memory ({peak:.2f} GB) exceeds threshold ({limit:.2f} GB)"
    else:
        way = NLSQStrategy.STANDARD
        why = f"Memory fits: {peak:.2f} GB < {limit:.2f} GB threshold"
    return StrategyDecision(way, limit, index, peak, why)
