"""Two states: position moves in small steps, or jumps."""

from __future__ import annotations

from tessera.decode.models import _ready
from tessera.decode.models._posteriors import StatesMixin
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["ContFragClusterlessClassifier", "ContFragSortedSpikesClassifier"]


class ContFragSortedSpikesClassifier(StatesMixin, SortedSpikesDetector):
    """Two states: position moves in small steps, or jumps; as :class:`SortedSpikesDetector`."""

    _kind = _ready.CONT_FRAG


class ContFragClusterlessClassifier(StatesMixin, ClusterlessDetector):
    """Two states: position moves in small steps, or jumps; as :class:`ClusterlessDetector`."""

    _kind = _ready.CONT_FRAG
