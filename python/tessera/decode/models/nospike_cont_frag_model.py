"""Three states: silence, small steps, jumps."""

from __future__ import annotations

from tessera.decode.models import _ready
from tessera.decode.models._posteriors import MovingMixin
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["NoSpikeContFragClusterlessClassifier", "NoSpikeContFragSortedSpikesClassifier"]

_NON_LOCAL = ("Continuous", "Fragmented")


class NoSpikeContFragSortedSpikesClassifier(MovingMixin, SortedSpikesDetector):
    """Three states: silence, small steps, jumps; parameters as in :class:`SortedSpikesDetector`."""

    _kind = _ready.NO_SPIKE_CONT_FRAG
    _moving = _NON_LOCAL
    _n_state = 3


class NoSpikeContFragClusterlessClassifier(MovingMixin, ClusterlessDetector):
    """Three states: silence, small steps, jumps; parameters as in :class:`ClusterlessDetector`."""

    _kind = _ready.NO_SPIKE_CONT_FRAG
    _moving = _NON_LOCAL
    _n_state = 3
