"""Figures of fits and logs; matplotlib is imported when one is drawn.

Together they show what the HTML report shows: reject log (:meth:`RejectLog.plot`), thresholds and
their validation curves, losses, averages before and after, where bad sensors sit, dropped epochs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mne
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tessera.autoreject.autoreject import AutoReject
    from tessera.autoreject.reject_log import RejectLog

__all__ = [
    "plot_bad_sensors",
    "plot_dropped_epochs",
    "plot_evoked",
    "plot_loss",
    "plot_thresholds",
    "plot_validation_curve",
    "set_matplotlib_defaults",
]

_GOOD, _BAD, _BLUE, _GREY = "#2ca02c", "#d62728", "#1f77b4", "#888888"
# Factor and unit people read: microvolts, femtotesla.
_UNITS = {
    "eeg": (1e6, "µV"),
    "eog": (1e6, "µV"),
    "ecog": (1e6, "µV"),
    "seeg": (1e6, "µV"),
    "mag": (1e15, "fT"),
    "grad": (1e13, "fT/cm"),
    "hbo": (1e6, "µM"),
    "hbr": (1e6, "µM"),
}
_MOST_LABELS = 40


def set_matplotlib_defaults(plt: Any, style: str = "ggplot") -> None:
    """Set a style and font sizes that suit these figures.

    Parameters
    ----------
    plt : module
        matplotlib.pyplot.
    style : str
        Name of a style of matplotlib's.
    """
    plt.style.use(style)
    plt.rcParams.update(
        {
            "axes.titlesize": 19,
            "axes.labelsize": 19,
            "xtick.labelsize": 17,
            "ytick.labelsize": 17,
            "legend.fontsize": 17,
        }
    )


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _unit(kind: str) -> tuple[float, str]:
    return _UNITS.get(kind, (1.0, ""))


def _first_type(ar: Any, ch_type: str | None) -> str:
    if not hasattr(ar, "local_reject_"):
        raise ValueError("Please run autoreject.fit() method first")
    if ch_type is None:
        return str(next(iter(ar.local_reject_)))
    if ch_type not in ar.local_reject_:
        raise ValueError(f"ch_type: {ch_type!r} was not fitted; {', '.join(ar.local_reject_)} were")
    return ch_type


def _show(ax: Any, show: bool) -> Figure:
    if show:
        import matplotlib.pyplot as plt

        plt.show()
    return cast("Figure", ax.get_figure())


def plot_thresholds(
    ar: AutoReject, ch_type: str | None = None, *, ax: Axes | None = None, show: bool = True
) -> Figure:
    """Draw the threshold of every channel with its standard error.

    Parameters
    ----------
    ar : AutoReject
        Fitted.
    ch_type : str or None
        None: the first type.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    show : bool, default True
        Show the figure.

    Returns
    -------
    matplotlib.figure.Figure
    """
    kind = _first_type(ar, ch_type)
    factor, unit = _unit(kind)
    names = list(ar.local_reject_[kind].threshes_)
    values = factor * np.array([ar.threshes_[name] for name in names])
    errors = factor * np.array([ar.thresh_errors_.get(name, np.nan) for name in names])
    ax = _axes(ax, (8, 3.5))
    ax.bar(range(len(names)), values, color=_BLUE)
    if np.isfinite(errors).any():
        ax.errorbar(range(len(names)), values, np.nan_to_num(errors), fmt="none", ecolor="k")
    step = max(1, -(-len(names) // _MOST_LABELS))
    ax.set_xticks(range(0, len(names), step), names[::step], rotation=90)
    ax.set_ylabel(f"threshold ({unit})")
    ax.set_title(f"{kind}: peak-to-peak thresholds")
    return _show(ax, show)


def plot_validation_curve(
    ar: AutoReject, ch_name: str, *, ax: Axes | None = None, show: bool = True
) -> Figure:
    """Draw the objective of a channel at every candidate, with the threshold chosen.

    Parameters
    ----------
    ar : AutoReject
        Fitted here; files of the original hold no curves.
    ch_name : str
        The channel.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    show : bool, default True
        Show the figure.

    Returns
    -------
    matplotlib.figure.Figure
    """
    _first_type(ar, None)
    if ch_name not in ar.curves_:
        raise ValueError(f"ch_name: there is no curve of {ch_name!r}")
    kind = next(k for k, local in ar.local_reject_.items() if ch_name in local.threshes_)
    factor, unit = _unit(kind)
    candidates, objective = ar.curves_[ch_name]
    ax = _axes(ax, (6, 3.5))
    ax.step(factor * candidates, factor * objective, where="post", color=_BLUE)
    ax.axvline(factor * ar.threshes_[ch_name], color=_BAD, linestyle="--", label="threshold")
    ax.set_xlabel(f"peak-to-peak threshold ({unit})")
    ax.set_ylabel(f"error ({unit})")
    ax.set_title(ch_name)
    ax.legend()
    return _show(ax, show)


def plot_loss(
    ar: AutoReject, ch_type: str | None = None, *, ax: Axes | None = None, show: bool = True
) -> Figure:
    """Draw the mean loss of every pair of consensus and n_interpolate, with the pair chosen.

    Parameters
    ----------
    ar : AutoReject
        Fitted.
    ch_type : str or None
        None: the first type.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    show : bool, default True
        Show the figure.

    Returns
    -------
    matplotlib.figure.Figure
    """
    kind = _first_type(ar, ch_type)
    factor, unit = _unit(kind)
    with np.errstate(invalid="ignore"):
        loss = factor * np.asarray(ar.loss_[kind]).mean(axis=-1)
    shown = np.where(np.isfinite(loss), loss, np.nan)
    consensus, repairs = np.asarray(ar.consensus), np.asarray(ar.n_interpolate)
    ax = _axes(ax, (5, 5))
    image = ax.imshow(shown, interpolation="nearest", aspect="auto", cmap="viridis")
    row = int(np.argmin(np.abs(consensus - ar.consensus_[kind])))
    column = int(np.argmin(np.abs(repairs - ar.n_interpolate_[kind])))
    from matplotlib.patches import Rectangle

    ax.add_patch(
        Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=_BAD, linewidth=2)
    )
    ax.set_xticks(range(len(repairs)), [str(int(value)) for value in repairs])
    ax.set_yticks(range(len(consensus)), [f"{value:.2g}" for value in consensus])
    ax.set_xlabel("n_interpolate")
    ax.set_ylabel("consensus")
    ax.set_title(f"{kind}: mean error ({unit})")
    ax.figure.colorbar(image, ax=ax)
    return _show(ax, show)


def plot_evoked(
    before: mne.BaseEpochs,
    after: mne.BaseEpochs,
    ch_type: str | None = None,
    *,
    ax: Sequence[Axes] | None = None,
    show: bool = True,
) -> Figure:
    """Draw the averages of epochs before and after, all channels of a type.

    Parameters
    ----------
    before, after : mne.Epochs
        What autoreject was given and returned.
    ch_type : str or None
        None: the first type that can be solved.
    ax : sequence of two matplotlib.axes.Axes, optional
        Where to draw.
    show : bool, default True
        Show the figure.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from tessera.autoreject._sensors import default_picks, sensors_of

    sensors = sensors_of(before.info)
    picks = default_picks(sensors)
    kind = sensors.types[picks[0]] if ch_type is None else ch_type
    chosen = [k for k in picks if sensors.types[k] == kind]
    if not chosen:
        raise ValueError(f"ch_type: there is no {kind} channel")
    factor, unit = _unit(kind)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True, layout="constrained")[1]
    for axis, epochs, title in zip(ax, (before, after), ("before", "after"), strict=True):
        n_epoch = len(epochs)
        if n_epoch:
            mean = np.asarray(epochs._data)[:, chosen].mean(axis=0)
            axis.plot(1e3 * epochs.times, factor * mean.T, color="k", linewidth=0.6)
        axis.set_title(f"{title} ({n_epoch} epochs)")
        axis.set_xlabel("time (ms)")
    ax[0].set_ylabel(f"{kind} ({unit})")
    return _show(ax[0], show)


