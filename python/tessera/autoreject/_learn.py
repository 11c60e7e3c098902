"""How an AutoReject learns: checks, the values to try, a fit per channel type."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tessera import _core
from tessera._lib import warn
from tessera.autoreject._arguments import check_verbose, cv_of, seed_of, splits_of
from tessera.autoreject._device import cuda_index
from tessera.autoreject._epochs import (
    EpochsFile,
    Recording,
    check_epochs,
    check_sensors,
    recording_of,
)
from tessera.autoreject._fit import FitRequest, Settings, TypeFit, run_fit
from tessera.autoreject._gpu_arrays import with_rows
from tessera.autoreject._local import _AutoReject
from tessera.autoreject._params import Params
from tessera.autoreject._sensors import (
    Sensors,
    group_by_type,
    resolve_picks,
    sensors_from_arrays,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tessera.autoreject._types import (
        EpochsLike,
    )

_MOST_REPAIRS = 32
_FEWEST_CHANNELS = 4
_NO_PAIR = "no pair is admissible"  # of the library's message
_FEWEST_SOURCES = 2  # with fewer than that beside it the original stops at a bad MEG channel


class FitMixin(Params):
    """Fitting; the parameters are those of AutoReject."""

    n_interpolate: Any
    consensus: Any
    cv: Any
    picks: Any
    thresh_method: str
    n_jobs: int
    random_state: Any
    verbose: Any
    search: str
    rho_mode: str
    n_splits: int | str
    device: str
    precision: str
    meg_dots: str
    origin: Any
    memory_limit: int | str | None
    profile: bool
    checkpoint: str | os.PathLike[str] | None
    _written_back: dict[str, Any]  # defaults that were written to the parameters

    def fit(self, epochs: EpochsLike) -> Self:
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
        X: ArrayLike,  # noqa: N803
        positions: ArrayLike,
        ch_types: str | Sequence[str] = "eeg",
        *,
        ch_names: Sequence[str] | None = None,
        bads: Sequence[str] = (),
        sfreq: float = 1.0,
        coil_types: Sequence[int] | None = None,
        device_to_head: ArrayLike | None = None,
    ) -> Self:
        """Fit epochs that are a plain array; needs no MNE.

        Parameters
        ----------
        X : array, shape (n_epochs, n_channels, n_times)
            In V, T or T/m. Nothing is copied. One of a GPU (torch, CuPy, JAX: by DLPack) is fitted
            there, where that is allowed (device), and copied only if the samples of a channel do
            not follow each other.
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
        data: Any = with_rows(X) if cuda_index(X) is not None else np.asarray(X)
        if data.ndim != 3:
            raise _core.ShapeError(
                f"X: expected (n_epochs, n_channels, n_times), got shape {tuple(data.shape)}"
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
            splits_of(self.n_splits, self.cv),
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
        written = self.__dict__.setdefault("_written_back", {"n_interpolate": None})
        consensus, n_interpolate = self.consensus, self.n_interpolate
        if consensus is None or consensus is written.get("consensus"):
            consensus = written["consensus"] = self.consensus = np.linspace(0, 1, 11)
        if n_interpolate is None or n_interpolate is written.get("n_interpolate"):
            if n_pick < _FEWEST_CHANNELS:
                raise _core.ArgumentError(
                    f"Too few channels. autoreject is unlikely to be effective with {n_pick}; give "
                    f"n_interpolate to try, or pick more channels"
                )
            values = np.array([1, 4, min(n_pick - 1, _MOST_REPAIRS)])
            n_interpolate = written["n_interpolate"] = self.n_interpolate = values
        else:
            _check_repairs(n_interpolate)
        _check_consensus(consensus)
        return consensus, n_interpolate

    def _fit(self, recording: Recording) -> Self:
        check_verbose(self.verbose)
        settings = self._settings(profile=self.profile)
        sensors = recording.sensors
        picks = np.unique(resolve_picks(sensors, self.picks))
        check_sensors(sensors, picks, verbose=self.verbose)
        groups = group_by_type(sensors, picks)
        consensus, n_interpolate = self._grids(len(picks))
        hopeless = _hopeless(groups, consensus, n_interpolate)
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
            request.thresholds_only = kind in hopeless
            request.default_repairs = n_interpolate is self._written_back["n_interpolate"]
            own = _for_type(settings, kind, len(groups))
            if kind in hopeless:
                own = _with_splits(own)
            try:
                found, info = _fit_type(recording, request, own)
            except _core.NumericError as error:
                raise _with_way_out(error, kind, groups) from None
            if kind in hopeless:
                _take_first_pair(found[0], request, recording.n_epoch)
                _warn_of_first_pair(found[0])
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
        self.n_splits_ = max(int(info["n_split"]) for info in infos)
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


def _check_repairs(n_interpolate: Any) -> None:
    try:
        values = np.atleast_1d(np.asarray(n_interpolate))
    except ValueError:  # rows of different lengths
        values = np.zeros((0, 0))
    if values.ndim != 1:
        raise _core.ArgumentError(
            f"n_interpolate: expected a list of numbers of channels, such as [1, 4], got "
            f"{n_interpolate!r}"
        )
    if values.size == 0:
        raise _core.ArgumentError("n_interpolate: no values to try")
    for value in values.tolist():
        if not isinstance(value, int) and not (isinstance(value, float) and value.is_integer()):
            raise _core.ArgumentError(f"n_interpolate: expected whole numbers, got {value!r}")
        if value < 0:
            raise _core.ArgumentError(f"n_interpolate: expected 0 or more, got {value}")


def _check_consensus(consensus: Any) -> None:
    try:
        values = np.atleast_1d(np.asarray(consensus, np.float64))
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1:
        raise _core.ArgumentError(
            f"consensus: expected a list of shares from 0 to 1, such as [0.2, 0.5], got "
            f"{consensus!r}"
        )
    if values.size == 0:
        raise _core.ArgumentError("consensus: no values to try")
    for value in values.tolist():
        if not 0 <= value <= 1:
            raise _core.ArgumentError(f'"consensus" must be between 0 and 1. You gave me {value}.')


def _with_splits(settings: Settings) -> Settings:
    """Have the usual number of splits where there is no choice of a pair to find one by."""
    return settings if settings.n_splits > 0 else replace(settings, n_splits=10)


def _fit_type(
    recording: Recording, request: FitRequest, settings: Settings
) -> tuple[list[TypeFit], dict[str, Any]]:
    """Fit one type; where every pair leaves a fold without epochs, take the first as the original.

    That is logged rather than warned of: the original goes on without a word, and pipelines that
    turn warnings into errors would stop where it does not.
    """
    try:
        return run_fit(recording, request, settings)
    except _core.NumericError as error:
        if _NO_PAIR not in str(error) or len(request.picks) <= _FEWEST_SOURCES:
            raise
        logging.getLogger("tessera").warning(
            "%s. As in the original the first pair is taken: look at the reject log", error
        )
    alone = replace(request, thresholds_only=True)
    found, info = run_fit(recording, alone, _with_splits(settings))
    _take_first_pair(found[0], request, recording.n_epoch)
    return found, info


def _with_way_out(
    error: _core.NumericError, kind: str, groups: list[tuple[str, list[int]]]
) -> _core.NumericError:
    """Say how the other types can be fitted where one cannot."""
    others = [name for name, _ in groups if name != kind]
    if not others:
        return error
    return _core.NumericError(
        f"{error}: picks={others!r} fits the others. The original stops at such a type, too, with "
        f"an error of MNE's"
    )


def _hopeless(groups: list[tuple[str, list[int]]], consensus: Any, n_interpolate: Any) -> set[str]:
    """Return the types of which no pair is admissible, beside others that have one."""
    most, least = float(np.max(consensus)), int(np.min(n_interpolate))
    hopeless = {kind for kind, group in groups if most * len(group) <= least}
    return hopeless if len(hopeless) < len(groups) else set()  # the library refuses, and says why


def _take_first_pair(fit: TypeFit, request: FitRequest, n_epoch: int) -> None:
    """Do as the original does where no pair is admissible, which it does without a word."""
    consensus, repairs = np.atleast_1d(request.consensus), np.atleast_1d(request.n_interpolate)
    n_fold = request.cv.get_n_splits(np.zeros((n_epoch, 1)))
    fit.consensus, fit.n_interpolate = float(consensus[0]), int(repairs[0])
    fit.loss = np.full((len(consensus), len(repairs), n_fold), np.inf)


def _warn_of_first_pair(fit: TypeFit) -> None:
    n = len(fit.channels)
    warn(
        f"type {fit.kind} ({n} channel{'s' * (n > 1)}): no pair of consensus and n_interpolate is "
        f"admissible (consensus * {n} > n_interpolate). As in the original the first of each is "
        f"taken, consensus {fit.consensus:g}"
        f"{', with which every epoch is bad' * (fit.consensus == 0)}. Leave the type out with "
        f"picks, or put 0 into n_interpolate"
    )
