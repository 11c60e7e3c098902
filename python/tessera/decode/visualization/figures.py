"""Figures of results and models; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode import _data
from tessera.decode._data import Array, Floats
from tessera.decode.model_checking.highest_posterior_density import get_highest_posterior_threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from tessera.decode._types import Covariates, ResultsLike
    from tessera.decode.environment import Environment
    from tessera.decode.models._detector import DetectorBase

__all__ = [
    "plot_calibration",
    "plot_discrete_transitions",
    "plot_error_histogram",
    "plot_grid",
    "plot_initial_conditions",
    "plot_movements",
    "plot_posterior",
    "plot_raster",
    "plot_results",
    "plot_state_probabilities",
]

_GOLDEN = 1.618
_POSTERIOR_MAX = 0.25


def _pyplot() -> Any:
    import matplotlib.pyplot as plt

    return plt


def _values(results: Any, name: str) -> Array:
    return np.asarray(results[name])


def position_posterior(
    model: DetectorBase, results: ResultsLike, states: Sequence[str] | None = None
) -> Floats:
    """Return the posterior over the bins of the first environment, (n_time, n_bins).

    Parameters
    ----------
    model : fitted detector
        That made the results.
    results : xarray.Dataset or Results
        With acausal_posterior.
    states : sequence of str, optional
        States to sum over; default: all that have bins there.
    """
    n_bins = len(model.environments[0].place_bin_centers_)
    posterior = _values(results, "acausal_posterior").reshape(-1, model.n_state_bins_)
    total = np.zeros((len(posterior), n_bins))
    for state, name in enumerate(model.state_names):
        if model.bin_sizes_[state] == n_bins and (states is None or name in states):
            total += posterior[:, model.state_ind_ == state]
    return total


def _edges(centers: Floats) -> Floats:
    """Return edges around increasing values."""
    if len(centers) < 2:
        return np.array([centers[0] - 0.5, centers[0] + 0.5])
    half = np.diff(centers) / 2
    return np.concatenate(([centers[0] - half[0]], centers[:-1] + half, [centers[-1] + half[-1]]))


def plot_posterior(
    model: DetectorBase,
    results: ResultsLike,
    position_time: ArrayLike | None = None,
    position: ArrayLike | None = None,
    *,
    states: Sequence[str] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    posterior_max: float = _POSTERIOR_MAX,
    conditional: bool = False,
) -> Axes | list[Axes]:
    """Draw the posterior over time and position, with the animal on top.

    Parameters
    ----------
    model : fitted detector
        That made the results.
    results : xarray.Dataset or Results
        What predict() returned.
    position_time, position : array, optional
        The animal.
    states : sequence of str, optional
        States to sum over; default: all.
    ax : matplotlib.axes.Axes, optional
        Where. With two coordinates a list of two axes, one for each.
    posterior_max : float
        Darkest value.
    conditional : bool
        Normalise over position at every time.

    Returns
    -------
    matplotlib.axes.Axes or list of them
        What was drawn on.
    """
    plt = _pyplot()
    environment = model.environments[0]
    time = np.atleast_1d(_values(results, "time"))
    shape = environment.centers_shape_
    total = position_posterior(model, results, states)
    if conditional:
        total = total / np.nansum(total, axis=1, keepdims=True)
    grid = total.reshape(len(time), *shape)
    n_axis = len(shape)
    if ax is None:
        _, made = plt.subplots(n_axis, 1, sharex=True, figsize=(12, 3 * n_axis), squeeze=False)
        ax = list(made[:, 0])
    axes = np.atleast_1d(np.asarray(ax, dtype=object))
    cmap = plt.get_cmap("bone_r").with_extremes(bad="lightgrey")
    truth = None if position is None else _data.position(position)
    if truth is not None and truth.shape[1] != n_axis:
        truth = environment.linearize(truth)
    for k, axis in enumerate(axes):
        others = tuple(1 + i for i in range(n_axis) if i != k)
        seen = ~np.isnan(grid).all(axis=others) if others else ~np.isnan(grid)
        shown = np.where(seen, np.nansum(grid, axis=others) if others else grid, np.nan)
        axis.pcolormesh(
            _edges(time), environment.edges_[k], shown.T, vmin=0, vmax=posterior_max, cmap=cmap
        )
        if truth is not None and position_time is not None:
            times = np.asarray(position_time)
            inside = (times >= time[0]) & (times <= time[-1])
            axis.scatter(times[inside], truth[inside, k], s=1, color="magenta", zorder=2)
        axis.set_ylabel("Position [cm]" if n_axis == 1 else f"{'xyz'[k]} [cm]")
    axes[-1].set_xlabel("Time [s]")
    return axes[0] if n_axis == 1 else list(axes)


def plot_state_probabilities(
    model: DetectorBase, results: ResultsLike, ax: Axes | None = None
) -> Axes:
    """Draw the probability of every state over time.

    Parameters
    ----------
    model : fitted detector
        That made the results.
    results : xarray.Dataset or Results
        From :meth:`predict`.
    ax : matplotlib.axes.Axes, optional
        Where; default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    ax = _pyplot().subplots(figsize=(12, 2))[1] if ax is None else ax
    time = np.atleast_1d(_values(results, "time"))
    probability = _values(results, "acausal_state_probabilities").reshape(len(time), -1)
    lines = ax.plot(time, probability)
    ax.legend(lines, list(model.state_names), loc="upper right", fontsize="small")
    ax.set(ylabel="Probability", ylim=(0, 1.05), xlabel="Time [s]")
    return ax


