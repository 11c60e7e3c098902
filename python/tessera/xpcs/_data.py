"""Measured two-time correlations: files, arrays, and the original's dicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import Session, warn
from tessera._progress import ProgressLike, callback
from tessera._tables import split_options, takes_options
from tessera.xpcs._arguments import Floats, PathLike, angle_of, indices, per_angle
from tessera.xpcs._config import Settings, is_config, settings_of
from tessera.xpcs._copies import Shared, packed, unpacked

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._dicts import FileFacts, LoaderDict
    from tessera.xpcs._keywords import DataKeywords, LoadKeywords

__all__ = ["G2", "Data", "estimate_sigma", "g2", "inspect", "load", "quantile_scaling"]

# The original's other names, for scripts that call its solver themselves.
_DIRECT_NAMES = {"g2": "c2_exp", "phi": "phi_angles_list", "q": "wavevector_q_list"}
_RESIDENCIES = ("memory", "file", "generated")


def _check_positive(name: str, value: float | None, what: str) -> None:
    """Refuse a number that stands for nothing; None says that it is not known."""
    if value is not None and not (np.isfinite(value) and value > 0):
        raise _core.ArgumentError(f"{name}: expected {what} above 0, got {value}")


def _ranges(phi_ranges: Any) -> Any:
    if phi_ranges is None:
        return None
    pairs = np.asarray(phi_ranges, np.float64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise _core.ShapeError(
            f"phi_ranges: expected a list of (minimum, maximum), got shape {pairs.shape}"
        )
    return np.ascontiguousarray(pairs)


def _times(data: Mapping[str, Any], n_frame: int) -> Floats:
    """Return the times of the original's dict, equal steps that are; empty if it has none."""
    t = np.asarray(data.get("t1", ()), np.float64)
    if t.ndim == 2:
        t = t[:, 0] if t[0, 0] == t[0, -1] else t[0]
    if t.size == 0:
        return t
    if t.shape != (n_frame,):
        raise _core.ShapeError(f"t1: {t.size} times, but c2_exp has {n_frame} frames")
    step = (t[-1] - t[0]) / (n_frame - 1)
    if not np.allclose(np.diff(t), step, rtol=0, atol=1e-3 * abs(step)) or not step > 0:
        raise _core.ArgumentError(
            f"t1: expected times that rise in equal steps, got {t[0]:g}, {t[1]:g}, ... {t[-1]:g} s"
        )
    other = np.asarray(data.get("t2", t), np.float64)
    if other.ndim == 1 and not np.array_equal(other, t):
        raise _core.ArgumentError("t2: expected the times of t1")
    return t


def _one_q(q: Floats, n_angle: int) -> Floats | float:
    """Return q of every matrix from the original's list, which may hold one for all."""
    if len(q) == n_angle:
        return q
    if len(q) == 0 or (q != q[0]).any():
        raise _core.ShapeError(
            f"wavevector_q_list: expected one value or one for each of {n_angle} angles, got "
            f"{len(q)}"
        )
    return float(q[0])


