"""Interactive pages of one coordinate over time, shown by figurl; needs sortingview.

What the page shows is packed here: probabilities as whole numbers of 1/255, those of zero left
out. Only the views themselves are sortingview's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array
from tessera.decode.visualization._panels import decoded, franklab, page, series_panels

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

__all__ = [
    "create_1D_decode_view",
    "create_interactive_1D_decoding_figurl",
    "discretize_and_trim",
    "get_observations_per_time",
    "get_sampling_freq",
    "get_trimmed_bin_center_index",
]

_NOT_SHOWN = ("Local", "No-Spike")


def discretize_and_trim(series: xr.DataArray) -> xr.DataArray:
    """Return probabilities in steps of 1/255 where they are not zero.

    Parameters
    ----------
    series : xarray.DataArray, dimensions time and position
        Probabilities; NaN counts as 0.

    Returns
    -------
    xarray.DataArray of uint8, dimension unified_index (time, position)
        Ordered by time.
    """
    return trimmed(series, ("time", "position"))


def trimmed(posterior: xr.DataArray, dims: Sequence[str]) -> xr.DataArray:
    """Return what :func:`discretize_and_trim` does, over any dimensions."""
    steps = (posterior.fillna(0) * 255).astype(np.uint8)
    stacked: xr.DataArray = steps.stack(unified_index=list(dims))
    return stacked[np.asarray(stacked) > 0]


def get_observations_per_time(
    trimmed_posterior: xr.DataArray, base_data: xr.DataArray | xr.Dataset
) -> Array:
    """Return how many values every time has.

    Parameters
    ----------
    trimmed_posterior : xarray.DataArray
        Of :func:`discretize_and_trim`.
    base_data : xarray.DataArray
        What it was made of.

    Returns
    -------
    ndarray of uint8, shape (n_time,)
        At most 255: the values of a time sum to that.
    """
    time = np.asarray(base_data["time"])
    found = np.asarray(trimmed_posterior["time"])
    first = np.searchsorted(found, time, side="left")
    counts = np.searchsorted(found, time, side="right") - first
    return counts.astype(np.uint8)


def get_sampling_freq(times: ArrayLike) -> float:
    """Return samples per second, of times in whole milliseconds.

    Parameters
    ----------
    times : array, shape (n_time,)
        Seconds.

    Returns
    -------
    float
        Hz.

    Examples
    --------
    >>> from tessera.decode.visualization.figurl_1D import get_sampling_freq
    >>> get_sampling_freq([0.0, 0.002, 0.004])
    500.0
    """
    milliseconds = np.floor(1000 * np.asarray(times, dtype=np.float64))
    return 1000 / float(np.median(np.diff(milliseconds)))


def get_trimmed_bin_center_index(
    place_bin_centers: ArrayLike, trimmed_place_bin_centers: ArrayLike
) -> Array:
    """Return the numbers of bins by their centres.

    Parameters
    ----------
    place_bin_centers : array, shape (n_bins,)
        Increasing.
    trimmed_place_bin_centers : array, shape (n,)
        Some of them.

    Returns
    -------
    ndarray of uint16, shape (n,)
        Numbers.

    Examples
    --------
    >>> from tessera.decode.visualization.figurl_1D import get_trimmed_bin_center_index
    >>> get_trimmed_bin_center_index([0.5, 1.5, 2.5], [2.5, 0.5]).tolist()
    [2, 0]
    """
    centers = np.asarray(place_bin_centers)
    return np.searchsorted(centers, np.asarray(trimmed_place_bin_centers)).astype(np.uint16)


def create_1D_decode_view(  # noqa: N802
    posterior: xr.DataArray,
    linear_position: ArrayLike | None = None,
    ref_time_sec: float | None = None,
) -> Any:
    """Return sortingview's view of a posterior over time; needs sortingview.

    Parameters
    ----------
    posterior : xarray.DataArray, dimensions time and position
        Probabilities.
    linear_position : array, shape (n_time,), optional
        Of the animal, cm.
    ref_time_sec : float, optional
        Taken off the times.

    Returns
    -------
    sortingview.views.franklab.DecodedLinearPositionData
        The view.
    """
    views = franklab()
    packed = discretize_and_trim(posterior)
    time, centers = np.asarray(posterior["time"]), np.asarray(posterior["position"])
    return views.DecodedLinearPositionData(
        values=np.asarray(packed),
        positions=get_trimmed_bin_center_index(centers, np.asarray(packed["position"])),
        frame_bounds=get_observations_per_time(packed, posterior),
        positions_key=centers.astype(np.float32),
        observed_positions=None if linear_position is None else np.squeeze(linear_position),
        start_time_sec=time[0] - (0.0 if ref_time_sec is None else ref_time_sec),
        sampling_frequency=get_sampling_freq(time),
    )


def create_interactive_1D_decoding_figurl(  # noqa: N802
    position: ArrayLike,
    speed: ArrayLike,
    spike_times: Sequence[ArrayLike],
    results: xr.Dataset,
    view_height: int = 800,
) -> str:
    """Upload a page of posterior, states, speed and firing rate; needs sortingview.

    Parameters
    ----------
    position : array, shape (n_time,)
        Of the animal at the times of the results, cm.
    speed : array, shape (n_time,)
        Cm/s.
    spike_times : list of arrays
        Seconds.
    results : xarray.Dataset
        What predict() returned. States without positions, Local and No-Spike, are not shown.
    view_height : int
        Pixels.

    Returns
    -------
    str
        Address of the page.
    """
    franklab()
    shown = results["acausal_posterior"].unstack("state_bins")
    shown = shown.drop_sel(state=list(_NOT_SHOWN), errors="ignore").sum("state")
    shown = shown / shown.sum("position")
    view = create_1D_decode_view(shown, position)
    panels = series_panels(results, results["time"], speed, spike_times)
    return page([[decoded(view, 3), *panels]], view_height, "1D Decoding")