def plot_bad_sensors(
    log: RejectLog, epochs: mne.BaseEpochs, *, ax: Axes | None = None, show: bool = True
) -> Figure:
    """Draw how often each sensor is bad, where it sits on the head seen from above.

    Parameters
    ----------
    log : RejectLog
        Of these epochs.
    epochs : mne.Epochs
        For the positions.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    show : bool, default True
        Show the figure.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from tessera.autoreject._sensors import sensors_of

    positions = sensors_of(epochs.info).positions
    considered = ~np.isnan(log.labels).all(axis=0) & np.isfinite(positions).all(axis=1)
    share = 100 * np.nanmean(log.labels[:, considered] > 0, axis=0)
    x, y = _flat_head(positions[considered])
    ax = _axes(ax, (5, 5))
    points = ax.scatter(x, y, c=share, s=60, cmap="Reds", vmin=0, edgecolors=_GREY)
    angle = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(angle), np.sin(angle), color=_GREY)
    ax.plot([-0.1, 0, 0.1], [0.995, 1.12, 0.995], color=_GREY)
    worst = np.argsort(share)[::-1][:8]
    names = np.array(log.ch_names)[considered]
    for k in worst:
        if share[k] > 0:
            ax.annotate(names[k], (x[k], y[k]), textcoords="offset points", xytext=(5, 5))
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title("bad epochs per sensor (%)")
    ax.figure.colorbar(points, ax=ax)
    return _show(ax, show)


def _flat_head(positions: Any) -> tuple[Any, Any]:
    """Return positions seen from above, the distance from the top proportional to the angle."""
    centred = positions - positions.mean(axis=0) * (0, 0, 1) * 0.5
    length = np.maximum(np.linalg.norm(centred, axis=1), 1e-12)
    angle = np.arccos(np.clip(centred[:, 2] / length, -1, 1)) / (np.pi / 2)
    azimuth = np.arctan2(centred[:, 1], centred[:, 0])
    return 0.9 * angle * np.cos(azimuth), 0.9 * angle * np.sin(azimuth)


def plot_dropped_epochs(log: RejectLog, *, ax: Axes | None = None, show: bool = True) -> Figure:
    """Draw the number of bad sensors of every epoch; dropped epochs are red.

    Parameters
    ----------
    log : RejectLog
        The log.
    ax : matplotlib.axes.Axes, optional
        Where to draw.
    show : bool, default True
        Show the figure.

    Returns
    -------
    matplotlib.figure.Figure
    """
    counts = np.nansum(log.labels > 0, axis=1)
    repaired = np.nansum(log.labels == 2, axis=1)
    index = np.arange(len(counts))
    bad = log.bad_epochs
    ax = _axes(ax, (8, 3))
    ax.bar(index, counts, color=np.where(bad, _BAD, _GREY), width=1.0)
    ax.bar(index[~bad], repaired[~bad], color=_BLUE, width=1.0, label="repaired")
    ax.set_xlabel("epoch")
    ax.set_ylabel("bad sensors")
    ax.set_title(f"{int(bad.sum())} of {len(bad)} epochs dropped")
    ax.legend()
    return _show(ax, show)
