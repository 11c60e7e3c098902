"""Four states: the animal's own position, silence, and two that leave it."""

from __future__ import annotations

from typing import Any

from tessera._documented import parameters_of
from tessera.decode.models import _ready
from tessera.decode.models._posteriors import MovingMixin
from tessera.decode.models.base import ClusterlessDetector, SortedSpikesDetector

__all__ = ["NonLocalClusterlessDetector", "NonLocalSortedSpikesDetector"]

_NON_LOCAL = ("Non-Local Continuous", "Non-Local Fragmented")


@parameters_of(SortedSpikesDetector)
class NonLocalSortedSpikesDetector(MovingMixin, SortedSpikesDetector):
    """Four states: the animal's own place, silence, and two that leave it; sorted units.

    'Local' explains spikes by where the animal is, 'No-Spike' by a tiny rate, 'Non-Local
    Continuous' and 'Non-Local Fragmented' by a position of their own, in small steps or jumps.
    :meth:`predict` needs position and position_time.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.NonLocalSortedSpikesDetector(environments=rec.environment()).fit(
    ...     rec.position_time,
    ...     rec.position,
    ...     rec.encoding_spike_times,
    ... )
    >>> where = np.interp(rec.time, rec.position_time, np.ravel(rec.position))
    >>> results = model.predict(
    ...     rec.spike_times,
    ...     rec.time,
    ...     position=where,
    ...     position_time=rec.time,
    ... )
    >>> results["acausal_state_probabilities"].shape == (len(rec.time), 4)
    True
    """

    _kind = _ready.NON_LOCAL
    _moving = _NON_LOCAL
    _n_state = 4


@parameters_of(ClusterlessDetector)
class NonLocalClusterlessDetector(MovingMixin, ClusterlessDetector):
    """Four states: the animal's own place, silence, and two that leave it.

    'Local' explains spikes by where the animal is, 'No-Spike' by a tiny rate, 'Non-Local
    Continuous' and 'Non-Local Fragmented' by a position of their own, in small steps or jumps.
    :meth:`predict` needs position and position_time.

    Parameters
    ----------
    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.NonLocalClusterlessDetector(environments=rec.environment()).fit(
    ...     rec.position_time,
    ...     rec.position,
    ...     rec.encoding_spike_times,
    ...     rec.encoding_spike_waveform_features,
    ... )
    >>> where = np.interp(rec.time, rec.position_time, np.ravel(rec.position))
    >>> results = model.predict(
    ...     rec.spike_times,
    ...     rec.spike_waveform_features,
    ...     rec.time,
    ...     position=where,
    ...     position_time=rec.time,
    ... )
    >>> results["acausal_state_probabilities"].shape == (len(rec.time), 4)
    True
    """

    _kind = _ready.NON_LOCAL
    _moving = _NON_LOCAL
    _n_state = 4


def __getattr__(name: str) -> Any:
    """Find the original's names of the defaults."""
    return _ready.module_default(_ready.NON_LOCAL, __name__, name)
