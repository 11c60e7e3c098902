"""How large shards are, how long they may take, and the time between frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.utils.logging import get_logger

logger = get_logger(__name__)

_LEAST = {"laminar_flow": 3000}
_LEAST_OTHERS = 5000
_CAP = 3_000_000
# Points from which on a shard has so many, the largest first.
_SIZES = {
    "laminar_flow": ((1e9, 10_000), (1e8, 8000), (2e6, 5000), (0, 8000)),
    "static": ((1e8, 20_000), (5e7, 15_000), (0, 10_000)),
}
_MOST_SHARDS = ((1e9, 100_000), (1e8, 50_000), (1e7, 10_000), (0, 2000))
_LARGEST_FLOW_SHARD = 100_000
# Angles up to which a shard is smaller, and by how much.
_ANGLES = ((3, 0.6), (5, 0.7), (10, 0.85))


def _step(table: tuple[tuple[float, int], ...], value: int) -> int:
    return next(size for least, size in table if value >= least)


def _resolve_max_points_per_shard(
    analysis_mode: str,
    n_total: int,
    max_points_per_shard: int | str | None,
    max_shards: int | None = None,
    n_phi: int = 1,
    iteration_ratio: float = 1.0,
) -> int:
    """Return how many points a shard has at most."""
    is_flow = analysis_mode == "laminar_flow"
    least = _LEAST.get(analysis_mode, _LEAST_OTHERS)
    if max_points_per_shard is not None and max_points_per_shard != "auto":
        said = int(max_points_per_shard)
        return max(said, least) if is_flow else said
    factor = next((share for most, share in _ANGLES if n_phi <= most), 1.0)
    size = max(int(_step(_SIZES["laminar_flow" if is_flow else "static"], n_total) * factor), least)
    ratio = max(0.25, min(2.0, iteration_ratio))
    if ratio != 1.0:
        size = max(int(size * ratio), least)
    most = _step(_MOST_SHARDS, n_total) if max_shards is None else max_shards
    if n_total // size <= most:
        return size
    spread = -(-n_total // most)
    return min(spread, _LARGEST_FLOW_SHARD) if is_flow else spread


def _cap_laminar_max_points(max_points_per_shard: int, logger: Any) -> int:
    """Return a size that a flow's shard may have."""
    if max_points_per_shard > _CAP:
        logger.warning(f"max_points_per_shard: {max_points_per_shard:,}; capping to {_CAP:,}")
        return _CAP
    return max_points_per_shard


def _compute_suggested_timeout(
    *,
    cost_per_shard: int,
    max_timeout: int,
    secs_per_unit: float = 5e-5,
    safety_factor: float = 5.0,
    min_timeout: int = 600,
) -> tuple[int, bool]:
    """Return seconds to wait for a shard, and whether more would be wanted than allowed."""
    wanted = safety_factor * secs_per_unit * cost_per_shard
    return int(min(max_timeout, max(min_timeout, wanted))), wanted > max_timeout


def _infer_time_step(t1: npt.NDArray[Any], t2: npt.NDArray[Any]) -> float:
    """Return the median distance of times; 1 where there are none."""
    steps = np.diff(np.unique(np.concatenate([np.asarray(t1), np.asarray(t2)])))
    steps = steps[steps > 0]
    if steps.size == 0:
        logger.warning("a single time does not say how far frames are apart; dt=1.0 s is taken")
        return 1.0
    return float(np.median(steps))
