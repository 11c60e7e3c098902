"""Points ordered so that every piece of data has all angles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera._system import sys_info
from tessera.xpcs._namespace import Array, namespace

__all__ = [
    "StratificationDiagnostics",
    "create_angle_stratified_data",
    "create_angle_stratified_indices",
    "should_use_stratification",
]

_MIB = 1024.0**2
_BALANCED = 5.0  # largest ratio of points of two angles
_LARGE = 100_000


@dataclass
class AngleDistributionStats:
    """How many points each angle has."""

    unique_angles: npt.NDArray[Any]
    n_angles: int
    counts: dict[float, int]
    fractions: dict[float, float]
    imbalance_ratio: float
    min_angle: float
    max_angle: float
    is_balanced: bool


@dataclass
class StratificationDiagnostics:
    """How well pieces are balanced.

    Parameters
    ----------
    n_chunks : int
        Pieces.
    chunk_sizes, angles_per_chunk : list of int
        Of each.
    chunk_balance, angle_coverage : dict
        Means and spreads.
    execution_time_ms : float
        Of the ordering.
    memory_overhead_mb, memory_efficiency : float
        Of the ordering.
    throughput_points_per_sec : float
        Of the ordering.
    use_index_based : bool
        By places, without a copy.
    """

    n_chunks: int
    chunk_sizes: list[int]
    chunk_balance: dict[str, float]
    angles_per_chunk: list[int]
    angle_coverage: dict[str, float]
    execution_time_ms: float
    memory_overhead_mb: float
    memory_efficiency: float
    throughput_points_per_sec: float
    use_index_based: bool


def _free_bytes() -> float:
    return float(sys_info()["system"]["memory_available_bytes"])


def analyze_angle_distribution(phi: npt.ArrayLike) -> AngleDistributionStats:
    """Count the points of each angle."""
    angles, counts = np.unique(np.asarray(phi), return_counts=True)
    ratio = float(counts.max() / counts.min())
    return AngleDistributionStats(
        angles,
        len(angles),
        {float(a): int(n) for a, n in zip(angles, counts, strict=True)},
        {float(a): float(n / counts.sum()) for a, n in zip(angles, counts, strict=True)},
        ratio,
        float(angles[np.argmin(counts)]),
        float(angles[np.argmax(counts)]),
        ratio < _BALANCED,
    )


def estimate_stratification_memory(
    n_points: int,
    n_features: int = 4,
    use_index_based: bool = False,
    estimated_expansion: float = 1.0,
) -> dict[str, Any]:
    """Return the MiB that an ordering takes."""
    original = n_points * n_features * 8 / _MIB
    moved = int(n_points * estimated_expansion)
    copied = 0.0 if use_index_based else moved * n_features * 8 / _MIB
    places = moved * 8 / _MIB if use_index_based else 0.0
    peak = original + copied + places
    return {
        "original_memory_mb": original,
        "stratified_memory_mb": copied,
        "peak_memory_mb": peak,
        "index_memory_mb": places,
        "is_safe": peak * _MIB < 0.7 * _free_bytes(),
    }


def estimate_nlsq_optimization_memory(
    n_points: int, n_params: int, n_features: int = 4, dtype_bytes: int = 8
) -> dict[str, Any]:
    """Return the MiB that the original's solver would take."""
    data = n_points * n_features * dtype_bytes / _MIB
    jacobian = n_points * n_params * dtype_bytes / _MIB
    compiled = 1.75 * data
    solver = (n_params * n_params + n_params) * dtype_bytes / _MIB + 100
    total = 1.2 * (data + jacobian + compiled + solver)
    free = _free_bytes() / 1024**3
    share = total / 1000 / free * 100
    return {
        "data_mb": data,
        "jacobian_mb": jacobian,
        "jax_overhead_mb": compiled,
        "optimizer_mb": solver,
        "total_mb": total,
        "peak_gb": total / 1000,
        "available_gb": free,
        "utilization_pct": share,
        "is_safe": share < 70.0,
    }


