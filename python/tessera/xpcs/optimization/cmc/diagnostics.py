"""Whether draws have converged, and how they compare with a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs import _chains
from tessera.xpcs.optimization.cmc._modes import (
    BimodalConsensusResult,
    BimodalResult,
    ModeCluster,
    check_shard_bimodality,
    cluster_shard_modes,
    detect_bimodal,
    summarize_cross_shard_bimodality,
)
from tessera.xpcs.utils.logging import get_logger

__all__ = [
    "DEFAULT_MAX_DIVERGENCE_RATE",
    "DEFAULT_MAX_RHAT",
    "DEFAULT_MIN_ESS",
    "BimodalConsensusResult",
    "BimodalResult",
    "ModeCluster",
    "check_convergence",
    "check_shard_bimodality",
    "cluster_shard_modes",
    "compute_ess",
    "compute_nlsq_comparison_metrics",
    "compute_posterior_contraction",
    "compute_precision_analysis",
    "compute_r_hat",
    "create_diagnostics_dict",
    "detect_bimodal",
    "get_convergence_recommendations",
    "log_analysis_summary",
    "log_precision_analysis",
    "summarize_cross_shard_bimodality",
    "summarize_diagnostics",
]

logger = get_logger(__name__)

DEFAULT_MAX_RHAT = 1.05
DEFAULT_MIN_ESS = 400
DEFAULT_MAX_DIVERGENCE_RATE = 0.05
_Numbers = Mapping[str, float]


def _known(values: _Numbers) -> list[float]:
    return [value for value in values.values() if not np.isnan(value)]


def _rate(divergences: int, n_samples: int, n_chains: int, num_shards: int) -> float:
    total = num_shards * n_samples * n_chains
    return divergences / total if total > 0 else 0.0


def compute_r_hat(samples: Mapping[str, npt.NDArray[Any]]) -> dict[str, float]:
    """Return rank-normalised split R-hat, as ArviZ computes it.

    Parameters
    ----------
    samples : dict of ndarray, shape (n_chain, n_draw)
        Draws.

    Returns
    -------
    dict
        By name; NaN for one chain, of which ArviZ says nothing.
    """
    found = {}
    for name, values in samples.items():
        own = np.asarray(values, np.float64)
        if own.ndim != 2:
            logger.warning("%s: expected chains of draws, got shape %s", name, own.shape)
            continue
        found[name] = float("nan") if len(own) < 2 else _chains.r_hat(own)
    return found


def compute_ess(
    samples: Mapping[str, npt.NDArray[Any]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Return effective sizes of bulk and tails, as ArviZ computes them.

    Parameters
    ----------
    samples : dict of ndarray, shape (n_chain, n_draw)
        Draws.

    Returns
    -------
    (dict, dict)
        Of the bulk and of the tails.
    """
    chains = {name: np.atleast_2d(np.asarray(v, np.float64)) for name, v in samples.items()}
    return (
        {name: _chains.ess_bulk(values) for name, values in chains.items()},
        {name: _chains.ess_tail(values) for name, values in chains.items()},
    )


def check_convergence(
    r_hat: _Numbers,
    ess_bulk: _Numbers,
    divergences: int,
    n_samples: int,
    n_chains: int,
    max_rhat: float = DEFAULT_MAX_RHAT,
    min_ess: float = DEFAULT_MIN_ESS,
    max_divergence_rate: float = DEFAULT_MAX_DIVERGENCE_RATE,
    num_shards: int = 1,
) -> tuple[str, list[str]]:
    """Judge chains by their numbers.

    Parameters
    ----------
    r_hat, ess_bulk : dict
        By parameter.
    divergences, n_samples, n_chains : int
        Of the chains.
    max_rhat, min_ess, max_divergence_rate : float
        Limits.
    num_shards : int, default 1
        Runs that the divergences are of.

    Returns
    -------
    (str, list of str)
        'converged', 'not_converged' or 'divergences'; and a sentence for what is wrong.
    """
    lines = []
    worst = max(_known(r_hat), default=1.0)
    if worst > max_rhat:
        names = [name for name, value in r_hat.items() if value > max_rhat]
        lines.append(f"R-hat > {max_rhat} for parameters: {names} (max={worst:.3f})")
    least = min(_known(ess_bulk), default=0.0)
    if least < min_ess:
        names = [name for name, value in ess_bulk.items() if value < min_ess]
        lines.append(f"ESS < {min_ess} for parameters: {names} (min={least:.0f})")
    rate = _rate(divergences, n_samples, n_chains, num_shards)
    if rate > max_divergence_rate:
        total = num_shards * n_samples * n_chains
        lines.append(
            f"Divergence rate {rate:.1%} exceeds {max_divergence_rate:.1%} "
            f"({divergences}/{total} transitions)"
        )
        return "divergences", lines
    return ("not_converged" if lines else "converged"), lines


