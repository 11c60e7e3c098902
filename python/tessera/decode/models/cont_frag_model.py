"""Two states: position moves in small steps, or jumps."""

from __future__ import annotations

from typing import Any

from tessera._documented import parameters_of
from tessera.decode.models import _ready
from tessera.decode.models._posteriors import StatesMixin
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["ContFragClusterlessClassifier", "ContFragSortedSpikesClassifier"]


@parameters_of(SortedSpikesDetector)
class ContFragSortedSpikesClassifier(StatesMixin, SortedSpikesDetector):
    """Two states: position moves in small steps, or jumps; sorted units.

    'Continuous' is what a replayed path looks like, 'Fragmented' what no path explains.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.ContFragSortedSpikesClassifier(environments=rec.environment())
    >>> model.fit(rec.position_time, rec.position, rec.encoding_spike_times)
    ContFragSortedSpikesClassifier(['Continuous', 'Fragmented'], fitted)
    >>> results = model.predict(rec.spike_times, rec.time)
    >>> results["acausal_posterior"].shape[0] == len(rec.time)
    True
    """

    _kind = _ready.CONT_FRAG


@parameters_of(ClusterlessDetector)
class ContFragClusterlessClassifier(StatesMixin, ClusterlessDetector):
    """Two states: position moves in small steps, or jumps.

    'Continuous' is what a replayed path looks like, 'Fragmented' what no path explains.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.ContFragClusterlessClassifier(
    ...     environments=rec.environment(), clusterless_algorithm_params=rec.algorithm_params()
    ... )
    >>> model.fit(
    ...     rec.position_time,
    ...     rec.position,
    ...     rec.encoding_spike_times,
    ...     rec.encoding_spike_waveform_features,
    ... )
    ContFragClusterlessClassifier(['Continuous', 'Fragmented'], fitted)
    >>> results = model.predict(rec.spike_times, rec.spike_waveform_features, rec.time)
    >>> results["acausal_posterior"].shape[0] == len(rec.time)
    True
    """

    _kind = _ready.CONT_FRAG


def __getattr__(name: str) -> Any:
    """Find the original's names of the defaults."""
    return _ready.module_default(_ready.CONT_FRAG, __name__, name)