class Data(Shared):
    """Correlations of one or more angles, in memory, in a file, or made on demand.

    Made by :func:`load`, :meth:`from_arrays`, :meth:`from_dict` and :func:`tessera.xpcs.simulate`.
    Arrays are views of the library's memory. Copies share it; pickles take the points along, but of
    a ``.txc2`` file its path, and of a simulation on demand its settings.

    Parameters
    ----------
    handle : tessera._core.Handle
        Of the library.
    settings : Settings, optional
        The configuration that fits use.

    Attributes
    ----------
    phi, q : ndarray, shape (n_angle,)
        Degrees and 1/Å.
    dt, gap : float
        Seconds and Å; gap 0 if unknown.
    n_angle, n_frame, n_point, n_used : int
        ``n_point`` counts whole matrices as strategies do, ``n_used`` the points of a fit.
    mean : ndarray, shape (n_angle,)
        Of the points.
    residency : {'memory', 'file', 'generated'}
        Where the points are.
    notes : list of str
        What a user should know of the selection.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> data
    Data('simulation', 2 angles, 39 frames, 1482 points, float32, dt=0.1 s, in memory)
    >>> data.matrix(0).shape
    (39, 39)
    """

    def __init__(self, handle: _core.Handle, settings: Settings | None = None) -> None:
        self._handle = handle
        self._recipe: dict[str, Any] = {}  # of data that are made on demand
        self.settings = settings
        info = _core.xpcs_data_info(handle)
        self.phi: Floats = np.asarray(info["phi"])
        self.q: Floats = np.asarray(info["q"])
        self.mean: Floats = np.asarray(info["mean"])
        self.n_finite: npt.NDArray[np.int64] = np.asarray(info["n_finite"])
        self.n_angle: int = info["n_angle"]
        self.n_frame: int = info["n_frame"]
        self.n_point: int = info["n_point"]
        self.n_used: int = info["n_used"]
        self.dt: float = info["dt"]
        self.gap: float = info["gap"]
        self.dtype: str = info["dtype"]
        self.has_sigma: bool = info["has_sigma"]
        self.start_frame: int = info["start_frame"]
        self.end_frame: int = info["end_frame"]
        self.keep_t0: bool = info["keep_t0"]
        self.nbytes: int = info["bytes"]
        self.path: str = info["path"]
        self.layout: str = info["layout"]
        self.residency = _RESIDENCIES[info["residency"]]
        self.notes: list[str] = info["notes"].splitlines()

    @classmethod
    @takes_options("xpcs.data")
    def from_arrays(
        cls,
        c2: npt.ArrayLike,
        phi: npt.ArrayLike,
        q: float | npt.ArrayLike,
        *,
        dt: float,
        gap: float | None = None,
        sigma: npt.ArrayLike | None = None,
        keep_t0: bool = False,
        without_t0: bool = False,
        phi_ranges: npt.ArrayLike | None = None,
        bad_frames: Iterable[int] | None = None,
        context: _core.Context | None = None,
        **options: Unpack[DataKeywords],
    ) -> Self:
        """Take matrices that are in memory.

        Parameters
        ----------
        c2 : array, shape (n_angle, n, n) or (n, n)
            float32 or float64. Checked as files are: both halves have to agree within 1e-3 and are
            averaged, or one of them is zero; points that are not finite are left out.
        phi, q : array, shape (n_angle,)
            Degrees and 1/Å.
        dt : float
            Seconds between frames.
        gap : float, optional
            Å; laminar flow needs it.
        sigma : array of c2's shape, optional
            Standard deviation of every point, for ``sigma_mode='dataset'``.
        keep_t0 : bool, default False
            Keep row and column 0, which are at time 0.
        without_t0 : bool, default False
            There is none to drop: row and column 0 are one step later.
        phi_ranges : list of (minimum, maximum), optional
            Keep angles inside any of them.
        bad_frames : list of int, optional
            Frames, counted from 1, to leave out.
        {options}
        context : tessera.Context, optional
            Where to compute.

        Returns
        -------
        Data
            A copy of the triangles.

        Examples
        --------
        >>> import numpy as np
        >>> import tessera.xpcs as tx
        >>> lag = abs(np.subtract.outer(np.arange(30), np.arange(30)))
        >>> c2 = 1 + 0.3 * np.exp(-0.1 * lag)
        >>> tx.Data.from_arrays(c2, phi=0.0, q=0.0054, dt=0.1).n_frame
        29
        """
        (own,) = split_options("from_arrays", options, "xpcs.data")
        _check_positive("dt", dt, "seconds between frames")
        _check_positive("gap", gap, "the shear cell's gap in Å")
        matrices = np.asarray(c2)
        if matrices.dtype.kind in "iu":
            matrices = matrices.astype(np.float64)
        angles = np.ascontiguousarray(np.atleast_1d(np.asarray(phi, np.float64)))
        with Session(context) as ctx:
            handle = _core.xpcs_from_array(
                ctx,
                matrices,
                options=own,
                phi=angles,
                q=per_angle(q, len(angles), "q"),
                sigma=None if sigma is None else np.asarray(sigma),
                keep_t0=2 if without_t0 else int(keep_t0),
                dt=dt,
                gap=gap,
                phi_ranges=_ranges(phi_ranges),
                bad_frames=indices(bad_frames),
            )
        return cls(handle)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], config: ConfigLike = None) -> Self:
        """Take the dict that the original's loader returns.

        Parameters
        ----------
        data : dict
            ``c2_exp`` (n_angle, n, n), ``phi_angles_list``, ``wavevector_q_list``, ``t1`` and
            optionally ``sigma``, ``dt``, ``L``; or ``g2``, ``phi``, ``q`` for the first three.
        config : path, dict or ConfigManager, optional
            Where dt, the gap and whether t0 is dropped come from.

        Returns
        -------
        Data
            Row and column 0 are dropped if they are at time 0, unless the configuration says
            ``exclude_t0: false``.

        Examples
        --------
        >>> import tessera.xpcs as tx
        >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
        >>> tx.Data.from_dict(data.to_dict()).n_angle
        2
        """
        if "g2" in data and "c2_exp" not in data:
            data = {_DIRECT_NAMES.get(name, name): value for name, value in data.items()}
        missing = {"c2_exp", "phi_angles_list", "wavevector_q_list"} - set(data)
        if missing:
            raise _core.ArgumentError(f"data: {', '.join(sorted(missing))} is missing")
        settings = settings_of(config)
        model_options: dict[str, Any] = settings.model if settings is not None else {}
        c2 = np.asarray(data["c2_exp"])
        t = _times(data, c2.shape[-1] if c2.ndim > 0 else 0)
        step = float(t[1] - t[0]) if len(t) > 1 else 0.0
        dt = float(data.get("dt") or model_options.get("dt") or step)
        if step > 0 and abs(dt - step) > 0.01 * step:
            warn(f"dt is set to {dt:g} s, but the steps of t1 are {step:g} s; dt is used")
        has_t0 = len(t) == 0 or abs(t[0]) < 0.5 * dt
        phi = np.atleast_1d(np.asarray(data["phi_angles_list"], np.float64))
        q = np.atleast_1d(np.asarray(data["wavevector_q_list"], np.float64))
        sigma = data.get("sigma")
        options: dict[str, Any] = {}
        if settings is not None:
            options["exclude_lags"] = settings.exclude_lags
        made = cls.from_arrays(
            c2,
            phi,
            _one_q(q, len(phi)),
            dt=dt,
            gap=float(data.get("L") or model_options.get("gap") or 0) or None,
            sigma=None if sigma is None or np.ndim(sigma) == 0 else sigma,
            keep_t0=bool(model_options.get("keep_t0", False)),
            without_t0=not has_t0,
            **options,
        )
        made.settings = settings
        return made

    @property
    def t(self) -> Floats:
        """Times of the frames in seconds."""
        frame = np.arange(self.n_frame, dtype=np.float64)
        return (frame if self.keep_t0 else frame + 1) * self.dt

    @property
    def c2(self) -> Floats:
        """All matrices (n_angle, n_frame, n_frame), made anew at every access."""
        return np.stack([self.matrix(a) for a in range(self.n_angle)])

    def matrix(self, angle: int) -> Floats:
        """Return one symmetric matrix; points that are left out are NaN.

        Parameters
        ----------
        angle : int
            Index of the angle.

        Returns
        -------
        ndarray, shape (n_frame, n_frame)
            The diagonal is interpolated from its neighbours.
        """
        with Session() as context:
            place = angle_of(angle, self.n_angle)
            rows = _core.xpcs_data_rows(context, self._handle, place, 0, self.n_frame)
        return np.asarray(rows)

    def angle(self, angle: int) -> Data:
        """Return one angle as data of its own, for fits of angles one by one.

        Parameters
        ----------
        angle : int
            Index of the angle.

        Returns
        -------
        Data
            A copy in memory (float64), with the times, path and settings of all.

        Examples
        --------
        >>> import tessera.xpcs as tx
        >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
        >>> one = data.angle(1)
        >>> one.n_angle, float(one.phi[0]) == float(data.phi[1])
        (1, True)
        """
        with Session() as context:
            place = angle_of(angle, self.n_angle)
            handle = _core.xpcs_data_angle(context, self._handle, place)
        return Data(handle, self.settings)

    def to_dict(self) -> LoaderDict:
        """Return the dict that the original's loader returns.

        Returns
        -------
        dict
            ``wavevector_q_list``, ``phi_angles_list``, ``t1``, ``t2`` and ``c2_exp``.
        """
        return {
            "wavevector_q_list": np.array(self.q),
            "phi_angles_list": np.array(self.phi),
            "t1": self.t,
            "t2": self.t,
            "c2_exp": self.c2,
        }

    def save(
        self, path: PathLike, *, overwrite: bool = False, progress: ProgressLike = None
    ) -> Path:
        """Write a ``.txc2`` file, from which data of any size can be fitted.

        Parameters
        ----------
        path : path
            The file.
        overwrite : bool, default False
            Replace it if it exists.
        progress : bool, str or callable, optional
            True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
            :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.

        Returns
        -------
        Path
            The file.
        """
        with Session() as context:
            _core.xpcs_save(context, self._handle, path, overwrite, callback(progress))
        return Path(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), packed(self), self.settings)

    def _repr_html_(self) -> str:
        from tessera.xpcs._html import of_data

        return of_data(self)

    def __repr__(self) -> str:
        return (
            f"Data({self.layout!r}, {self.n_angle} angles, {self.n_frame} frames, "
            f"{self.n_used} points, {self.dtype}, dt={self.dt:g} s, in {self.residency})"
        )


