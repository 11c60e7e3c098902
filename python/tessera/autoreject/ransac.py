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
from tessera.autoreject._mapping import MEG, weights_of
from tessera.autoreject._params import Params
from tessera.autoreject._sensors import Sensors, resolve_picks, sensors_of

if TYPE_CHECKING:
    from tessera.autoreject._types import (
        EpochsLike,
        EpochsT,
        Picks,
        RandomState,
        Verbose,
    )

__all__ = ["Ransac"]


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
        Threads; -1 for all cores. Results do not depend on it. Where a GPU computes, the default 1
        leaves all cores to the host's part, unless ``tessera.set_num_threads`` bounds them.
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
        seed = self._seed_for(sensors, picks)
        if seed is None:
            return self._fit_subsets(recording)
        options = {
            "n_resample": self.n_resample,
            "min_channels": self.min_channels,
            "min_corr": self.min_corr,
            "unbroken_time": self.unbroken_time,
            "meg_dots": settings.dots,
            "seed": seed,
        }

        def call(context: _core.Context) -> dict[str, Any]:
            found = _core.autoreject_ransac(
                context, recording.open(context), picks, options, progress=bars(self.verbose)
            )
            return {name: np.array(value) for name, value in found.items()}

        self._keep(settings.run(call, recording.n_bytes), [sensors.names[k] for k in picks])
        return self

    def _seed_for(self, sensors: Sensors, picks: Any) -> int | None:
        """Return the seed of the subsets; None for a generator that is past its first number.

        One that is fresh stands for its seed, and is moved on as the original moves it.
        """
        if not isinstance(self.random_state, np.random.RandomState):
            return seed_of(self.random_state)
        state: Any = self.random_state.get_state()
        seed = int(state[1][0])
        fresh: Any = np.random.RandomState(seed).get_state()
        if state[2] != fresh[2] or not np.array_equal(state[1], fresh[1]):
            return None
        self._draw_subsets(sensors, picks)
        return seed

    # --- steps that the original's tests call one by one

    def _draw_subsets(self, sensors: Sensors, picks: Any) -> list[list[str]]:
        names = [sensors.names[k] for k in picks]
        size = int(np.round(self.min_channels * len(names)))
        bads = set(sensors.bads)
        good = [name for name in names if name not in bads]
        if len(good) < size:
            raise AssertionError(
                f"too many channels marked as bad: {len(good)} are left for subsets of {size} "
                f"(min_channels={self.min_channels}); lower min_channels, or unmark some"
            )
        draw: Any = self.random_state
        if not isinstance(draw, np.random.RandomState):
            draw = np.random.RandomState(seed_of(draw))
        return [
            [str(name) for name in draw.choice(good, size=size, replace=False)]
            for _ in range(self.n_resample)
        ]

    def _get_random_subsets(self, info: Any) -> list[list[str]]:
        """Return the names of the channels in every subset."""
        sensors = sensors_of(info)
        return self._draw_subsets(sensors, resolve_picks(sensors, self.picks))

    def _get_mappings(self, inst: Any, ch_subsets: Any) -> Any:
        """Return the weights that predict all channels from each subset, one below the other."""
        return self._map_subsets(sensors_of(inst.info), ch_subsets)

    def _map_subsets(self, sensors: Sensors, ch_subsets: Any) -> Any:
        picks = resolve_picks(sensors, self.picks)
        place = {sensors.names[k]: i for i, k in enumerate(picks)}
        mappings = []
        for subset in ch_subsets:
            source = [place[name] for name in subset]
            mapping = np.zeros((len(picks), len(picks)))
            mapping[:, source] = weights_of(
                sensors, picks[source], picks, meg_dots=Settings(meg_dots=self.meg_dots).dots
            )
            mappings.append(mapping)
        return np.concatenate(mappings)

    def _iterate_epochs(self, epochs: Any, idxs: Any) -> Any:
        """Return the correlations of some epochs."""
        data = recording_of(epochs).data
        picks = resolve_picks(sensors_of(epochs.info), self.picks)
        return np.array([self._compute_correlations(data[k][picks]) for k in idxs])

    def _compute_correlations(self, data: Any) -> Any:
        """Return the correlation of every channel with the median of its predictions."""
        n_chan, n_time = data.shape
        predicted = (self.mappings_ @ data).reshape(-1, n_chan, n_time)
        median = np.median(predicted, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sum(data * median, axis=1) / (
                np.sqrt(np.sum(data**2, axis=1)) * np.sqrt(np.sum(median**2, axis=1))
            )

    def _fit_subsets(self, recording: Any) -> Ransac:
        """Fit with subsets of a generator that the library cannot take over."""
        sensors, picks = recording.sensors, np.asarray(self.picks)
        names = [sensors.names[k] for k in picks]
        self.ch_subsets_ = self._draw_subsets(sensors, picks)
        self.mappings_ = self._map_subsets(sensors, self.ch_subsets_)
        n_epoch = recording.n_epoch
        samples = recording.samples()
        self.corr_ = np.array(
            [self._compute_correlations(samples[k][picks]) for k in range(n_epoch)]
        )
        self.bad_log = (self.corr_ < self.min_corr).astype(np.float64)
        bad = self.bad_log.sum(axis=0) > self.unbroken_time * n_epoch
        self.bad_chs_ = [name for name, is_bad in zip(names, bad, strict=True) if is_bad]
        self._warn_of_flat(names)
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
        self._warn_of_flat(names)

    def _warn_of_flat(self, names: list[str]) -> None:
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
    if len(types) > 1 or types[0] not in ("eeg", *MEG):
        raise _core.ArgumentError(
            f"Ransac: expected channels of one type, eeg, mag or grad; picks have "
            f"{', '.join(types)}. Fit each by itself, with picks='eeg', picks='mag' or picks='grad'"
        )
    return "meg" if types[0] in MEG else "eeg"
