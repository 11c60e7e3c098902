"""_AutoReject: one channel type with a fixed consensus and n_interpolate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tessera import _core
from tessera.autoreject._arguments import seed_of
from tessera.autoreject._base import BaseAutoReject, _slicemean
from tessera.autoreject._epochs import (
    Recording,
    check_epochs,
    check_sensors,
    recording_of,
    warn_of_bads,
)
from tessera.autoreject._fit import FitRequest, Settings, TypeFit, repair, run_fit, run_log
from tessera.autoreject._sensors import resolve_picks
from tessera.autoreject.reject_log import RejectLog

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from tessera.autoreject._types import EpochsLike, EpochsT, Picks, Verbose


class _AutoReject(BaseAutoReject):
    """Thresholds of one channel type with a given consensus and n_interpolate.

    Parameters
    ----------
    n_interpolate : int
        Most channels repaired in an epoch.
    consensus : float
        Share of bad channels from which on an epoch is dropped.
    thresh_func : callable or None
        Called as ``thresh_func(epochs, dots=, picks=, verbose=)`` for thresholds by name; None: the
        library's search.
    picks : str, list, slice or None
        Channels.
    thresh_method : {'bayesian_optimization', 'random_search', 'exact'}
        How a threshold is searched for.
    dots : optional
        Accepted for the original's scripts.
    verbose : bool or str
        Show progress.
    """

    _shown = ("consensus", "n_interpolate", "picks", "verbose")
    consensus_: dict[str, Any]
    n_interpolate_: dict[str, Any]

    def __init__(
        self,
        n_interpolate: int = 0,
        consensus: float = 0.1,
        thresh_func: Callable[..., Mapping[str, float]] | None = None,
        picks: Picks | None = None,
        thresh_method: str = "bayesian_optimization",
        dots: object = None,
        verbose: Verbose = True,
    ) -> None:
        if not 0 <= consensus <= 1:
            raise _core.ArgumentError(
                f'"consensus" must be between 0 and 1. You gave me {consensus}.'
            )
        self.n_interpolate = n_interpolate
        self.consensus = consensus
        self.thresh_func = thresh_func
        self.picks: Any = picks
        self.thresh_method = thresh_method
        self.dots = dots
        self.verbose = verbose

    @classmethod
    def _fitted(
        cls,
        kind: str,
        picks: Any,
        threshes: dict[str, float],
        consensus: float | None,
        n_interpolate: int | None,
        verbose: Any,
    ) -> _AutoReject:
        """Return one that holds the choice of an AutoReject."""
        self = cls(picks=list(picks), verbose=verbose)
        self.picks_ = np.array(picks)
        self.threshes_ = threshes
        self.consensus_ = {kind: consensus}
        self.n_interpolate_ = {kind: n_interpolate}
        return self

    def _settings(self) -> Settings:
        return Settings(verbose=self.verbose)

    def _recording(self, epochs: Any, picks: Any, *, lazy: bool) -> tuple[Recording, Any]:
        epochs.info  # noqa: B018 (as AutoReject.fit)
        check_epochs(epochs, lazy=lazy)
        recording = recording_of(epochs)
        chosen = np.unique(resolve_picks(recording.sensors, picks))
        check_sensors(
            recording.sensors,
            chosen,
            constraint="single_channel_type",
            verbose=False if lazy else self.verbose,
        )
        return recording, chosen

    def fit(self, epochs: EpochsLike) -> _AutoReject:
        """Find thresholds, and the mean of the epochs that are kept.

        Parameters
        ----------
        epochs : mne.Epochs
            Of one channel type.

        Returns
        -------
        self
        """
        recording, picks = self._recording(epochs, self.picks, lazy=False)
        given: Any = epochs
        sensors = recording.sensors
        kind = sensors.types[picks[0]]
        if callable(self.thresh_func):
            self.threshes_ = dict(
                self.thresh_func(given.copy(), dots=self.dots, picks=picks, verbose=self.verbose)
            )
        else:
            request = FitRequest(picks, seed_of(None), self.thresh_method, thresholds_only=True)
            fits, _ = run_fit(recording, request, self._settings())
            self.threshes_ = {
                sensors.names[k]: float(v)
                for k, v in zip(fits[0].channels, fits[0].thresholds, strict=True)
            }
        self.picks_ = picks
        self.consensus_ = {kind: self.consensus}
        self.n_interpolate_ = {kind: self.n_interpolate}
        log = self.get_reject_log(epochs)
        data = self._repaired(recording, log)
        self.mean_ = _slicemean(data, ~log.bad_epochs, axis=0)
        return self

    def _fits(self, recording: Recording, picks: Any, threshes: dict[str, float]) -> list[TypeFit]:
        names = recording.sensors.names
        kind = recording.sensors.types[picks[0]]
        return [
            TypeFit(
                kind,
                np.asarray(picks, np.int64),
                np.array([threshes[names[k]] for k in picks]),
                consensus=next(iter(self.consensus_.values())),
                n_interpolate=next(iter(self.n_interpolate_.values())),
            )
        ]

    def get_reject_log(
        self,
        epochs: EpochsLike,
        threshes: dict[str, float] | None = None,
        picks: Picks | None = None,
    ) -> RejectLog:
        """Say which channel is bad in which epoch.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.
        threshes : dict or None
            Thresholds by name; None: the fitted ones.
        picks : str, list, slice or None
            Channels; None: the fitted ones.

        Returns
        -------
        RejectLog
        """
        wanted = self.picks_ if picks is None else picks
        recording, chosen = self._recording(epochs, wanted, lazy=True)
        used = self.threshes_ if threshes is None else threshes
        labels, bad_epochs, _ = run_log(
            recording, self._fits(recording, chosen, used), self._settings()
        )
        return RejectLog(bad_epochs, labels, recording.sensors.names)

    def _repaired(self, recording: Recording, log: RejectLog) -> Any:
        data = np.array(recording.data, np.float64, order="C")
        bad = log.labels == 2
        bad[log.bad_epochs] = False
        repair(recording.sensors, data, self.picks_, bad, self._settings())
        return data

    @overload
    def transform(self, epochs: EpochsT, return_log: Literal[False] = False) -> EpochsT: ...

    @overload
    def transform(
        self, epochs: EpochsT, return_log: Literal[True]
    ) -> tuple[EpochsT, RejectLog]: ...

    @overload
    def transform(
        self, epochs: EpochsT, return_log: bool
    ) -> EpochsT | tuple[EpochsT, RejectLog]: ...

    def transform(
        self, epochs: EpochsT, return_log: bool = False
    ) -> EpochsT | tuple[EpochsT, RejectLog]:
        """Drop bad epochs and repair bad channels of the others.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.
        return_log : bool, default False
            Return the log, too.

        Returns
        -------
        epochs : mne.Epochs
            A copy.
        log : RejectLog
            If return_log.
        """
        if not hasattr(self, "threshes_"):
            raise _core.ArgumentError("Please run autoreject.fit() method first")
        check_epochs(epochs)
        warn_of_bads(recording_of(epochs).sensors, self.verbose)
        log = self.get_reject_log(epochs)
        if log.bad_epochs.all():
            raise _core.ArgumentError("All epochs are bad. Sorry.")
        out = epochs.copy()
        out._data = self._repaired(recording_of(epochs), log)
        if log.bad_epochs.any():
            out.drop(np.flatnonzero(log.bad_epochs), reason="AUTOREJECT", verbose=False)
        return (out, log) if return_log else out

    @overload
    def fit_transform(self, epochs: EpochsT, return_log: Literal[False] = False) -> EpochsT: ...

    @overload
    def fit_transform(
        self, epochs: EpochsT, return_log: Literal[True]
    ) -> tuple[EpochsT, RejectLog]: ...

    @overload
    def fit_transform(
        self, epochs: EpochsT, return_log: bool
    ) -> EpochsT | tuple[EpochsT, RejectLog]: ...

    def fit_transform(
        self, epochs: EpochsT, return_log: bool = False
    ) -> EpochsT | tuple[EpochsT, RejectLog]:
        """Fit and transform the same epochs.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.
        return_log : bool, default False
            Return the log, too.

        Returns
        -------
        epochs : mne.Epochs
            A copy.
        """
        return self.fit(epochs).transform(epochs, return_log)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Return the negative distance of the median of some epochs from the mean of the fit.

        Parameters
        ----------
        X : mne.Epochs or array
            To compare with, all channels.
        y : optional
            Ignored.

        Returns
        -------
        float
        """
        return super().score(recording_of(X).samples() if hasattr(X, "info") else X)

    # --- steps that the original's tests call one by one

    def _vote_bad_epochs(self, epochs: Any, picks: Any) -> tuple[Any, Any]:
        """Return labels with the votes (NaN outside picks) and the number of bad channels."""
        from tessera.autoreject._ptp import ptp

        recording = recording_of(epochs)
        names = recording.sensors.names
        delta = ptp(np.ascontiguousarray(recording.data), device="cpu")
        labels = np.full(delta.shape, np.nan)
        for pick in picks:
            labels[:, pick] = delta[:, pick] > self.threshes_[names[pick]]
        return labels, np.nansum(labels, axis=1).astype(np.int64)

    def _get_epochs_interpolation(
        self, epochs: Any, labels: Any, picks: Any, n_interpolate: int, verbose: Any = True
    ) -> Any:
        """Return labels with 2 for the worst bad channels of every epoch, n_interpolate at most."""
        from tessera.autoreject._ptp import ptp

        delta = ptp(np.ascontiguousarray(recording_of(epochs).data), device="cpu")
        chosen = np.asarray(picks)
        labels = np.array(labels)
        for row, amplitude in zip(labels, delta, strict=True):
            bad = chosen[row[chosen] == 1]
            # Larger amplitude first, then larger index.
            order = bad[np.lexsort((bad, amplitude[bad]))[::-1]]
            row[order[:n_interpolate]] = 2
        return labels

    def _get_bad_epochs(self, bad_sensor_counts: Any, ch_type: str, picks: Any) -> Any:
        """Return which epochs have at least consensus times the number of picks bad channels."""
        return np.asarray(bad_sensor_counts) >= self.consensus_[ch_type] * len(picks)
