"""One threshold per channel type, and how good thresholds are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from tessera import _core
from tessera._lib import warn
from tessera.autoreject._arguments import bars, check_verbose, cv_of, fold_masks
from tessera.autoreject._base import BaseAutoReject
from tessera.autoreject._epochs import Recording, check_epochs, check_sensors, recording_of
from tessera.autoreject._fit import Settings, is_contiguous
from tessera.autoreject._process import best_of_few
from tessera.autoreject._sensors import Sensors, resolve_picks

if TYPE_CHECKING:
    from typing import Literal

    import numpy.typing as npt
    from numpy.typing import ArrayLike

    from tessera.autoreject._types import (
        CrossValidation,
        EpochsLike,
        RandomState,
        Verbose,
    )

    Floats = npt.NDArray[np.float64]

__all__ = ["_GlobalAutoReject", "get_rejection_threshold", "validation_curve"]

_TYPES = ("mag", "grad", "eeg", "eog", "hbo", "hbr", "ecog", "seeg")


class _GlobalAutoReject(BaseAutoReject):
    """The mean of the epochs whose peak-to-peak amplitude stays below a threshold everywhere.

    Parameters
    ----------
    n_channels, n_times : int or None
        Shape of an epoch.
    thresh : float
        Largest peak-to-peak amplitude of an epoch that is kept.
    """

    _shown = ("n_channels", "n_times", "thresh")

    def __init__(
        self, n_channels: int | None = None, n_times: int | None = None, thresh: float = 40e-6
    ) -> None:
        self.thresh = thresh
        self.n_channels = n_channels
        self.n_times = n_times

    def _shaped(self, x: Any) -> Any:
        data = np.asarray(x)
        if self.n_channels is None or self.n_times is None:
            if data.ndim != 3:
                raise _core.ShapeError("give n_channels and n_times, or X with three axes")
            return data
        return data.reshape(-1, self.n_channels, self.n_times)

    def fit(self, X: Any, y: Any = None) -> _GlobalAutoReject:  # noqa: N803
        """Average the epochs that are kept.

        Parameters
        ----------
        X : array, shape (n_epochs, n_channels * n_times) or (n_epochs, n_channels, n_times)
            The epochs.
        y : optional
            Ignored.

        Returns
        -------
        self
        """
        data = self._shaped(X)
        delta = (data.max(axis=2) - data.min(axis=2)).max(axis=1)
        keep = delta <= self.thresh
        self.mean_ = data[keep].mean(axis=0) if keep.any() else np.full(data.shape[1:], np.nan)
        return self


def _channels_of(sensors: Sensors, kind: str) -> Any:
    bads = set(sensors.bads)
    return np.array(
        [
            k
            for k, (name, found) in enumerate(zip(sensors.names, sensors.types, strict=True))
            if found == kind and name not in bads
        ],
        np.int64,
    )


def _wanted_types(sensors: Sensors, ch_types: Any) -> list[str]:
    if ch_types is None:
        return [kind for kind in _TYPES if len(_channels_of(sensors, kind))]
    if isinstance(ch_types, str):
        ch_types = [ch_types]
    if not isinstance(ch_types, list):
        raise _core.ArgumentError(
            f"ch_types must be of type None, list, or str. Got {type(ch_types)}"
        )
    for kind in ch_types:
        if kind not in _TYPES:
            raise _core.ArgumentError(
                f"ch_types: {kind!r} does not exist; choose of {', '.join(_TYPES)}"
            )
    return list(ch_types)


def get_rejection_threshold(
    epochs: EpochsLike,
    decim: int = 1,
    random_state: RandomState | None = None,
    ch_types: str | Sequence[str] | None = None,
    cv: CrossValidation = 5,
    verbose: Verbose = True,
    *,
    search: str = "compat",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    device: str = "auto",
) -> dict[str, float]:
    """Find one peak-to-peak threshold per channel type, as MNE's ``reject=`` takes them.

    Parameters
    ----------
    epochs : mne.Epochs or EpochsFile
        Not changed; need not be preloaded.
    decim : int, default 1
        Use every so many samples only, the one at time 0 among them as MNE does.
    random_state : optional
        Accepted for the original's scripts; there is nothing random.
    ch_types : str, list of str or None
        Types to find thresholds for; None: all there are. Those without channels are left out,
        with a warning.
    cv : int, object with split() or list of (train, test)
        Folds.
    verbose : bool or str
        Show what is done.
    search : {'compat', 'exact'}
        The few thresholds the original looks at, or all candidates.
    n_jobs : int
        Threads; -1 for all cores.
    memory_limit : int or str or None
        Bytes, or text such as '4G'.
    device : str
        As :class:`AutoReject` takes it.

    Returns
    -------
    dict
        Threshold by type.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import tessera.autoreject as ta
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = ta.simulate(pathlib.Path(folder.name) / "x.npy", epochs=20, channels=6, samples=50)
    >>> epochs = ta.read_epochs(path, sampling_hz=100.0)
    >>> reject = ta.get_rejection_threshold(epochs, verbose=False)
    >>> list(reject)
    ['eeg']
    >>> folder.cleanup()
    """
    check_verbose(verbose)
    if search not in ("compat", "exact"):
        raise _core.ArgumentError(f"search: {search!r} does not exist; choose compat or exact")
    if decim < 1 or decim != int(decim):
        raise _core.ArgumentError(f"decim: expected 1 or more samples, got {decim}")
    decim = int(decim)
    check_epochs(epochs, lazy=True)
    recording = recording_of(epochs)
    settings = Settings(n_jobs, verbose, device=device, memory_limit=memory_limit)
    folds = cv_of(cv, default=5)
    found = {}
    for kind in _wanted_types(recording.sensors, ch_types):
        channels = _channels_of(recording.sensors, kind)
        if len(channels) == 0:
            warn(f"ch_types: there is no {kind} channel that is not bad; it is left out")
            continue
        if verbose is not False:
            print(f"Estimating rejection dictionary for {kind}")
        if is_contiguous(folds):
            found[kind] = _global(recording, channels, int(folds.n_splits), decim, search, settings)
        else:
            found[kind] = _global_folds(recording, channels, folds, decim, search, settings)
    if not found:
        warn("get_rejection_threshold: no channel is left, and so no threshold is found")
    return found


def _global(
    recording: Recording, channels: Any, n_fold: int, decim: int, search: str, settings: Settings
) -> float:
    def call(context: _core.Context) -> float:
        result = _core.autoreject_global(
            context,
            recording.open(context),
            channels,
            {"search": search, "n_fold": n_fold, "decim": decim},
            progress=bars(settings.verbose),
        )
        return float(result["threshold"])

    return settings.run(call, recording.n_bytes)


def _global_folds(
    recording: Recording, channels: Any, cv: Any, decim: int, search: str, settings: Settings
) -> float:
    """Do the same for folds that are not contiguous, from the scores of every candidate."""
    start = round(-recording.tmin * recording.sampling_hz) % decim  # as the library does
    if decim > 1 and start + decim >= recording.n_time:
        raise _core.ArgumentError(
            f"decim: of {recording.n_time} samples every {decim}-th, with the one at time 0 among "
            "them, leaves fewer than two; give a smaller one"
        )
    data = recording.samples()[:, :, start::decim]
    decimated = Recording(recording.sensors, data, recording.sampling_hz / decim, recording.tmin)
    chosen = data[:, channels]
    amplitudes = np.sort((chosen.max(axis=2) - chosen.min(axis=2)).max(axis=1))
    candidates = np.unique(amplitudes)
    _, test = _scores(decimated, channels, candidates, cv, settings)
    objective = -test.mean(axis=1)
    if search == "compat":
        return best_of_few(amplitudes, candidates, objective)
    if not np.isfinite(objective).any():
        raise _core.NumericError("cv: every threshold leaves a fold without epochs")
    return float(candidates[np.argmin(objective)])


def _scores(
    recording: Recording, channels: Any, thresholds: Any, cv: Any, settings: Settings
) -> tuple[Any, Any]:
    folds = fold_masks(cv, recording.n_epoch)

    def call(context: _core.Context) -> tuple[Any, Any]:
        train, test = _core.autoreject_validation_curve(
            context,
            recording.open(context),
            np.asarray(channels, np.int64),
            np.ascontiguousarray(thresholds, np.float64),
            folds,
            progress=bars(settings.verbose),
        )
        return np.asarray(train), np.asarray(test)

    return settings.run(call, recording.n_bytes)


@overload
def validation_curve(
    epochs: EpochsLike,
    y: object = None,
    param_name: str = "thresh",
    param_range: ArrayLike | None = None,
    cv: CrossValidation = None,
    return_param_range: Literal[False] = False,
    n_jobs: int = 1,
) -> tuple[Floats, Floats]: ...


@overload
def validation_curve(
    epochs: EpochsLike,
    y: object = None,
    param_name: str = "thresh",
    param_range: ArrayLike | None = None,
    cv: CrossValidation = None,
    *,
    return_param_range: Literal[True],
    n_jobs: int = 1,
) -> tuple[Floats, Floats, Floats]: ...


@overload
def validation_curve(
    epochs: EpochsLike,
    y: object = None,
    param_name: str = "thresh",
    param_range: ArrayLike | None = None,
    cv: CrossValidation = None,
    *,
    return_param_range: bool,
    n_jobs: int = 1,
) -> tuple[Floats, Floats] | tuple[Floats, Floats, Floats]: ...


def validation_curve(
    epochs: EpochsLike,
    y: object = None,
    param_name: str = "thresh",
    param_range: ArrayLike | None = None,
    cv: CrossValidation = None,
    return_param_range: bool = False,
    n_jobs: int = 1,
) -> tuple[Floats, Floats] | tuple[Floats, Floats, Floats]:
    """Score one threshold for all channels on a grid.

    Parameters
    ----------
    epochs : mne.Epochs or EpochsFile
        Not changed; need not be preloaded.
    y : optional
        Ignored.
    param_name : str
        Only 'thresh' exists.
    param_range : array or None
        Thresholds; None: 15 from the smallest to the largest peak-to-peak amplitude.
    cv : int, object with split(), list of (train, test) or None
        Folds; None: 5.
    return_param_range : bool, default False
        Return the thresholds, too.
    n_jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    train_scores, test_scores : array, shape (n_thresholds, n_folds)
        Negative root mean square errors; -inf where a fold keeps nothing.
    param_range : array
        If return_param_range.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import tessera.autoreject as ta
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = ta.simulate(pathlib.Path(folder.name) / "x.npy", epochs=20, channels=6, samples=50)
    >>> epochs = ta.read_epochs(path, sampling_hz=100.0)
    >>> train, test, thresholds = ta.validation_curve(epochs, cv=4, return_param_range=True)
    >>> train.shape == test.shape == (len(thresholds), 4)
    True
    >>> folder.cleanup()
    """
    check_epochs(epochs, lazy=True)
    recording = recording_of(epochs)
    picks = np.unique(resolve_picks(recording.sensors, None))
    check_sensors(recording.sensors, picks, check_loc=False, verbose=False)
    if param_range is None:
        from tessera.autoreject._ptp import ptp

        delta = ptp(np.ascontiguousarray(recording.samples(picks)), device="cpu")
        param_range = np.linspace(delta.min(), delta.max(), 15)
    thresholds = np.atleast_1d(np.asarray(param_range, np.float64))
    settings = Settings(n_jobs, verbose=False)
    train, test = _scores(recording, picks, thresholds, cv_of(cv, default=5), settings)
    if return_param_range:
        return train, test, cast("Floats", param_range)
    return train, test