def _restored(cls: type[Data], content: dict[str, Any], settings: Settings | None) -> Data:
    data = cls(unpacked(content), settings)
    data._recipe = content.get("simulation", {})
    return data


@takes_options("xpcs.data")
def load(
    source: PathLike | Mapping[str, Any] | Settings,
    config: ConfigLike = None,
    *,
    keep_t0: bool | None = None,
    dt: float | None = None,
    gap: float | None = None,
    phi_ranges: npt.ArrayLike | None = None,
    bad_frames: Iterable[int] | None = None,
    c2_path: str | None = None,
    phi: npt.ArrayLike | None = None,
    angles_last: bool = False,
    sigma_dataset: str | None = None,
    cache_folder: PathLike | None = None,
    cache_template: str | None = None,
    no_cache: bool | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[LoadKeywords],
) -> Data:
    """Read correlations.

    Parameters
    ----------
    source : path, dict or Settings
        A file of APS-U or APS legacy layout (HDF5), a cache (.npz), a .txc2 file, any HDF5 file
        with ``c2_path``; or a configuration (.yaml, .json or dict) that names one.
    config : path, dict, Settings or ConfigManager, optional
        The configuration where source is the file of data.
    keep_t0 : bool, optional
        Keep the frame at time 0.
    dt : float, optional
        Seconds between frames; compared with what the file says.
    gap : float, optional
        Gap of the shear cell in Å.
    phi_ranges : list of (minimum, maximum), optional
        Keep angles inside any of them, in degrees.
    bad_frames : list of int, optional
        Frames, counted from 1, to leave out.
    c2_path : str, optional
        Data set of a file of unknown layout, (P, N, N) or (N, N); with ``phi`` and ``q``.
    phi : array, optional
        Its angles in degrees.
    angles_last : bool, default False
        It is (N, N, P).
    sigma_dataset : str, optional
        Data set with standard deviations.
    cache_folder : path, optional
        Keep what was read there for the next time.
    cache_template : str, optional
        Name of the cache.
    no_cache : bool, optional
        Neither read nor write one.
    {options}
    threads, memory_limit, context
        As everywhere.
    progress : bool, str or callable, optional
        True, 'bar', 'plain' or 'json' show how far it is; a callable gets a
        :class:`tessera.Progress` and stops the call by raising. Default: TESSERA_PROGRESS.

    Returns
    -------
    Data
        In memory where the limit allows, else in a temporary file. Made with a configuration it
        remembers it, and :func:`fit` uses it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tx.load(data.save(pathlib.Path(folder) / "a.txc2")).n_used == data.n_used
    True
    """
    (own,) = split_options("load", options, "xpcs.data")
    _check_positive("dt", dt, "seconds between frames")
    _check_positive("gap", gap, "the shear cell's gap in Å")
    settings = settings_of(config)
    path: Any = source
    if is_config(source):
        settings = settings_of(source)
        path = settings.data_path if settings is not None else ""
        if not path:
            raise _core.ConfigError(
                "experimental_data.file_path: the configuration names no file of data"
            )
    if settings is not None:
        threads = settings.threads if threads is None and context is None else threads
        if memory_limit is None and context is None:
            memory_limit = settings.memory_limit
    with Session(context, threads=threads, memory_limit=memory_limit) as ctx:
        handle = _core.xpcs_open(
            ctx,
            path,
            options=own,
            settings=None if settings is None else settings._handle,
            keep_t0=None if keep_t0 is None else int(keep_t0),
            dt=dt,
            gap=gap,
            phi_ranges=_ranges(phi_ranges),
            bad_frames=indices(bad_frames),
            c2_path=c2_path,
            phi=None if phi is None else np.ascontiguousarray(phi, np.float64),
            angles_last=angles_last or None,
            cache_folder=cache_folder,
            cache_template=cache_template,
            no_cache=no_cache,
            sigma_dataset=sigma_dataset,
            progress=callback(progress),
        )
    return Data(handle, settings)


