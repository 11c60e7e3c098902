"""One state: position moves in small steps."""

from __future__ import annotations

from tessera.decode.models import _ready
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["ClusterlessDecoder", "SortedSpikesDecoder"]


class SortedSpikesDecoder(SortedSpikesDetector):
    """One state: position moves in small steps; parameters as in :class:`SortedSpikesDetector`."""

    _kind = _ready.DECODER


class ClusterlessDecoder(ClusterlessDetector):
    """One state: position moves in small steps; parameters as in :class:`ClusterlessDetector`."""

    _kind = _ready.DECODER
