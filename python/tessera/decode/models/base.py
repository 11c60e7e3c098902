"""Detectors to build models of one's own from."""

from __future__ import annotations

from tessera.decode.models._clusterless import ClusterlessDetector
from tessera.decode.models._detector import DetectorBase as _DetectorBase
from tessera.decode.models._sorted_spikes import SortedSpikesDetector

__all__ = ["ClusterlessDetector", "SortedSpikesDetector", "_DetectorBase"]
