"""Four states: the animal's own position, silence, and two that leave it."""

from __future__ import annotations

from typing import Any

from tessera.decode.models import _ready
from tessera.decode.models._posteriors import conditional_posterior
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["NonLocalClusterlessDetector", "NonLocalSortedSpikesDetector"]

_NON_LOCAL = ("Non-Local Continuous", "Non-Local Fragmented")


class NonLocalSortedSpikesDetector(SortedSpikesDetector):
    """Four states; parameters as in :class:`SortedSpikesDetector`."""

    _kind = _ready.NON_LOCAL

    @staticmethod
    def get_conditional_non_local_posterior(results: Any) -> Any:
        """Return the posterior of position, given that the state is one of the moving ones."""
        return conditional_posterior(results, _NON_LOCAL)


class NonLocalClusterlessDetector(ClusterlessDetector):
    """Four states; parameters as in :class:`ClusterlessDetector`."""

    _kind = _ready.NON_LOCAL

    @staticmethod
    def get_conditional_non_local_posterior(results: Any) -> Any:
        """Return the posterior of position, given that the state is one of the moving ones."""
        return conditional_posterior(results, _NON_LOCAL)
