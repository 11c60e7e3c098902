"""Three states: silence, small steps, jumps."""

from __future__ import annotations

from typing import Any

from tessera.decode.models import _ready
from tessera.decode.models._posteriors import conditional_posterior
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["NoSpikeContFragClusterlessClassifier", "NoSpikeContFragSortedSpikesClassifier"]

_NON_LOCAL = ("Continuous", "Fragmented")


class NoSpikeContFragSortedSpikesClassifier(SortedSpikesDetector):
    """Three states: silence, small steps, jumps; parameters as in :class:`SortedSpikesDetector`."""

    _kind = _ready.NO_SPIKE_CONT_FRAG

    @staticmethod
    def get_conditional_non_local_posterior(results: Any) -> Any:
        """Return the posterior of position, given that the state is one of the moving ones."""
        return conditional_posterior(results, _NON_LOCAL)


class NoSpikeContFragClusterlessClassifier(ClusterlessDetector):
    """Three states: silence, small steps, jumps; parameters as in :class:`ClusterlessDetector`."""

    _kind = _ready.NO_SPIKE_CONT_FRAG

    @staticmethod
    def get_conditional_non_local_posterior(results: Any) -> Any:
        """Return the posterior of position, given that the state is one of the moving ones."""
        return conditional_posterior(results, _NON_LOCAL)
