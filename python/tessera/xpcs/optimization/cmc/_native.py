"""The library's sampler on points, with the original's priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.xpcs._arguments import Floats
from tessera.xpcs._data import Data
from tessera.xpcs._fit import fit
from tessera.xpcs._foreign import data_of_points, symmetric
from tessera.xpcs._posterior import Posterior
from tessera.xpcs._result import Result
from tessera.xpcs._sample import combine, sample
from tessera.xpcs.optimization.cmc.config import CMCConfig
from tessera.xpcs.optimization.cmc.priors import SCALING, informed_width, physical_names
from tessera.xpcs.optimization.cmc.scaling import compute_scaling_factors

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace

# Contrast and offset that shall not move.
_HELD = 1e-6


class Drawn(NamedTuple):
    """Draws by the original's names, and what the sampler says of them."""

    samples: dict[str, Floats]
    extra: dict[str, npt.NDArray[Any]]
    step: Floats


def _data_of(points: Mapping[str, Any]) -> Data:
    angles = np.asarray(points["phi_unique"], np.float64)
    rows = np.column_stack(
        [
            np.asarray(points["t1"], np.float64),
            np.asarray(points["t2"], np.float64),
            angles[np.asarray(points["phi_indices"])],
        ]
    )
    found = data_of_points(
        rows, points["data"], float(points["q"]), float(points["dt"]), float(points["L"])
    )
    return Data.from_dict(symmetric(found))


def _priors(
    points: Mapping[str, Any], parameter_space: ParameterSpace, analysis_mode: str, n_phi: int
) -> dict[str, tuple[float, float]]:
    """Return mean and width of every prior: about a fit where that is asked for, else as given."""
    width = float(np.sqrt(points.get("num_shards", 1)))
    scalings = compute_scaling_factors(parameter_space, n_phi, analysis_mode)
    found = {
        name: (scalings[name].center, scalings[name].scale * width)
        for name in physical_names(analysis_mode)
    }
    informed = points.get("nlsq_prior_config") or {}
    errors = informed.get("uncertainties") or {}
    for name, value in informed.get("values", {}).items():
        if name in found:
            bounds = parameter_space.get_bounds(name)
            factor = informed.get("width_factor", 2.0)
            found[name] = (float(value), informed_width(errors.get(name), bounds, factor))
    for word in SCALING:
        own = scalings.get(f"{word}_0")
        if own is not None:
            found[word] = (own.center, own.scale * width)
    return found


def _held(points: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return priors that hold contrast and offset at the means of their estimates."""
    held = {}
    for word in SCALING:
        values = points.get(f"fixed_{word}")
        if values is None:
            raise ValueError(
                f"fixed_{word}: constant_averaged holds contrast and offset at estimates; give "
                "fixed_contrast and fixed_offset, one value for every angle"
            )
        held[word] = (float(np.mean(np.asarray(values))), _HELD)
    return held


def _bounds(parameter_space: ParameterSpace, analysis_mode: str) -> dict[str, tuple[float, float]]:
    names = [*physical_names(analysis_mode), *SCALING]
    return {name: parameter_space.get_bounds(name) for name in names}


def _named(posterior: Posterior, per_angle_mode: str) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    if per_angle_mode == "auto":
        found = {word: getattr(posterior, word).mean(axis=2) for word in SCALING}
    elif per_angle_mode == "individual":
        n = posterior.contrast.shape[2]
        found = {f"{word}_{i}": posterior[f"{word}_{i}"] for word in SCALING for i in range(n)}
    found |= {name: posterior[name] for name in posterior.physical_names}
    return {**found, "sigma": posterior.noise}


def _of_shards(fitted: Result, config: CMCConfig, options: dict[str, Any]) -> Posterior:
    """Sample all data at once, or as many shards as the configuration names, and combine them."""
    n = int(config.num_shards) if str(config.num_shards).isdigit() else 1
    if n < 2:
        return sample(fitted, **options)
    cut: dict[str, Any] = {
        "n_shard": n,
        "shard_strategy": config.sharding_strategy,
        "temper": float(n) if config.prior_tempering else 1.0,
    }
    shards = [sample(fitted, shard=k + 1, **cut, **options) for k in range(n)]
    return combine(shards, robust_upstream=config.combination_method != "consensus_mc")


def sample_points(
    points: Mapping[str, Any],
    config: CMCConfig,
    counts: tuple[int, int],
    initial_values: Mapping[str, float] | None,
    parameter_space: ParameterSpace,
    analysis_mode: str,
    per_angle_mode: str,
    seed: int,
    progress: bool,
) -> Drawn:
    """Fit points, and sample from there."""
    if per_angle_mode not in ("auto", "individual", "constant_averaged"):
        raise _core.ArgumentError(
            f"per_angle_mode: {per_angle_mode!r} holds the scaling of every angle at a value of "
            "its own, which the sampler cannot; choose 'individual', which integrates it out, or "
            "'constant_averaged'"
        )
    data = _data_of(points)
    is_flow = analysis_mode == "laminar_flow"
    start = {
        name: float(value)
        for name, value in (initial_values or {}).items()
        if name in physical_names(analysis_mode)
    }
    fitted = fit(
        data,
        mode="laminar_flow" if is_flow else "static_anisotropic",
        bounds=_bounds(parameter_space, analysis_mode),
        start=start or None,
        sigma=float(points.get("noise_scale", 0.1)),
    )
    priors = _priors(points, parameter_space, analysis_mode, len(data.phi))
    if per_angle_mode == "constant_averaged":
        priors |= _held(points)
    # Where there is flow the original never goes below 0.9.
    accept = max(config.target_accept_prob, 0.9 if is_flow else 0.0)
    options: dict[str, Any] = {
        "prior": priors,
        "n_chain": config.num_chains,
        "n_warmup": counts[0],
        "n_draw": counts[1],
        "seed": seed,
        "max_depth": config.max_tree_depth,
        "target_accept": accept,
        "noise_scale": float(points.get("noise_scale", 0.0)),
        "progress": "auto" if progress else None,
    }
    posterior = _of_shards(fitted, config, options)
    extra = {
        "accept_prob": posterior.accept,
        "diverging": posterior.diverged,
        "num_steps": posterior.n_step,
        "potential_energy": -posterior.log_density,
        "energy": posterior.energy,
    }
    return Drawn(_named(posterior, per_angle_mode), extra, posterior.step)