def decoding_error(
    model: DetectorBase, results: ResultsLike, position_time: ArrayLike, position: ArrayLike
) -> Floats:
    """Return the distance of the most likely bin from the animal at every time, cm."""
    from tessera.decode.likelihoods.common import get_position_at_time

    environment = model.environments[0]
    total = position_posterior(model, results)
    best = np.where(np.isnan(total), -np.inf, total).argmax(axis=1)
    estimate = environment.place_bin_centers_[best]
    time = np.atleast_1d(_values(results, "time"))
    truth = get_position_at_time(position_time, position, time, environment)
    error: Floats = np.linalg.norm(estimate - truth, axis=1)
    return error


def plot_error_histogram(
    model: DetectorBase,
    results: ResultsLike,
    position_time: ArrayLike,
    position: ArrayLike,
    ax: Axes | None = None,
    bins: int = 50,
) -> Axes:
    """Draw how far the most likely position is from the animal.

    Parameters
    ----------
    model : fitted detector
        That made the results.
    results : xarray.Dataset or Results
        From :meth:`predict`.
    position_time, position : array
        The animal; seconds and cm.
    ax : matplotlib.axes.Axes, optional
        Where; default: the current axes.
    bins : int
        Of the histogram.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    ax = _pyplot().subplots(figsize=(5, 3))[1] if ax is None else ax
    error = decoding_error(model, results, position_time, position)
    error = error[np.isfinite(error)]
    ax.hist(error, bins=bins, color="slategrey")
    if error.size:
        median = float(np.median(error))
        ax.axvline(median, color="magenta", label=f"median {median:.1f} cm")
        ax.legend()
    ax.set(xlabel="Error [cm]", ylabel="Time bins")
    return ax


def plot_raster(
    spike_times: Sequence[ArrayLike],
    time_range: tuple[float, float] | Sequence[float] | None = None,
    order: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every spike, one line per electrode or unit.

    Parameters
    ----------
    spike_times : list of arrays
        Seconds.
    time_range : (float, float), optional
        What to show.
    order : sequence of int, optional
        Electrodes from the bottom up.
    ax : matplotlib.axes.Axes, optional
        Where.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    ax = _pyplot().subplots(figsize=(12, 3))[1] if ax is None else ax
    chosen = range(len(spike_times)) if order is None else order
    rows = []
    for electrode in chosen:
        times = np.asarray(spike_times[electrode])
        if time_range is not None:
            times = times[(times >= time_range[0]) & (times <= time_range[1])]
        rows.append(times)
    ax.eventplot(rows, linewidths=0.5, colors="black")
    ax.set(ylabel="Electrode", xlabel="Time [s]")
    return ax


def plot_calibration(
    model: DetectorBase,
    results: ResultsLike,
    position_time: ArrayLike,
    position: ArrayLike,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often highest-density regions hold the animal, against how often they should.

    Parameters
    ----------
    model, results, position_time, position
        As in :func:`plot_posterior`.
    ax : matplotlib.axes.Axes, optional
        Where.

    Returns
    -------
    matplotlib.axes.Axes
        On the diagonal: calibrated.
    """
    from tessera.decode.likelihoods.common import get_position_at_time

    ax = _pyplot().subplots(figsize=(4, 4))[1] if ax is None else ax
    environment = model.environments[0]
    total = position_posterior(model, results)
    time = np.atleast_1d(_values(results, "time"))
    truth = get_position_at_time(position_time, position, time, environment)
    known = np.isfinite(truth).all(axis=1) & (np.nansum(total, axis=1) > 0)
    bins = environment.get_bin_ind(truth[known])
    at_truth = total[known][np.arange(len(bins)), bins]
    nominal = np.linspace(0.05, 0.95, 19)
    covered = [
        float(np.mean(at_truth >= get_highest_posterior_threshold(total[known], coverage)))
        for coverage in nominal
    ]
    ax.plot([0, 1], [0, 1], color="lightgrey")
    ax.plot(nominal, covered, marker="o", color="slategrey")
    ax.set(xlabel="Nominal coverage", ylabel="Coverage", xlim=(0, 1), ylim=(0, 1))
    return ax


