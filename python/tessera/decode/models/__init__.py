"""Ready-made models."""

from __future__ import annotations

from tessera.decode.models.cont_frag_model import (
    ContFragClusterlessClassifier,
    ContFragSortedSpikesClassifier,
)
from tessera.decode.models.decoder import ClusterlessDecoder, SortedSpikesDecoder
from tessera.decode.models.multienvironment_model import (
    MultiEnvironmentClusterlessClassifier,
    MultiEnvironmentSortedSpikesClassifier,
)
from tessera.decode.models.non_local_model import (
    NonLocalClusterlessDetector,
    NonLocalSortedSpikesDetector,
)
from tessera.decode.models.nospike_cont_frag_model import (
    NoSpikeContFragClusterlessClassifier,
    NoSpikeContFragSortedSpikesClassifier,
)

__all__ = [
    "ClusterlessDecoder",
    "ContFragClusterlessClassifier",
    "ContFragSortedSpikesClassifier",
    "MultiEnvironmentClusterlessClassifier",
    "MultiEnvironmentSortedSpikesClassifier",
    "NoSpikeContFragClusterlessClassifier",
    "NoSpikeContFragSortedSpikesClassifier",
    "NonLocalClusterlessDetector",
    "NonLocalSortedSpikesDetector",
    "SortedSpikesDecoder",
]
