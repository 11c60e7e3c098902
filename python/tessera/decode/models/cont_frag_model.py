"""Two states: position moves in small steps, or jumps."""

from __future__ import annotations

from typing import Any

from tessera.decode.models import _ready
from tessera.decode.models._posteriors import sum_over_position
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["ContFragClusterlessClassifier", "ContFragSortedSpikesClassifier"]


class ContFragSortedSpikesClassifier(SortedSpikesDetector):
    """Two states: position moves in small steps, or jumps; as :class:`SortedSpikesDetector`."""

    _kind = _ready.CONT_FRAG

    @staticmethod
    def get_posterior(results: Any) -> Any:
        """Return the posterior summed over position, (time, state)."""
        return sum_over_position(results)


class ContFragClusterlessClassifier(ClusterlessDetector):
    """Two states: position moves in small steps, or jumps; as :class:`ClusterlessDetector`."""

    _kind = _ready.CONT_FRAG

    @staticmethod
    def get_posterior(results: Any) -> Any:
        """Return the posterior summed over position, (time, state)."""
        return sum_over_position(results)