def create_diagnostics_dict(
    r_hat: _Numbers,
    ess_bulk: _Numbers,
    ess_tail: _Numbers,
    divergences: int,
    convergence_status: str,
    warnings: Sequence[str],
    n_chains: int,
    n_warmup: int,
    n_samples: int,
    warmup_time: float,
    sampling_time: float,
    num_shards: int = 1,
) -> dict[str, Any]:
    """Return what is known of chains as one dict.

    Parameters
    ----------
    r_hat, ess_bulk, ess_tail : dict
        By parameter.
    divergences : int
        Paths that were broken off.
    convergence_status : str
        Of :func:`check_convergence`.
    warnings : list of str
        Sentences.
    n_chains, n_warmup, n_samples : int
        Of the chains.
    warmup_time, sampling_time : float
        Seconds.
    num_shards : int, default 1
        Runs that the divergences are of.

    Returns
    -------
    dict
        Numbers, limits, times and everything by parameter.
    """
    sizes, factors, tails = _known(ess_bulk), _known(r_hat), _known(ess_tail)
    nan = float("nan")
    return {
        "convergence_status": convergence_status,
        "total_divergences": divergences,
        "divergence_rate": _rate(divergences, n_samples, n_chains, num_shards),
        "max_r_hat": max(factors, default=nan),
        "min_ess_bulk": min(sizes, default=nan),
        "min_ess_tail": min(tails, default=nan),
        "all_r_hat_ok": all(value <= DEFAULT_MAX_RHAT for value in factors),
        "all_ess_ok": all(value >= DEFAULT_MIN_ESS for value in sizes),
        "warnings": list(warnings),
        "sampling_config": {"n_chains": n_chains, "n_warmup": n_warmup, "n_samples": n_samples},
        "timing": {
            "warmup_seconds": warmup_time,
            "sampling_seconds": sampling_time,
            "total_seconds": warmup_time + sampling_time,
        },
        "per_parameter": {
            name: {
                "r_hat": r_hat.get(name, nan),
                "ess_bulk": ess_bulk.get(name, nan),
                "ess_tail": ess_tail.get(name, nan),
            }
            for name in r_hat
        },
    }


def summarize_diagnostics(
    r_hat: _Numbers,
    ess_bulk: _Numbers,
    divergences: int,
    n_samples: int,
    n_chains: int,
    num_shards: int = 1,
) -> str:
    """Return one line on chains.

    Parameters
    ----------
    r_hat, ess_bulk : dict
        By parameter.
    divergences, n_samples, n_chains : int
        Of the chains.
    num_shards : int, default 1
        Runs that the divergences are of.

    Returns
    -------
    str
        The line.
    """
    nan = float("nan")
    rate = _rate(divergences, n_samples, n_chains, num_shards)
    return (
        f"Diagnostics: R-hat(max)={max(_known(r_hat), default=nan):.3f}, "
        f"ESS(min)={min(_known(ess_bulk), default=nan):.0f}, divergences={divergences} ({rate:.1%})"
    )


def get_convergence_recommendations(
    max_rhat: float,
    min_ess: float,
    divergences: int,
    n_samples: int,
    n_chains: int,
    num_shards: int = 1,
) -> list[str]:
    """Say what to do about chains.

    Parameters
    ----------
    max_rhat, min_ess : float
        The worst of all parameters.
    divergences, n_samples, n_chains : int
        Of the chains.
    num_shards : int, default 1
        Runs that the divergences are of.

    Returns
    -------
    list of str
        A sentence each; none if all is well.
    """
    lines = []
    if np.isfinite(max_rhat) and max_rhat > 1.1:
        lines.append(
            f"HIGH R-HAT ({max_rhat:.3f}): the chains have not mixed; increase num_warmup, or take "
            f"more chains than {n_chains}."
        )
    elif np.isfinite(max_rhat) and max_rhat > 1.05:
        lines.append(
            f"MARGINAL R-HAT ({max_rhat:.3f}): larger num_samples or num_warmup would help."
        )
    if np.isfinite(min_ess) and min_ess < 100:
        wanted = int(100 * n_samples / max(min_ess, 1))
        lines.append(
            f"LOW ESS ({min_ess:.0f}): draws depend on each other; increase num_samples from "
            f"{n_samples} to {wanted} or more."
        )
    elif np.isfinite(min_ess) and min_ess < 400:
        lines.append(f"MODERATE ESS ({min_ess:.0f}): larger num_samples makes errors reliable.")
    rate = _rate(divergences, n_samples, n_chains, num_shards)
    if rate > 0.1:
        lines.append(
            f"HIGH DIVERGENCES ({rate:.1%}): raise target_accept_prob to 0.95, reduce "
            "max_points_per_shard, look for outliers."
        )
    elif rate > 0.01:
        lines.append(f"MODERATE DIVERGENCES ({rate:.1%}): raise target_accept_prob to 0.90.")
    return lines


