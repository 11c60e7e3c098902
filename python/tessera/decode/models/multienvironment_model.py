"""Two environments, one state each."""

from __future__ import annotations

from tessera.decode.models import _ready
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["MultiEnvironmentClusterlessClassifier", "MultiEnvironmentSortedSpikesClassifier"]


class MultiEnvironmentSortedSpikesClassifier(SortedSpikesDetector):
    """Two environments, one state each; parameters as in :class:`SortedSpikesDetector`."""

    _kind = _ready.MULTI_ENVIRONMENT


class MultiEnvironmentClusterlessClassifier(ClusterlessDetector):
    """Two environments, one state each; parameters as in :class:`ClusterlessDetector`."""

    _kind = _ready.MULTI_ENVIRONMENT
