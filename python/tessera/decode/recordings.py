"""Recordings: everything a model is fitted on and decoded from, in files and simulated."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._progress import ProgressLike, callback
from tessera.decode._data import Array, Floats, Mask
from tessera.decode._session import Session
from tessera.decode._track import TrackGraph, own_order
from tessera.decode.environment import Environment

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.decode._keywords import EnvironmentKeywords, SimulateKeywords, Size

__all__ = ["Recording", "read_recording", "save_recording", "simulate_recording"]


def _array(value: Any) -> Any:
    return None if value is None else np.asarray(value)


def _arrays(values: Any) -> list[Array]:
    return [] if values is None else [np.asarray(value) for value in values]


class Recording:
    """A recording; arrays are views of the library's memory and must not be changed.

    Made by :func:`read_recording` and :func:`simulate_recording`. Pickles hold the path, or how it
    was simulated, and not the arrays.

    Parameters
    ----------
    handle : tessera._core.Handle
        Of the library.

    Attributes
    ----------
    position_time, position : ndarray
        The animal while the model is to learn; seconds and cm.
    is_training : ndarray of bool or None
        Samples to learn from.
    encoding_spike_times, encoding_spike_waveform_features : list of ndarray
        Spikes to learn from, one array per electrode.
    time : ndarray, shape (n_time,)
        What is to be decoded: left edges of time bins, seconds.
    spike_times, spike_waveform_features : list of ndarray
        Spikes to decode.
    decoding_position_time, decoding_position : ndarray or None
        The animal meanwhile.
    true_position, represented_position, interior_position, is_replay, unit : ndarray or None
        What a simulation knows.
    place_bin_size, position_std, waveform_std : float or None
        What the recording wants models to use; cm, cm and uV.
    path, format : str
        Where it comes from.

    Examples
    --------
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> rec
    Recording('simulation', 4 electrodes, 50 times, 31 spikes to decode)
    >>> sorted(rec.algorithm_params())
    ['position_std', 'waveform_std']
    """

    def __init__(self, handle: _core.Handle) -> None:
        self._handle = handle
        info = _core.decode_recording_info(handle)
        self.path: str = info["path"]
        self.format: str = info["format"]
        self.position_time: Floats = _array(info["encoding_position"]["time"])
        self.position: Floats = _array(info["encoding_position"]["position"])
        self.is_training: Mask | None = _array(info["is_training"])
        self.encoding_spike_times = _arrays(info["encoding_spike_times"])
        self.encoding_spike_waveform_features = _arrays(info["encoding_marks"])
        self.time: Floats = _array(info["time"])
        self.spike_times = _arrays(info["spike_times"])
        self.spike_waveform_features = _arrays(info["marks"])
        self.decoding_position_time: Floats | None = _array(info["position"]["time"])
        self.decoding_position: Floats | None = _array(info["position"]["position"])
        self.true_position: Floats | None = _array(info["true_position"])
        self.represented_position: Floats | None = _array(info["represented_position"])
        self.interior_position: Floats | None = _array(info["interior_position"])
        self.is_replay: Mask | None = _array(info["is_replay"])
        self.unit = _arrays(info["unit"]) or None
        self.place_bin_size: float | None = info["place_bin_size"] or None
        self.position_std: float | None = info["position_std"] or None
        self.waveform_std: float | None = info["waveform_std"] or None
        self._track = info["track"]
        self._recipe: dict[str, Any] | None = None  # of one that was simulated
        self._source: str | None = None  # of one that was read, wherever one is by then

    @cached_property
    def track_graph(self) -> TrackGraph | None:
        """The corridors, if the recording has any."""
        if self._track is None:
            return None
        nodes, edges = np.asarray(self._track[0]), np.asarray(self._track[1])
        return TrackGraph(nodes.tolist(), [(int(a), int(b)) for a, b in edges])

    def environment(self, **options: Unpack[EnvironmentKeywords]) -> Environment:
        """Make an environment as the recording wants it.

        Parameters
        ----------
        **options
            Of :class:`Environment`; they win over the recording's.

        Returns
        -------
        Environment
            Without bins yet.
        """
        if self.place_bin_size is not None:
            options.setdefault("place_bin_size", self.place_bin_size)
        if self._track is not None:
            order, spacing = self._track[3], self._track[4]
            options.setdefault("track_graph", self.track_graph)
            rows: Any = own_order(self.track_graph) if order is None else np.asarray(order)
            options.setdefault("edge_order", [(int(a), int(b)) for a, b in rows])
            if spacing is not None:
                spacing = np.asarray(spacing)
                options.setdefault(
                    "edge_spacing", float(spacing[0]) if spacing.size == 1 else spacing
                )
        return Environment(**options)

    def algorithm_params(self) -> dict[str, float]:
        """Return the bandwidths the recording wants.

        Returns
        -------
        dict
            position_std and waveform_std, those that it has.
        """
        wanted = {"position_std": self.position_std, "waveform_std": self.waveform_std}
        return {name: value for name, value in wanted.items() if value is not None}

    def __reduce__(self) -> tuple[Any, ...]:
        # Recordings may be larger than memory has twice: what is kept is how to have it again.
        if self._recipe is not None:
            return _simulated, (self._recipe,)
        if self._source is not None:
            return read_recording, (self._source,)
        raise TypeError(
            "this Recording is in no file, so that a pickle could not say where it is; write it "
            "with recording.save('recording.npz') and pickle what read_recording() returns"
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the recording.

        Parameters
        ----------
        path : path
            .npz or .h5.
        overwrite : bool, default False
            Replace the file if it exists.

        Returns
        -------
        Path
            The file.
        """
        return save_recording(self, path, overwrite=overwrite)

    def _repr_html_(self) -> str:
        from tessera.decode._html import of_recording

        return of_recording(self)

    def __repr__(self) -> str:
        n = sum(len(times) for times in self.spike_times)
        return (
            f"Recording({self.format!r}, {len(self.spike_times)} electrodes, "
            f"{len(self.time)} times, {n} spikes to decode)"
        )


