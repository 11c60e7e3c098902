"""AutoReject: thresholds for every sensor, bad epochs dropped, bad sensors repaired."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tessera import _core
from tessera._lib import warn
from tessera.autoreject import _files
from tessera.autoreject._arguments import check_verbose, cv_of, seed_of
from tessera.autoreject._epochs import (
    EpochsFile,
    Recording,
    check_epochs,
    check_sensors,
    recording_of,
)
from tessera.autoreject._fit import (
    FitRequest,
    Settings,
    TypeFit,
    make_model,
    repair,
    run_fit,
    run_log,
)
from tessera.autoreject._local import _AutoReject
from tessera.autoreject._params import Params
from tessera.autoreject._sensors import (
    Sensors,
    default_picks,
    group_by_type,
    resolve_picks,
    sensors_from_arrays,
)
from tessera.autoreject.global_threshold import (
    _GlobalAutoReject,
    get_rejection_threshold,
    validation_curve,
)
from tessera.autoreject.reject_log import RejectLog, read_reject_log

__all__ = [
    "AutoReject",
    "RejectLog",
    "_AutoReject",
    "_GlobalAutoReject",
    "compute_thresholds",
    "fit_array",
    "get_rejection_threshold",
    "read_auto_reject",
    "read_reject_log",
    "validation_curve",
]

_PathLike = str | os.PathLike[str]

_MOST_REPAIRS = 32
_FEWEST_CHANNELS = 4
_UNFITTED = "Please run autoreject.fit() method first"
_FOREIGN = (
    "You are passing channels which were not present at fit-time. Please fit it again, this time "
    "with the correct channels: "
)


class AutoReject(Params):
    """Find and repair bad sensors per epoch, and drop epochs that are beyond repair.

    Parameters
    ----------
    n_interpolate : array of int or None
        Values to try of the number of sensors repaired per epoch. None: 1, 4 and 32, or one less
        than the number of picks if that is smaller.
    consensus : array of float or None
        Values to try of the share of bad sensors from which on an epoch is dropped. None: 0, 0.1,
        ... 1.
    thresh_func : callable or None
        Accepted and ignored, as the original does.
    cv : int, object with split() or list of (train, test)
        Folds of the search for the two above.
    picks : str, list, slice or None
        Channels, as MNE reads them. None: all data channels that are not marked bad.
    thresh_method : {'bayesian_optimization', 'random_search', 'exact'}
        How a threshold is searched for.
    n_jobs : int
        Threads; -1 for all cores. Results do not depend on it.
    random_state : int, numpy.random.RandomState or None
        Seed of the splits of the threshold search. None takes one from the operating system; it is
        kept in ``seed_``. The splits are the same for every candidate and channel.
    verbose : bool or {'tqdm', 'tqdm_notebook', 'progressbar'}
        Show progress and what was found.
    search : {'compat', 'grid', 'exact'}
        The original's search, its 41 quantiles alone, or the best of all candidates.
    rho_mode : {'cumulative', 'independent'}
        Repairs carried over from one value of n_interpolate to the next, as the original does, or
        each value by itself, as published.
    n_splits : int
        Splits of the threshold search. 100 make thresholds nearly independent of the seed.
    device : {'auto', 'cpu', 'cuda', 'cuda:1', ...}
        Where to compute. 'auto' falls back to the CPU and says why, a named device fails loudly.
    precision : {'float64', 'float32'}
        'float32' rounds the samples first; all sums are in double precision in either case.
    meg_dots : {'direct', 'lut'}
        MEG field mapping by direct evaluation, or by the rounded table of MNE up to 1.12.
    origin : None, 'auto' or (x, y, z)
        Centre the EEG positions are taken from: the head frame's, as the original does, that of a
        sphere fitted to the digitised points, or a given one in metres.
    memory_limit : int or str or None
        Bytes, or text such as '4G'. Larger epochs go through a scratch file.
    profile : bool
        Keep a table of times, bytes and flops per stage in ``profile_``.
    checkpoint : path or None
        Folder from which an interrupted fit is continued by fitting again.

    Attributes
    ----------
    picks_ : array of int
        Channels used, ascending.
    dots : tuple of array or None
        Dot products of the lead fields of MEG channels.
    threshes_ : dict
        Threshold of every channel.
    thresh_errors_ : dict
        Its standard error, from the spread over the splits.
    consensus_, n_interpolate_ : dict
        The choice for every channel type.
    loss_ : dict
        For every channel type (n_consensus, n_interpolate, n_folds): the root mean square error;
        inf where a pair is not admissible.
    local_reject_ : dict
        For every channel type an object that holds the choice.
    curves_ : dict
        For every channel its candidates and the objective at each.
    seed_ : int
        What was used.
    """

    _shown = (
        "consensus",
        "cv",
        "n_interpolate",
        "n_jobs",
        "picks",
        "random_state",
        "thresh_method",
        "verbose",
    )

    def __init__(
        self,
        n_interpolate: Any = None,
        consensus: Any = None,
        thresh_func: Any = None,
        cv: Any = 10,
        picks: Any = None,
        thresh_method: str = "bayesian_optimization",
        n_jobs: int = 1,
        random_state: Any = None,
        verbose: Any = True,
        *,
        search: str = "compat",
        rho_mode: str = "cumulative",
        n_splits: int = 10,
        device: str = "auto",
        precision: str = "float64",
        meg_dots: str = "direct",
        origin: Any = None,
        memory_limit: int | str | None = None,
        profile: bool = False,
        checkpoint: _PathLike | None = None,
    ) -> None:
        self.n_interpolate = n_interpolate
        self.consensus = consensus
        self.thresh_func = thresh_func
        self.cv = cv
        self.picks = picks
        self.thresh_method = thresh_method
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.search = search
        self.rho_mode = rho_mode
        self.n_splits = n_splits
        self.device = device
        self.precision = precision
        self.meg_dots = meg_dots
        self.origin = origin
        self.memory_limit = memory_limit
        self.profile = profile
        self.checkpoint = checkpoint

    # --- fitting

    def fit(self, epochs: Any) -> AutoReject:
        """Find thresholds, consensus and n_interpolate.

        Parameters
        ----------
        epochs : mne.Epochs or EpochsFile
            Not changed.

        Returns
        -------
        self
        """
        if not isinstance(epochs, EpochsFile):
            epochs.info  # noqa: B018 (an array has none, and the original says so)
            check_epochs(epochs)
        return self._fit(recording_of(epochs))

    def fit_array(
        self,
        X: Any,  # noqa: N803
        positions: Any,
        ch_types: str | Sequence[str] = "eeg",
        *,
        ch_names: Sequence[str] | None = None,
        bads: Sequence[str] = (),
        sfreq: float = 1.0,
        coil_types: Any = None,
        device_to_head: Any = None,
    ) -> AutoReject:
        """Fit epochs that are a plain array; needs no MNE.

        Parameters
        ----------
        X : array, shape (n_epochs, n_channels, n_times)
            In V, T or T/m. Nothing is copied.
        positions : array, shape (n_channels, 3) or (n_channels, 12)
            Metres, head frame; MEG needs the axes of the coils too.
        ch_types : str or sequence of str
            One for all, or one per channel.
        ch_names : sequence of str, optional
            Default: CH001, CH002, ...
        bads : sequence of str
            Channels to leave alone.
        sfreq : float
            Samples per second, for the record.
        coil_types : sequence of int, optional
            FIFF numbers of MEG coils; default: those of the 306-channel system.
        device_to_head : array, shape (4, 4), optional
            Transform of MEG positions to the head frame; default: none.

        Returns
        -------
        self
        """
        data = np.asarray(X)
        if data.ndim != 3:
            raise _core.ShapeError(
                f"X: expected (n_epochs, n_channels, n_times), got shape {data.shape}"
            )
        sensors = sensors_from_arrays(
            data.shape[1], positions, ch_types, ch_names, bads, coil_types, device_to_head
        )
        self._sensors = sensors
        return self._fit(Recording(sensors, data, sfreq))

    def _settings(self, *, profile: bool = False) -> Settings:
        return Settings(
            self.n_jobs,
            self.verbose,
            self.search,
            self.rho_mode,
            self.n_splits,
            self.device,
            self.precision,
            self.meg_dots,
            self.origin,
            self.memory_limit,
            profile,
            self.checkpoint,
        )

    def _grids(self, n_pick: int) -> tuple[Any, Any]:
        """Return the values to try; defaults are written back, as the original does."""
        written = self.__dict__.setdefault("_written_back", {})
        consensus, n_interpolate = self.consensus, self.n_interpolate
        if consensus is None or consensus is written.get("consensus"):
            consensus = written["consensus"] = self.consensus = np.linspace(0, 1, 11)
        if n_interpolate is None or n_interpolate is written.get("n_interpolate"):
            values = np.array([1, 4, min(n_pick - 1, _MOST_REPAIRS)])
            n_interpolate = written["n_interpolate"] = self.n_interpolate = values
        else:
            _check_repairs(n_interpolate, n_pick)
        _check_consensus(consensus)
        return consensus, n_interpolate

    def _fit(self, recording: Recording) -> AutoReject:
        check_verbose(self.verbose)
        settings = self._settings(profile=self.profile)
        sensors = recording.sensors
        picks = np.unique(resolve_picks(sensors, self.picks))
        check_sensors(sensors, picks, verbose=self.verbose)
        groups = group_by_type(sensors, picks)
        _check_groups(groups, self.n_interpolate is None)
        consensus, n_interpolate = self._grids(len(picks))
        cv = cv_of(self.cv, default=10)
        seed = seed_of(self.random_state)
        fits: list[TypeFit] = []
        infos = []
        for kind, group in groups:
            if self.verbose is not False:
                print(f"Running autoreject on ch_type={kind}")
            request = FitRequest(
                group, seed, self.thresh_method, True, consensus, n_interpolate, cv
            )
            found, info = run_fit(recording, request, _for_type(settings, kind, len(groups)))
            fits += found
            infos.append(info)
            if self.verbose is not False:
                print(
                    f"\nEstimated consensus={found[0].consensus:0.2f} and "
                    f"n_interpolate={found[0].n_interpolate}"
                )
        self.picks_ = picks
        self.cv_ = cv
        self.seed_ = seed
        self.profile_ = "\n".join(settings.spans)
        self._keep(fits, sensors)
        self._shape = (recording.n_epoch, recording.sampling_hz, recording.n_time)
        self.seconds_ = [sum(part) for part in zip(*(i["seconds"] for i in infos), strict=True)]
        return self

    def _keep(self, fits: list[TypeFit], sensors: Sensors) -> None:
        """Turn what was fitted into attributes."""
        names = sensors.names
        self.dots = _dots_of(sensors, fits, self._settings())
        self.threshes_ = {
            names[k]: value
            for fit in fits
            for k, value in zip(fit.channels, fit.thresholds, strict=True)
        }
        self.thresh_errors_ = {
            names[k]: value
            for fit in fits
            if fit.standard_errors is not None
            for k, value in zip(fit.channels, fit.standard_errors, strict=True)
        }
        self.curves_ = {
            names[k]: curve
            for fit in fits
            for k, curve in zip(fit.channels, fit.curves, strict=False)
        }
        self.loss_ = {fit.kind: fit.loss for fit in fits}
        self.consensus_ = {fit.kind: fit.consensus for fit in fits}
        self.n_interpolate_ = {fit.kind: fit.n_interpolate for fit in fits}
        self.local_reject_ = {
            fit.kind: _AutoReject._fitted(
                fit.kind,
                fit.channels,
                {names[k]: self.threshes_[names[k]] for k in fit.channels},
                fit.consensus,
                fit.n_interpolate,
                self.verbose,
            )
            for fit in fits
        }

    # --- using a fit

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_interpolate_"):
            raise _core.ArgumentError(_UNFITTED)

    def _fits_for(self, sensors: Sensors, picks: Any = None) -> list[TypeFit]:
        """Match what was fitted with the channels of some epochs, by name."""
        index = {name: k for k, name in enumerate(sensors.names)}
        missing = [name for name in self.threshes_ if name not in index]
        if missing:
            raise _core.ArgumentError(
                f"{_FOREIGN}these were fitted and are missing now: {', '.join(missing[:12])}"
            )
        if picks is None and self.picks is None:
            wanted = default_picks(sensors)
        elif picks is None:
            wanted = np.zeros(0, np.int64)
        else:
            wanted = resolve_picks(sensors, picks)
        foreign = [sensors.names[k] for k in wanted if sensors.names[k] not in self.threshes_]
        if foreign:
            raise _core.ArgumentError(_FOREIGN + ", ".join(foreign[:12]))
        allowed = None if picks is None else set(wanted.tolist())
        fits = []
        for kind, local in self.local_reject_.items():
            channels = sorted(index[name] for name in local.threshes_)
            if allowed is not None:
                channels = [k for k in channels if k in allowed]
            if channels:
                thresholds = [self.threshes_[sensors.names[k]] for k in channels]
                fits.append(
                    TypeFit(
                        kind,
                        np.array(channels, np.int64),
                        np.array(thresholds),
                        consensus=self.consensus_[kind],
                        n_interpolate=self.n_interpolate_[kind],
                    )
                )
        return fits

    def get_reject_log(self, epochs: Any, picks: Any = None) -> RejectLog:
        """Say which channel is bad in which epoch, without changing anything.

        Parameters
        ----------
        epochs : mne.Epochs or EpochsFile
            With the channels of the fit.
        picks : str, list, slice or None
            Some of the fitted channels; None: all.

        Returns
        -------
        RejectLog
        """
        self._check_fitted()
        check_epochs(epochs)
        return self._log(recording_of(epochs), picks)

    def _log(self, recording: Recording, picks: Any = None) -> RejectLog:
        self._warn_of_other_shape(recording)
        fits = self._fits_for(recording.sensors, picks)
        labels, bad_epochs, notes = run_log(recording, fits, self._settings())
        if self.verbose is not False:
            for note in dict.fromkeys(notes):
                warn(note)
        return RejectLog(bad_epochs, labels, recording.sensors.names)

    def _warn_of_other_shape(self, recording: Recording) -> None:
        if self.verbose is False or not hasattr(self, "_shape"):
            return
        _, hz, n_time = self._shape
        for got, had, what in (
            (recording.sampling_hz, hz, "samples per second"),
            (recording.n_time, n_time, "samples"),
        ):
            if got and had and got != had:
                warn(
                    f"these epochs have {got:g} {what}, those of the fit had {had:g}; thresholds "
                    f"of peak-to-peak amplitudes are used as they are"
                )

    def transform(
        self,
        epochs: Any,
        return_log: bool = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
    ) -> Any:
        """Drop bad epochs and repair bad channels of the others.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.
        return_log : bool, default False
            Return the log, too.
        reject_log : RejectLog or None
            Decisions to carry out, possibly edited; None: :meth:`get_reject_log`.
        drop : bool, default True
            False keeps bad epochs; their channels labelled 2 are repaired as well.
        drop_partial : bool, default False
            Drop epochs that keep bad channels after repair, too.
        report : path or None
            HTML report to write; replaced if it exists.

        Returns
        -------
        epochs : mne.Epochs
            A copy without bad epochs; the drop log says 'AUTOREJECT'.
        log : RejectLog
            If return_log.
        """
        self._check_fitted()
        check_epochs(epochs)
        if isinstance(epochs, EpochsFile):
            raise _core.ArgumentError(
                "epochs of a file are not changed in memory; use transform_file(epochs, path)"
            )
        recording = recording_of(epochs)
        log = self._given_log(recording, reject_log)
        dropped = _dropped(log, drop, drop_partial)
        out = epochs.copy()
        if dropped.any():
            out.drop(np.flatnonzero(dropped), reason="AUTOREJECT", verbose=False)
        elif self.verbose is not False and drop:
            print(
                "No bad epochs were found for your data. Returning a copy of the data you wanted "
                "to clean. Interpolation may have been done."
            )
        if not (out._data.flags.c_contiguous and out._data.dtype == np.float64):
            out._data = np.ascontiguousarray(out._data, np.float64)
        self._repair(recording.sensors, out._data, log, ~dropped)
        self._warn_of_nothing_left(dropped)
        if report is not None:
            self._report(recording, log, report, overwrite=True)
        return (out, log) if return_log else out

    def transform_array(
        self,
        X: Any,  # noqa: N803
        return_log: bool = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
    ) -> Any:
        """Do the same for an array with the channels of :meth:`fit_array`.

        Parameters
        ----------
        X : array, shape (n_epochs, n_channels, n_times)
            Not changed.
        return_log : bool, default False
            Return the log, too.
        reject_log : RejectLog or None
            Decisions to carry out; None: those of the fit's thresholds.
        drop : bool, default True
            False keeps bad epochs.
        drop_partial : bool, default False
            Drop epochs that keep bad channels after repair, too.

        Returns
        -------
        X : array
            Kept epochs, in the type of X if that is a floating point one.
        log : RejectLog
            If return_log.
        """
        self._check_fitted()
        if not hasattr(self, "_sensors"):
            raise _core.ArgumentError("transform_array: this was not fitted by fit_array")
        data = np.asarray(X)
        recording = Recording(self._sensors, data, self._shape[1])
        log = self._given_log(recording, reject_log)
        dropped = _dropped(log, drop, drop_partial)
        # Taking the kept epochs copies them; large epochs should not be copied twice.
        kept = np.ascontiguousarray(data[~dropped], np.float64)
        self._repair(self._sensors, kept, log, ~dropped)
        self._warn_of_nothing_left(dropped)
        if data.dtype.kind == "f":
            kept = kept.astype(data.dtype, copy=False)
        return (kept, log) if return_log else kept

    def transform_file(
        self,
        epochs: EpochsFile,
        output: _PathLike,
        return_log: bool = False,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        overwrite: bool = False,
        double_precision: bool = False,
    ) -> Any:
        """Repair epochs of a file into another one, within the memory limit.

        Parameters
        ----------
        epochs : EpochsFile
            Of :func:`read_epochs`.
        output : path
            .fif, .fif.gz, .npy or .npz.
        return_log : bool, default False
            Return the log, too.
        drop : bool, default True
            False keeps bad epochs.
        drop_partial : bool, default False
            Drop epochs that keep bad channels after repair, too.
        overwrite : bool, default False
            Replace output if it exists.
        double_precision : bool, default False
            Of the samples in a FIF file.

        Returns
        -------
        path : Path
            Of the output.
        log : RejectLog
            If return_log.
        """
        self._check_fitted()
        recording = recording_of(epochs)
        settings = self._settings()
        fits = self._fits_for(recording.sensors)
        options = {
            "keep_bad": not drop,
            "drop_partial": drop_partial,
            "double_precision": double_precision,
        }

        def call(context: _core.Context) -> RejectLog:
            opened = recording.open(context, settings.precision)
            model = make_model(context, recording.sensors, fits, settings)
            handle = _core.autoreject_log(context, model, opened)
            _core.autoreject_transform(
                context, model, opened, handle, output, options, overwrite=overwrite
            )
            info = _core.autoreject_log_info(handle)
            labels = np.array(info["labels"], np.float64)
            labels[labels < 0] = np.nan
            return RejectLog(info["bad_epochs"], labels, recording.sensors.names)

        log = settings.run(call, recording.n_bytes)
        return (Path(output), log) if return_log else Path(output)

    def fit_transform(
        self,
        epochs: Any,
        return_log: bool = False,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
    ) -> Any:
        """Fit and transform the same epochs.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.
        return_log, drop, drop_partial, report
            As :meth:`transform` takes them.

        Returns
        -------
        epochs : mne.Epochs
            A copy without bad epochs.
        log : RejectLog
            If return_log.
        """
        return self.fit(epochs).transform(
            epochs, return_log, drop=drop, drop_partial=drop_partial, report=report
        )

    def _given_log(self, recording: Recording, log: RejectLog | None) -> RejectLog:
        if log is None:
            return self._log(recording)
        if not isinstance(log, RejectLog):
            raise _core.ArgumentError(
                f"reject_log must be an instance of RejectLog, got {type(log)}"
            )
        shape = (recording.n_epoch, len(recording.sensors.names))
        if log.labels.shape != shape:
            raise _core.ShapeError(
                f"reject_log has {log.labels.shape[0]} epochs and {log.labels.shape[1]} channels, "
                f"the epochs have {shape[0]} and {shape[1]}"
            )
        self._fits_for(recording.sensors)
        return log

    def _repair(self, sensors: Sensors, data: Any, log: RejectLog, kept: Any) -> None:
        """Repair the kept epochs, which are what data holds."""
        index = {name: k for k, name in enumerate(sensors.names)}
        picks = np.array(sorted(index[name] for name in self.threshes_), np.int64)
        bad = log.labels[kept] == 2
        repair(sensors, data, picks, bad, self._settings())

    def _warn_of_nothing_left(self, dropped: Any) -> None:
        if dropped.all():
            warn("all epochs are bad: the result is empty. See the reject log for the reasons")

    # --- showing and keeping

    def report(
        self,
        epochs: Any,
        path: _PathLike,
        *,
        reject_log: RejectLog | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write an HTML report of the fit: one file, nothing from elsewhere.

        Parameters
        ----------
        epochs : mne.Epochs or EpochsFile
            That the report is about.
        path : path
            Of the report.
        reject_log : RejectLog or None
            None: :meth:`get_reject_log`.
        overwrite : bool, default False
            Replace an existing file.

        Returns
        -------
        Path
        """
        self._check_fitted()
        check_epochs(epochs)
        recording = recording_of(epochs)
        return self._report(recording, self._given_log(recording, reject_log), path, overwrite)

    def _report(
        self, recording: Recording, log: RejectLog, path: _PathLike, overwrite: bool
    ) -> Path:
        settings = self._settings()
        fits = _files.all_of(self, self._fits_for(recording.sensors), recording.sensors.names)
        labels = np.where(np.isnan(log.labels), -1, log.labels).astype(np.int8)

        def call(context: _core.Context) -> None:
            opened = recording.open(context, settings.precision)
            more = _files.model_parts(self)
            model = make_model(context, recording.sensors, fits, settings, more)
            handle = _core.autoreject_log_create(
                context, labels, log.bad_epochs.astype(np.uint8), list(log.ch_names)
            )
            _core.autoreject_report(context, model, handle, opened, path, overwrite=overwrite)

        settings.run(call, recording.n_bytes)
        return Path(path)

    def save(self, fname: _PathLike, overwrite: bool = False) -> None:
        """Save this object.

        Parameters
        ----------
        fname : path
            .json for the plain model that the command line reads too; anything else is HDF5 in the
            original's layout, which needs h5io.
        overwrite : bool, default False
            Replace an existing file.
        """
        if os.path.exists(fname) and not overwrite:
            raise ValueError(
                f"{os.fspath(fname)} already exists. Please make overwrite=True if you want to "
                f"overwrite this file"
            )
        _files.save(self, fname)

    def __getstate__(self) -> dict[str, Any]:
        return _files.state_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        _files.set_state(self, state)