def calculate_adaptive_chunk_size(
    total_points: int,
    n_params: int,
    n_angles: int,
    available_memory_gb: float | None = None,
    safety_factor: float = 5.0,
    min_chunk_size: int = 10_000,
    max_chunk_size: int = 500_000,
) -> int:
    """Return how many points at once the original would take."""
    free = _free_bytes() if available_memory_gb is None else available_memory_gb * 1024**3
    fitting = int(0.7 * free / (n_params * 8 * safety_factor))
    return max(min_chunk_size, min(fitting, max_chunk_size))


def create_angle_stratified_indices(
    phi: npt.ArrayLike, target_chunk_size: int = 100_000
) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Return an order of points in which every piece has all angles.

    Parameters
    ----------
    phi : array, shape (n,)
        Angle of every point.
    target_chunk_size : int, default 100000
        About how large a piece is.

    Returns
    -------
    order : ndarray of int, shape (n,)
        Places of the points.
    sizes : list of int
        Points of each piece.
    """
    values = np.asarray(phi)
    if not len(values):
        raise ValueError("phi: there are no points")
    groups = [np.flatnonzero(values == angle) for angle in np.unique(values)]
    if len(groups) <= 1:
        return np.arange(len(values)), [len(values)]
    n_chunks = max(1, -(-len(values) // target_chunk_size))
    # Each angle's points are dealt out as evenly as they go; the first pieces get one more.
    parts = [np.array_split(group, n_chunks) for group in groups]
    pieces = [np.concatenate([part[place] for part in parts]) for place in range(n_chunks)]
    pieces = [piece for piece in pieces if len(piece)]
    return np.concatenate(pieces), [len(piece) for piece in pieces]


def create_angle_stratified_data(
    phi: Array, t1: Array, t2: Array, g2_exp: Array, target_chunk_size: int = 100_000
) -> tuple[Array, Array, Array, Array, list[int]]:
    """Return points in an order in which every piece has all angles.

    Parameters
    ----------
    phi, t1, t2, g2_exp : array, shape (n,)
        Angles, times and correlations.
    target_chunk_size : int, default 100000
        About how large a piece is.

    Returns
    -------
    phi, t1, t2, g2_exp : array, shape (n,)
        In the new order.
    sizes : list of int
        Points of each piece.
    """
    order, sizes = create_angle_stratified_indices(phi, target_chunk_size)
    xp = namespace(phi, t1, t2, g2_exp)
    first, second, third, fourth = (xp.asarray(values)[order] for values in (phi, t1, t2, g2_exp))
    return first, second, third, fourth, sizes


@dataclass
class StratifiedIndexIterator:
    """Gives the places of one piece after the other."""

    indices: npt.NDArray[np.int64]
    chunk_sizes: list[int]

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:
        yield from np.split(self.indices, np.cumsum(self.chunk_sizes)[:-1])

    def __len__(self) -> int:
        return len(self.chunk_sizes)


def get_stratified_chunk_iterator(
    phi: npt.ArrayLike, target_chunk_size: int = 100_000
) -> StratifiedIndexIterator:
    """Return the places of points, piece by piece."""
    return StratifiedIndexIterator(*create_angle_stratified_indices(phi, target_chunk_size))


def should_use_stratification(
    n_points: int, n_angles: int, per_angle_scaling: bool, imbalance_ratio: float
) -> tuple[bool, str]:
    """Return whether the original would order points, and why.

    Parameters
    ----------
    n_points, n_angles : int
        Of the data.
    per_angle_scaling : bool
        One contrast and offset an angle.
    imbalance_ratio : float
        Points of the angle that has most over those of the one that has fewest.

    Returns
    -------
    (bool, str)
        Whether, and a sentence.
    """
    if n_points < _LARGE:
        return False, f"Dataset < 100k points ({n_points:,}): no chunking"
    if not per_angle_scaling:
        return False, "Per-angle scaling disabled: not needed"
    if n_angles == 1:
        return False, "Single phi angle: nothing to stratify"
    if imbalance_ratio > _BALANCED:
        return False, f"High imbalance ratio ({imbalance_ratio:.1f} > 5.0): one angle at a time"
    return True, f"Large dataset ({n_points:,} points) with balanced angles ({n_angles} angles)"


def compute_stratification_diagnostics(
    phi_original: npt.ArrayLike,
    phi_stratified: npt.ArrayLike,
    execution_time_ms: float,
    use_index_based: bool = False,
    target_chunk_size: int = 100_000,
    chunk_sizes: Sequence[int] | None = None,
) -> StratificationDiagnostics:
    """Say how well an order of points is balanced."""
    ordered = np.asarray(phi_stratified)
    n_points = len(np.asarray(phi_original))
    n_angles = len(np.unique(np.asarray(phi_original)))
    if chunk_sizes is None:
        begins = range(0, n_points, target_chunk_size)
        chunk_sizes = [len(ordered[begin : begin + target_chunk_size]) for begin in begins]
    sizes = np.array(chunk_sizes)
    pieces = np.split(ordered, np.cumsum(sizes)[:-1])
    angles = np.array([len(np.unique(piece)) for piece in pieces])
    memory = estimate_stratification_memory(n_points, use_index_based=use_index_based)
    peak, original = memory["peak_memory_mb"], memory["original_memory_mb"]
    return StratificationDiagnostics(
        n_chunks=len(sizes),
        chunk_sizes=sizes.tolist(),
        chunk_balance={
            "mean": float(sizes.mean()),
            "std": float(sizes.std()),
            "min": int(sizes.min()),
            "max": int(sizes.max()),
            "cv": float(sizes.std() / sizes.mean()),
        },
        angles_per_chunk=angles.tolist(),
        angle_coverage={
            "mean_angles": float(angles.mean()),
            "std_angles": float(angles.std()),
            "min_coverage_ratio": float(angles.min() / n_angles),
            "perfect_coverage_chunks": int(np.sum(angles == n_angles)),
        },
        execution_time_ms=execution_time_ms,
        memory_overhead_mb=peak - original,
        memory_efficiency=original / peak,
        throughput_points_per_sec=(
            n_points / execution_time_ms * 1000.0 if execution_time_ms > 0 else 0.0
        ),
        use_index_based=use_index_based,
    )


def format_diagnostics_report(diagnostics: StratificationDiagnostics) -> str:
    """Return the diagnostics as text."""
    own, size, angle = diagnostics, diagnostics.chunk_balance, diagnostics.angle_coverage
    rule = "=" * 70
    lines = [
        rule,
        "STRATIFICATION DIAGNOSTICS REPORT",
        rule,
        "",
        "Chunking:",
        f"  Number of chunks: {own.n_chunks}",
        f"  Method: {'Index-based (zero-copy)' if own.use_index_based else 'Full copy'}",
        "",
        "Chunk Balance:",
        f"  Mean size: {size['mean']:.0f} points",
        f"  Std dev: {size['std']:.1f} points",
        f"  Range: [{size['min']}, {size['max']}]",
        f"  Coefficient of variation: {size['cv']:.3f}",
        "",
        "Angle Coverage:",
        f"  Mean angles per chunk: {angle['mean_angles']:.1f}",
        f"  Std dev: {angle['std_angles']:.2f}",
        f"  Min coverage ratio: {angle['min_coverage_ratio']:.2%}",
        f"  Perfect coverage chunks: {angle['perfect_coverage_chunks']}/{own.n_chunks}",
        "",
        "Performance:",
        f"  Execution time: {own.execution_time_ms:.2f} ms",
        f"  Throughput: {own.throughput_points_per_sec:,.0f} points/second",
        "",
        "Memory:",
        f"  Overhead: {own.memory_overhead_mb:.1f} MB",
        f"  Efficiency: {own.memory_efficiency:.1%}",
        "",
        rule,
    ]
    return "\n".join(lines)