def _simulated(recipe: dict[str, Any]) -> Recording:
    return simulate_recording(**recipe)


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read a recording.

    Parameters
    ----------
    path : path
        .npz or .h5 of Tessera's layout, or an NWB file with plain position, spike times and
        features.

    Returns
    -------
    Recording
        What the file holds.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import tessera.decode as td
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = td.simulate_recording("tiny", seed=1).save(pathlib.Path(folder) / "a.npz")
    ...     len(td.read_recording(path).spike_times)
    4
    """
    with Session() as context:
        recording = Recording(_core.decode_recording_open(context, path))
    recording._source = os.path.abspath(path)
    return recording


def save_recording(
    recording: Recording, path: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write a recording.

    Parameters
    ----------
    recording : Recording
        From :func:`read_recording` or a simulation.
    path : path
        .npz or .h5.
    overwrite : bool
        Replace the file if it exists.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import tessera.decode as td
    >>> rec = td.simulate_recording("tiny", seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     td.save_recording(rec, pathlib.Path(folder) / "a.npz").name
    'a.npz'
    """
    with Session() as context:
        _core.decode_recording_save(context, recording._handle, path, overwrite)
    return Path(path)


def simulate_recording(
    size: Size | None = None,
    seed: int | None = None,
    *,
    threads: int | None = None,
    progress: ProgressLike = None,
    **options: Unpack[SimulateKeywords],
) -> Recording:
    """Simulate a recording.

    Parameters
    ----------
    size : str, optional
        'tiny', 'small', 'medium', 'large', 'realistic', 'day-1d', 'day-2d', 'probe-8',
        'chronic', 'max'.
    seed : int, optional
        The same seed gives the same recording.
    threads : int, optional
        Results do not depend on it.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.
    **options
        Other options of table ``decode.simulate``.

    Returns
    -------
    Recording
        With its truth.

    Examples
    --------
    >>> import tessera.decode as td
    >>> td.simulate_recording("tiny", seed=1, electrodes=2)
    Recording('simulation', 2 electrodes, 50 times, 30 spikes to decode)
    """
    own: dict[str, Any] = dict(options)
    if size is not None:
        own["size"] = size
    if seed is not None:
        own["seed"] = seed
    with Session(threads=threads) as context:
        recording = Recording(_core.decode_simulate(context, own, callback(progress)))
    recording._recipe = own
    return recording
