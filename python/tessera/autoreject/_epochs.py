"""Epochs as the library reads them: MNE's objects, arrays and files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tessera import _core
from tessera._lib import Session, warn
from tessera._tables import FROM_TABLE, from_table
from tessera.autoreject._device import cuda_index
from tessera.autoreject._gpu_arrays import in_single
from tessera.autoreject._sensors import (
    SOLVABLE,
    Ints,
    Sensors,
    has_no_positions,
    sensors_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PathLike = str | os.PathLike[str]


@dataclass
class Recording:
    """Samples (n_epoch, n_chan, n_time) with their sensors; samples may stay in a file."""

    sensors: Sensors
    data: Any
    sampling_hz: float = 1.0
    tmin: float = 0.0
    handle: Any = None

    @property
    def n_epoch(self) -> int:
        """Return the number of epochs."""
        return int(self.data.shape[0])

    @property
    def n_time(self) -> int:
        """Return the number of samples of an epoch."""
        return int(self.data.shape[2])

    @property
    def device(self) -> str | None:
        """Return the GPU the samples are on, None for host memory."""
        index = cuda_index(self.data)
        return None if index is None else f"cuda:{index}"

    @property
    def n_bytes(self) -> int:
        """Return the size of the samples in double precision."""
        return 8 * int(np.prod(self.data.shape, dtype=np.int64))

    def samples(self, picks: Any = None) -> Any:
        """Return the samples of some channels, read if they are in a file."""
        if isinstance(self.data, EpochsFile):
            return self.data.get_data(picks=picks)
        return self.data if picks is None else self.data[:, picks]

    def open(self, context: _core.Context, precision: str = "float64") -> Any:
        """Return the library's epochs over these samples; nothing is copied in double precision."""
        if self.handle is not None:
            return self.handle
        data = self.data
        if cuda_index(data) is not None:
            data = in_single(data) if precision == "float32" else data
            return _core.autoreject_epochs(
                context, data, self.sensors.for_core(), self.sampling_hz, self.tmin
            )
        if data.dtype.kind in "iub" and data.dtype not in (np.int16, np.int32):
            data = data.astype(np.float64)
        if precision == "float32":
            data = data.astype(np.float32)
        return _core.autoreject_epochs(
            context, data, self.sensors.for_core(), self.sampling_hz, self.tmin
        )


def samples_of(epochs: Any) -> Any:
    """Return the samples of MNE's epochs where they lie."""
    try:
        return epochs.get_data(copy=False)
    except TypeError:  # before MNE 1.6
        return epochs._data if epochs.preload else epochs.get_data()


def is_mne_epochs(value: Any) -> bool:
    """Return whether value is an epochs object of MNE's; MNE is not imported to find out."""
    mne = sys.modules.get("mne")
    return mne is not None and isinstance(value, mne.BaseEpochs)


def recording_of(epochs: Any) -> Recording:
    """Read an epochs object of MNE's, or one of :func:`read_epochs`."""
    if isinstance(epochs, EpochsFile):
        return Recording(epochs._sensors, epochs, epochs.sfreq, epochs.tmin, epochs._handle)
    info = epochs.info
    return Recording(
        sensors_of(info), samples_of(epochs), float(info["sfreq"]), float(epochs.times[0])
    )


def check_epochs(epochs: Any, *, lazy: bool = False) -> None:
    """Refuse what is no epochs object, or one without its data where the original does."""
    if isinstance(epochs, EpochsFile):
        return
    if not is_mne_epochs(epochs):
        raise _core.ArgumentError("Only accepts MNE epochs objects.")
    if not epochs.preload and not lazy:
        raise _core.ArgumentError(
            "Data must be preloaded. Call epochs.load_data(), or read them with preload=True."
        )


