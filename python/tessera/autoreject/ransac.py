"""RANSAC: channels that are bad over the whole recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import warn
from tessera.autoreject._arguments import bars, check_verbose, seed_of
from tessera.autoreject._epochs import (
    EpochsFile,
    check_epochs,
    check_sensors,
    recording_of,
    warn_of_bads,
)
from tessera.autoreject._fit import Settings
from tessera.autoreject._params import Params
from tessera.autoreject._sensors import Sensors, resolve_picks

if TYPE_CHECKING:
    from tessera.autoreject._types import (
        EpochsLike,
        EpochsT,
        Picks,
        RandomState,
        Verbose,
    )

__all__ = ["Ransac"]

_MEG = ("mag", "grad")


class Ransac(Params):
    """Find channels that their neighbours do not predict.

    Parameters
    ----------
    n_resample : int
        Random subsets each channel is predicted from.
    min_channels : float
        Share of the channels in a subset.
    min_corr : float
        Smallest correlation with the prediction of a good channel.
    unbroken_time : float
        Share of the epochs a good channel may be bad in.
    n_jobs : int
        Threads; -1 for all cores. Results do not depend on it.
    random_state : int, numpy.random.RandomState or None
        Seed of the subsets.
    picks : str, list, slice or None
        Channels of one type: eeg, mag or grad. Overwritten with indices by :meth:`fit`, as the
        original does.
    verbose : bool or str
        Show progress.
    meg_dots : {'direct', 'lut'}
        As :class:`AutoReject` takes it.
    device : str
        As :class:`AutoReject` takes it.
    memory_limit : int or str or None
        Bytes, or text such as '4G'.

    Attributes
    ----------
    bad_chs_ : list of str
        Names of the bad channels.
    bad_log : array, shape (n_epochs, n_channels)
        1 where a channel is bad in an epoch.
    corr_ : array, shape (n_epochs, n_channels)
        Correlation of data and prediction; NaN where a channel is flat.
    ch_subsets_ : list of list of str
        The subsets.
    mappings_ : array, shape (n_resample * n_channels, n_channels)
        Weights that predict all channels from each subset.
    ch_type : {'eeg', 'meg'}
        What the channels are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import tessera.autoreject as ta
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = ta.simulate(pathlib.Path(folder.name) / "x.npy", epochs=20, channels=6, samples=50)
    >>> epochs = ta.read_epochs(path, sampling_hz=100.0)
    >>> ransac = ta.Ransac(n_resample=5, verbose=False)
    >>> ransac
    Ransac(min_channels=0.25, min_corr=0.75, n_resample=5, picks=None,
          random_state=435656, unbroken_time=0.4, verbose=False)
    >>> folder.cleanup()
    """

    _shown = ("n_resample", "min_channels", "min_corr", "unbroken_time", "random_state", "picks")

    def __init__(
        self,
        n_resample: int = 50,
        min_channels: float = 0.25,
        min_corr: float = 0.75,
        unbroken_time: float = 0.4,
        n_jobs: int = 1,
        random_state: RandomState = 435656,
        picks: Picks | None = None,
        verbose: Verbose = True,
        *,
        meg_dots: str = "direct",
        device: str = "auto",
        memory_limit: int | str | None = None,
    ) -> None:
        self.n_resample = n_resample
        self.min_channels = min_channels
        self.min_corr = min_corr
        self.unbroken_time = unbroken_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.picks = picks
        self.verbose = verbose
        self.meg_dots = meg_dots
        self.device = device
        self.memory_limit = memory_limit

    def _repr_html_(self) -> str:
        from tessera.autoreject._html import of_ransac

        return of_ransac(self)

    def fit(self, epochs: EpochsLike) -> Ransac:
        """Find the bad channels.

        Parameters
        ----------
        epochs : mne.Epochs or EpochsFile
            Not changed.

        Returns
        -------
        self
        """
        check_verbose(self.verbose)
        if not isinstance(epochs, EpochsFile):
            epochs.info  # noqa: B018 (as AutoReject.fit)
            check_epochs(epochs)
        recording = recording_of(epochs)
        sensors = recording.sensors
        picks = np.unique(resolve_picks(sensors, self.picks))
        check_sensors(sensors, picks, verbose=self.verbose)
        self.ch_type = _kind_of(sensors, picks)
        self.picks = picks
        settings = Settings(
            self.n_jobs,
            self.verbose,
            device=self.device,
            meg_dots=self.meg_dots,
            memory_limit=self.memory_limit,
        )
        options = {
            "n_resample": self.n_resample,
            "min_channels": self.min_channels,
            "min_corr": self.min_corr,
            "unbroken_time": self.unbroken_time,
            "meg_dots": settings.dots,
            "seed": seed_of(self.random_state),
        }

        def call(context: _core.Context) -> dict[str, Any]:
            found = _core.autoreject_ransac(
                context, recording.open(context), picks, options, progress=bars(self.verbose)
            )
            return {name: np.array(value) for name, value in found.items()}

        self._keep(settings.run(call, recording.n_bytes), [sensors.names[k] for k in picks])
        return self

    def _keep(self, found: dict[str, Any], names: list[str]) -> None:
        n = len(names)
        self.ch_subsets_ = [[names[k] for k in subset] for subset in found["subsets"]]
        self.mappings_ = np.zeros((len(found["subsets"]) * n, n))
        for r, (subset, weights) in enumerate(
            zip(found["subsets"], found["mappings"], strict=True)
        ):
            self.mappings_[r * n : (r + 1) * n, subset] = weights
        self.corr_ = found["correlations"]
        self.bad_log = found["bad_log"].astype(np.float64)
        self.bad_chs_ = [name for name, bad in zip(names, found["bad"], strict=True) if bad]
        flat = [name for name, column in zip(names, self.corr_.T, strict=True) if _is_flat(column)]
        if flat and self.verbose is not False:
            warn(f"flat in every epoch, counted as good: {', '.join(flat)}")

    def transform(self, epochs: EpochsT) -> EpochsT:
        """Replace the bad channels by MNE's interpolation.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.

        Returns
        -------
        mne.Epochs
            A copy without channels marked bad.
        """
        if not hasattr(self, "bad_chs_"):
            raise _core.ArgumentError("Please run Ransac.fit() first")
        check_epochs(epochs)
        if not isinstance(epochs, EpochsFile):
            warn_of_bads(recording_of(epochs).sensors, self.verbose)
        else:
            raise _core.ArgumentError(
                "transform takes MNE's epochs; read them with mne.read_epochs"
            )
        out: EpochsT = epochs.copy()
        out.info["bads"] = list(self.bad_chs_)
        if not self.bad_chs_:
            warn("No bad channels were found: the result is a copy")
            return out
        out.interpolate_bads(reset_bads=True)
        return out

    def fit_transform(self, epochs: EpochsT) -> EpochsT:
        """Find the bad channels and replace them.

        Parameters
        ----------
        epochs : mne.Epochs
            Not changed.

        Returns
        -------
        mne.Epochs
            A copy.
        """
        return self.fit(epochs).transform(epochs)


def _is_flat(column: Any) -> bool:
    return len(column) > 0 and bool(np.isnan(column).all())


def _kind_of(sensors: Sensors, picks: Any) -> str:
    types = list(dict.fromkeys(sensors.types[k] for k in picks))
    if len(types) > 1 or types[0] not in ("eeg", *_MEG):
        raise _core.ArgumentError(
            f"Ransac: expected channels of one type, eeg, mag or grad; picks have "
            f"{', '.join(types)}. Fit each by itself, with picks='eeg', picks='mag' or picks='grad'"
        )
    return "meg" if types[0] in _MEG else "eeg"
