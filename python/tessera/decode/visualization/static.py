"""The standard figure of a non-local model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._smooth import gaussian_smooth
from tessera.decode.likelihoods.common import get_spikecount_per_time_bin
from tessera.decode.results import Results
from tessera.decode.visualization.figures import (
    plot_posterior,
    plot_raster,
    plot_state_probabilities,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from tessera.decode._data import Floats
    from tessera.decode._types import ResultsLike
    from tessera.decode.models._detector import DetectorBase

__all__ = ["get_multiunit_firing_rate", "plot_non_local_model"]


def get_multiunit_firing_rate(
    spike_times: Sequence[ArrayLike], time: ArrayLike, smoothing_sigma: float = 0.015
) -> pd.DataFrame | Floats:
    """Return the rate of all spikes together.

    Parameters
    ----------
    spike_times : list of arrays
        Seconds.
    time : array, shape (n_time,)
        Left edges of the time bins.
    smoothing_sigma : float
        Seconds of Gaussian smoothing.

    Returns
    -------
    pandas.DataFrame or ndarray
        Column firing_rate (Hz) over time; an array where pandas is not installed.
    """
    times = np.asarray(time, dtype=np.float64)
    counts = sum(get_spikecount_per_time_bin(spikes, times) for spikes in spike_times)
    frequency = float(1 / np.nanmedian(np.diff(times)))
    rate = gaussian_smooth(np.asarray(counts) * frequency, smoothing_sigma, frequency)
    try:
        import pandas as pd
    except ImportError:
        return rate
    return pd.DataFrame({"firing_rate": rate}, index=times)


def _order(detector: Any, n: int) -> tuple[Any, str]:
    """Return units by their place fields, electrodes as they are."""
    model = next(iter(detector.encoding_model_.values()))
    if "place_fields" not in model:
        return range(n), "Electrode\nGroup"
    peaks = np.nanargmax(model["place_fields"], axis=1)
    return np.argsort(detector.environments[0].place_bin_centers_[peaks, 0]), "Neuron"


def _slice(results: Any, time_slice: slice) -> Any:
    if not isinstance(results, Results):
        return results.sel(time=time_slice)
    time = results.time
    chosen = (time >= time_slice.start) & (time <= time_slice.stop)
    variables = {
        name: (results.dims[name], array[chosen]) for name, array in results.data_vars.items()
    }
    return Results(variables, results.coords | {"time": time[chosen]}, results.attrs)


def plot_non_local_model(
    position_time: ArrayLike,
    position: ArrayLike,
    spike_times: Sequence[ArrayLike],
    speed: ArrayLike,
    detector: DetectorBase,
    results: ResultsLike,
    figsize: tuple[float, float] = (20, 10),
    time_slice: slice | None = None,
    posterior_max: float = 0.25,
) -> Figure:
    """Draw spikes, state probabilities, the non-local posterior and the speed.

    Parameters
    ----------
    position_time, position : array
        The animal.
    spike_times : list of arrays
        Seconds.
    speed : array, shape (n_sample,)
        Cm/s.
    detector : fitted model
        That made the results.
    results : xarray.Dataset or Results
        What predict() returned.
    figsize : (float, float)
        Inches.
    time_slice : slice, optional
        Seconds to show; default: all.
    posterior_max : float
        Darkest value.

    Returns
    -------
    matplotlib.figure.Figure
        Four panels.
    """
    import matplotlib.pyplot as plt

    time = np.asarray(results["time"])
    shown = slice(time[0], time[-1]) if time_slice is None else time_slice
    part = _slice(results, shown)
    n_axis = len(detector.environments[0].centers_shape_)
    figure, axes = plt.subplots(
        3 + n_axis,
        1,
        sharex=True,
        constrained_layout=True,
        figsize=figsize,
        gridspec_kw={"height_ratios": [2, 1, *[3] * n_axis, 1]},
    )
    order, label = _order(detector, len(spike_times))
    plot_raster(spike_times, (shown.start, shown.stop), order, ax=axes[0])
    axes[0].set_ylabel(label)
    plot_state_probabilities(detector, part, ax=axes[1])
    non_local = [name for name in detector.state_names if "Non-Local" in name]
    plot_posterior(
        detector,
        part,
        position_time,
        position,
        states=non_local or None,
        ax=list(axes[2:-1]),
        posterior_max=posterior_max,
        conditional=True,
    )
    times = np.asarray(position_time)
    inside = (times >= shown.start) & (times <= shown.stop)
    axes[-1].fill_between(times[inside], np.asarray(speed)[inside], color="lightgrey")
    axes[-1].set_ylabel("Speed\n[cm / s]")
    for axis in axes[:-1]:
        axis.set_xlabel("")
    axes[-1].set(xlabel="Time [s]", xlim=(shown.start, shown.stop))
    return figure
