"""Decoding while the experiment runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from tessera import _core
from tessera._core import Context
from tessera.decode import _data
from tessera.decode.exceptions import ValidationError
from tessera.decode.models._detector import DetectorBase

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from tessera.decode._types import (
        ArrayLike,
        Covariates,
        FinishedBin,
        OnlineLearned,
        OnlineStats,
        TriggerStats,
    )

__all__ = ["OnlineDecoder", "TriggerEvent"]


def _one(time: float, features: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return times and marks of one spike."""
    array = _data.array_of(features, "features")
    marks = np.ascontiguousarray(array, dtype=np.float32).reshape(1, -1)
    return np.array([time], dtype=np.float64), marks


def _many(times: ArrayLike, features: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return times and marks of an electrode's spikes."""
    when = _data.vector(times, "times")
    if features is None:
        return when, np.zeros((len(when), 0), dtype=np.float32)
    marks = np.ascontiguousarray(_data.array_of(features, "features"), dtype=np.float32)
    return when, marks[:, np.newaxis] if marks.ndim == 1 else marks


class TriggerEvent(NamedTuple):
    """What a trigger's function is told.

    Parameters
    ----------
    trigger : int
        Number of the trigger.
    bin : int
        Number of the bin.
    start : float
        Its left edge, in seconds.
    mass : float
        Mean probability that made the trigger fire.
    latency : float
        Seconds from the begin of closing the bin to the call.
    lag : float
        Seconds from the bin's right edge to the ``now`` of the advance.
    """

    trigger: int
    bin: int
    start: float
    mass: float
    latency: float
    lag: float


class OnlineDecoder:
    """A causal filter fed spike by spike.

    Everything is allocated here. One thread per electrode may push while one advances.

    Parameters
    ----------
    model : fitted detector
        Later changes of it have no effect.
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
    learn : {"none", "grow", "window", "reservoir"}, optional
        Learn while decoding (models of algorithm clusterless_kde and sorted_spikes_kde, without
        one-bin Local states). Of each electrode the first ``learn_capacity`` spikes are kept, the
        newest, or a sample of all that ever came.
    learn_from_nothing : bool, optional
        Begin without the spikes and positions of the fitted model.
    learn_capacity : int, optional
        Spikes kept per electrode.
    learn_samples : int, optional
        Position samples kept by window and reservoir.
    learn_seed : int, optional
        Which spikes a reservoir keeps.
    learn_min_speed : float, optional
        Nothing is learned while the animal is slower, in cm/s.
    learn_refresh : float, optional
        What was learned becomes what is decoded with this often, in seconds of bins, and one such
        time later.
    cpu : int, optional
        Helper threads run on this CPU and those after it, one each; -1: anywhere.
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
        learn: Literal["none", "grow", "window", "reservoir"] | None = None,
        learn_from_nothing: bool | None = None,
        learn_capacity: int | None = None,
        learn_samples: int | None = None,
        learn_seed: int | None = None,
        learn_min_speed: float | None = None,
        learn_refresh: float | None = None,
        cpu: int | None = None,
        threads: int | None = None,
    ) -> None:
        options = {
            "start": float(start),
            "bin_width": bin_width,
            "delay": delay,
            "deadline": deadline,
            "max_pending": max_pending,
            "n_history": n_history,
            "learn": learn,
            "learn_from_nothing": learn_from_nothing,
            "learn_capacity": learn_capacity,
            "learn_samples": learn_samples,
            "learn_seed": learn_seed,
            "learn_min_speed": learn_min_speed,
            "learn_refresh": learn_refresh,
            "cpu": cpu,
        }
        # A context of its own: nothing else may hold up a bin.
        self._context = Context(threads=threads)
        detector = model._detector()
        self._handle = _core.decode_online(self._context, detector, options)
        self._all_index = np.array(_core.decode_detector_info(detector)["all_index"])
        self._centers = model._bin_centers()
        self._states = list(model.state_names)
        coefficients = model.discrete_transition_coefficients_
        self._design = None if coefficients is None else model._design
        self._state_ind = model.state_ind_
        self._calls: dict[int, Any] = {}  # keeps triggers' functions alive
        # Its own, so that expectation maximisation of the model cannot change it meanwhile.
        model._forget()

    def __repr__(self) -> str:
        counts = _core.decode_online_stats(self._handle)
        return (
            f"OnlineDecoder({self._states}, {counts['n_bin']} bins closed, "
            f"{counts['n_spike']} spikes, {counts['n_late']} late)"
        )

    def push_spike(self, time: float, electrode: int, features: ArrayLike = ()) -> None:
        """Hand in one spike.

        Parameters
        ----------
        time : float
            Seconds.
        electrode : int
            As in fit().
        features : array, shape (n_feature,)
            Waveform features; none for sorted spikes.
        """
        _core.decode_online_push_spikes(self._handle, electrode, *_one(time, features))

    def push_spikes(
        self, times: ArrayLike, electrode: int, features: ArrayLike | None = None
    ) -> None:
        """Hand in spikes of one electrode, in the order of time.

        Parameters
        ----------
        times : array, shape (n_spike,)
            Seconds.
        electrode : int
            As in fit().
        features : array, shape (n_spike, n_feature)
            Waveform features; none for sorted spikes.
        """
        _core.decode_online_push_spikes(self._handle, electrode, *_many(times, features))

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

    def learn_spike(self, time: float, electrode: int, features: ArrayLike = ()) -> None:
        """Learn one spike.

        Its place is interpolated between the learned positions before and after it, so it waits
        for the latter. Learning belongs to the thread that advances.

        Parameters
        ----------
        time : float
            Seconds; not before the electrode's last.
        electrode : int
            As in fit().
        features : array, shape (n_feature,)
            Waveform features; none for sorted spikes.
        """
        _core.decode_online_learn_spikes(self._handle, electrode, *_one(time, features))

    def learn_spikes(
        self, times: ArrayLike, electrode: int, features: ArrayLike | None = None
    ) -> None:
        """Learn spikes of one electrode, in the order of time; those before a bad one are learned.

        Parameters
        ----------
        times : array, shape (n_spike,)
            Seconds.
        electrode : int
            As in fit().
        features : array, shape (n_spike, n_feature)
            Waveform features; none for sorted spikes.
        """
        _core.decode_online_learn_spikes(self._handle, electrode, *_many(times, features))

    def learn_position(self, time: float, position: ArrayLike) -> None:
        """Learn where the animal is, on the track.

        Parameters
        ----------
        time : float
            Seconds, after the last one.
        position : float or array, shape (n_dim,)
            Cm.
        """
        _core.decode_online_learn_position(
            self._handle, float(time), _data.vector(position, "position")
        )

    def refresh(self) -> None:
        """Decode from now on with all that was learned."""
        _core.decode_online_refresh(self._handle)

    def freeze(self) -> None:
        """Refresh, then learn no more: what is handed in to learn is counted."""
        _core.decode_online_set_frozen(self._handle, True)

    def unfreeze(self) -> None:
        """Learn again."""
        _core.decode_online_set_frozen(self._handle, False)

    def learned(self) -> OnlineLearned:
        """Return the model that is decoded with, and what learning met.

        Returns
        -------
        dict
            occupancy, summed_ground_intensity, mean_rates and n_kept of the last refresh; counters
            of spikes learned, without room, too slow, without a position, dropped and ignored.
        """
        found = _core.decode_online_learned(self._handle)
        for name in ("occupancy", "summed_ground_intensity", "mean_rates"):
            found[name] = np.asarray(found[name])
        found["is_frozen"] = bool(found["is_frozen"])
        return cast("OnlineLearned", found)

    def advance(
        self, now: float, discrete_transition_covariate_data: Covariates | None = None
    ) -> int:
        """Close every bin that is due.

        Parameters
        ----------
        now : float
            The time, in seconds.
        discrete_transition_covariate_data : mapping of str to float or array, optional
            Where the transitions depend on covariates: what they are, a number for all bins that
            are due, or one for each of them. They decide what is expected of the bin after.

        Returns
        -------
        int
            How many bins were closed.
        """
        if discrete_transition_covariate_data is None:
            return _core.decode_online_advance(self._handle, float(now))
        return _core.decode_online_advance(
            self._handle, float(now), self._rows_of(discrete_transition_covariate_data)
        )

    def _rows_of(self, covariates: Covariates) -> np.ndarray:
        """Return the formula's columns at the covariates of bins."""
        if self._design is None:
            message = (
                "discrete_transition_covariate_data is not used: the transitions of this decoder's "
                "model do not depend on covariates"
            )
            raise ValidationError(message)
        names = covariates.columns if hasattr(covariates, "columns") else covariates
        rows = {name: np.atleast_1d(_data.array_of(covariates[name], name)) for name in names}
        return np.ascontiguousarray(self._design.build(rows), dtype=np.float64)

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

    def set_trigger(
        self,
        number: int,
        call: Callable[[TriggerEvent], object] | None,
        *,
        state: str | None = None,
        places: ArrayLike | None = None,
        threshold: float = 0.5,
        n_average: int = 1,
        lockout: float = 0.0,
        min_electrodes: int = 0,
    ) -> None:
        """Call a function as soon as a bin says something.

        It is called by ``advance``, in the middle of it, when the mean probability over the last
        bins is above the threshold. It should return at once and must not call the decoder; what
        it raises, ``advance`` raises when its bins are closed.

        Parameters
        ----------
        number : int
            0 to 7; a trigger that is there is replaced.
        call : function or None
            Takes a :class:`TriggerEvent`. None: no such trigger any more.
        state : str, optional
            The state whose probability counts; with places, in that state alone.
        places : array, optional
            Bins of the place grid, as in ``place_bin_centers_``, whose probabilities add up, in
            all states that have places unless ``state`` says which.
        threshold : float
            The mean must be above it.
        n_average : int
            Bins that the mean is over.
        lockout : float
            Seconds after a call in which there is no other.
        min_electrodes : int
            Electrodes that must have spikes in the bin.
        """
        if call is None:
            _core.decode_online_set_trigger(self._handle, number, None, -1, b"", 0, 1, 0, 0)
            self._calls.pop(number, None)
            return
        if state is not None and state not in self._states:
            message = f"state: {state!r} is none of {self._states}"
            raise ValueError(message)
        of_state = -1 if state is None else self._states.index(state)
        bins = np.zeros(0, dtype=np.int64)
        if places is not None:
            bins = self._state_bins(np.asarray(places, dtype=np.int64).ravel(), of_state)
            of_state = -1
        told = lambda *words: call(TriggerEvent(*words))  # noqa: E731
        _core.decode_online_set_trigger(
            self._handle, number, told, of_state, bins, threshold, n_average, lockout,
            min_electrodes,
        )  # fmt: skip
        self._calls[number] = told

    def _state_bins(self, places: np.ndarray, of_state: int) -> np.ndarray:
        """Posterior entries of these places."""
        wanted = np.zeros(len(self._state_ind), dtype=bool)
        for state in range(len(self._states)) if of_state < 0 else [of_state]:
            mine = np.flatnonzero(self._state_ind == state)
            if len(mine) == 1:
                continue  # a state without places
            if len(places) and not (places.min() >= 0 and places.max() < len(mine)):
                message = f"places: bins are 0 to {len(mine) - 1}, not {places.tolist()}"
                raise ValueError(message)
            wanted[mine[places]] = True
        return np.flatnonzero(wanted[self._all_index])

    def trigger_stats(self, number: int) -> TriggerStats:
        """Return how often and how fast a trigger fired.

        Parameters
        ----------
        number : int
            As in :meth:`set_trigger`.

        Returns
        -------
        dict
            n_fired, n_locked (bins in which only the lockout kept it from firing), latency_max_s
            and latency, the histogram of latencies (entry i: below 2^i microseconds).
        """
        return cast("TriggerStats", _core.decode_online_trigger_stats(self._handle, number))

    def snapshot(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the state into a file: filter, waiting spikes, positions, counts, what was learned.

        Parameters
        ----------
        path : path
            The file; it appears complete or not at all.
        overwrite : bool
            Replace a file that exists.
        """
        _core.decode_online_snapshot(self._handle, path, overwrite)

    def restore(self, path: str | PathLike[str]) -> None:
        """Go on from a snapshot, with the same bits; bins closed before it cannot be read back.

        Parameters
        ----------
        path : path
            A snapshot of a decoder created in the same way.
        """
        _core.decode_online_restore(self._handle, path)

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
