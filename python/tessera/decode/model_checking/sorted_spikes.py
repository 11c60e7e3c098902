"""Time rescaling: whether spikes are as random as the rate of a model says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

__all__ = [
    "TimeRescaling",
    "ks_statistic",
    "plot_ks",
    "plot_qq",
    "plot_rescaled_ISI_autocorrelation",
    "point_process_residuals",
    "uniform_rescaled_ISIs",
]


def ks_statistic(empirical_cdf: ArrayLike, model_cdf: ArrayLike) -> float:
    """Return the largest difference of two distribution functions.

    Parameters
    ----------
    empirical_cdf, model_cdf : array of one shape
        Values at the same points.

    Returns
    -------
    float
        NaN if there is no value, or not as many of the one as of the other.

    Examples
    --------
    >>> from tessera.decode.model_checking.sorted_spikes import ks_statistic
    >>> ks_statistic([0.1, 0.5], [0.25, 0.75])
    0.25
    """
    first, second = np.asarray(empirical_cdf), np.asarray(model_cdf)
    if first.shape != second.shape or not first.size:
        return float("nan")
    return float(np.abs(first - second).max())


def uniform_rescaled_ISIs(  # noqa: N802
    conditional_intensity: ArrayLike, is_spike: ArrayLike, adjust_for_short_trials: bool = True
) -> Floats:
    """Return intervals between spikes that are uniform on [0, 1] if the rate is right.

    Parameters
    ----------
    conditional_intensity : array, shape (n_time,)
        Expected spikes per sample.
    is_spike : array of bool, shape (n_time,)
        Where there is a spike.
    adjust_for_short_trials : bool
        Take into account that intervals longer than the trial are never seen (Wiener 2003,
        Neural Computation 15).

    Returns
    -------
    ndarray, shape (n_spikes,)
        One per spike; the first interval begins with the trial.
    """
    rate = np.asarray(conditional_intensity, dtype=np.float64)
    passed = np.concatenate(([0.0], np.cumsum((rate[1:] + rate[:-1]) / 2)))
    at_spike = passed[np.flatnonzero(is_spike)]
    intervals = np.diff(at_spike, prepend=0.0)
    longest: Any = 1.0
    if adjust_for_short_trials:
        longest = -np.expm1(-(passed[-1] - at_spike + intervals))
    rescaled: Floats = -np.expm1(-intervals) / longest
    return rescaled


def point_process_residuals(conditional_intensity: ArrayLike, is_spike: ArrayLike) -> Floats:
    """Return how many spikes more than expected there were up to every time.

    Parameters
    ----------
    conditional_intensity : array, shape (n_time,)
        Expected spikes per sample.
    is_spike : array, shape (n_time,)
        Where there is a spike.

    Returns
    -------
    ndarray, shape (n_time,)
        Spikes; around zero where the rate is right.

    Examples
    --------
    >>> from tessera.decode.model_checking.sorted_spikes import point_process_residuals
    >>> point_process_residuals([0.5, 0.5, 0.5], [0, 1, 1])
    array([-0.5,  0. ,  0.5])
    """
    rate = np.asarray(conditional_intensity, dtype=np.float64)
    return np.cumsum(np.asarray(is_spike, dtype=np.float64) - rate)


def _axes(ax: Axes | None) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def _quantiles(n: int) -> Floats:
    """Return where n values of a uniform distribution are expected."""
    return (np.arange(n) + 0.5) / max(n, 1)


def plot_ks(
    uniform_rescaled_ISIs: ArrayLike,  # noqa: N803
    ax: Axes | None = None,
    scatter_kwargs: dict[str, Any] | None = None,
    ci_color: str = "red",
) -> Axes:
    """Draw the distribution of rescaled intervals against the uniform one.

    Parameters
    ----------
    uniform_rescaled_ISIs : array, shape (n_spikes,)
        Of :func:`uniform_rescaled_ISIs`.
    ax : matplotlib.axes.Axes, optional
        Where; default: the current axes.
    scatter_kwargs : dict, optional
        Of matplotlib's scatter.
    ci_color : str, default 'red'
        Of the diagonal and the 95 % bounds.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    ax = _axes(ax)
    values = np.sort(np.asarray(uniform_rescaled_ISIs))
    expected = _quantiles(len(values))
    band = 1.36 / np.sqrt(max(len(values), 1))
    for shift in (-band, 0.0, band):
        ax.plot([0, 1], [shift, 1 + shift], linestyle="--", color=ci_color)
    ax.scatter(values, expected, **(scatter_kwargs or {}))
    ax.set(xlabel="Empirical CDF", ylabel="Expected CDF", xlim=(0, 1), ylim=(0, 1))
    return ax