def as_data(data: Any, settings: Settings | None) -> Data:
    """Return data from whatever stands for them."""
    if isinstance(data, Data):
        return data
    if isinstance(data, Mapping) and ("c2_exp" in data or "g2" in data):
        return Data.from_dict(data, settings)
    if isinstance(data, str | os.PathLike):
        return load(data, settings)
    raise TypeError(
        "data: expected tessera.xpcs.Data, a path, or a dict with c2_exp, phi_angles_list and "
        f"wavevector_q_list, got {type(data).__name__}"
    )


def inspect(path: PathLike) -> FileFacts:
    """Describe a file: its layout, time step and bins.

    Parameters
    ----------
    path : path
        A file :func:`load` reads.

    Returns
    -------
    dict
        ``layout``, ``dt``, ``frame_time``, ``stride``, ``averaging``, ``filter``, ``notes`` and
        ``bins``, a list with ``number``, ``q``, ``phi``, ``n_frame``, ``dataset`` and
        ``is_valid`` of each.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tx.inspect(data.save(pathlib.Path(folder) / "a.txc2"))["layout"]
    'txc2'
    """
    with Session() as context:
        found = _core.xpcs_inspect(context, path)
    return cast("FileFacts", found | {"notes": found["notes"].splitlines()})


def quantile_scaling(data: Data) -> tuple[Floats, Floats]:
    """Estimate contrast and offset of every angle by quantiles of short and long lags.

    Parameters
    ----------
    data : Data
        The correlations.

    Returns
    -------
    contrast, offset : ndarray, shape (n_angle,)
        Starts of fits, and the values of constant scaling.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> contrast, offset = tx.quantile_scaling(data)
    >>> contrast.shape
    (2,)
    """
    with Session() as context:
        contrast, offset = _core.xpcs_scaling(context, data._handle)
    return np.asarray(contrast), np.asarray(offset)


