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
from tessera.xpcs._sample import sample
from tessera.xpcs.optimization.cmc.config import CMCConfig
from tessera.xpcs.optimization.cmc.priors import SCALING, informed_width, physical_names
from tessera.xpcs.optimization.cmc.scaling import compute_scaling_factors

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace

# The original's auto is one contrast and offset for all angles.
_SCALINGS = {"auto": "averaged", "individual": "individual"}


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


def _held(points: Mapping[str, Any], per_angle_mode: str) -> dict[str, Any]:
    """Return what a fit takes to hold contrast and offset at their estimates."""
    held: dict[str, Any] = {"scaling": per_angle_mode}
    for word in SCALING:
        values = points.get(f"fixed_{word}")
        if values is None:
            raise ValueError(
                f"fixed_{word}: {per_angle_mode} holds contrast and offset at estimates; give "
                "fixed_contrast and fixed_offset, one value for every angle"
            )
        held[word] = np.asarray(values, np.float64)
    return held


def _bounds(parameter_space: ParameterSpace, analysis_mode: str) -> dict[str, tuple[float, float]]:
    names = [*physical_names(analysis_mode), *SCALING]
    return {name: parameter_space.get_bounds(name) for name in names}


def _named(posterior: Posterior, per_angle_mode: str) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    if per_angle_mode == "auto":
        found = {word: getattr(posterior, word)[:, :, 0] for word in SCALING}
    elif per_angle_mode == "individual":
        n = posterior.contrast.shape[2]
        found = {f"{word}_{i}": posterior[f"{word}_{i}"] for word in SCALING for i in range(n)}
    found |= {name: posterior[name] for name in posterior.physical_names}
    return {**found, "sigma": posterior.noise}


def _shards(config: CMCConfig) -> dict[str, Any]:
    """Return options of consensus where the configuration cuts the data; else none."""
    count, size = str(config.num_shards), str(config.max_points_per_shard)
    n = int(count) if count.isdigit() else 0
    is_sized = n == 0 and size.isdigit()
    if config.enable is False or not (n > 1 or is_sized):
        return {}
    if config.combination_method in ("weighted_gaussian", "simple_average"):
        raise _core.ArgumentError(
            f"combination.method: {config.combination_method!r} is not here; choose "
            "'consensus_mc' or 'robust_consensus_mc'"
        )
    if config.max_parameter_cv != 1.0 and config.heterogeneity_abort:
        raise _core.ArgumentError(
            "validation.max_parameter_cv: shards are compared by their own errors; leave it at 1, "
            "or set heterogeneity_abort to False"
        )
    return {
        "method": "consensus",
        "n_shard": n,
        "shard_points": int(size) if is_sized else 0,
        "shard_strategy": config.sharding_strategy,
        "combination": (
            "robust_consensus_mc"
            if config.combination_method == "robust_consensus_mc"
            else "consensus_mc"
        ),
        "max_rhat": config.max_r_hat,
        # The field's default is what the combined draws are judged by.
        "min_ess": 100.0 if config.min_ess == CMCConfig.min_ess else config.min_ess,
        "max_divergence": config.max_divergence_rate,
        "min_success": config.min_success_rate_warning,
        "max_cv": 10.0 if config.heterogeneity_abort else 1e300,
        "temper": 0.0 if config.prior_tempering else 1.0,
    }


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
    if per_angle_mode not in ("auto", "individual", "constant", "constant_averaged"):
        raise _core.ArgumentError(
            f"per_angle_mode: {per_angle_mode!r} is not sampled; choose 'individual' or 'auto', "
            "which integrate contrast and offset out, or 'constant' or 'constant_averaged'"
        )
    data = _data_of(points)
    is_flow = analysis_mode == "laminar_flow"
    start = {
        name: float(value)
        for name, value in (initial_values or {}).items()
        if name in physical_names(analysis_mode)
    }
    is_held = per_angle_mode.startswith("constant")
    fitted = fit(
        data,
        mode="laminar_flow" if is_flow else "static_anisotropic",
        bounds=_bounds(parameter_space, analysis_mode),
        start=start or None,
        sigma=float(points.get("noise_scale", 0.1)),
        **(_held(points, per_angle_mode) if is_held else {}),
    )
    priors = _priors(points, parameter_space, analysis_mode, len(data.phi))
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
        "scaling": "fit" if is_held else _SCALINGS[per_angle_mode],
        "progress": "auto" if progress else None,
        **_shards(config),
    }
    posterior = sample(fitted, **options)
    extra = {
        "accept_prob": posterior.accept,
        "diverging": posterior.diverged,
        "num_steps": posterior.n_step,
        "potential_energy": -posterior.log_density,
        "energy": posterior.energy,
    }
    return Drawn(_named(posterior, per_angle_mode), extra, posterior.step)
