"""Three states: silence, small steps, jumps."""

from __future__ import annotations

from typing import Any

from tessera._documented import parameters_of
from tessera.decode.models import _ready
from tessera.decode.models._posteriors import MovingMixin
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["NoSpikeContFragClusterlessClassifier", "NoSpikeContFragSortedSpikesClassifier"]

_NON_LOCAL = ("Continuous", "Fragmented")


@parameters_of(SortedSpikesDetector)
class NoSpikeContFragSortedSpikesClassifier(MovingMixin, SortedSpikesDetector):
    """Three states: silence, small steps, jumps; sorted units.

    'No-Spike' takes the times without information, so that the other two do not have to explain
    them.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.NoSpikeContFragSortedSpikesClassifier(environments=rec.environment())
    >>> model.fit(rec.position_time, rec.position, rec.encoding_spike_times)
    NoSpikeContFragSortedSpikesClassifier(['No-Spike', 'Continuous', 'Fragmented'], fitted)
    >>> results = model.predict(rec.spike_times, rec.time)
    >>> results["acausal_posterior"].shape[0] == len(rec.time)
    True
    """

    _kind = _ready.NO_SPIKE_CONT_FRAG
    _moving = _NON_LOCAL
    _n_state = 3


@parameters_of(ClusterlessDetector)
class NoSpikeContFragClusterlessClassifier(MovingMixin, ClusterlessDetector):
    """Three states: silence, small steps, jumps.

    'No-Spike' takes the times without information, so that the other two do not have to explain
    them.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.NoSpikeContFragClusterlessClassifier(
    ...     environments=rec.environment(), clusterless_algorithm_params=rec.algorithm_params()
    ... )
    >>> model.fit(
    ...     rec.position_time,
    ...     rec.position,
    ...     rec.encoding_spike_times,
    ...     rec.encoding_spike_waveform_features,
    ... )
    NoSpikeContFragClusterlessClassifier(['No-Spike', 'Continuous', 'Fragmented'], fitted)
    >>> results = model.predict(rec.spike_times, rec.spike_waveform_features, rec.time)
    >>> results["acausal_posterior"].shape[0] == len(rec.time)
    True
    """

    _kind = _ready.NO_SPIKE_CONT_FRAG
    _moving = _NON_LOCAL
    _n_state = 3


def __getattr__(name: str) -> Any:
    """Find the original's names of the defaults."""
    return _ready.module_default(_ready.NO_SPIKE_CONT_FRAG, __name__, name)