def log_analysis_summary(
    convergence_status: str,
    r_hat: _Numbers,
    ess_bulk: _Numbers,
    divergences: int,
    n_samples: int,
    n_chains: int,
    n_shards: int,
    shards_succeeded: int,
    execution_time: float,
) -> None:
    """Write the outcome of a run, and what to do about it, to the log.

    Parameters
    ----------
    convergence_status : str
        Of :func:`check_convergence`.
    r_hat, ess_bulk : dict
        By parameter.
    divergences, n_samples, n_chains : int
        Of the chains.
    n_shards, shards_succeeded : int
        Runs, and those that went well.
    execution_time : float
        Seconds.
    """
    line = summarize_diagnostics(
        r_hat, ess_bulk, divergences, n_samples, n_chains, shards_succeeded
    )
    logger.info(
        "%s in %.1f s, %d of %d shards. %s",
        convergence_status,
        execution_time,
        shards_succeeded,
        n_shards,
        line,
    )
    nan = float("nan")
    for advice in get_convergence_recommendations(
        max(_known(r_hat), default=nan),
        min(_known(ess_bulk), default=nan),
        divergences,
        n_samples,
        n_chains,
        n_shards,
    ):
        logger.info(advice)


def compute_posterior_contraction(posterior_std: float, prior_std: float) -> float:
    """Return 1 less the ratio of posterior and prior widths.

    Parameters
    ----------
    posterior_std, prior_std : float
        Standard deviations.

    Returns
    -------
    float
        1 where the data say everything; NaN for widths that are none.
    """
    widths = (posterior_std, prior_std)
    if not all(np.isfinite(width) and width > 0 for width in widths):
        return float("nan")
    return 1.0 - posterior_std / prior_std


def compute_nlsq_comparison_metrics(
    cmc_mean: float, cmc_std: float, nlsq_value: float, nlsq_std: float | None = None
) -> dict[str, float]:
    """Compare a posterior with a fit.

    Parameters
    ----------
    cmc_mean, cmc_std : float
        Of the posterior.
    nlsq_value, nlsq_std : float
        Of the fit.

    Returns
    -------
    dict
        ``z_score``, ``coverage_95``, ``relative_diff`` and ``uncertainty_ratio``.
    """
    nan = float("nan")
    found = dict.fromkeys(("z_score", "coverage_95", "relative_diff", "uncertainty_ratio"), nan)
    if cmc_std > 0 and np.isfinite(cmc_std):
        found["z_score"] = abs(cmc_mean - nlsq_value) / cmc_std
        found["coverage_95"] = float(found["z_score"] < 1.96)
    if nlsq_value != 0 and np.isfinite(nlsq_value):
        found["relative_diff"] = (cmc_mean - nlsq_value) / abs(nlsq_value)
    if nlsq_std is not None and nlsq_std > 0 and np.isfinite(nlsq_std):
        found["uncertainty_ratio"] = cmc_std / nlsq_std
    return found


def compute_precision_analysis(
    cmc_result: Mapping[str, Mapping[str, float]],
    nlsq_result: _Numbers | None = None,
    nlsq_uncertainties: _Numbers | None = None,
    prior_stds: _Numbers | None = None,
) -> dict[str, dict[str, float]]:
    """Compare a posterior with a fit and with its priors, by parameter.

    Parameters
    ----------
    cmc_result : dict of dict
        ``mean`` and ``std`` by parameter.
    nlsq_result, nlsq_uncertainties, prior_stds : dict, optional
        Values and widths of the fit, widths of the priors.

    Returns
    -------
    dict of dict
        Numbers by parameter.
    """
    found: dict[str, dict[str, float]] = {}
    nan = float("nan")
    for name, stats in cmc_result.items():
        if name in ("sigma", "obs", "n_numerical_issues"):
            continue
        mean, std = stats.get("mean", nan), stats.get("std", nan)
        row = {"cmc_mean": mean, "cmc_std": std}
        if prior_stds and name in prior_stds:
            row["posterior_contraction"] = compute_posterior_contraction(std, prior_stds[name])
            row["prior_std"] = prior_stds[name]
        if nlsq_result and name in nlsq_result:
            value = nlsq_result[name]
            error = (nlsq_uncertainties or {}).get(name)
            row |= compute_nlsq_comparison_metrics(mean, std, value, error)
            row["nlsq_value"] = value
            if error is not None:
                row["nlsq_std"] = error
        found[name] = row
    return found


