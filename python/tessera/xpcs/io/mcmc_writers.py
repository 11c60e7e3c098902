"""Sampling runs as dicts for JSON files, by the original's names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from tessera.xpcs._arguments import names_of
from tessera.xpcs.io.json_utils import json_safe

__all__ = [
    "create_mcmc_analysis_dict",
    "create_mcmc_diagnostics_dict",
    "create_mcmc_parameters_dict",
]

_R_HAT, _ESS = 1.1, 400


def _names(mode: Any) -> list[str]:
    return names_of("laminar_flow" if mode == "laminar_flow" else "static_isotropic")


def _finite(values: Any, without: Any = ()) -> list[float]:
    """Return the numbers of a dict or an array."""
    if isinstance(values, Mapping):
        values = [v for name, v in values.items() if v is not None and name not in without]
    return [float(v) for v in np.ravel(np.asarray(values, float)) if math.isfinite(v)]


def _first(result: Any, *names: str) -> Any:
    return next((v for v in (getattr(result, n, None) for n in names) if v is not None), None)


def _is_cmc(result: Any) -> bool:
    return bool(hasattr(result, "is_cmc_result") and result.is_cmc_result())


def _fixed_names(result: Any) -> set[str]:
    found = getattr(result, "diagnostic_summary", None) or {}
    return set(found.get("deterministic_params") or [])


def _vector(values: Any, names: list[str], default: float) -> list[float]:
    if isinstance(values, Mapping):
        return [float(values.get(name, default)) for name in names]
    if values is None:
        return []
    own = np.ravel(np.asarray(getattr(values, "as_array", values), float))
    return [float(v) for v in own]


def create_mcmc_parameters_dict(result: Any) -> dict[str, Any]:
    """Return means and standard deviations, and how well the chains mixed.

    Parameters
    ----------
    result : CMCResult
        Draws.

    Returns
    -------
    dict
        ``parameters``, ``convergence``, ``sampling_summary`` and more.
    """
    n_samples, n_chains = getattr(result, "n_samples", 0), getattr(result, "n_chains", 1)
    mixed: dict[str, Any] = {}
    factors = _finite(getattr(result, "r_hat", None) or {}, _fixed_names(result))
    if factors:
        mixed["all_chains_converged"] = all(value < _R_HAT for value in factors)
        mixed["min_r_hat"], mixed["max_r_hat"] = min(factors), max(factors)
    sizes = _finite(_first(result, "effective_sample_size", "ess_bulk") or {})
    if sizes:
        mixed["min_ess"] = min(sizes)
    if _first(result, "acceptance_rate") is not None:
        mixed["acceptance_rate"] = json_safe(float(result.acceptance_rate))
    parameters: dict[str, Any] = {}
    for word in ("contrast", "offset"):
        mean = getattr(result, f"mean_{word}", None)
        if mean is not None:
            width = getattr(result, f"std_{word}", None)
            parameters[word] = {"mean": json_safe(float(mean)), "std": json_safe(float(width or 0))}
    mode = getattr(result, "analysis_mode", "unknown")
    names = _names(mode)
    means = _vector(getattr(result, "mean_params", None), names, float("nan"))
    widths = _vector(getattr(result, "std_params", None), names, 0.0)
    for place, (name, mean) in enumerate(zip(names, means, strict=False)):
        width = widths[place] if place < len(widths) else 0.0
        parameters[name] = {"mean": json_safe(mean), "std": json_safe(width)}
    return {
        "timestamp": datetime.now().isoformat(),
        "analysis_mode": mode,
        "method": "cmc" if _is_cmc(result) else "mcmc",
        "sampling_summary": {
            "n_samples": n_samples,
            "n_warmup": getattr(result, "n_warmup", 0),
            "n_chains": n_chains,
            "total_samples": n_samples * n_chains,
            "computation_time": _first(result, "computation_time", "execution_time") or 0.0,
        },
        "convergence": mixed,
        "parameters": parameters,
    }


def _quality(result: Any) -> tuple[str, list[str], list[str]]:
    """Return a word for the chains, what is wrong, and what to do."""
    word, lines, advice = "unknown", [], []
    factors = _finite(getattr(result, "r_hat", None) or {})
    worst = max(factors, default=None)
    if worst is not None:
        word = "good" if worst < 1.05 else "acceptable" if worst < _R_HAT else "poor"
    if word == "acceptable":
        lines.append(f"Some parameters have R-hat between 1.05-1.1 (max={worst:.3f})")
    if word == "poor":
        lines.append(f"Convergence issues detected (max R-hat={worst:.3f})")
        advice.append("Consider increasing n_warmup or n_samples")
    sizes = _finite(_first(result, "ess_bulk", "effective_sample_size") or {})
    if sizes and min(sizes) < _ESS:
        lines.append(f"Low effective sample size (min ESS={min(sizes):.0f})")
        advice.append("Consider increasing n_samples for better posterior estimates")
    return word, lines, advice


def create_mcmc_analysis_dict(
    result: Any, data: Mapping[str, Any], method_name: str
) -> dict[str, Any]:
    """Return what was sampled and how well.

    Parameters
    ----------
    result : CMCResult
        Draws.
    data : dict
        Of the loader.
    method_name : str
        What to call it.

    Returns
    -------
    dict
        ``sampling_quality``, ``dataset_info``, ``sampling_summary`` and more.
    """
    c2 = np.asarray(data.get("c2_exp", []))
    word, lines, advice = _quality(result)
    wave = data.get("wavevector_q_list")
    has_q = wave is not None and np.size(wave) > 0
    found: dict[str, Any] = {
        "method": method_name,
        "timestamp": datetime.now().isoformat(),
        "analysis_mode": getattr(result, "analysis_mode", "unknown"),
        "sampling_quality": {
            "convergence_status": (
                "converged" if word in ("good", "acceptable") else "not_converged"
            ),
            "quality_flag": word,
            "warnings": lines,
            "recommendations": advice,
        },
        "dataset_info": {
            "n_angles": len(data.get("phi_angles_list", [])),
            "n_time_points": c2.shape[1] * c2.shape[2] if c2.ndim >= 3 else 0,
            "total_data_points": int(c2.size),
            "q_value": json_safe(float(np.ravel(np.asarray(wave))[0])) if has_q else 0.0,
        },
        "sampling_summary": {
            "n_samples": getattr(result, "n_samples", 0),
            "n_warmup": getattr(result, "n_warmup", 0),
            "n_chains": getattr(result, "n_chains", 1),
            "execution_time": json_safe(
                float(_first(result, "execution_time", "computation_time") or 0.0)
            ),
        },
    }
    for key in ("parameter_space", "initial_values", "selection_decision"):
        more = getattr(result, f"{key}_metadata", None)
        if more is not None:
            found[key] = more
    return found


def _per_parameter(result: Any) -> list[dict[str, Any]]:
    """Return R-hat and effective size of every parameter."""
    factors = getattr(result, "r_hat", None)
    sizes = _first(result, "ess_bulk", "effective_sample_size")
    if factors is not None and not isinstance(factors, Mapping):
        names = _names(getattr(result, "analysis_mode", "static"))
        factors = dict(zip(names, np.ravel(factors).tolist(), strict=False))
        sizes = (
            dict(zip(names, np.ravel(sizes).tolist(), strict=False)) if sizes is not None else {}
        )
    factors, sizes = factors or {}, sizes if isinstance(sizes, Mapping) else {}
    fixed = _fixed_names(result)
    rows = []
    for name in [*factors, *(other for other in sizes if other not in factors)]:
        factor, size = factors.get(name), sizes.get(name)
        rows.append(
            {
                "name": name,
                "r_hat": None if factor is None else json_safe(float(factor)),
                "ess": None if size is None else json_safe(float(size)),
                "converged": bool(factor is not None and factor < _R_HAT),
                "deterministic": name in fixed,
            }
        )
    return rows


def _shards(result: Any) -> dict[str, Any]:
    """Return what is known of shards."""
    found: dict[str, Any] = {}
    shards = getattr(result, "per_shard_diagnostics", None)
    if shards:
        good = sum(bool(shard.get("converged", False)) for shard in shards)
        rates = _finite([s["acceptance_rate"] for s in shards if s.get("acceptance_rate")])
        summary: dict[str, Any] = {
            "num_shards": len(shards),
            "shards_converged": good,
            "convergence_rate": good / len(shards),
        }
        if rates:
            numbers: dict[str, Callable[..., Any]] = {
                "mean": np.mean,
                "min": np.min,
                "max": np.max,
                "std": np.std,
            }
            summary["acceptance_rate_stats"] = {k: float(f(rates)) for k, f in numbers.items()}
        found["shard_summary"] = summary
    facts = getattr(result, "cmc_diagnostics", None)
    if isinstance(facts, Mapping) and facts:
        keys = (
            "combination_success",
            "n_shards_converged",
            "n_shards_total",
            "weighted_product_std",
            "combination_time",
            "success_rate",
        )
        found["overall_diagnostics"] = {k: json_safe(facts[k]) for k in keys if k in facts}
    if getattr(result, "combination_method", None):
        found["combination_method"] = str(result.combination_method)
    if getattr(result, "num_shards", None):
        found["num_shards"] = int(result.num_shards)
    return found


def create_mcmc_diagnostics_dict(result: Any) -> dict[str, Any]:
    """Return how well the chains mixed, by parameter and by shard.

    Parameters
    ----------
    result : CMCResult
        Draws.

    Returns
    -------
    dict
        ``convergence``, ``sampling_efficiency``, ``posterior_checks`` and, of shards,
        ``cmc_specific``.
    """
    mixed: dict[str, Any] = {}
    factors = getattr(result, "r_hat", None)
    if factors is not None:
        values = _finite(factors)
        if values or not isinstance(factors, Mapping):
            mixed["all_chains_converged"] = bool(values) and all(v < _R_HAT for v in values)
            mixed["r_hat_threshold"] = _R_HAT
    rows = _per_parameter(result)
    if rows:
        mixed["per_parameter_diagnostics"] = rows
    if _first(result, "ess_bulk", "effective_sample_size") is not None:
        mixed["ess_threshold"] = _ESS
    paths: dict[str, Any] = {}
    if _first(result, "acceptance_rate") is not None:
        paths["acceptance_rate"] = json_safe(float(result.acceptance_rate))
        paths["target_acceptance"] = 0.8
    for name in ("divergences", "tree_depth_warnings"):
        count = getattr(result, name, None)
        if isinstance(count, int | float | np.integer | np.floating):
            paths[name] = int(count) if math.isfinite(float(count)) else 0
    checks: dict[str, Any] = {}
    total = getattr(result, "n_samples", 0) * getattr(result, "n_chains", 1)
    if hasattr(result, "ess") and total > 0:
        checks["effective_sample_size_ratio"] = json_safe(float(np.nanmean(result.ess) / total))
    found = {"convergence": mixed, "sampling_efficiency": paths, "posterior_checks": checks}
    return {**found, "cmc_specific": _shards(result)} if _is_cmc(result) else found