def _dots_of(sensors: Sensors, fits: list[TypeFit], settings: Settings) -> Any:
    """Return the dot products of the MEG channels, twice as the original keeps them; else None."""
    meg = [fit.channels for fit in fits if fit.kind in ("mag", "grad")]
    if not meg or len(sensors.loc) == 0:
        return None
    channels = np.sort(np.concatenate(meg))

    def call(context: _core.Context) -> Any:
        options = {"meg_dots": settings.dots}
        return np.array(_core.autoreject_meg_dots(context, sensors.for_core(), channels, options))

    dots = settings.run(call)
    return dots, dots


def _for_type(settings: Settings, kind: str, n_type: int) -> Settings:
    """Give every type its own folder of checkpoints."""
    if settings.checkpoint is None or n_type == 1:
        return settings
    parts = dict(vars(settings))
    parts["checkpoint"] = Path(settings.checkpoint) / kind
    return Settings(**parts)


def _dropped(log: RejectLog, drop: bool, drop_partial: bool) -> Any:
    dropped = log.bad_epochs.copy() if drop else np.zeros(len(log.bad_epochs), bool)
    if drop_partial:
        dropped |= (log.labels == 1).any(axis=1)
    return dropped


def _check_repairs(n_interpolate: Any, n_pick: int) -> None:
    values = np.atleast_1d(np.asarray(n_interpolate))
    if values.size == 0:
        raise _core.ArgumentError("n_interpolate: no values to try")
    for value in values.tolist():
        if not isinstance(value, int) and not (isinstance(value, float) and value.is_integer()):
            raise _core.ArgumentError(f"n_interpolate: expected whole numbers, got {value!r}")
        if not 0 <= value < n_pick:
            raise _core.ArgumentError(
                f"n_interpolate: expected 0 or more and less than the {n_pick} picks, got {value}"
            )