def plot_qq(
    uniform_rescaled_ISIs: ArrayLike,  # noqa: N803
    ax: Axes | None = None,
    scatter_kwargs: dict[str, Any] | None = None,
    ci_color: str = "red",
) -> Axes:
    """Draw the quantiles of rescaled intervals against those of the uniform distribution.

    Parameters
    ----------
    uniform_rescaled_ISIs : array, shape (n_spikes,)
        Of :func:`uniform_rescaled_ISIs`.
    ax : matplotlib.axes.Axes, optional
        Where; default: the current axes.
    scatter_kwargs : dict, optional
        Of matplotlib's scatter.
    ci_color : str, default 'red'
        Of the diagonal and the 95 % bounds, which are those of each quantile by itself.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    ax = _axes(ax)
    values = np.sort(np.asarray(uniform_rescaled_ISIs))
    n = max(len(values), 1)
    band = 1.96 * np.sqrt(np.clip(values * (1 - values), 0, None) / n)
    ax.plot([0, 1], [0, 1], linestyle="--", color=ci_color)
    for sign in (-1, 1):
        ax.plot(values, values + sign * band, linestyle="--", color=ci_color)
    ax.scatter(_quantiles(len(values)), values, **(scatter_kwargs or {}))
    ax.set(xlabel="Expected quantiles", ylabel="Empirical quantiles", xlim=(0, 1), ylim=(0, 1))
    return ax


def plot_rescaled_ISI_autocorrelation(  # noqa: N802
    rescaled_ISI_autocorrelation: ArrayLike,  # noqa: N803
    ax: Axes | None = None,
    scatter_kwargs: dict[str, Any] | None = None,
    ci_color: str = "red",
    sampling_frequency: float = 1.0,
    lag_max: float | None = None,
) -> Axes:
    """Draw the autocorrelation of rescaled intervals.

    Parameters
    ----------
    rescaled_ISI_autocorrelation : array, shape (2 n_spikes - 1,)
        At lags from -(n_spikes - 1) on.
    ax : matplotlib.axes.Axes, optional
        Where; default: the current axes.
    scatter_kwargs : dict, optional
        Of matplotlib's scatter.
    ci_color : str, default 'red'
        Of the 95 % bounds.
    sampling_frequency : float, default 1
        Lags are divided by it.
    lag_max : float, optional
        Leave longer lags out.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    ax = _axes(ax)
    values = np.asarray(rescaled_ISI_autocorrelation)
    n = len(values) // 2 + 1 if len(values) else 0
    lag = np.arange(len(values)) / sampling_frequency - max(n - 1, 0) / sampling_frequency
    shown = np.abs(lag) <= (np.inf if lag_max is None else lag_max)
    ax.scatter(lag[shown], values[shown], **(scatter_kwargs or {}))
    for sign in (-1, 1):
        ax.axhline(sign * 1.96 / np.sqrt(max(n, 1)), linestyle="--", color=ci_color)
    ax.set(xlabel="Lag", ylabel="Autocorrelation")
    return ax