def plot_results(
    model: DetectorBase,
    results: ResultsLike,
    spike_times: Sequence[ArrayLike],
    position_time: ArrayLike | None = None,
    position: ArrayLike | None = None,
    figsize: tuple[float, float] = (14, 9),
) -> Figure:
    """Draw raster, state probabilities and posterior below each other.

    Parameters
    ----------
    model : fitted detector
        That made the results.
    results : xarray.Dataset or Results
        From :meth:`predict`.
    spike_times : list of arrays
        One per electrode or unit, seconds.
    position_time, position : array, optional
        The animal; seconds and cm.
    figsize : (float, float), default (14, 9)
        Inches.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    plt = _pyplot()
    n_axis = len(model.environments[0].centers_shape_)
    figure: Figure
    figure, axes = plt.subplots(
        2 + n_axis,
        1,
        sharex=True,
        figsize=figsize,
        constrained_layout=True,
        gridspec_kw={"height_ratios": [2, 1, *[3] * n_axis]},
    )
    time = np.atleast_1d(_values(results, "time"))
    plot_raster(spike_times, (time[0], time[-1]), ax=axes[0])
    plot_state_probabilities(model, results, ax=axes[1])
    plot_posterior(model, results, position_time, position, ax=list(axes[2:]))
    for axis in axes[:-1]:
        axis.set_xlabel("")
    return figure


def plot_grid(environment: Environment, ax: Axes | None = None) -> Axes:
    """Draw the bins of an environment.

    Parameters
    ----------
    environment : Environment
        With bins.
    ax : matplotlib.axes.Axes, optional
        Where; default: the current axes.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    plt = _pyplot()
    edges = environment.edges_
    interior = environment.is_track_interior_
    if len(edges) == 1:
        ax = plt.subplots(figsize=(15, 2))[1] if ax is None else ax
        ax.pcolormesh(edges[0], [0, 0.1], interior[np.newaxis], cmap="bone_r", vmin=0, vmax=1)
        for edge in edges[0]:
            ax.axvline(edge, linewidth=0.5, color="black")
        ax.set(yticks=[], xlabel="Position [cm]")
        return ax
    ax = plt.subplots(figsize=(6, 7))[1] if ax is None else ax
    ax.pcolormesh(edges[0], edges[1], interior.T, cmap="bone_r")
    ax.set_xticks(edges[0], minor=True)
    ax.set_yticks(edges[1], minor=True)
    ax.grid(visible=True, which="minor")
    ax.set(xlabel="x [cm]", ylabel="y [cm]", aspect="equal")
    return ax


def _annotated(ax: Any, matrix: Floats, names: Sequence[str], cmap: str, **limits: Any) -> Any:
    image = ax.imshow(matrix, cmap=cmap, **limits)
    for (i, j), value in np.ndenumerate(matrix):
        ax.text(j, i, f"{value:0.03f}", ha="center", va="center")
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
    ax.set_yticks(range(len(names)), names)
    return image