def _check_consensus(consensus: Any) -> None:
    values = np.atleast_1d(np.asarray(consensus, np.float64))
    if values.size == 0:
        raise _core.ArgumentError("consensus: no values to try")
    for value in values.tolist():
        if not 0 <= value <= 1:
            raise _core.ArgumentError(f'"consensus" must be between 0 and 1. You gave me {value}.')


def _check_groups(groups: list[tuple[str, list[int]]], default_repairs: bool) -> None:
    for kind, group in groups:
        if len(group) == 1 and not default_repairs:
            raise _core.ArgumentError(
                f"picks: there is one {kind} channel, and nothing to interpolate it from; "
                f"compute_thresholds(..., augment=False) works"
            )
        if default_repairs and len(group) < _FEWEST_CHANNELS:
            raise _core.ArgumentError(
                f"Too few channels. autoreject is unlikely to be effective with {len(group)} of "
                f"type {kind}; give n_interpolate to try, or pick other channels"
            )


def compute_thresholds(
    epochs: Any,
    method: str = "bayesian_optimization",
    random_state: Any = None,
    picks: Any = None,
    augment: bool = True,
    verbose: Any = True,
    n_jobs: int = 1,
    *,
    search: str = "compat",
    n_splits: int = 10,
    device: str = "auto",
    precision: str = "float64",
    meg_dots: str = "direct",
    origin: Any = None,
    memory_limit: int | str | None = None,
    dots: Any = None,
) -> dict[str, float]:
    """Find the peak-to-peak threshold of every channel.

    Parameters
    ----------
    epochs : mne.Epochs or EpochsFile
        Not changed.
    method : {'bayesian_optimization', 'random_search', 'exact'}
        How a threshold is searched for.
    random_state : int, numpy.random.RandomState or None
        Seed of the splits.
    picks : str, list, slice or None
        Channels.
    augment : bool, default True
        Let the search also see every channel predicted from the others; needs positions.
    verbose : bool or str
        Show progress.
    n_jobs : int
        Threads; -1 for all cores.
    search, n_splits, device, precision, meg_dots, origin, memory_limit
        As :class:`AutoReject` takes them.
    dots : optional
        Accepted for the original's scripts; the library computes its own.

    Returns
    -------
    dict
        Threshold by name.
    """
    check_verbose(verbose)
    if not isinstance(epochs, EpochsFile):
        epochs.info  # noqa: B018 (as AutoReject.fit)
        check_epochs(epochs)
    settings = Settings(
        n_jobs,
        verbose,
        search,
        n_splits=n_splits,
        device=device,
        precision=precision,
        meg_dots=meg_dots,
        origin=origin,
        memory_limit=memory_limit,
    )
    recording = recording_of(epochs)
    sensors = recording.sensors
    chosen = np.unique(resolve_picks(sensors, picks))
    check_sensors(sensors, chosen, check_loc=augment, verbose=verbose)
    seed = seed_of(random_state)
    request = FitRequest(chosen, seed, method, augment, thresholds_only=True)
    fits, _ = run_fit(recording, request, settings)
    return {
        sensors.names[k]: float(value)
        for fit in fits
        for k, value in zip(fit.channels, fit.thresholds, strict=True)
    }


