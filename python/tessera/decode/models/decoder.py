"""One state: position moves in small steps."""

from __future__ import annotations

from typing import Any

from tessera._documented import parameters_of
from tessera.decode.models import _ready
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["ClusterlessDecoder", "SortedSpikesDecoder"]


@parameters_of(SortedSpikesDetector)
class SortedSpikesDecoder(SortedSpikesDetector):
    """One state, in which position moves in small steps; sorted units.

    The posterior over position at every time, and nothing else: what a Bayesian decoder with a
    random walk gives.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.SortedSpikesDecoder(environments=rec.environment())
    >>> model.fit(rec.position_time, rec.position, rec.encoding_spike_times)
    SortedSpikesDecoder(['Continuous'], fitted)
    >>> results = model.predict(rec.spike_times, rec.time)
    >>> results["acausal_posterior"].shape[0] == len(rec.time)
    True
    """

    _kind = _ready.DECODER


@parameters_of(ClusterlessDetector)
class ClusterlessDecoder(ClusterlessDetector):
    """One state, in which position moves in small steps.

    The posterior over position at every time, and nothing else: what a Bayesian decoder with a
    random walk gives.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.ClusterlessDecoder(
    ...     environments=rec.environment(), clusterless_algorithm_params=rec.algorithm_params()
    ... )
    >>> model.fit(
    ...     rec.position_time,
    ...     rec.position,
    ...     rec.encoding_spike_times,
    ...     rec.encoding_spike_waveform_features,
    ... )
    ClusterlessDecoder(['Continuous'], fitted)
    >>> results = model.predict(rec.spike_times, rec.spike_waveform_features, rec.time)
    >>> results["acausal_posterior"].shape[0] == len(rec.time)
    True
    """

    _kind = _ready.DECODER


def __getattr__(name: str) -> Any:
    """Find the original's names of the defaults."""
    return _ready.module_default(_ready.DECODER, __name__, name)