def check_sensors(
    sensors: Sensors,
    picks: Ints,
    *,
    constraint: str = "data_channels",
    check_loc: bool = True,
    verbose: Any = True,
) -> None:
    """Refuse picks that cannot be solved."""
    if check_loc and has_no_positions(sensors.positions[picks]):
        names = [sensors.names[k] for k in picks if not np.any(np.nan_to_num(sensors.loc[k, :3]))]
        hint = f" These have none: {', '.join(names[:12])}." if names else ""
        raise RuntimeError(
            f"Valid channel positions are needed for autoreject to work.{hint} Set a montage "
            f"(epochs.set_montage), or compute thresholds alone with augment=False."
        )
    wrong = [
        f"{sensors.names[k]} ({sensors.types[k]})"
        for k in picks
        if sensors.types[k] not in SOLVABLE
    ]
    if constraint in ("data_channels", "single_channel_type") and wrong:
        raise _core.ArgumentError(
            f"picks: only the types {', '.join(SOLVABLE)} are supported; leave out "
            f"{', '.join(wrong[:12])}"
        )
    if constraint == "single_channel_type" and len({sensors.types[k] for k in picks}) > 1:
        raise _core.ArgumentError("picks: one channel type at a time; use AutoReject for several")
    if constraint not in ("data_channels", "single_channel_type"):
        raise _core.ArgumentError(f"ch_constraint: {constraint!r} does not exist")
    warn_of_bads(sensors, verbose)


def warn_of_bads(sensors: Sensors, verbose: Any) -> None:
    """Say how many channels are marked bad."""
    if sensors.bads and verbose is not False:
        warn(
            f"{len(sensors.bads)} channels are marked as bad. These will be ignored. If you want "
            f'them to be considered by autoreject please remove them from epochs.info["bads"].'
        )


