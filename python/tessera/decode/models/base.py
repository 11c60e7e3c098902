"""Detectors to build models of one's own from."""

from __future__ import annotations

from tessera._lib import default
from tessera.decode.models._clusterless import ClusterlessDetector
from tessera.decode.models._detector import DetectorBase as _DetectorBase
from tessera.decode.models._predict import OUTPUTS
from tessera.decode.models._predict import (
    requested_outputs as _normalize_return_outputs,  # noqa: F401 (scripts import it from here)
)
from tessera.decode.models._sorted_spikes import SortedSpikesDetector
from tessera.decode.models._validate import (
    frozen_mask as _normalize_frozen_discrete_transition_rows,  # noqa: F401 (the same)
)
from tessera.decode.observation_models import ObservationModel

__all__ = [
    "ClusterlessDetector",
    "ObservationModel",
    "SortedSpikesDetector",
    "_DetectorBase",
]

VALID_OUTPUTS = {*OUTPUTS, "all"}
_BLOCK = 10_000  # the original's block_size; here it says nothing
_DEFAULT_SORTED_SPIKES_ALGORITHM_PARAMS = {
    "position_std": default("decode.encoding", "position_std"),
    "block_size": _BLOCK,
}
_DEFAULT_CLUSTERLESS_ALGORITHM_PARAMS = {
    "waveform_std": default("decode.encoding", "waveform_std"),
    **_DEFAULT_SORTED_SPIKES_ALGORITHM_PARAMS,
}
