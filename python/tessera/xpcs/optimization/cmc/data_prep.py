"""Points for samplers: checked, without the diagonal, and cut into shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.utils.logging import get_logger

__all__ = [
    "PreparedData",
    "compute_data_statistics",
    "create_xdata_dict",
    "estimate_noise_scale",
    "extract_phi_info",
    "prepare_mcmc_data",
    "shard_data_angle_balanced",
    "shard_data_random",
    "shard_data_stratified",
    "validate_pooled_data",
]

logger = get_logger(__name__)
_Places = npt.NDArray[np.int64]


@dataclass
class PreparedData:
    """Points of all angles, one after another.

    Parameters
    ----------
    data, t1, t2, phi : ndarray, shape (n_total,)
        Correlations, times and angles.
    phi_unique : ndarray, shape (n_phi,)
        Angles.
    phi_indices : ndarray, shape (n_total,)
        Which angle a point has.
    n_total, n_phi : int
        Points and angles.
    noise_scale : float
        Of :func:`estimate_noise_scale`.
    """

    data: Floats
    t1: Floats
    t2: Floats
    phi: Floats
    phi_unique: Floats
    phi_indices: npt.NDArray[np.int32]
    n_total: int
    n_phi: int
    noise_scale: float


def validate_pooled_data(
    data: npt.NDArray[Any], t1: npt.NDArray[Any], t2: npt.NDArray[Any], phi: npt.NDArray[Any]
) -> None:
    """Raise ValueError for points that cannot be sampled from.

    Parameters
    ----------
    data, t1, t2, phi : ndarray, shape (n,)
        Correlations, times and angles.
    """
    parts = {"data": data, "t1": t1, "t2": t2, "phi": phi}
    for name, values in parts.items():
        if values.ndim != 1:
            raise ValueError(f"{name} must be 1D, got shape {values.shape}")
    for name, values in parts.items():
        if len(values) != len(data):
            raise ValueError(f"{name} length {len(values)} does not match data length {len(data)}")
    for name, values in parts.items():
        for kind, is_odd in (("NaN", np.isnan), ("infinite", np.isinf)):
            n_odd = int(is_odd(values).sum())
            if n_odd:
                count = f"{n_odd} " if name == "data" else ""
                raise ValueError(f"{name} contains {count}{kind} values")
    if (t1 < 0).any() or (t2 < 0).any():
        raise ValueError("Time coordinates must be non-negative")
    n_strange = int(((data < 0) | (data > 10)).sum())
    if n_strange:
        logger.warning("%d correlations are below 0 or above 10", n_strange)


def extract_phi_info(phi: npt.NDArray[Any]) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Return the angles, and which of them every point has.

    Parameters
    ----------
    phi : ndarray, shape (n,)
        Angle of every point.

    Returns
    -------
    (ndarray, ndarray)
        Angles in ascending order, and places in them.
    """
    angles, places = np.unique(phi, return_inverse=True)
    return angles, places.reshape(-1).astype(np.int32)


def estimate_noise_scale(data: npt.NDArray[Any]) -> float:
    """Return 1.4826 times the median distance from the median, at least 0.001.

    Parameters
    ----------
    data : ndarray
        Correlations, whose decay counts as noise here: that is the original's estimate.

    Returns
    -------
    float
        The scale.
    """
    return max(1.4826 * float(np.median(np.abs(data - np.median(data)))), 0.001)


def compute_data_statistics(data: npt.NDArray[Any]) -> dict[str, float]:
    """Return extremes, mean, standard deviation and median of what is not NaN.

    Parameters
    ----------
    data : ndarray
        Correlations.

    Returns
    -------
    dict
        ``min``, ``max``, ``mean``, ``std`` and ``median``.
    """
    what: dict[str, Callable[..., Any]] = {
        "min": np.nanmin,
        "max": np.nanmax,
        "mean": np.nanmean,
        "std": np.nanstd,
        "median": np.nanmedian,
    }
    return {name: float(function(data)) for name, function in what.items()}


def _prepared(data: Floats, t1: Floats, t2: Floats, phi: Floats) -> PreparedData:
    angles, places = extract_phi_info(phi)
    noise = estimate_noise_scale(data)
    return PreparedData(data, t1, t2, phi, angles, places, len(data), len(angles), noise)


def prepare_mcmc_data(
    data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    phi: npt.ArrayLike,
    filter_diagonal: bool = True,
) -> PreparedData:
    """Check points and leave out those of equal times.

    Parameters
    ----------
    data, t1, t2, phi : array-like, shape (n,)
        Correlations, times and angles.
    filter_diagonal : bool, default True
        Whether points of equal times are left out.

    Returns
    -------
    PreparedData
        The points.
    """
    parts = [np.asarray(values) for values in (data, t1, t2, phi)]
    validate_pooled_data(*parts)
    if filter_diagonal:
        times = np.unique(np.concatenate(parts[1:3]))
        steps = np.diff(times)
        least = float(steps.min()) if steps.size else 1.0
        keep = np.abs(parts[1] - parts[2]) > max(1e-6 * least, 1e-12)
        if not keep.any():
            raise ValueError(
                f"All {len(keep):,} data points were diagonal (t1==t2). No off-diagonal points "
                "remain after filtering. Check data preparation or use filter_diagonal=False."
            )
        parts = [values[keep] for values in parts]
    return _prepared(*parts)