def _marker(row: _Numbers, tolerance_pct: float) -> str:
    nan = float("nan")
    z, ratio = row.get("z_score", nan), row.get("uncertainty_ratio", nan)
    if z > 3:
        return " [SEVERE]"
    is_far = z > 2 or abs(100 * row.get("relative_diff", nan)) > tolerance_pct
    return " [WARN]" if is_far or ratio < 0.5 else ""


def _precision_row(name: str, row: _Numbers, tolerance_pct: float) -> str:
    def text(key: str, form: str, factor: float = 1.0) -> str:
        value = row.get(key, float("nan"))
        return form.format(factor * value) if np.isfinite(value) else "N/A"

    return (
        f"{name:<18} {text('cmc_mean', '{:.4g}'):>11} {text('cmc_std', '{:.4g}'):>10} "
        f"{text('nlsq_value', '{:.4g}'):>11} {text('relative_diff', '{:+.1f}%', 100):>7} "
        f"{text('z_score', '{:.2f}'):>6} {text('uncertainty_ratio', '{:.1f}x'):>7}"
        f"{_marker(row, tolerance_pct)}"
    )


def log_precision_analysis(
    analysis: Mapping[str, _Numbers],
    log_fn: Callable[[str], None] | None = None,
    tolerance_pct: float = 20.0,
) -> str:
    """Write a comparison of posterior and fit as a table.

    Parameters
    ----------
    analysis : dict of dict
        Of :func:`compute_precision_analysis`.
    log_fn : callable, optional
        Gets the text; by default the log.
    tolerance_pct : float, default 20
        Difference that is marked.

    Returns
    -------
    str
        The text.
    """

    def all_of(key: str) -> list[float]:
        values = (abs(row.get(key, float("nan"))) for row in analysis.values())
        return [value for value in values if np.isfinite(value)]

    lines = ["=" * 80, "CMC vs NLSQ PRECISION ANALYSIS", "=" * 80, "SUMMARY:"]
    if scores := all_of("z_score"):
        severe, far = (sum(z > limit for z in scores) for limit in (3, 2))
        lines.append(f"  Z-scores: max={max(scores):.2f}, mean={np.mean(scores):.2f}")
        if severe:
            lines.append(f"  CRITICAL: {severe}/{len(scores)} params have z > 3")
        elif far:
            lines.append(f"  WARNING: {far}/{len(scores)} params have z > 2")
        else:
            lines.append("  All params have z <= 2 (good agreement)")
    if shares := [100 * value for value in all_of("relative_diff")]:
        lines.append(f"  Percent differences: max={max(shares):.1f}%, mean={np.mean(shares):.1f}%")
        over = sum(share > tolerance_pct for share in shares)
        if over:
            lines.append(
                f"  WARNING: {over}/{len(shares)} params exceed {tolerance_pct:.0f}% tolerance"
            )
        else:
            lines.append(f"  All params within {tolerance_pct:.0f}% tolerance")
    if ratios := all_of("uncertainty_ratio"):
        lines.append(
            f"  Uncertainty ratio (CMC/NLSQ): max={max(ratios):.1f}x, "
            f"median={np.median(ratios):.1f}x"
        )
        if narrow := sum(ratio < 0.5 for ratio in ratios):
            lines.append(f"  WARNING: {narrow}/{len(ratios)} params have ratio < 0.5x")
        if wide := sum(ratio > 10 for ratio in ratios):
            lines.append(f"  INFO: {wide}/{len(ratios)} params have ratio > 10x")
    if shrunk := all_of("posterior_contraction"):
        lines.append(f"  Posterior contraction: max={max(shrunk):.2f}, mean={np.mean(shrunk):.2f}")
        if weak := sum(value < 0.3 for value in shrunk):
            lines.append(f"  INFO: {weak}/{len(shrunk)} params have PCR < 0.3")
    lines += [
        "-" * 80,
        f"{'Parameter':<18} {'CMC Mean':>11} {'CMC Std':>10} {'NLSQ':>11} {'Diff%':>7} "
        f"{'Z':>6} {'Ratio':>7}",
        "-" * 80,
    ]
    lines += [_precision_row(name, analysis[name], tolerance_pct) for name in sorted(analysis)]
    report = "\n".join([*lines, "=" * 80])
    (log_fn or logger.info)(report)
    return report