def plot_discrete_transitions(
    model: DetectorBase,
    *,
    cmap: str = "Oranges",
    ax: Axes | None = None,
    convert_to_seconds: bool = False,
    sampling_frequency: float = 1,
    covariate_data: Covariates | None = None,
) -> Axes | list[Axes]:
    """Draw the transitions of the discrete states.

    Parameters
    ----------
    model : fitted detector
        Whose.
    cmap : str
        Colours.
    ax : matplotlib.axes.Axes, optional
        Where; default: the current axes.
    convert_to_seconds : bool
        Show expected durations instead of probabilities.
    sampling_frequency : float
        Time bins per second.
    covariate_data : mapping of str to array, optional
        Where to evaluate transitions that depend on covariates.

    Returns
    -------
    matplotlib.axes.Axes or list of them
        What was drawn on.
    """
    plt = _pyplot()
    transitions = np.asarray(model.discrete_state_transitions_)
    if transitions.ndim == 3:
        return _plot_covariates(model, covariate_data)
    ax = plt.gca() if ax is None else ax
    if convert_to_seconds:
        with np.errstate(divide="ignore"):
            shown = 1 / (1 - transitions) / sampling_frequency
        image = _annotated(ax, shown, model.state_names, cmap, vmin=0)
    else:
        image = _annotated(ax, transitions, model.state_names, cmap, vmin=0, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="Seconds" if convert_to_seconds else "Probability")
    ax.set(ylabel="Previous State", xlabel="Current State", title="Discrete State Transition")
    return ax


def _plot_covariates(model: Any, covariate_data: Any) -> list[Any]:
    """Draw rows of the transition matrix over covariates."""
    from tessera.decode.discrete_state_transitions import predict_discrete_state_transitions

    if covariate_data is None:
        raise ValueError("covariate_data: needed, these transitions depend on covariates")
    transitions = predict_discrete_state_transitions(
        model._design, model.discrete_transition_coefficients_, covariate_data
    )
    drawn = []
    for name in covariate_data:
        figure, axes = _pyplot().subplots(
            1, len(model.state_names), sharex=True, constrained_layout=True, squeeze=False
        )
        for i, (axis, state) in enumerate(zip(axes[0], model.state_names, strict=True)):
            axis.plot(np.asarray(covariate_data[name]), transitions[:, i])
            axis.set(xlabel=name, ylabel="Prob.", title=f"From {state}")
        axes[0, -1].legend(model.state_names)
        figure.suptitle(f"Predicted transitions: {name}")
        drawn += list(axes[0])
    return drawn


def plot_movements(
    model: DetectorBase, *, figsize_scaling: float = 1.5, vmax: float = 0.3
) -> Figure:
    """Draw the movement between the bins of all pairs of states.

    Parameters
    ----------
    model : fitted detector
        Whose.
    figsize_scaling : float, default 1.5
        Inches per state.
    vmax : float, default 0.3
        Probability of the darkest colour.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    n = model.n_discrete_states_
    figure: Figure
    figure, axes = _pyplot().subplots(
        n,
        n,
        squeeze=False,
        constrained_layout=True,
        figsize=(n * figsize_scaling * _GOLDEN, n * figsize_scaling),
        gridspec_kw={"width_ratios": model.bin_sizes_, "height_ratios": model.bin_sizes_},
    )
    matrix = model.continuous_state_transitions_
    for i in range(n):
        for j in range(n):
            block = matrix[np.ix_(model.state_ind_ == i, model.state_ind_ == j)]
            axes[i, j].pcolormesh(block, vmin=0, vmax=vmax)
            axes[i, j].set(xticks=[], yticks=[])
        axes[i, 0].set_ylabel(model.state_names[i], rotation=0, ha="right", va="center")
        axes[-1, i].set_xlabel(model.state_names[i], rotation=45, ha="right", va="top")
    figure.supylabel("From State")
    figure.supxlabel("To State")
    return figure


def plot_initial_conditions(
    model: DetectorBase, *, figsize_scaling: float = 1.5, vmax: float = 0.3
) -> Figure:
    """Draw where every state begins.

    Parameters
    ----------
    model : fitted detector
        Whose.
    figsize_scaling : float, default 1.5
        Inches per state.
    vmax : float, default 0.3
        Probability of the darkest colour.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    n = model.n_discrete_states_
    figure: Figure
    figure, axes = _pyplot().subplots(
        1,
        n,
        squeeze=False,
        constrained_layout=True,
        figsize=(n * figsize_scaling * _GOLDEN, 1.1),
        gridspec_kw={"width_ratios": model.bin_sizes_},
    )
    for i, axis in enumerate(axes[0]):
        line = model.initial_conditions_[model.state_ind_ == i]
        axis.pcolormesh(line[np.newaxis], vmin=0, vmax=vmax)
        axis.set(xticks=[], yticks=[])
        axis.set_xlabel(model.state_names[i], rotation=45, ha="right", va="top")
    figure.suptitle("Initial Conditions")
    return figure