def _part(prepared: PreparedData, places: _Places) -> PreparedData:
    """Return the points of some places, in their order."""
    where = np.sort(places)
    points = (prepared.data, prepared.t1, prepared.t2, prepared.phi)
    return _prepared(*(values[where] for values in points))


def _pieces(places: _Places, n: int) -> Iterator[_Places]:
    """Cut places into pieces of one size; the last has what is left over as well."""
    size = len(places) // n
    for k in range(n):
        yield places[k * size : len(places) if k == n - 1 else (k + 1) * size]


def _count(n_points: int, size: int) -> int:
    return -(-n_points // size)


def shard_data_stratified(
    prepared: PreparedData,
    num_shards: int | None = None,
    max_points_per_shard: int | None = None,
    max_shards_per_angle: int = 100,
    seed: int = 42,
) -> list[PreparedData]:
    """Cut points by angle, and large angles at random.

    Parameters
    ----------
    prepared : PreparedData
        The points.
    num_shards, max_points_per_shard : int, optional
        How many, or how large.
    max_shards_per_angle : int, default 100
        At most.
    seed : int, default 42
        Of the order of points.

    Returns
    -------
    list of PreparedData
        The shards.
    """
    rng = np.random.default_rng(seed)
    size = max_points_per_shard
    if size is None and num_shards:
        size = _count(prepared.n_total, num_shards)
    shards = []
    for angle in range(prepared.n_phi):
        places = np.flatnonzero(prepared.phi_indices == angle)
        n = 1 if size is None or len(places) <= size else _count(len(places), size)
        if n == 1:
            shards.append(_part(prepared, places))
            continue
        order = np.arange(len(places))
        rng.shuffle(order)
        pieces = _pieces(places[order], min(n, max_shards_per_angle))
        shards += [_part(prepared, piece) for piece in pieces]
    return shards


def shard_data_random(
    prepared: PreparedData,
    num_shards: int | None = None,
    max_points_per_shard: int | None = None,
    max_shards: int = 100,
    seed: int = 42,
) -> list[PreparedData]:
    """Cut points at random.

    Parameters
    ----------
    prepared : PreparedData
        The points.
    num_shards, max_points_per_shard : int, optional
        How many, or how large.
    max_shards : int, default 100
        At most.
    seed : int, default 42
        Of the order of points.

    Returns
    -------
    list of PreparedData
        The shards.
    """
    n = num_shards
    if n is None:
        size = max_points_per_shard
        n = 1 if size is None else _count(prepared.n_total, size)
    order = np.arange(prepared.n_total)
    np.random.default_rng(seed).shuffle(order)
    return [_part(prepared, piece) for piece in _pieces(order, min(n, max_shards))]


def shard_data_angle_balanced(
    prepared: PreparedData,
    num_shards: int | None = None,
    max_points_per_shard: int | None = None,
    max_shards: int = 500,
    min_angle_coverage: float = 0.8,
    seed: int = 42,
) -> list[PreparedData]:
    """Cut points at random so that every shard has its share of every angle.

    Parameters
    ----------
    prepared : PreparedData
        The points.
    num_shards, max_points_per_shard : int, optional
        How many, or how large.
    max_shards : int, default 500
        At most.
    min_angle_coverage : float, default 0.8
        Share of the angles below which a shard is told of.
    seed : int, default 42
        Of the order of points.

    Returns
    -------
    list of PreparedData
        The shards.
    """
    if prepared.n_phi == 1:
        return shard_data_random(prepared, num_shards, max_points_per_shard, max_shards, seed)
    n = num_shards
    if n is None:
        size = max_points_per_shard
        n = prepared.n_phi if size is None else _count(prepared.n_total, size)
    n = max(1, min(n, max_shards))
    rng = np.random.default_rng(seed)
    parts: list[list[_Places]] = [[] for _ in range(n)]
    for angle in range(prepared.n_phi):
        places = np.flatnonzero(prepared.phi_indices == angle)
        rng.shuffle(places)
        begin = 0
        for k in range(n):
            # What is left is spread over the shards that are left; the last takes it.
            take = (len(places) - begin) // (n - k)
            parts[k].append(places[begin : begin + take])
            begin += take
    shards = [_part(prepared, np.concatenate(own)) for own in parts if any(map(len, own))]
    few = sum(shard.n_phi < min_angle_coverage * prepared.n_phi for shard in shards)
    if few:
        logger.warning("%d of %d shards lack angles", few, len(shards))
    return shards


def create_xdata_dict(
    prepared: PreparedData,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    analysis_mode: str,
) -> dict[str, Any]:
    """Return points and experiment as one dict.

    Parameters
    ----------
    prepared : PreparedData
        The points.
    q, L, dt : float
        Wave vector, gap and time between frames.
    analysis_mode : str
        The mode.

    Returns
    -------
    dict
        The fields of :class:`PreparedData`, and the rest.
    """
    return {**vars(prepared), "q": q, "L": L, "dt": dt, "analysis_mode": analysis_mode}
