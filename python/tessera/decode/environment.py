"""Environments: the bins of position in which everything is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera._lib import default
from tessera.decode import _data
from tessera.decode._data import Array, Floats, Mask
from tessera.decode._environment_check import check, positions, range_rows
from tessera.decode._environment_nodes import NodeViews
from tessera.decode._grid import (
    get_centers,
    get_grid,
    get_n_bins,
    get_track_boundary,
    get_track_boundary_points,
    get_track_interior,
    order_boundary,
)
from tessera.decode._plane import delinearize, onto_track
from tessera.decode._session import Session
from tessera.decode._smooth import gaussian_smooth
from tessera.decode._track import (
    TrackGraph,
    graph_from_state,
    graph_state,
    make_track_graph,
    own_order,
    track_arrays,
)
from tessera.decode._track_nodes import (
    extract_bin_info_from_track_graph,
    get_track_grid,
    get_track_segments_from_graph,
    make_nD_track_graph_from_environment,
    make_track_graph_with_bin_centers_edges,
    project_points_to_segment,
)
from tessera.decode.exceptions import (
    ConfigurationError,
    ShapeValidationError,
    TypeValidationError,
    ValidationError,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from matplotlib.axes import Axes

    from tessera.decode._types import ArrayLike, TrackLike


__all__ = [
    "Environment",
    "TrackGraph",
    "extract_bin_info_from_track_graph",
    "find_environment",
    "gaussian_smooth",
    "get_centers",
    "get_grid",
    "get_n_bins",
    "get_track_boundary",
    "get_track_boundary_points",
    "get_track_grid",
    "get_track_interior",
    "get_track_segments_from_graph",
    "make_nD_track_graph_from_environment",
    "make_track_graph",
    "make_track_graph_with_bin_centers_edges",
    "order_boundary",
    "project_points_to_segment",
]

_TABLE = "decode.environment"
_ON_DEMAND = (
    "_handle",
    "_nodes",
    "distance_between_bins_",
    "distance_between_nodes_",
    "place_bin_center_2D_position_",
    "place_bin_center_ind_to_edge_id_",
    "track_graphDD",
)
_NOT_IN_FILES = ("_bin_distance_matrix_",)
_NOT_YET: Any = None


def _from_table(name: str) -> Callable[[], Any]:
    return lambda: default(_TABLE, name)


@dataclass(eq=False)
class Environment(NodeViews):
    """A place an animal moves in, cut into bins.

    Parameters
    ----------
    environment_name : str
        Name that states and ``environment_labels`` refer to.
    place_bin_size : float or sequence of float
        Upper bound of the width of a bin, in cm; one value or one per coordinate.
    track_graph : networkx.Graph or TrackGraph, optional
        Corridors in the plane; positions (x, y) are then mapped to one linear coordinate.
    edge_order : list of (node, node), optional
        Order and direction of the edges on the line; a track graph needs it.
    edge_spacing : float or sequence of float
        Gaps between consecutive edges on the line, in cm.
    is_track_interior : array of bool, optional
        Which bins belong to the track; default: those the animal visited.
    position_range : sequence of (low, high), optional
        One pair per coordinate, instead of the range of the positions.
    infer_track_interior : bool
        Interior bins are the visited ones; else all are interior.
    fill_holes, dilate : bool
        Fill holes of the interior and widen it by one bin (two coordinates and more).
    bin_count_threshold : int
        A bin is interior with more samples than this.

    Examples
    --------
    >>> from tessera.decode import Environment
    >>> box = Environment(place_bin_size=5.0, position_range=[(0, 50), (0, 20)])
    >>> box.fit_place_grid().centers_shape_
    (12, 6)
    >>> box.place_bin_centers_.shape
    (72, 2)
    """

    environment_name: str = ""
    place_bin_size: float | Sequence[float] = field(default_factory=_from_table("place_bin_size"))
    track_graph: TrackLike | None = None
    edge_order: Sequence[tuple[Hashable, Hashable]] | None = None
    edge_spacing: float | ArrayLike | None = 0.0
    is_track_interior: ArrayLike | None = None
    position_range: Sequence[tuple[float, float] | None] | None = None
    infer_track_interior: bool = field(default_factory=_from_table("infer_track_interior"))
    fill_holes: bool = field(default_factory=_from_table("fill_holes"))
    dilate: bool = field(default_factory=_from_table("dilate"))
    bin_count_threshold: int = field(default_factory=_from_table("bin_count_threshold"))

    # Made by fit_place_grid(); None before.
    edges_: list[Floats] = field(default=_NOT_YET, init=False, repr=False)
    place_bin_edges_: Floats = field(default=_NOT_YET, init=False, repr=False)
    place_bin_centers_: Floats = field(default=_NOT_YET, init=False, repr=False)
    centers_shape_: tuple[int, ...] = field(default=_NOT_YET, init=False, repr=False)
    is_track_interior_: Mask = field(default=_NOT_YET, init=False, repr=False)
    is_track_boundary_: Mask | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse parameters that no bins can be made of."""
        check(self)

    def __eq__(self, other: object) -> bool:
        """Compare names, so that ``environments.index(name)`` works."""
        if isinstance(other, Environment):
            return self.environment_name == other.environment_name
        return self.environment_name == other

    def __hash__(self) -> int:
        """Agree with __eq__."""
        return hash(self.environment_name)

    def fit_place_grid(
        self, position: ArrayLike | None = None, infer_track_interior: bool | None = None
    ) -> Environment:
        """Make the bins.

        Parameters
        ----------
        position : array, shape (n_sample, n_dim) or (n_sample,), optional
            Positions of the animal in cm; rows with NaN are ignored. Not needed with a track
            graph, whose bins do not depend on them, or a position_range.
        infer_track_interior : bool, optional
            Replaces the attribute of the same name.

        Returns
        -------
        Environment
            This one.
        """
        if infer_track_interior is not None:
            self.infer_track_interior = bool(infer_track_interior)
        self.check()
        self._position = positions(position)
        on_line = self._position is not None and self._position.shape[1] == 1
        if on_line and self.track_graph is not None:  # the graph alone decides on the bins
            self._position = None
        for name in (*_ON_DEMAND, "_bin_distance_matrix_"):
            self.__dict__.pop(name, None)
        self._read(_core.decode_environment_info(self._handle))
        return self

    def _read(self, info: dict[str, Any]) -> None:
        shape = info["grid_shape"]
        n_axis = len(shape)
        self.edges_ = [np.array(edges) for edges in info["bin_edges"]]
        self.centers_shape_ = tuple(shape)
        self.place_bin_centers_ = np.array(info["bin_centers"])
        mesh = np.meshgrid(*self.edges_, indexing="ij")
        self.place_bin_edges_ = np.stack([axis.ravel() for axis in mesh], axis=1)
        self.is_track_interior_ = np.array(info["is_interior"], dtype=bool).reshape(shape)
        self.is_track_boundary_ = None
        if n_axis > 1:
            self.is_track_boundary_ = np.array(info["is_boundary"], dtype=bool).reshape(shape)
        self._n_dim = int(info["n_dim"])

    @property
    def _is_fitted(self) -> bool:
        return "_position" in self.__dict__

    def _require_bins(self, kind: type[Exception]) -> None:
        if not self._is_fitted:
            raise kind(
                f"environment {self.environment_name!r} has no bins yet: it has not been fitted; "
                "call fit_place_grid() or fit the model"
            )

    @cached_property
    def _handle(self) -> _core.Handle:
        self._require_bins(RuntimeError)
        options: dict[str, Any] = {
            "infer_track_interior": bool(self.infer_track_interior),
            "fill_holes": bool(self.fill_holes),
            "dilate": bool(self.dilate),
            "bin_count_threshold": int(self.bin_count_threshold),
        }
        sizes = None
        if np.ndim(self.place_bin_size) == 0:
            options["place_bin_size"] = float(np.asarray(self.place_bin_size))
        else:
            sizes = _data.vector(self.place_bin_size, "place_bin_size")
        interior = self.is_track_interior
        if interior is not None:
            interior = np.ascontiguousarray(np.asarray(interior, dtype=bool).ravel())
        track = None
        if self.track_graph is not None:
            track = tuple(track_arrays(self.track_graph, self.edge_order, self.edge_spacing))
        with Session() as context:
            return _core.decode_environment(
                context,
                self._position,
                n_dim=self._free_dimensions(),
                options=options,
                bin_size=sizes,
                position_range=self._range(),
                is_track_interior=interior,
                track=track,
                name=str(self.environment_name),
            )

    def _free_dimensions(self) -> int:
        """Return how many coordinates there are where no positions say so."""
        if self.track_graph is not None:
            return 2
        return max(1, len(range_rows(self.position_range)))

    def _range(self) -> Floats | None:
        if self.position_range is None:
            return None
        rows = range_rows(self.position_range)
        for k, row in enumerate(rows):
            if row is None:
                if self._position is None:
                    raise ValidationError(
                        f"position_range: entry {k} is None and there are no data"
                    )
                rows[k] = (np.nanmin(self._position[:, k]), np.nanmax(self._position[:, k]))
        return _data.reals(rows, "position_range")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lives in the library; it is made again on demand."""
        state = dict(self.__dict__)
        for name in ("_handle", "_nodes", "track_graphDD"):
            state.pop(name, None)
        return state

    def linearize(self, position: ArrayLike) -> Floats:
        """Map positions to the coordinates of the bins.

        Parameters
        ----------
        position : array, shape (n, n_dim)
            Cm. With a track graph points of the plane, or one coordinate: the line's already.

        Returns
        -------
        ndarray, shape (n, n_place_dim)
            The line's, with a track graph; else as they are.
        """
        points = _data.position(position)
        if self.track_graph is not None and points.shape[1] == 1:
            return points
        return np.asarray(_core.decode_place(self._handle, points))

    def project(self, position: ArrayLike) -> tuple[Floats, Array, Floats]:
        """Project points on the track.

        Parameters
        ----------
        position : array, shape (n, 2)
            Cm, in the plane.

        Returns
        -------
        linear : ndarray, shape (n,)
            Positions on the line, cm.
        segment : ndarray of int, shape (n,)
            Numbers of the edges.
        projected : ndarray, shape (n, 2)
            Nearest points on the track, cm.
        """
        points = _data.position(position)
        linear, segment, projected = _core.decode_linearize(self._handle, points)
        return np.asarray(linear), np.asarray(segment), np.asarray(projected)

    @cached_property
    def place_bin_center_2D_position_(self) -> Floats:  # noqa: N802
        """Where the bins of a track are in the plane, (n_bins, 2); NaN in gaps."""
        return self._bins_in_plane()[0]

    @cached_property
    def place_bin_center_ind_to_edge_id_(self) -> Array:
        """Which edge of the track every bin is on; -1 in gaps."""
        return self._bins_in_plane()[1]

    def _bins_in_plane(self) -> tuple[Floats, Array]:
        if self.track_graph is None:
            raise ValidationError(f"environment {self.environment_name!r} has no track graph")
        track = track_arrays(self.track_graph, self.edge_order, self.edge_spacing)
        return delinearize(track, self.place_bin_centers_)

    def _in_plane(self, points: Floats) -> Floats:
        """Put positions that are linear already back on the track; others are left as they are."""
        if self.track_graph is None or points.shape[1] != 1:
            return points
        track = track_arrays(self.track_graph, self.edge_order, self.edge_spacing)
        return onto_track(track, points)

    def get_bin_ind(self, sample: ArrayLike) -> Array:
        """Find the bins of samples.

        Parameters
        ----------
        sample : array, shape (n,) or (n, n_dim)
            In the coordinates of the bins, or, with a track graph, points of the plane; cm.

        Returns
        -------
        ndarray of int, shape (n,)
            Numbers of bins; that of the nearest interior bin where the sample's own is not
            interior, -1 for NaN.
        """
        self._require_bins(ConfigurationError)
        points = _data.position(sample)
        n_axis = len(self.edges_)
        if points.shape[1] != n_axis and points.shape[1] == 2 and self.track_graph is not None:
            points = self.linearize(points)
        return np.asarray(_core.decode_bin_index(self._handle, points))

    def get_manifold_distances(self, position1: ArrayLike, position2: ArrayLike) -> Floats:
        """Measure along the interior between pairs of positions.

        Parameters
        ----------
        position1, position2 : array, shape (n, n_dim)
            Cm.

        Returns
        -------
        ndarray, shape (n,)
            Cm, between the centres of their bins; inf where there is no way.
        """
        self._require_bins(RuntimeError)
        first, second = self._points(position1), self._points(position2)
        if first.shape != second.shape:
            raise ShapeValidationError(
                f"position1 has shape {first.shape}, position2 has {second.shape}; they must match"
            )
        distances: Floats = self.distance_between_bins_[
            self.get_bin_ind(first), self.get_bin_ind(second)
        ]
        return distances

    def _points(self, position: ArrayLike) -> Floats:
        """Return rows of positions; where bins have several coordinates, a vector is one row."""
        points = _data.reals(position, "position")
        if points.ndim == 1 and len(self.edges_) > 1:
            return points[np.newaxis]
        return _data.position(points)

    def get_distances_to_interior_bins(self, positions: ArrayLike) -> Floats:
        """Measure along the interior from positions to all interior bins.

        Parameters
        ----------
        positions : array, shape (n, n_dim) or (n,)
            Cm.

        Returns
        -------
        ndarray, shape (n, n_interior_bins)
            Cm, between centres of bins; inf where there is no way.
        """
        self._require_bins(RuntimeError)
        inside = np.flatnonzero(self.is_track_interior_.ravel())
        if self.track_graph is not None:
            # By this name scripts look it up; NaN in gaps tells them from bins out of reach.
            if "_bin_distance_matrix_" not in self.__dict__:
                matrix = self.distance_between_bins_.copy()
                gaps = ~self.is_track_interior_.ravel()
                matrix[gaps], matrix[:, gaps] = np.nan, np.nan
                self._bin_distance_matrix_: Floats = matrix
            along: Floats = self._bin_distance_matrix_[np.ix_(self.get_bin_ind(positions), inside)]
            return along
        if self.distance_between_nodes_ is None:  # taken away: straight lines
            away = _data.position(positions)[:, np.newaxis] - self.place_bin_centers_[inside]
            straight: Floats = np.linalg.norm(away, axis=2)
            return straight
        ways: Floats = self.distance_between_nodes_[np.ix_(self.get_bin_ind(positions), inside)]
        return ways

    def get_direction(
        self,
        position: ArrayLike,
        position_time: ArrayLike | None = None,
        sigma: float = 0.1,
        sampling_frequency: float | None = None,
        classify_stop: bool = False,
        stop_speed_threshold: float = 1e-3,
    ) -> Array:
        """Return whether the animal moves towards the most central bin or away from it.

        Parameters
        ----------
        position : array, shape (n_time, n_dim)
            Positions.
        position_time : array, shape (n_time,), optional
            Their times; default: one per second.
        sigma : float
            Seconds of Gaussian smoothing of the approach speed.
        sampling_frequency : float, optional
            Samples per second; default: from position_time.
        classify_stop : bool
            Call slow samples 'stop'.
        stop_speed_threshold : float
            How slow, in cm per sample.

        Returns
        -------
        array of str, shape (n_time,)
            'inward', 'outward' or 'stop'.
        """
        self._require_bins(RuntimeError)
        if sampling_frequency is None:
            if position_time is None:
                sampling_frequency = 1.0
            else:
                times = _data.vector(position_time, "position_time")
                sampling_frequency = 1 / float(np.mean(np.diff(times)))
        to_center = self.distance_between_bins_[self._central_bin(), self.get_bin_ind(position)]
        speed = gaussian_smooth(np.gradient(to_center), sigma, sampling_frequency)
        direction = np.where(speed < 0, "inward", "outward")
        if classify_stop:
            direction[np.abs(speed) < stop_speed_threshold] = "stop"
        return direction

    def _central_bin(self) -> int:
        """Return the bin with the largest closeness; the lowest on ties."""
        distances = self.distance_between_bins_
        reach = np.isfinite(distances)
        n_other = reach.sum(axis=1) - 1
        total = np.where(reach, distances, 0).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            closeness = np.where(total > 0, n_other**2 / total / (len(total) - 1), 0)
        return int(np.argmax(closeness))

    def plot_grid(self, ax: Axes | None = None) -> Axes:
        """Draw the bins; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where; default: the current axes.

        Returns
        -------
        matplotlib.axes.Axes
            What was drawn on.
        """
        from tessera.decode.visualization.figures import plot_grid

        return plot_grid(self, ax=ax)

    def _state(self) -> dict[str, Any]:
        """Return what a file holds: the parameters, the positions and the bins."""
        state = self.__getstate__()
        for name in (*_ON_DEMAND, *_NOT_IN_FILES):
            state.pop(name, None)
        state["track_graph"] = graph_state(self.track_graph)
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Environment:
        """Make the bins again; those of the state must be of the same kind."""
        state["track_graph"] = graph_from_state(state["track_graph"])
        if state["track_graph"] is not None:  # files of 0.2 may leave these open
            if state["edge_order"] is None:
                state["edge_order"] = own_order(state["track_graph"])
            if state["edge_spacing"] is None:
                state["edge_spacing"] = 0.0
        given = [each.name for each in fields(cls) if each.init]
        environment = cls(**{name: state.pop(name) for name in given})
        if "_position" in state:
            environment.fit_place_grid(state.pop("_position"))
        for name, value in state.items():
            _data.same_kind(value, environment.__dict__[name], name)
            environment.__dict__[name] = value
        return environment

    def save_environment(self, filename: str | Path = "environment.pkl") -> None:
        """Write the environment to a file: arrays in an .npz, whatever its name; no pickle.

        Parameters
        ----------
        filename : path
            Where to; an existing file is replaced.
        """
        from tessera.decode._model_file import save

        save(self, filename)

    @classmethod
    def load_environment(cls, filename: str | Path = "environment.pkl") -> Environment:
        """Read a file of :meth:`save_environment`; nothing in it is run.

        Parameters
        ----------
        filename : path
            Where from.

        Returns
        -------
        Environment
            With its bins.
        """
        from tessera.decode._model_file import load

        loaded = load(filename)
        if not isinstance(loaded, cls):
            raise TypeValidationError(
                f"{filename} holds a {type(loaded).__name__}, not an Environment"
            )
        return loaded


def find_environment(environments: Sequence[Environment], name: str) -> Environment:
    """Return the environment of a name.

    Parameters
    ----------
    environments : sequence of Environment
        Where to look.
    name : str
        Which.

    Returns
    -------
    Environment
        The first one of this name.

    Raises
    ------
    ValidationError
        Where there is none; the message lists the known ones.
    """
    for environment in environments:
        if environment.environment_name == name:
            return environment
    known = ", ".join(repr(environment.environment_name) for environment in environments)
    raise ValidationError(f"environment {name!r} is unknown; known are {known}")