class TimeRescaling:
    """Goodness of fit of a rate, by the time-rescaling theorem.

    Parameters
    ----------
    conditional_intensity : array, shape (n_time,)
        Expected spikes per sample.
    is_spike : array of bool, shape (n_time,)
        Where there is a spike.
    trial_id : array, shape (n_time,), optional
        Trials are rescaled one by one.
    adjust_for_short_trials : bool
        See :func:`uniform_rescaled_ISIs`.
    """

    def __init__(
        self,
        conditional_intensity: ArrayLike,
        is_spike: ArrayLike,
        trial_id: ArrayLike | None = None,
        adjust_for_short_trials: bool = False,
    ) -> None:
        self.conditional_intensity = np.asarray(conditional_intensity).squeeze()
        self.is_spike = np.asarray(is_spike).squeeze()
        n = len(self.is_spike)
        self.trial_id: Array = np.ones(n) if trial_id is None else np.asarray(trial_id).squeeze()
        self.adjust_for_short_trials = adjust_for_short_trials

    @property
    def n_spikes(self) -> int:
        """Number of spikes."""
        return int(np.count_nonzero(self.is_spike))

    def uniform_rescaled_ISIs(self) -> Floats:  # noqa: N802
        """Return the rescaled intervals of all trials.

        Returns
        -------
        ndarray, shape (n_spikes,)
            Uniform on [0, 1] if the rate is right.
        """
        parts = [
            uniform_rescaled_ISIs(
                self.conditional_intensity[self.trial_id == trial],
                self.is_spike[self.trial_id == trial],
                self.adjust_for_short_trials,
            )
            for trial in np.unique(self.trial_id)
        ]
        return np.concatenate(parts)

    def ks_statistic(self) -> float:
        """Return the distance of the intervals' distribution from the uniform one.

        Returns
        -------
        float
            Largest difference of the distribution functions.
        """
        return ks_statistic(np.sort(self.uniform_rescaled_ISIs()), _quantiles(self.n_spikes))

    def rescaled_ISI_autocorrelation(self) -> Floats:  # noqa: N802
        """Return the correlation of the intervals with later ones.

        Returns
        -------
        ndarray, shape (2 n_spikes - 1,)
            At lags from -(n_spikes - 1) on.
        """
        from statistics import NormalDist

        uniform = np.clip(self.uniform_rescaled_ISIs(), 1e-15, 1 - 1e-15)
        normal = np.array([NormalDist().inv_cdf(float(u)) for u in uniform])
        if not normal.size:
            return np.zeros(0)
        correlation: Floats = np.correlate(normal, normal, "full") / (normal @ normal)
        return correlation

    def plot_ks(
        self,
        ax: Axes | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
        ci_color: str = "red",
    ) -> Axes:
        """Draw the distribution of the intervals against the uniform one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; default: the current axes.
        scatter_kwargs : dict, optional
            Of matplotlib's scatter.
        ci_color : str, default 'red'
            Of the 95 % bounds.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        return plot_ks(self.uniform_rescaled_ISIs(), ax, scatter_kwargs, ci_color)

    def plot_qq(
        self,
        ax: Axes | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
        ci_color: str = "red",
    ) -> Axes:
        """Draw the quantiles of the intervals against the uniform ones.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; default: the current axes.
        scatter_kwargs : dict, optional
            Of matplotlib's scatter.
        ci_color : str, default 'red'
            Of the 95 % bounds.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        return plot_qq(self.uniform_rescaled_ISIs(), ax, scatter_kwargs, ci_color)

    def plot_rescaled_ISI_autocorrelation(  # noqa: N802
        self,
        ax: Axes | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
        ci_color: str = "red",
        sampling_frequency: float = 1.0,
        lag_max: float | None = None,
    ) -> Axes:
        """Draw the autocorrelation of the intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; default: the current axes.
        scatter_kwargs : dict, optional
            Of matplotlib's scatter.
        ci_color : str, default 'red'
            Of the 95 % bounds.
        sampling_frequency : float, default 1
            Lags are divided by it.
        lag_max : float, optional
            Leave longer lags out.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        return plot_rescaled_ISI_autocorrelation(
            self.rescaled_ISI_autocorrelation(),
            ax,
            scatter_kwargs,
            ci_color,
            sampling_frequency,
            lag_max,
        )
