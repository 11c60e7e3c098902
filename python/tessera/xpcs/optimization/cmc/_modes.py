"""Whether draws have two modes, and which shards belong to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

_LOOKED_AT = ("D0", "D_offset", "gamma_dot_t0", "beta", "alpha")
_STEPS, _ENOUGH = 200, 1e-6


@dataclass
class BimodalResult:
    """Two normals that were put through draws.

    Parameters
    ----------
    is_bimodal : bool
        Whether both weigh enough and are far enough apart.
    weights, means, stds : (float, float)
        Of the normals.
    separation, relative_separation : float
        Distance of the means, and that over the size of their mean.
    """

    is_bimodal: bool
    weights: tuple[float, float]
    means: tuple[float, float]
    stds: tuple[float, float]
    separation: float
    relative_separation: float


@dataclass
class ModeCluster:
    """Shards of one mode together.

    Parameters
    ----------
    mean, std : dict
        By parameter.
    weight : float
        Share of the shards.
    n_shards : int
        Shards.
    samples : dict of ndarray
        Draws by parameter.
    """

    mean: dict[str, float]
    std: dict[str, float]
    weight: float
    n_shards: int
    samples: dict[str, Floats]


@dataclass
class BimodalConsensusResult:
    """Two modes that shards were put together to.

    Parameters
    ----------
    modes : list of ModeCluster
        The lower and the upper.
    modal_params : list of str
        Parameters that have two modes.
    co_occurrence : dict
        Which have them together.
    """

    modes: list[ModeCluster]
    modal_params: list[str]
    co_occurrence: dict[str, Any]


def _mixture(values: Floats, first: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Put two normals through values by expectation and maximisation, from shares of the first."""
    share = np.stack([first, 1 - first])
    least = 1e-6
    previous = -np.inf
    for _ in range(_STEPS):
        total = share.sum(axis=1) + 10 * np.finfo(float).eps
        means = share @ values / total
        variances = (share * (values - means[:, None]) ** 2).sum(axis=1) / total + least
        weights = total / len(values)
        density = (
            np.log(weights)[:, None]
            - 0.5 * np.log(2 * np.pi * variances)[:, None]
            - 0.5 * (values - means[:, None]) ** 2 / variances[:, None]
        )
        evidence = np.logaddexp(density[0], density[1])
        share = np.exp(density - evidence)
        now = float(evidence.mean())
        if abs(now - previous) < _ENOUGH:
            break
        previous = now
    return now, weights, means, np.sqrt(variances)


def detect_bimodal(
    samples: npt.NDArray[Any], min_weight: float = 0.2, min_relative_separation: float = 0.5
) -> BimodalResult:
    """Put two normals through draws and judge whether they are two modes.

    Parameters
    ----------
    samples : ndarray
        Draws.
    min_weight : float, default 0.2
        Least share of each.
    min_relative_separation : float, default 0.5
        Least distance of their means over the size of their mean.

    Returns
    -------
    BimodalResult
        The normals and the judgement.
    """
    values = np.asarray(samples, np.float64).reshape(-1)
    if len(values) < 2:
        only = float(values[0]) if len(values) else 0.0
        return BimodalResult(False, (1.0, 0.0), (only, only), (0.0, 0.0), 0.0, 0.0)
    middle = np.median(values)
    halves = (values <= middle, values <= np.quantile(values, 0.25), values <= values.mean())
    fits = [_mixture(values, half.astype(float)) for half in halves if half.any()]
    _, weights, means, widths = max(fits, key=lambda found: found[0])
    separation = abs(float(means[0] - means[1]))
    relative = separation / max(abs(float(means.mean())), 1e-10)
    two = (float(weights.min()) > min_weight) and relative > min_relative_separation
    shares, middles, spreads = (
        (float(pair[0]), float(pair[1])) for pair in (weights, means, widths)
    )
    return BimodalResult(two, shares, middles, spreads, separation, relative)


def check_shard_bimodality(
    samples: Mapping[str, npt.NDArray[Any]], params_to_check: Sequence[str] | None = None
) -> dict[str, BimodalResult]:
    """Look for two modes in the draws of a shard.

    Parameters
    ----------
    samples : dict of ndarray
        Draws.
    params_to_check : list of str, optional
        Where; by default diffusion and shear.

    Returns
    -------
    dict of BimodalResult
        By parameter.
    """
    names = _LOOKED_AT if params_to_check is None else params_to_check
    return {name: detect_bimodal(np.ravel(samples[name])) for name in names if name in samples}


