"""A video of the posterior in the plane, with the animal on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.decode.exceptions import ShapeValidationError
from tessera.decode.visualization._parallel_video_writer import VideoConfig, create_parallel_video
from tessera.decode.visualization.figures import position_posterior
from tessera.decode.visualization.static import get_multiunit_firing_rate

if TYPE_CHECKING:
    import os

    import pandas as pd
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from tessera.decode._data import Floats
    from tessera.decode._types import ResultsLike
    from tessera.decode.models._detector import DetectorBase

__all__ = ["make_single_environment_movie"]

_WINDOW = 501  # samples of the firing rate that a frame shows
_MARGIN_CM = 10.0
_HEAD_CM = 4.0
_TAIL = 5  # frames of the decoded position that stay in sight
_SCALE_CM = 20


def make_single_environment_movie(
    time_slice: slice,
    classifier: DetectorBase,
    results: ResultsLike,
    position_info: pd.DataFrame,
    spike_times: Sequence[ArrayLike],
    movie_name: str | os.PathLike[str] = "video_name.mp4",
    sampling_frequency: float = 500,
    video_slowdown: float = 8,
    position_name: Sequence[str] | None = None,
    direction_name: str = "head_orientation",
    vmax: float = 0.07,
) -> str:
    """Write a video of a decoded stretch of time: posterior, animal, firing rate.

    Parameters
    ----------
    time_slice : slice
        Numbers of the time bins to show.
    classifier : fitted model
        That made the results, of one environment in the plane.
    results : xarray.Dataset or Results
        With acausal_posterior.
    position_info : pandas.DataFrame
        Position and direction of the animal at the time bins, by time.
    spike_times : list of arrays
        Seconds.
    movie_name : path
        Where to: .mp4 or what else ffmpeg writes; .gif and .webp also without ffmpeg.
    sampling_frequency : float
        Time bins per second.
    video_slowdown : float
        How many times slower than it was.
    position_name : sequence of str, optional
        Columns of x and y; default: head_position_x and head_position_y.
    direction_name : str
        Column of the direction of the head, radians.
    vmax : float
        Brightest value of the posterior.

    Returns
    -------
    str
        movie_name.
    """
    environment = classifier.environments[0]
    if len(environment.centers_shape_) != 2:
        raise ShapeValidationError(
            f"classifier: its environment has {len(environment.centers_shape_)} coordinate(s); a "
            "movie shows two, and plot_results() draws one over time"
        )
    columns = ["head_position_x", "head_position_y"] if position_name is None else position_name
    chosen = range(len(results["time"]))[time_slice]
    values = np.asarray(results["acausal_posterior"])[chosen.start : chosen.stop : chosen.step]
    posterior = position_posterior(classifier, {"acausal_posterior": values})  # type: ignore[arg-type]
    posterior[:, ~environment.is_track_interior_.ravel()] = np.nan
    animal = position_info[list(columns)].to_numpy(dtype=np.float64)
    rate = np.asarray(get_multiunit_firing_rate(spike_times, position_info.index.to_numpy()))
    low, high = np.nanmin(animal, axis=0) - _MARGIN_CM, np.nanmax(animal, axis=0) + _MARGIN_CM
    rows = np.asarray(chosen)
    data = {
        "edges": environment.edges_,
        "posterior": posterior.reshape(len(rows), *environment.centers_shape_),
        "time": np.asarray(results["time"])[rows],
        "position": animal[rows],
        "direction": position_info[direction_name].to_numpy(dtype=np.float64)[rows],
        "most_likely": environment.place_bin_centers_[np.nanargmax(posterior, axis=1)],
        "rate": _windows(rate.ravel(), rows),
        "lag": (np.arange(_WINDOW) - _WINDOW // 2) / sampling_frequency,
        "limits": (low, high),
        "vmax": vmax,
    }
    return create_parallel_video(
        n_frames=len(rows),
        output_path=movie_name,
        render_frame_func=_render,
        setup_figure_func=_set_up,
        frame_data=data,
        config=VideoConfig(fps=sampling_frequency / video_slowdown, dpi=200, bitrate_kbps=8000),
    )


def _windows(rate: Floats, rows: Any) -> Floats:
    """Return the rate around every row; NaN before its beginning and after its end."""
    half = _WINDOW // 2
    padded = np.pad(rate, half, constant_values=np.nan)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[rows])


def _set_up() -> tuple[Figure, dict[str, Any]]:
    """Return the figure of a movie and what changes in it."""
    import matplotlib.pyplot as plt
    from mpl_toolkits.axes_grid1.anchored_artists import AnchoredSizeBar

    with plt.style.context("dark_background"):
        figure, (place, below) = plt.subplots(
            2, 1, figsize=(6, 6), gridspec_kw={"height_ratios": [5, 1]}
        )
    place.axis("off")
    place.set_aspect("equal")
    bar = f"{_SCALE_CM} cm"
    place.add_artist(
        AnchoredSizeBar(
            place.transData, _SCALE_CM, bar, "lower right", color="white", frameon=False
        )
    )
    below.set(xlabel="Time [s]", ylabel="Multiunit\n[spikes/s]")
    for side in ("top", "right"):
        below.spines[side].set_visible(False)
    return figure, {
        "place": place,
        "below": below,
        "animal": place.scatter([], [], s=80, zorder=3, color="magenta", label="actual position"),
        "head": place.plot([], [], color="magenta", linewidth=5)[0],
        "decoded": place.scatter([], [], s=80, zorder=3, color="green", label="decoded position"),
        "tail": place.plot([], [], color="green", linewidth=3)[0],
        "rate": below.plot([], [], color="white", linewidth=2)[0],
        "mesh": None,
    }


def _begin(artists: dict[str, Any], data: dict[str, Any]) -> None:
    """Draw what no frame changes."""
    (x, y), place, below = data["edges"], artists["place"], artists["below"]
    artists["mesh"] = place.pcolormesh(x, y, data["posterior"][0].T, vmin=0.0, vmax=data["vmax"])
    low, high = data["limits"]
    place.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    top = np.nanmax(data["rate"], initial=0.0)
    below.set(xlim=(data["lag"][0], data["lag"][-1]), ylim=(0.0, top if top > 0 else 1.0))


def _render(figure: Figure, artists: dict[str, Any], frame: int, data: dict[str, Any]) -> None:
    """Draw one frame."""
    del figure
    if artists["mesh"] is None:
        _begin(artists, data)
    artists["mesh"].set_array(data["posterior"][frame].T)
    point, angle = data["position"][frame], data["direction"][frame]
    artists["animal"].set_offsets(point)
    tip = point + _HEAD_CM * np.array([np.cos(angle), np.sin(angle)])
    artists["head"].set_data([point[0], tip[0]], [point[1], tip[1]])
    artists["decoded"].set_offsets(data["most_likely"][frame])
    artists["tail"].set_data(*data["most_likely"][max(0, frame - _TAIL) : frame + 1].T)
    artists["rate"].set_data(data["lag"], data["rate"][frame])
    artists["place"].set_title(f"time = {data['time'][frame]:0.2f}")
