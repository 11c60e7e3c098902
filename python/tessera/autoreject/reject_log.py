"""The reject log: which channel is bad in which epoch, and what becomes of it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from tessera._npz import read_npz, write_npz

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from tessera.autoreject._types import EpochsLike

__all__ = ["RejectLog", "read_reject_log"]

_PathLike = str | os.PathLike[str]

_GOOD, _BAD, _INTERPOLATED = 0, 1, 2
_COLORS = {_GOOD: "#b8e6b0", _BAD: "#d62728", _INTERPOLATED: "#1f77b4"}
_MARKS = {_GOOD: "·", _BAD: "x", _INTERPOLATED: "i"}
_FEW_CHANNELS = 25
_SCHEMA = "tessera.autoreject.log/1"


class RejectLog:
    """The decision for every channel of every epoch.

    Parameters
    ----------
    bad_epochs : array of bool, shape (n_epochs,)
        True where an epoch is dropped.
    labels : array, shape (n_epochs, n_channels)
        0 good, 1 bad, 2 bad and interpolated, NaN not considered.
    ch_names : list of str
        Names of the channels.

    Attributes
    ----------
    bad_epochs, labels, ch_names
        As given. They may be edited; ``AutoReject.transform(epochs, reject_log=log)`` takes an
        edited log back.

    Examples
    --------
    >>> from tessera.autoreject import RejectLog
    >>> log = RejectLog([True, False], [[1, 1, 0], [2, 0, 0]], ["Fz", "Cz", "Pz"])
    >>> log
    <RejectLog | 2 epochs x 3 channels: 1 epochs bad, 1 channels interpolated, 2 left bad>
    """

    def __init__(
        self, bad_epochs: ArrayLike, labels: ArrayLike, ch_names: Sequence[str] | NDArray[np.str_]
    ) -> None:
        self.bad_epochs: npt.NDArray[np.bool_] = np.asarray(bad_epochs, bool)
        self.labels: npt.NDArray[np.float64] = np.asarray(labels, np.float64)
        # An array stays one, which is what the original reads from files.
        self.ch_names: Any = ch_names if isinstance(ch_names, np.ndarray) else list(ch_names)
        assert len(self.bad_epochs) == len(self.labels), (
            f"bad_epochs has {len(self.bad_epochs)} epochs, labels has {len(self.labels)}"
        )
        assert self.labels.shape[1] == len(self.ch_names), (
            f"labels has {self.labels.shape[1]} channels, ch_names has {len(self.ch_names)}"
        )

    def _repr_html_(self) -> str:
        from tessera.autoreject._html import of_log

        return of_log(self)

    def __repr__(self) -> str:
        n_bad = int(self.bad_epochs.sum())
        n_channel = int((self.labels == _BAD).sum())
        n_interpolated = int((self.labels == _INTERPOLATED).sum())
        return (
            f"<RejectLog | {len(self.labels)} epochs x {len(self.ch_names)} channels: {n_bad} "
            f"epochs bad, {n_interpolated} channels interpolated, {n_channel} left bad>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RejectLog):
            return NotImplemented
        return (
            list(self.ch_names) == list(other.ch_names)
            and np.array_equal(self.bad_epochs, other.bad_epochs)
            and np.array_equal(self.labels, other.labels, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def text(self, width: int = 100) -> str:
        """Draw the log with characters, for terminals.

        Parameters
        ----------
        width : int, default 100
            Columns of the terminal; channels that do not fit are left out, and it is said.

        Returns
        -------
        str
            A line per epoch: ``·`` good, ``x`` bad, ``i`` interpolated, blank not considered.
        """
        considered = ~np.isnan(self.labels).all(axis=0)
        columns = np.flatnonzero(considered)
        room = max(1, width - 12)
        lines = [repr(self)]
        for epoch, row in enumerate(self.labels):
            marks = "".join(_MARKS.get(row[c], " ") for c in columns[:room])
            lines.append(f"{epoch:6d} {'BAD' if self.bad_epochs[epoch] else '   '} {marks}")
        if len(columns) > room:
            lines.append(f"({len(columns) - room} more channels do not fit)")
        return "\n".join(lines)

    def save(self, fname: _PathLike, overwrite: bool = False) -> None:
        """Save the log as a compressed .npz file with ch_names, bad_epochs and labels.

        Parameters
        ----------
        fname : path
            Should end in .npz.
        overwrite : bool, default False
            Replace an existing file.
        """
        path = Path(fname)
        if path.suffix != ".npz":  # as numpy.savez names it
            path = path.with_name(path.name + ".npz")
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} is no regular file; give the name of a file")
        if path.exists() and not overwrite:
            raise ValueError(
                f"{path} already exists. Please set overwrite=True if you want to overwrite it."
            )
        arrays = {
            "ch_names": np.array(self.ch_names),
            "bad_epochs": self.bad_epochs,
            "labels": self.labels,
        }
        write_npz(path, arrays, "autoreject.log", compress=True)

    def plot(
        self,
        orientation: str = "vertical",
        show_names: str | int = "auto",
        aspect: str = "equal",
        show: bool = True,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the log as an image.

        Parameters
        ----------
        orientation : {'vertical', 'horizontal'}
            Whether epochs run down or to the right.
        show_names : 'auto' or int
            Name every so many channels; 'auto': every one below 25 channels, else every fifth.
        aspect : str
            Of the image: 'equal' or 'auto'.
        show : bool, default True
            Show the figure.
        ax : matplotlib.axes.Axes, optional
            Where to draw; default: a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        if orientation not in ("vertical", "horizontal"):
            raise ValueError(
                f"orientation can be only 'horizontal' or 'vertical'. Got {orientation}"
            )
        import matplotlib.pyplot as plt

        is_vertical = orientation == "vertical"
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 12) if is_vertical else (12, 6))
        _draw_log(ax, self, is_vertical, show_names, aspect)
        if show:
            plt.show()
        return cast("Figure", ax.get_figure())

    def plot_epochs(
        self, epochs: EpochsLike, scalings: dict[str, float] | str | None = None, title: str = ""
    ) -> Figure:
        """Show the epochs in MNE's browser: black good, red bad, grey interpolated.

        Parameters
        ----------
        epochs : mne.Epochs
            As they were before autoreject.
        scalings : dict or None
            As :func:`mne.viz.plot_epochs` takes them.
        title : str
            Of the window.

        Returns
        -------
        figure
            MNE's browser.
        """
        labels = self.labels
        if len(epochs) != len(self.bad_epochs):
            raise ValueError(
                f"The number of epochs should match the number of epochs *before* autoreject: the "
                f"log has {len(self.bad_epochs)}, epochs has {len(epochs)}. Please provide the "
                f"epochs object before running autoreject"
            )
        if len(epochs.ch_names) != labels.shape[1]:
            raise ValueError(
                f"The number of channels should match: the log has {labels.shape[1]}, epochs has "
                f"{len(epochs.ch_names)}"
            )
        from mne.viz import plot_epochs

        colors = []
        for row, bad in zip(labels, self.bad_epochs, strict=True):
            shown = {_GOOD: "k", _BAD: "r", _INTERPOLATED: (0.6, 0.6, 0.6, 1.0)}
            colors.append(["r" if bad else shown.get(value, "k") for value in row])
        figure: Figure = plot_epochs(
            epochs, epoch_colors=colors, events=False, scalings=scalings, title=title
        )
        return figure


def _name_step(show_names: str | int, n_chan: int) -> int:
    if show_names == "auto":
        return 1 if n_chan < _FEW_CHANNELS else 5
    if isinstance(show_names, str) or show_names < 1:
        raise ValueError(f"show_names: expected 'auto' or 1 or more, got {show_names!r}")
    return int(show_names)


def _draw_log(
    ax: Any, log: RejectLog, is_vertical: bool, show_names: str | int, aspect: str
) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch, Rectangle

    n_chan = log.labels.shape[1]
    step = _name_step(show_names, n_chan)
    image = log.labels if is_vertical else log.labels.T
    colors = ListedColormap([_COLORS[k] for k in (_GOOD, _BAD, _INTERPOLATED)])
    ax.imshow(image, cmap=colors, vmin=0, vmax=2, interpolation="nearest", aspect=aspect)
    for epoch in np.flatnonzero(log.bad_epochs):
        corner = (-0.5, epoch - 0.5) if is_vertical else (epoch - 0.5, -0.5)
        size = (n_chan, 1) if is_vertical else (1, n_chan)
        ax.add_patch(Rectangle(corner, *size, linewidth=1, edgecolor="r", facecolor="none"))
    named = ax.xaxis if is_vertical else ax.yaxis
    named.set_ticks(
        range(0, n_chan, step),
        log.ch_names[::step],
        **({"rotation": 90} if is_vertical else {}),
    )
    ax.set_xlabel("Channels" if is_vertical else "Epochs")
    ax.set_ylabel("Epochs" if is_vertical else "Channels")
    texts = {_GOOD: "good", _INTERPOLATED: "interpolated", _BAD: "bad"}
    ax.legend(
        handles=[Patch(color=_COLORS[k], label=text) for k, text in texts.items()],
        bbox_to_anchor=(0.0, 1.02, 1.0, 0.102),
        loc="lower left",
        ncol=3,
        mode="expand",
        borderaxespad=0.0,
    )


def read_reject_log(fname: _PathLike) -> RejectLog:
    """Read a log that was saved, by this package, the command line or the original.

    Parameters
    ----------
    fname : path
        .npz file, or the .json that a report exports after its choices were edited.

    Returns
    -------
    RejectLog

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tessera.autoreject import RejectLog, read_reject_log
    >>> log = RejectLog([True, False], [[1, 1, 0], [2, 0, 0]], ["Fz", "Cz", "Pz"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log.save(pathlib.Path(folder) / "log.npz")
    ...     read_reject_log(pathlib.Path(folder) / "log.npz") == log
    True
    """
    with open(fname, "rb") as file:
        is_json = file.read(1) == b"{"
    if is_json:
        return _read_edited(fname)
    arrays = read_npz(fname)
    missing = {"ch_names", "bad_epochs", "labels"} - arrays.keys()
    if missing:
        raise ValueError(f"{fname}: no reject log, it lacks {', '.join(sorted(missing))}")
    names = arrays["ch_names"].tolist()
    texts = [n.decode() if isinstance(n, bytes) else str(n) for n in names]
    return RejectLog(arrays["bad_epochs"], arrays["labels"], np.array(texts, np.str_))


def _read_edited(fname: _PathLike) -> RejectLog:
    try:
        found = json.loads(Path(fname).read_text(encoding="utf-8"))
        if found["schema"] != _SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r}, not {_SCHEMA}")
        # None, where a channel was not considered, becomes NaN.
        labels = np.array(found["labels"], np.float64)
        bad_epochs = np.array(found["bad_epochs"], np.float64)
        if labels.shape != (len(bad_epochs), len(found["ch_names"])):
            raise ValueError(
                f"{labels.shape} labels, {len(bad_epochs)} bad_epochs and "
                f"{len(found['ch_names'])} ch_names do not fit together"
            )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{fname}: no reject log: {error}; export it again") from error
    return RejectLog(bad_epochs != 0, labels, [str(name) for name in found["ch_names"]])
