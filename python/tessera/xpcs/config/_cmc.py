"""The section of consensus sampling: defaults, and what it may say."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping
from typing import Any

logger = logging.getLogger("tessera")

DEFAULTS: dict[str, Any] = {
    "enable": "auto",
    "min_points_for_cmc": 100000,
    "sharding": {"strategy": "random", "num_shards": "auto", "max_points_per_shard": "auto"},
    "backend": {
        "name": "auto",
        "enable_checkpoints": True,
        "checkpoint_frequency": 10,
        "checkpoint_dir": "./checkpoints/cmc",
        "keep_last_checkpoints": 3,
        "resume_from_checkpoint": True,
    },
    "combination": {
        "method": "robust_consensus_mc",
        "validate_results": True,
        "min_success_rate": 0.9,
        "min_success_rate_warning": 0.8,
    },
    "per_shard_mcmc": {
        "num_warmup": 500,
        "num_samples": 1500,
        "num_chains": 4,
        "target_accept_prob": 0.85,
        "subsample_size": "auto",
    },
    "validation": {
        "strict_mode": True,
        "min_per_shard_ess": 100.0,
        "max_per_shard_rhat": 1.1,
        "max_between_shard_kl": 2.0,
        "min_success_rate": 0.9,
        "max_divergence_rate": 0.1,
        "require_nlsq_warmstart": False,
        "use_nlsq_informed_priors": True,
        "nlsq_prior_width_factor": 2.0,
        "max_parameter_cv": 1.0,
        "heterogeneity_abort": True,
    },
}

_STRATEGIES = ["stratified", "random", "contiguous"]
_PLACES = ["auto", "pjit", "multiprocessing", "pbs", "slurm", "jax"]
_LIBRARIES = ["jax", "numpy"]
_METHODS = [
    "consensus_mc",
    "robust_consensus_mc",
    "weighted_gaussian",
    "simple_average",
    "auto",
]
_OLD_SECTIONS = {"consensus_monte_carlo": "cmc", "parallel_mcmc": "cmc.backend"}


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(base.get(key), dict) and isinstance(value, Mapping):
            _merge(base[key], value)
        else:
            base[key] = value


def _need(fits: bool, what: str, value: Any) -> None:
    if not fits:
        raise ValueError(f"{what}, got: {value!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _check_backend(config: Mapping[str, Any]) -> None:
    backend = config.get("backend", {})
    if isinstance(backend, str):
        _need(backend in _LIBRARIES, f"Computational backend must be one of {_LIBRARIES}", backend)
        backend = config.get("backend_config") or {}
    name = backend.get("name", "auto")
    _need(name in _PLACES, f"Backend name must be one of {_PLACES}", name)


def _check(config: Mapping[str, Any]) -> None:
    enable = config["enable"]
    fits = isinstance(enable, bool) or enable == "auto"
    _need(fits, "CMC enable must be True, False, or 'auto'", enable)
    least = config["min_points_for_cmc"]
    _need(_is_whole(least), "min_points_for_cmc must be a positive integer (>= 1)", least)
    sharding = config["sharding"]
    strategy, count = sharding.get("strategy", "random"), sharding.get("num_shards", "auto")
    _need(strategy in _STRATEGIES, f"Sharding strategy must be one of {_STRATEGIES}", strategy)
    fits = count == "auto" or _is_whole(count)
    _need(fits, "num_shards must be 'auto' or positive integer", count)
    _check_backend(config)
    combination = config["combination"]
    method = combination.get("method", "auto")
    _need(method in _METHODS, f"Combination method must be one of {_METHODS}", method)
    rate = combination.get("min_success_rate", 0.9)
    fits = isinstance(rate, int | float) and 0 <= rate <= 1
    _need(fits, "min_success_rate must be between 0.0 and 1.0", rate)
    for key in ("num_warmup", "num_samples", "num_chains"):
        value = config["per_shard_mcmc"].get(key, 1)
        _need(_is_whole(value), f"per_shard_mcmc.{key} must be a positive integer", value)
    validation = config["validation"]
    for key, low in (("min_per_shard_ess", 0), ("max_per_shard_rhat", 1)):
        value = validation.get(key, low)
        fits = isinstance(value, int | float) and value >= low
        _need(fits, f"{key} must be a number >= {low}", value)


def cmc_config(optimization: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section with its defaults; ValueError where it says what cannot be."""
    config = copy.deepcopy(DEFAULTS)
    said = optimization.get("cmc") or {}
    if not said:
        return config
    _merge(config, said)
    _check(config)
    for old, new in _OLD_SECTIONS.items():
        if old in optimization:
            logger.warning("Deprecated key optimization.%s: use optimization.%s", old, new)
    if "optimal_shard_size" in config["sharding"]:
        logger.warning(
            "Deprecated sharding key 'optimal_shard_size' detected. "
            "Use 'max_points_per_shard' instead."
        )
    return config