class EpochsFile:
    """Epochs of a file, read piece by piece: what :func:`read_epochs` returns.

    AutoReject, Ransac and the functions beside them take it where they take MNE's epochs, and work
    within ``memory_limit`` whatever the size of the file. ``len()`` is the number of epochs.
    Pickles hold the path and how it was opened.

    Parameters
    ----------
    handle : tessera._core.Handle
        Of the library; :func:`read_epochs` has it.

    Attributes
    ----------
    path, format : str
        The file and what it is.
    shape : tuple of int
        Epochs, channels, samples.
    sfreq, tmin : float
        Samples per second, and seconds of the first one.
    ch_names, ch_types, bads : list of str
        The channels, their types, and the names of bad ones.
    events : ndarray, shape (n_epochs, 3)
        As MNE has them.
    drop_log, notes : list of str
        What was left out, and what a user should know.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import tessera.autoreject as ta
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = ta.simulate(pathlib.Path(folder.name) / "x.npy", epochs=20, channels=6, samples=50)
    >>> epochs = ta.read_epochs(path, sampling_hz=100.0)
    >>> epochs.shape, epochs.sfreq
    ((20, 6, 50), 100.0)
    >>> epochs.get_data(first=3, count=2).shape
    (2, 6, 50)
    >>> folder.cleanup()
    """

    def __init__(self, handle: _core.Handle) -> None:
        info = _core.autoreject_epochs_info(handle)
        sensors = info["sensors"]
        self.path: str = info["path"]
        self.format: str = info["format"]
        self.notes: list[str] = info["notes"].splitlines()
        self.ch_names: list[str] = sensors["names"]
        self.ch_types: list[str] = sensors["types"]
        self.bads: list[str] = [
            name for name, bad in zip(self.ch_names, sensors["bads"], strict=True) if bad
        ]
        self.sfreq: float = info["sampling_hz"]
        self.tmin: float = info["tmin"]
        self.shape: tuple[int, int, int] = (info["n_epoch"], len(self.ch_names), info["n_time"])
        self.events = np.array(info["events"])
        self.drop_log: list[str] = info["drop_log"]
        self._handle = handle
        self._opened_with: dict[str, Any] | None = None  # arguments of read_epochs
        self._sensors = Sensors(
            self.ch_names,
            self.ch_types,
            self.bads,
            np.array(sensors["loc"]),
            np.array(sensors["coil_types"]),
            sensors["device_to_head"],
            np.array(sensors["point_kinds"]),
            np.array(sensors["points"]),
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __reduce__(self) -> tuple[Any, ...]:
        # Samples stay in the file: what is kept is how to open it again.
        if self._opened_with is None:
            raise TypeError(
                "this EpochsFile was not made by read_epochs(), so that a pickle could not say how "
                "to open it again; pickle what read_epochs(path) returns, or its path"
            )
        return _reopened, (self._opened_with,)

    def _repr_html_(self) -> str:
        from tessera.autoreject._html import of_epochs

        return of_epochs(self)

    def __repr__(self) -> str:
        n_epoch, n_chan, n_time = self.shape
        return (
            f"<EpochsFile {self.path}: {n_epoch} epochs, {n_chan} channels, {n_time} samples at "
            f"{self.sfreq:g} Hz>"
        )

    def get_data(
        self, first: int = 0, count: int | None = None, picks: Sequence[int] | None = None
    ) -> NDArray[np.float64]:
        """Read samples.

        Parameters
        ----------
        first : int, default 0
            First epoch.
        count : int, optional
            Number of epochs; default: to the end.
        picks : sequence of int, optional
            Channels; default: all.

        Returns
        -------
        ndarray of float64, shape (count, n_picks, n_time)
            In SI units, baseline applied.
        """
        if count is None:
            count = len(self) - first
        channels = None if picks is None else np.asarray(picks, np.int64)
        with Session() as context:
            return np.asarray(
                _core.autoreject_epochs_read(context, self._handle, first, count, channels)
            )


@from_table("autoreject.epochs")
def read_epochs(
    path: _PathLike,
    *,
    events: _PathLike | None = None,
    event: str | None = None,
    stim: str | None = None,
    montage: str | None = None,
    types: str | None = None,
    bads: str | None = None,
    dataset: str | None = None,
    baseline: tuple[float | None, float | None] | Literal["none"] | None = None,
    tmin: float = FROM_TABLE,
    tmax: float = FROM_TABLE,
    window: float = FROM_TABLE,
    overlap: float = FROM_TABLE,
    sampling_hz: float = FROM_TABLE,
    keep_annotated: bool = FROM_TABLE,
    proj: bool = FROM_TABLE,
    memory_limit: int | str | None = None,
) -> EpochsFile:
    """Open epochs of a file without MNE; samples stay there until they are needed.

    Parameters
    ----------
    path : path
        FIF epochs or raw, EDF, BDF, BrainVision, EEGLAB, .npy or .npz.
    events : path, optional
        File of events; default: the recording's own.
    event : str, optional
        Names or codes to keep, joined by commas.
    stim : str, optional
        Name of the trigger channel.
    montage : str, optional
        File of positions, or '1005' for the geometric rule.
    types : str, optional
        Types to set: 'eog=HEOG,VEOG;misc=Aux1'.
    bads : str, optional
        Names of bad channels, joined by commas.
    dataset : str, optional
        Name inside .npz and HDF5 files; number or name of one of several EEGLAB sets.
    baseline : (start, end), 'none' or None
        Seconds of the interval whose mean is subtracted, None for an end of the epoch. Default:
        nothing for files that hold epochs, the start to 0 s for events cut from a continuous one.
    {options}
    memory_limit : int or str, optional
        Bytes, or text such as '256M', of what works on these epochs.

    Returns
    -------
    EpochsFile
        For :meth:`AutoReject.fit` and the others.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> import tessera.autoreject as ta
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = ta.simulate(pathlib.Path(folder.name) / "x.npy", epochs=20, channels=6, samples=50)
    >>> epochs = ta.read_epochs(path, sampling_hz=100.0)
    >>> len(epochs)
    20
    >>> folder.cleanup()
    """
    opened_with = {
        "path": os.path.abspath(path),
        "events": None if events is None else os.path.abspath(events),
        "event": event,
        "stim": stim,
        "montage": montage,
        "types": types,
        "bads": bads,
        "dataset": dataset,
        "baseline": baseline,
        "memory_limit": memory_limit,
    }
    options = {
        "tmin": tmin,
        "tmax": tmax,
        "window": window,
        "overlap": overlap,
        "sampling_hz": sampling_hz,
        "keep_annotated": keep_annotated,
        "proj": proj,
    }
    with Session(memory_limit=memory_limit) as context:
        handle = _core.autoreject_epochs_open(
            context,
            path,
            options,
            baseline=() if baseline == "none" else baseline,
            events=events,
            event=event,
            stim=stim,
            montage=montage,
            types=types,
            bads=bads,
            dataset=dataset,
        )
    epochs = EpochsFile(handle)
    epochs._opened_with = opened_with | options
    return epochs


def _reopened(arguments: dict[str, Any]) -> EpochsFile:
    return read_epochs(**arguments)