def _of_parameter(
    found: Sequence[Mapping[str, Any]], n_shards: int, middle: float | None
) -> dict[str, Any]:
    modes = np.sort([(entry["mode1"], entry["mode2"]) for entry in found], axis=1)
    (low, high), (low_sd, high_sd) = modes.mean(axis=0).tolist(), modes.std(axis=0).tolist()
    spread = float(np.hypot(low_sd, high_sd))
    return {
        "n_detections": len(found),
        "bimodal_fraction": len(found) / n_shards,
        "lower_mean": low,
        "lower_std": low_sd,
        "upper_mean": high,
        "upper_std": high_sd,
        "sep_significance": abs(high - low) / spread if spread > 0 else float("inf"),
        "consensus_in_trough": middle is not None and low < middle < high,
    }


def summarize_cross_shard_bimodality(
    bimodal_detections: Sequence[Mapping[str, Any]],
    n_shards: int,
    consensus_means: Mapping[str, float] | None = None,
    significance_threshold: float = 0.05,
) -> dict[str, Any]:
    """Put together in which shards which parameters had two modes.

    Parameters
    ----------
    bimodal_detections : list of dict
        ``shard``, ``param``, ``mode1`` and ``mode2``.
    n_shards : int
        All shards.
    consensus_means : dict, optional
        Means of all shards together: between the modes nobody is there.
    significance_threshold : float, default 0.05
        Least share of shards.

    Returns
    -------
    dict
        ``per_param``, ``co_occurrence``, ``n_detections`` and ``n_shards``.
    """
    if not bimodal_detections or n_shards == 0:
        return {"per_param": {}, "co_occurrence": {}, "n_detections": 0, "n_shards": n_shards}
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for entry in bimodal_detections:
        by_name.setdefault(entry["param"], []).append(entry)
    middles = consensus_means or {}
    per_param = {
        name: _of_parameter(found, n_shards, middles.get(name))
        for name, found in by_name.items()
        if len(found) / n_shards >= significance_threshold
    }
    d0, alpha = ({entry["shard"] for entry in by_name.get(n, ())} for n in ("D0", "alpha"))
    together: dict[str, Any] = {}
    if d0:
        together = {
            "d0_alpha_overlap": len(d0 & alpha),
            "d0_alpha_fraction": len(d0 & alpha) / len(d0),
            "d0_bimodal_shards": len(d0),
            "alpha_bimodal_shards": len(alpha),
        }
    return {
        "per_param": per_param,
        "co_occurrence": together,
        "n_detections": len(bimodal_detections),
        "n_shards": n_shards,
    }


def cluster_shard_modes(
    bimodal_detections: Sequence[Mapping[str, Any]],
    successful_samples: Sequence[Any],
    bimodal_summary: Mapping[str, Any],
    param_bounds: Mapping[str, tuple[float, float]],
) -> tuple[list[int], list[int]]:
    """Say which shards belong to the lower and which to the upper mode.

    Parameters
    ----------
    bimodal_detections : list of dict
        As of :func:`summarize_cross_shard_bimodality`; such shards belong to both.
    successful_samples : list of MCMCSamples
        Draws of every shard.
    bimodal_summary : dict
        Of :func:`summarize_cross_shard_bimodality`.
    param_bounds : dict
        Bounds, in units of which distances are measured.

    Returns
    -------
    (list of int, list of int)
        Shards of the lower and of the upper mode.
    """
    stats = bimodal_summary.get("per_param", {})
    names = sorted(stats)
    n_shards = len(successful_samples)
    if not names:
        return list(range(n_shards)), []
    bounds = np.array([param_bounds.get(name, (0.0, 1.0)) for name in names])
    scale = np.maximum(np.abs(bounds[:, 1] - bounds[:, 0]), 1e-10)
    low = np.array([stats[name]["lower_mean"] for name in names])
    high = np.array([stats[name]["upper_mean"] for name in names])
    both = {entry["shard"] for entry in bimodal_detections if entry["param"] in stats}
    lower, upper = [], []
    for shard, drawn in enumerate(successful_samples):
        own = np.array(
            [
                np.nanmean(drawn.samples[name]) if name in drawn.samples else (a + b) / 2
                for name, a, b in zip(names, low, high, strict=True)
            ]
        )
        to_low, to_high = (np.linalg.norm((own - mode) / scale) for mode in (low, high))
        if shard in both or to_low <= to_high:
            lower.append(shard)
        if shard in both or to_low > to_high:
            upper.append(shard)
    return lower, upper
