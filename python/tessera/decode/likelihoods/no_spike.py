"""Likelihood of a tiny constant rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera.decode import _data
from tessera.decode._data import Array
from tessera.decode._session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tessera.decode._types import ArrayLike

__all__ = ["predict_no_spike_log_likelihood"]


def predict_no_spike_log_likelihood(
    time: ArrayLike,
    spike_times: Sequence[ArrayLike],
    no_spike_rate: float | None = None,
    *,
    device: str | None = None,
) -> Array:
    """Compute how well a tiny constant rate explains the spikes of every time bin.

    Parameters
    ----------
    time : array, shape (n_time,)
        Left edges of the time bins.
    spike_times : list of arrays
        One per electrode.
    no_spike_rate : float, optional
        Spikes per second.
    device : str, optional
        'cpu', 'cuda', 'cuda:1' or 'auto'; default: TESSERA_DEVICE, else the CPU.

    Returns
    -------
    ndarray, shape (n_time, 1)
        Log likelihood.

    Examples
    --------
    >>> from tessera.decode.likelihoods import predict_no_spike_log_likelihood
    >>> found = predict_no_spike_log_likelihood([0.0, 1.0, 2.0], [[0.5]])
    >>> bool(found[0, 0] < found[1, 0])
    True
    """
    rate = default("decode.detector", "no_spike_rate") if no_spike_rate is None else no_spike_rate
    observation = {
        "time": _data.vector(time, "time"),
        "spike_times": _data.spike_times(spike_times),
    }
    with Session(device=device) as context:
        values = _core.decode_no_spike_log_likelihood(context, observation, float(rate), "float32")
    return np.asarray(values)[:, np.newaxis]
