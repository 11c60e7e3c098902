"""Interactive pages of the plane, shown by figurl; needs sortingview.

What the page shows is packed here: probabilities as whole numbers of 1/255 and the bins they are
in, those of zero left out. Only the views themselves are sortingview's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode._data import Array, Floats
from tessera.decode.environment import get_grid, get_track_interior
from tessera.decode.exceptions import ShapeValidationError
from tessera.decode.visualization._panels import decoded, franklab, page, series_panels
from tessera.decode.visualization.figurl_1D import get_observations_per_time, trimmed

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike

    from tessera.decode.environment import Environment

__all__ = [
    "create_2D_decode_view",
    "create_interactive_2D_decoding_figurl",
    "create_static_track_animation",
    "create_track_animation_object",
    "discretize_and_trim",
    "extract_slice_data",
    "generate_linearization_function",
    "get_base_track_information",
    "get_observations_per_frame",
    "get_positions",
    "get_ul_corners",
    "make_track",
    "memo_linearize",
    "process_decoded_data",
]

_FRAMES = 100_000  # packed at a time
_LATE_S = 5000.0  # from here on float32 has less than a millisecond
_MAX_BINS = 1 << 16  # what the page's numbers of bins can tell apart

Lookup = dict[tuple[float, float], int]
Linearize = Callable[[tuple[Any, float, float]], int]


def create_static_track_animation(
    *,
    track_rect_width: float,
    track_rect_height: float,
    ul_corners: Array,
    timestamps: Array,
    positions: Array,
    compute_real_time_rate: bool = False,
    head_dir: Array | None = None,
) -> dict[str, Any]:
    """Return the track and the animal as the page wants them.

    Parameters
    ----------
    track_rect_width, track_rect_height : float
        Of a bin, cm.
    ul_corners : array, shape (2, n_bins)
        Upper left corners of the bins of the track, cm.
    timestamps : array, shape (n_time,)
        Seconds.
    positions : array, shape (2, n_time)
        Of the animal, cm.
    compute_real_time_rate : bool
        Also tell how many samples a second has.
    head_dir : array, shape (n_time,), optional
        Radians.

    Returns
    -------
    dict
        Of type TrackAnimation.
    """
    corners, time = np.asarray(ul_corners), np.asarray(timestamps, dtype=np.float64)
    start = float(time[0]) if time[0] > _LATE_S else 0.0
    time = time - start
    data: dict[str, Any] = {
        "type": "TrackAnimation",
        "trackBinWidth": track_rect_width,
        "trackBinHeight": track_rect_height,
        "trackBinULCorners": corners.astype(np.float32),
        "totalRecordingFrameLength": len(time),
        "timestamps": time.astype(np.float32),
        "positions": np.asarray(positions).astype(np.float32),
        "xmin": np.min(corners[0]),
        "xmax": np.max(corners[0]) + track_rect_width,
        "ymin": np.min(corners[1]),
        "ymax": np.max(corners[1]) + track_rect_height,
    }
    if head_dir is not None:
        data["headDirection"] = np.asarray(head_dir).astype(np.float32)
    if compute_real_time_rate:
        data["samplingFrequencyHz"] = 1 / np.median(np.diff(time))
    if start > 0:
        data["timestampStart"] = start
    return data


def get_base_track_information(
    base_probabilities: xr.DataArray,
) -> tuple[int, float, float, int, float, float]:
    """Return the grid of a posterior.

    Parameters
    ----------
    base_probabilities : xarray.DataArray, with x_position and y_position
        Over evenly spaced bins.

    Returns
    -------
    x_count, x_min, x_width, y_count, y_min, y_width : int and float
        Number of bins, first centre and width along both coordinates.
    """
    found: list[Any] = []
    for name in ("x_position", "y_position"):
        centers = np.asarray(base_probabilities[name], dtype=np.float64)
        low = float(centers.min())
        found += [len(centers), low, round(float(centers.max() - low) / (len(centers) - 1), 6)]
    return (found[0], found[1], found[2], found[3], found[4], found[5])


def memo_linearize(
    t: tuple[object, float, float],
    /,
    location_lookup: Lookup,
    x_count: int,
    x_min: float,
    x_width: float,
    y_min: float,
    y_width: float,
) -> int:
    """Return the number of a bin, row by row.

    Parameters
    ----------
    t : (time, y, x)
        Time, which does not matter, and the centre of the bin.
    location_lookup : dict
        Numbers that are known already; this one is added.
    x_count : int
        Bins in a row.
    x_min, x_width, y_min, y_width : float
        First centre and width along both coordinates.

    Returns
    -------
    int
        The number.

    Examples
    --------
    >>> from tessera.decode.visualization.figurl_2D import memo_linearize
    >>> memo_linearize((0, 6.0, 2.0), {}, 10, 0.0, 2.0, 0.0, 3.0)
    21
    """
    _, y, x = t
    if (x, y) not in location_lookup:
        row, column = round((y - y_min) / y_width), round((x - x_min) / x_width)
        location_lookup[x, y] = x_count * row + column
    return location_lookup[x, y]


def generate_linearization_function(
    location_lookup: Lookup,
    x_count: int,
    x_min: float,
    x_width: float,
    y_min: float,
    y_width: float,
) -> Linearize:
    """Return :func:`memo_linearize` for one grid.

    Parameters
    ----------
    location_lookup : dict
        Where numbers are remembered.
    x_count : int
        Bins in a row.
    x_min, x_width, y_min, y_width : float
        First centre and width along both coordinates.

    Returns
    -------
    callable
        Takes (time, y, x), returns a number.
    """

    def inner(t: tuple[Any, float, float]) -> int:
        return memo_linearize(t, location_lookup, x_count, x_min, x_width, y_min, y_width)

    return inner


def discretize_and_trim(base_slice: xr.DataArray) -> xr.DataArray:
    """Return probabilities in steps of 1/255 where they are not zero.

    Parameters
    ----------
    base_slice : xarray.DataArray, dimensions time, x_position and y_position
        Probabilities; NaN counts as 0.

    Returns
    -------
    xarray.DataArray of uint8, dimension unified_index (time, y_position, x_position)
        Ordered by time.
    """
    return trimmed(base_slice, ("time", "y_position", "x_position"))


def get_positions(i_trim: xr.DataArray, linearization_fn: Linearize) -> Array:
    """Return the numbers of the bins of trimmed probabilities.

    Parameters
    ----------
    i_trim : xarray.DataArray
        Of :func:`discretize_and_trim`.
    linearization_fn : callable
        Of :func:`generate_linearization_function`.

    Returns
    -------
    ndarray of uint16, shape (n,)
        Numbers.
    """
    return np.array([linearization_fn(t) for t in i_trim["unified_index"].values], dtype=np.uint16)


def get_observations_per_frame(i_trim: xr.DataArray, base_slice: xr.DataArray) -> Array:
    """Return how many values every time has.

    Parameters
    ----------
    i_trim : xarray.DataArray
        Of :func:`discretize_and_trim`.
    base_slice : xarray.DataArray
        What it was made of.

    Returns
    -------
    ndarray of uint8, shape (n_time,)
        At most 255: the values of a time sum to that.
    """
    return get_observations_per_time(i_trim, base_slice)


def extract_slice_data(
    base_slice: xr.DataArray, location_fn: Linearize
) -> tuple[Array, Array, Array]:
    """Return everything the page wants of a stretch of time.

    Parameters
    ----------
    base_slice : xarray.DataArray, dimensions time, x_position and y_position
        Probabilities.
    location_fn : callable
        Of :func:`generate_linearization_function`.

    Returns
    -------
    values, positions, observations_per_frame : ndarray
        Steps of 1/255, bins, and how many of them every time has.
    """
    packed = discretize_and_trim(base_slice)
    counts = get_observations_per_frame(packed, base_slice)
    return np.asarray(packed), get_positions(packed, location_fn), counts


def process_decoded_data(posterior: xr.DataArray) -> dict[str, Any]:
    """Return a posterior as the page wants it.

    Parameters
    ----------
    posterior : xarray.DataArray, dimensions time, x_position and y_position
        Probabilities, over at most 65536 bins.

    Returns
    -------
    dict
        Of type DecodedPositionData.
    """
    x_count, x_min, x_width, y_count, y_min, y_width = get_base_track_information(posterior)
    if x_count * y_count > _MAX_BINS:
        raise ShapeValidationError(
            f"posterior: {x_count} x {y_count} bins are more than the {_MAX_BINS} that a page can "
            "tell apart; use larger bins"
        )
    where = generate_linearization_function({}, x_count, x_min, x_width, y_min, y_width)
    parts = [
        extract_slice_data(posterior.isel(time=slice(first, first + _FRAMES)), where)
        for first in range(0, max(len(posterior["time"]), 1), _FRAMES)
    ]
    values, locations, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    return {
        "type": "DecodedPositionData",
        "xmin": x_min,
        "binWidth": x_width,
        "xcount": x_count,
        "ymin": y_min,
        "binHeight": y_width,
        "ycount": y_count,
        "uniqueLocations": np.unique(locations),
        "values": values,
        "locations": locations,
        "frameBounds": counts,
    }


def create_track_animation_object(*, static_track_animation: dict[str, Any]) -> Any:
    """Return sortingview's view of a track; needs sortingview.

    Parameters
    ----------
    static_track_animation : dict
        Of :func:`create_static_track_animation`, with what :func:`process_decoded_data` returns
        as decodedData.

    Returns
    -------
    sortingview.views.franklab.TrackPositionAnimationV1
        The view.
    """
    views, data = franklab(), static_track_animation
    posterior = data.get("decodedData")
    shown = None
    if posterior is not None:
        shown = views.DecodedPositionData(
            x_min=posterior["xmin"],
            x_count=posterior["xcount"],
            y_min=posterior["ymin"],
            y_count=posterior["ycount"],
            bin_width=posterior["binWidth"],
            bin_height=posterior["binHeight"],
            values=posterior["values"].astype(np.int16),
            locations=posterior["locations"],
            frame_bounds=posterior["frameBounds"].astype(np.int16),
        )
    return views.TrackPositionAnimationV1(
        track_bin_width=data["trackBinWidth"],
        track_bin_height=data["trackBinHeight"],
        track_bin_ul_corners=data["trackBinULCorners"],
        total_recording_frame_length=data["totalRecordingFrameLength"],
        timestamp_start=data.get("timestampStart"),
        timestamps=data["timestamps"],
        positions=data["positions"],
        x_min=data["xmin"],
        x_max=data["xmax"],
        y_min=data["ymin"],
        y_max=data["ymax"],
        sampling_frequency_hz=data["samplingFrequencyHz"],
        head_direction=data.get("headDirection"),
        decoded_data=shown,
    )


def get_ul_corners(width: float, height: float, centers: ArrayLike) -> Floats:
    """Return the upper left corners of rectangles.

    Parameters
    ----------
    width, height : float
        Of all of them.
    centers : array, shape (n, 2)
        Their centres.

    Returns
    -------
    ndarray, shape (2, n)
        x and y.

    Examples
    --------
    >>> from tessera.decode.visualization.figurl_2D import get_ul_corners
    >>> get_ul_corners(4, 2, [[10, 10]]).ravel()
    array([ 8., 11.])
    """
    return np.add(np.asarray(centers, dtype=np.float64), (-width / 2, height / 2)).T


def make_track(position: ArrayLike, bin_size: float = 1.0) -> tuple[float, float, Floats]:
    """Return the bins of a track as rectangles.

    Parameters
    ----------
    position : array, shape (n_time, 2)
        Cm.
    bin_size : float
        Upper bound of a bin's width, cm.

    Returns
    -------
    bin_width, bin_height : float
        Cm.
    upper_left_points : ndarray, shape (2, n_bins)
        Corners of the bins that were visited, cm.
    """
    (x, y), _, centers, _ = get_grid(position, bin_size)
    interior = get_track_interior(position, [x, y])
    width, height = float(np.diff(x).max()), float(np.diff(y).max())
    return width, height, get_ul_corners(width, height, centers[interior.ravel()])


def create_2D_decode_view(  # noqa: N802
    position_time: ArrayLike,
    position: ArrayLike,
    interior_place_bin_centers: ArrayLike,
    place_bin_size: Sequence[float],
    posterior: xr.DataArray,
    head_dir: ArrayLike | None = None,
) -> Any:
    """Return sortingview's view of a posterior in the plane; needs sortingview.

    Parameters
    ----------
    position_time : array, shape (n_time,)
        Seconds.
    position : array, shape (n_time, 2)
        Of the animal, cm.
    interior_place_bin_centers : array, shape (n_bins, 2)
        Of the bins of the track, cm.
    place_bin_size : (float, float)
        Width and height of a bin, cm.
    posterior : xarray.DataArray, dimensions time, x_position and y_position
        At the same times.
    head_dir : array, shape (n_time,), optional
        Radians.

    Returns
    -------
    sortingview.views.franklab.TrackPositionAnimationV1
        The view.
    """
    time, points = np.squeeze(np.asarray(position_time)), np.asarray(position)
    for name, n in (("position_time", len(time)), ("posterior", len(posterior["time"]))):
        if n != len(points):
            raise ShapeValidationError(f"{name} has {n} times, position has {len(points)}")
    franklab()
    width, height = place_bin_size
    data = create_static_track_animation(
        track_rect_width=width,
        track_rect_height=height,
        ul_corners=get_ul_corners(width, height, interior_place_bin_centers),
        timestamps=time,
        positions=points.T,
        compute_real_time_rate=True,
        head_dir=None if head_dir is None else np.squeeze(np.asarray(head_dir)),
    )
    data["decodedData"] = process_decoded_data(posterior)
    return create_track_animation_object(static_track_animation=data)


def create_interactive_2D_decoding_figurl(  # noqa: N802
    position_time: ArrayLike,
    position: ArrayLike,
    env: Environment,
    results: xr.Dataset,
    posterior: xr.DataArray | None = None,
    spike_times: Sequence[ArrayLike] | None = None,
    head_dir: ArrayLike | None = None,
    speed: ArrayLike | None = None,
    view_height: int = 800,
) -> str:
    """Upload a page of a posterior in the plane, states, speed and firing rate; needs sortingview.

    Parameters
    ----------
    position_time : array, shape (n_time,)
        Seconds.
    position : array, shape (n_time, 2)
        Of the animal, cm.
    env : Environment
        With the bins of the results.
    results : xarray.Dataset
        What predict() returned.
    posterior : xarray.DataArray, optional
        Show this one; default: that of the results, summed over states.
    spike_times : list of arrays, optional
        Seconds; without them there is no panel of the firing rate.
    head_dir : array, shape (n_time,), optional
        Radians.
    speed : array, shape (n_time,), optional
        Cm/s; without it there is no panel of it.
    view_height : int
        Pixels.

    Returns
    -------
    str
        Address of the page.
    """
    franklab()
    if posterior is None:
        posterior = results["acausal_posterior"].unstack("state_bins").sum("state")
    axes = [np.asarray(posterior[name]) for name in ("x_position", "y_position")]
    view = create_2D_decode_view(
        position_time,
        position,
        env.place_bin_centers_[env.is_track_interior_.ravel()],
        [float(axis[1] - axis[0]) for axis in axes],
        posterior,
        head_dir,
    )
    panels = series_panels(results, position_time, speed, spike_times)
    return page([[decoded(view, 1)], panels], view_height, "2D Decoding")
