"""Four states: the animal's own position, silence, and two that leave it."""

from __future__ import annotations

from tessera.decode.models import _ready
from tessera.decode.models._posteriors import MovingMixin
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["NonLocalClusterlessDetector", "NonLocalSortedSpikesDetector"]

_NON_LOCAL = ("Non-Local Continuous", "Non-Local Fragmented")


class NonLocalSortedSpikesDetector(MovingMixin, SortedSpikesDetector):
    """Four states; parameters as in :class:`SortedSpikesDetector`."""

    _kind = _ready.NON_LOCAL
    _moving = _NON_LOCAL
    _n_state = 4


class NonLocalClusterlessDetector(MovingMixin, ClusterlessDetector):
    """Four states; parameters as in :class:`ClusterlessDetector`."""

    _kind = _ready.NON_LOCAL
    _moving = _NON_LOCAL
    _n_state = 4