_compute_thresholds = compute_thresholds  # the original's tests import it by this name


def fit_array(
    X: Any,  # noqa: N803
    positions: Any,
    ch_types: str | Sequence[str] = "eeg",
    *,
    ch_names: Sequence[str] | None = None,
    bads: Sequence[str] = (),
    sfreq: float = 1.0,
    coil_types: Any = None,
    device_to_head: Any = None,
    **params: Any,
) -> AutoReject:
    """Fit epochs that are a plain array; needs no MNE.

    Parameters
    ----------
    X, positions, ch_types, ch_names, bads, sfreq, coil_types, device_to_head
        As :meth:`AutoReject.fit_array` takes them.
    **params
        Of :class:`AutoReject`.

    Returns
    -------
    AutoReject
        Fitted; ``transform_array(X)`` cleans.
    """
    return AutoReject(**params).fit_array(
        X,
        positions,
        ch_types,
        ch_names=ch_names,
        bads=bads,
        sfreq=sfreq,
        coil_types=coil_types,
        device_to_head=device_to_head,
    )


def read_auto_reject(fname: _PathLike) -> AutoReject:
    """Read what :meth:`AutoReject.save` wrote, here, by the original or the command line.

    Parameters
    ----------
    fname : path
        HDF5 in the original's layout (needs h5io), or a JSON model.

    Returns
    -------
    AutoReject
    """
    out = AutoReject()
    _files.load(out, fname)
    return out
