"""The original's ways through data, and which comes after which."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.nlsq.result_builder import normalize_nlsq_result


class OptimizationStrategy(Enum):
    """Ways of the original."""

    STANDARD = "standard"
    LARGE = "large"
    CHUNKED = "chunked"
    STREAMING = "streaming"


def get_fallback_strategy(current_strategy: OptimizationStrategy) -> OptimizationStrategy | None:
    """Return what the original tries when a way fails: the one that needs less memory not."""
    order = list(OptimizationStrategy)
    place = order.index(current_strategy)
    return order[place - 1] if place else None


def handle_nlsq_result(
    result: Any, strategy: OptimizationStrategy
) -> tuple[Floats, Floats, dict[str, Any]]:
    """Return parameters, covariance and facts of whatever a solver gave."""
    return normalize_nlsq_result(result, strategy.value)
