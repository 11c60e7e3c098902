"""Words of the command line laid over a configuration."""

from __future__ import annotations

import argparse
import logging
from typing import Any

from tessera.xpcs.config.manager import ConfigManager
from tessera.xpcs.config.parameter_names import get_physical_param_names
from tessera.xpcs.config.types import PARAMETER_NAME_MAPPING

logger = logging.getLogger("tessera")

_STARTS = {
    "initial_d0": "D0",
    "initial_alpha": "alpha",
    "initial_d_offset": "D_offset",
    "initial_gamma_dot_t0": "gamma_dot_t0",
    "initial_beta": "beta",
    "initial_gamma_dot_offset": "gamma_dot_t_offset",
    "initial_phi0": "phi0",
}
_DRAWS = {"n_samples": ("num_samples", 1000), "n_warmup": ("num_warmup", 500)}
_DRAWS["n_chains"] = ("num_chains", 4)


def _apply_starts(config: dict[str, Any], args: argparse.Namespace) -> None:
    given = {
        name: value
        for word, name in _STARTS.items()
        if (value := getattr(args, word, None)) is not None
    }
    if not given:
        return
    section = config.setdefault("initial_parameters", {})
    names, values = section.get("parameter_names") or [], section.get("values") or []
    said = {}
    if len(names) == len(values):
        said = {
            PARAMETER_NAME_MAPPING.get(name, name): value
            for name, value in zip(names, values, strict=True)
        }
    for name, value in given.items():
        if name in said:
            logger.info(
                f"Overriding config {name}={said[name]:.6g} with CLI value {name}={value:.6g}"
            )
        else:
            logger.info(f"Setting {name}={value:.6g} from CLI (not in config)")
    said |= given
    order = get_physical_param_names(config.get("analysis_mode", "laminar_flow"))
    section["parameter_names"] = [name for name in order if name in said]
    section["values"] = [said[name] for name in section["parameter_names"]]


def _apply_sampling(optimization: dict[str, Any], args: argparse.Namespace) -> None:
    sampler = optimization.setdefault("mcmc", {})
    shards = optimization.setdefault("cmc", {})
    of_a_shard = shards.setdefault("per_shard_mcmc", {})
    for word, (key, default) in _DRAWS.items():
        if getattr(args, word) is None:
            setattr(args, word, sampler.get(key, default))
        of_a_shard[key] = getattr(args, word)
    shards.setdefault("sharding", {})
    if args.cmc_num_shards is not None:
        shards["sharding"]["num_shards"] = args.cmc_num_shards
    if args.dense_mass_matrix:
        logger.info(
            f"Overriding config dense_mass={sampler.get('dense_mass', False)} with CLI flag"
        )
        sampler["dense_mass"] = True


def _apply_cli_overrides(config: ConfigManager, args: argparse.Namespace) -> None:
    """Change a configuration as the words of a command line ask for."""
    said = getattr(config, "config", None)
    if not said:
        return
    if args.data_file:
        said.setdefault("experimental_data", {})["file_path"] = str(args.data_file)
    if args.static_mode:
        said["analysis_mode"] = "static_isotropic"
    elif args.laminar_flow:
        said["analysis_mode"] = "laminar_flow"
    optimization = said.setdefault("optimization", {})
    if args.method != "both":
        optimization["method"] = args.method
    _apply_sampling(optimization, args)
    _apply_starts(said, args)


def _load_configuration(args: argparse.Namespace) -> ConfigManager:
    """Return the configuration a command line names, with its words laid over."""
    if args.config.exists():
        config = ConfigManager(args.config)
    else:
        mode = "static_isotropic" if args.static_mode else "laminar_flow"
        config = ConfigManager(config_override={"analysis_mode": mode})
    _apply_cli_overrides(config, args)
    return config
