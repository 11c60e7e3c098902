"""Decoding while the experiment runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tessera import _core
from tessera._core import Context
from tessera.decode import _data
from tessera.decode.models._detector import DetectorBase

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tessera.decode._types import FinishedBin, OnlineStats

__all__ = ["OnlineDecoder"]


class OnlineDecoder:
    """A causal filter fed spike by spike.

    Everything is allocated here. One thread per electrode may push while one advances.

    Parameters
    ----------
    model : fitted detector
        With transitions that do not depend on covariates; later changes of it have no effect.
    start : float
        Left edge of the first bin, in seconds.
    bin_width : float, optional
        Width of a bin, in seconds.
    delay : float, optional
        A bin is closed this long after its right edge, so that late spikes still count.
    deadline : float, optional
        Bins that take longer are counted.
    max_pending : int, optional
        Spikes that may wait per electrode.
    n_history : int, optional
        Finished bins that can be read back.
    threads : int, optional
        Results do not depend on it.

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> model = td.ClusterlessDecoder(environments=rec.environment()).fit(
    ...     rec.position_time,
    ...     rec.position,
    ...     rec.encoding_spike_times,
    ...     rec.encoding_spike_waveform_features,
    ... )
    >>> online = td.OnlineDecoder(model, start=float(rec.time[0]), bin_width=0.002)
    >>> for k, (times, features) in enumerate(zip(rec.spike_times, rec.spike_waveform_features)):
    ...     online.push_spikes(times, k, features)
    >>> n = online.advance(float(rec.time[0]) + 0.05)
    >>> online.get(n - 1)["best_state"]
    'Continuous'
    """

    def __init__(
        self,
        model: DetectorBase,
        start: float = 0.0,
        *,
        bin_width: float | None = None,
        delay: float | None = None,
        deadline: float | None = None,
        max_pending: int | None = None,
        n_history: int | None = None,
        threads: int | None = None,
    ) -> None:
        options = {
            "start_s": float(start),
            "bin_width_s": bin_width,
            "delay_s": delay,
            "deadline_s": deadline,
            "max_pending": max_pending,
            "n_history": n_history,
        }
        names = {param["name"] for param in _core.param_tables()["decode.online"]}
        short = {name: name.removesuffix("_s") for name in options if name not in names}
        known = {short.get(name, name): value for name, value in options.items()}
        # A context of its own: nothing else may hold up a bin.
        self._context = Context(threads=threads)
        detector = model._detector()
        self._handle = _core.decode_online(self._context, detector, known)
        self._all_index = np.array(_core.decode_detector_info(detector)["all_index"])
        self._centers = model._bin_centers()
        self._states = list(model.state_names)
        self._state_ind = model.state_ind_
        # Its own, so that expectation maximisation of the model cannot change it meanwhile.
        model._forget()

    def __repr__(self) -> str:
        counts = _core.decode_online_stats(self._handle)
        return (
            f"OnlineDecoder({self._states}, {counts['n_bin']} bins closed, "
            f"{counts['n_spike']} spikes, {counts['n_late']} late)"
        )

    def push_spike(self, time: float, electrode: int, features: ArrayLike) -> None:
        """Hand in one spike.

        Parameters
        ----------
        time : float
            Seconds.
        electrode : int
            As in fit().
        features : array, shape (n_feature,)
            Waveform features.
        """
        marks = np.ascontiguousarray(features, dtype=np.float32).reshape(1, -1)
        times = np.array([time], dtype=np.float64)
        _core.decode_online_push_spikes(self._handle, electrode, times, marks)

    def push_spikes(self, times: ArrayLike, electrode: int, features: ArrayLike) -> None:
        """Hand in spikes of one electrode, in the order of time.

        Parameters
        ----------
        times : array, shape (n_spike,)
            Seconds.
        electrode : int
            As in fit().
        features : array, shape (n_spike, n_feature)
            Waveform features.
        """
        marks = np.ascontiguousarray(features, dtype=np.float32)
        if marks.ndim == 1:
            marks = marks[:, np.newaxis]
        _core.decode_online_push_spikes(
            self._handle, electrode, _data.vector(times, "times"), marks
        )

    def push_position(self, time: float, position: ArrayLike) -> None:
        """Hand in where the animal is.

        Parameters
        ----------
        time : float
            Seconds.
        position : float or array, shape (n_dim,)
            Cm.
        """
        _core.decode_online_push_position(
            self._handle, float(time), _data.vector(position, "position")
        )

    def advance(self, now: float) -> int:
        """Close every bin that is due.

        Parameters
        ----------
        now : float
            The time, in seconds.

        Returns
        -------
        int
            How many bins were closed.
        """
        return _core.decode_online_advance(self._handle, float(now))

    def get(self, bin: int) -> FinishedBin:  # noqa: A002
        """Return a finished bin.

        Parameters
        ----------
        bin : int
            0 is the first.

        Returns
        -------
        dict
            posterior over the interior state bins, state_probabilities, log_likelihood, the
            most likely state and position, credible_size, counts and timings.
        """
        found: dict[str, Any] = _core.decode_online_get(self._handle, bin)
        for name in ("posterior", "state_probabilities", "log_likelihood"):
            found[name] = np.asarray(found[name])
        best = self._all_index[found["best_bin"]]
        found["best_state"] = self._states[self._state_ind[best]]
        found["best_position"] = self._centers[best]
        return cast("FinishedBin", found)

    def stats(self) -> OnlineStats:
        """Return counters.

        Returns
        -------
        dict
            n_bin, n_spike, n_late, n_duplicate, n_dropped, n_deadline_miss, latency_max_s and
            latency, the histogram of latencies (entry i: below 2^i microseconds).
        """
        return cast("OnlineStats", _core.decode_online_stats(self._handle))

    def reset(self, start: float) -> None:
        """Begin again from the initial conditions.

        Parameters
        ----------
        start : float
            Left edge of the first bin, in seconds.
        """
        _core.decode_online_reset(self._handle, float(start))