def estimate_sigma(data: Data) -> Floats:
    """Estimate the noise of every angle from differences of neighbours at long lags.

    Parameters
    ----------
    data : Data
        The correlations.

    Returns
    -------
    ndarray, shape (n_angle,)
        Standard deviations.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> bool((abs(tx.estimate_sigma(data) / 0.01 - 1) < 0.5).all())
    True
    """
    with Session() as context:
        return np.asarray(_core.xpcs_sigma(context, data._handle))


class G2(NamedTuple):
    """One-time correlations of :func:`g2`.

    Parameters
    ----------
    tau : ndarray, shape (n_lag,)
        Lags in s; of a bin the mean of its lags.
    age : ndarray, shape (n_window + 1,)
        Edges of the windows of age in s.
    g2, error : ndarray, shape (n_angle, n_window, n_lag)
        Means over pairs of frames, and their standard errors as if pairs were independent; NaN
        where there are too few.
    n_pair : ndarray of int, shape (n_angle, n_window, n_lag)
        How many there are.
    """

    tau: Floats
    age: Floats
    g2: Floats
    error: Floats
    n_pair: npt.NDArray[np.int64]


def g2(data: Data, *, windows: int = 1, multi_tau: int = 0) -> G2:
    """Take one-time correlations from two-time ones: means over the pairs of a lag.

    Parameters
    ----------
    data : Data
        The correlations.
    windows : int
        Equal parts of the age, the mean of both times, with curves of their own.
    multi_tau : int
        Lags 1 to twice this one by one, then as many bins of 2, 4, 8 .. frames; 0: every lag.

    Returns
    -------
    G2
        Lags, curves and errors.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> tx.g2(data, multi_tau=8).g2.shape
    (2, 1, 26)
    """
    with Session() as context:
        found = _core.xpcs_g2(context, data._handle, windows, multi_tau)
    tau, age, values, error, n_pair = (np.asarray(part) for part in found)
    shape = (-1, windows, len(tau))
    pairs = n_pair.reshape(shape).astype(np.int64)
    return G2(tau, age, values.reshape(shape), error.reshape(shape), pairs)
