"""What an AutoReject does with epochs once it has learnt: votes, repair, report."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tessera import _core
from tessera._lib import warn
from tessera.autoreject import _files, _gpu_arrays
from tessera.autoreject._device import cuda_index
from tessera.autoreject._epochs import (
    EpochsFile,
    Recording,
    check_epochs,
    recording_of,
    warn_of_bads,
)
from tessera.autoreject._fit import TypeFit, make_model, repair, run_log
from tessera.autoreject._learn import FitMixin
from tessera.autoreject._sensors import Sensors, default_picks, resolve_picks
from tessera.autoreject.reject_log import RejectLog

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import ArrayLike, NDArray

    from tessera.autoreject._types import EpochsLike, EpochsT, Picks

_PathLike = str | os.PathLike[str]

_UNFITTED = "Please run autoreject.fit() method first"
_FOREIGN = (
    "You are passing channels which were not present at fit-time. Please fit it again, this time "
    "with the correct channels: "
)
_USE_LOG = (
    'log = tessera.autoreject.read_reject_log("edited-log.json")\n'
    "clean = ar.transform(epochs, reject_log=log)"
)


class MissingChannelError(_core.ArgumentError, IndexError):
    """Epochs lack channels of the fit; the original has an IndexError of MNE's there."""


class TransformMixin(FitMixin):
    """Using a fit."""

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_interpolate_"):
            raise _core.ArgumentError(_UNFITTED)

    def _fits_for(self, sensors: Sensors, picks: Any = None) -> list[TypeFit]:
        """Match what was fitted with the channels of some epochs, by name."""
        index = {name: k for k, name in enumerate(sensors.names)}
        missing = [name for name in self.threshes_ if name not in index]
        if missing:
            raise MissingChannelError(
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

    def get_reject_log(self, epochs: EpochsLike, picks: Picks = None) -> RejectLog:
        """Say which channel is bad in which epoch, without changing anything.

        Parameters
        ----------
        epochs : mne.Epochs or EpochsFile
            With the channels of the fit; need not be preloaded.
        picks : str, list, slice or None
            Some of the fitted channels; None: all.

        Returns
        -------
        RejectLog
        """
        self._check_fitted()
        check_epochs(epochs, lazy=True)
        return self._log(recording_of(epochs), picks)

    def _log(self, recording: Recording, picks: Any = None) -> RejectLog:
        self._warn_of_other_shape(recording)
        fits = self._fits_for(recording.sensors, picks)
        labels, bad_epochs, notes = run_log(recording, fits, self._settings())
        if self.verbose is not False:
            for note in dict.fromkeys(notes):
                # Pipelines of the original meet no such warning; reports and the command say it.
                if not note.endswith("[autoreject.bad-in-most-epochs]"):
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

    @overload
    def transform(
        self,
        epochs: EpochsT,
        return_log: Literal[False] = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> EpochsT: ...

    @overload
    def transform(
        self,
        epochs: EpochsT,
        return_log: Literal[True],
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> tuple[EpochsT, RejectLog]: ...

    @overload
    def transform(
        self,
        epochs: EpochsT,
        return_log: bool,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> EpochsT | tuple[EpochsT, RejectLog]: ...

    def transform(
        self,
        epochs: EpochsT,
        return_log: bool = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> EpochsT | tuple[EpochsT, RejectLog]:
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
            HTML report to write.
        overwrite : bool, default False
            Replace a report that exists.

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
        if report is not None:
            check_output(report, overwrite=overwrite)
        recording = recording_of(epochs)
        warn_of_bads(recording.sensors, self.verbose)
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
            self._report(recording, log, report, overwrite)
        return (out, log) if return_log else out

    @overload
    def transform_array(
        self,
        X: ArrayLike,  # noqa: N803
        return_log: Literal[False] = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
    ) -> NDArray[np.floating[Any]]: ...

    @overload
    def transform_array(
        self,
        X: ArrayLike,  # noqa: N803
        return_log: Literal[True],
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
    ) -> tuple[NDArray[np.floating[Any]], RejectLog]: ...

    @overload
    def transform_array(
        self,
        X: ArrayLike,  # noqa: N803
        return_log: bool,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
    ) -> NDArray[np.floating[Any]] | tuple[NDArray[np.floating[Any]], RejectLog]: ...

    def transform_array(
        self,
        X: ArrayLike,  # noqa: N803
        return_log: bool = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
    ) -> NDArray[np.floating[Any]] | tuple[NDArray[np.floating[Any]], RejectLog]:
        """Do the same for an array with the channels of :meth:`fit_array`.

        Parameters
        ----------
        X : array, shape (n_epochs, n_channels, n_times)
            Not changed. One of torch or CuPy on a GPU is repaired there, and so is the result.
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
        data: Any = _gpu_arrays.with_rows(X) if cuda_index(X) is not None else np.asarray(X)
        recording = Recording(self._sensors, data, self._shape[1])
        log = self._given_log(recording, reject_log)
        dropped = _dropped(log, drop, drop_partial)
        # Taking the kept epochs copies them; large epochs should not be copied twice.
        kept = (
            np.ascontiguousarray(data[~dropped], np.float64)
            if recording.device is None
            else _gpu_arrays.take_epochs(data, ~dropped)
        )
        self._repair(self._sensors, kept, log, ~dropped)
        self._warn_of_nothing_left(dropped)
        if recording.device is not None:
            kept = _gpu_arrays.as_kind_of(kept, data)
        elif data.dtype.kind == "f":
            kept = kept.astype(data.dtype, copy=False)
        return (kept, log) if return_log else kept

    @overload
    def transform_file(
        self,
        epochs: EpochsFile,
        output: _PathLike,
        return_log: Literal[False] = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        overwrite: bool = False,
        double_precision: bool = False,
    ) -> Path: ...

    @overload
    def transform_file(
        self,
        epochs: EpochsFile,
        output: _PathLike,
        return_log: Literal[True],
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        overwrite: bool = False,
        double_precision: bool = False,
    ) -> tuple[Path, RejectLog]: ...

    @overload
    def transform_file(
        self,
        epochs: EpochsFile,
        output: _PathLike,
        return_log: bool,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        overwrite: bool = False,
        double_precision: bool = False,
    ) -> Path | tuple[Path, RejectLog]: ...

    def transform_file(
        self,
        epochs: EpochsFile,
        output: _PathLike,
        return_log: bool = False,
        reject_log: RejectLog | None = None,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        overwrite: bool = False,
        double_precision: bool = False,
    ) -> Path | tuple[Path, RejectLog]:
        """Repair epochs of a file into another one, within the memory limit.

        Parameters
        ----------
        epochs : EpochsFile
            Of :func:`read_epochs`.
        output : path
            .fif, .fif.gz, .npy or .npz.
        return_log : bool, default False
            Return the log, too.
        reject_log : RejectLog or None
            Decisions to carry out, such as those edited in a report
            (:func:`read_reject_log`); None: those of the fit's thresholds.
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
        if reject_log is not None:
            self._given_log(recording, reject_log)
        options = {
            "keep_bad": not drop,
            "drop_partial": drop_partial,
            "double_precision": double_precision,
        }

        def call(context: _core.Context) -> RejectLog:
            opened = recording.open(context, settings.precision)
            model = make_model(context, recording.sensors, fits, settings)
            handle = (
                _core.autoreject_log(context, model, opened)
                if reject_log is None
                else _log_handle(context, reject_log)
            )
            _core.autoreject_transform(
                context, model, opened, handle, output, options, overwrite=overwrite
            )
            info = _core.autoreject_log_info(handle)
            labels = np.array(info["labels"], np.float64)
            labels[labels < 0] = np.nan
            return RejectLog(np.array(info["bad_epochs"]), labels, recording.sensors.names)

        log = settings.run(call, recording.n_bytes)
        return (Path(output), log) if return_log else Path(output)

    @overload
    def fit_transform(
        self,
        epochs: EpochsT,
        return_log: Literal[False] = False,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> EpochsT: ...

    @overload
    def fit_transform(
        self,
        epochs: EpochsT,
        return_log: Literal[True],
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> tuple[EpochsT, RejectLog]: ...

    @overload
    def fit_transform(
        self,
        epochs: EpochsT,
        return_log: bool,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> EpochsT | tuple[EpochsT, RejectLog]: ...

    def fit_transform(
        self,
        epochs: EpochsT,
        return_log: bool = False,
        *,
        drop: bool = True,
        drop_partial: bool = False,
        report: _PathLike | None = None,
        overwrite: bool = False,
    ) -> EpochsT | tuple[EpochsT, RejectLog]:
        """Fit and transform the same epochs.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.
        return_log, drop, drop_partial, report, overwrite
            As :meth:`transform` takes them.

        Returns
        -------
        epochs : mne.Epochs
            A copy without bad epochs.
        log : RejectLog
            If return_log.
        """
        if report is not None:
            check_output(report, overwrite=overwrite)
        return self.fit(epochs).transform(
            epochs,
            return_log,
            drop=drop,
            drop_partial=drop_partial,
            report=report,
            overwrite=overwrite,
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
                f"the epochs have {shape[0]} and {shape[1]}; give the log of these epochs"
            )
        for k, (ours, theirs) in enumerate(zip(recording.sensors.names, log.ch_names, strict=True)):
            if ours != theirs:
                raise _core.ArgumentError(
                    f"reject_log: channel {k} is {str(theirs)!r}, that of the epochs is {ours!r}; "
                    f"give the log of these epochs"
                )
        wrong = ~np.isin(log.labels, (0, 1, 2)) & ~np.isnan(log.labels)
        if wrong.any():
            epoch, channel = np.argwhere(wrong)[0]
            raise _core.ArgumentError(
                f"reject_log.labels: epoch {epoch}, channel {log.ch_names[channel]!r} is "
                f"{log.labels[epoch, channel]:g}; expected 0 good, 1 bad, 2 interpolated or NaN"
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
            # Not a warning: the original hands out nothing without a word.
            logging.getLogger("tessera").warning(
                "all epochs are bad: the result is empty. See the reject log for the reasons"
            )

    def report(
        self,
        epochs: EpochsLike,
        path: _PathLike,
        *,
        reject_log: RejectLog | None = None,
        overwrite: bool = False,
        report_epochs: int = 200,
        report_size: int | str = "8M",
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
        report_epochs : int, default 200
            Epochs that are shown sample by sample, the worst first.
        report_size : int or str, default '8M'
            About how many bytes of the file these may take.

        Returns
        -------
        Path
        """
        self._check_fitted()
        check_epochs(epochs)
        recording = recording_of(epochs)
        options = {"report_epochs": report_epochs, "report_size": report_size}
        log = self._given_log(recording, reject_log)
        return self._report(recording, log, path, overwrite, options)

    def _report(
        self,
        recording: Recording,
        log: RejectLog,
        path: _PathLike,
        overwrite: bool,
        options: dict[str, Any] | None = None,
    ) -> Path:
        settings = self._settings()
        fits = _files.all_of(self, self._fits_for(recording.sensors), recording.sensors.names)

        def call(context: _core.Context) -> None:
            opened = recording.open(context, settings.precision)
            more = _files.model_parts(self)
            model = make_model(context, recording.sensors, fits, settings, more)
            handle = _log_handle(context, log)
            _core.autoreject_report(
                context,
                model,
                handle,
                opened,
                path,
                options,
                overwrite=overwrite,
                use_log=_USE_LOG,
            )

        settings.run(call, recording.n_bytes)
        return Path(path)


def _log_handle(context: _core.Context, log: RejectLog) -> Any:
    """Return the library's log of ours."""
    labels = np.where(np.isnan(log.labels), -1, log.labels).astype(np.int8)
    return _core.autoreject_log_create(
        context, labels, log.bad_epochs.astype(np.uint8), list(log.ch_names)
    )


def check_output(path: _PathLike, *, overwrite: bool) -> None:
    """Refuse to replace a file before anything is computed."""
    if not overwrite and os.path.lexists(path):
        raise _core.OutputExistsError(
            f"{os.fspath(path)}: exists already; give overwrite=True to replace it"
        )


def _dropped(log: RejectLog, drop: bool, drop_partial: bool) -> Any:
    dropped = log.bad_epochs.copy() if drop else np.zeros(len(log.bad_epochs), bool)
    if drop_partial:
        dropped |= (log.labels == 1).any(axis=1)
    return dropped
