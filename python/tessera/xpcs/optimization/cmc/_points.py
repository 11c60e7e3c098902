"""NumPyro's sampler, for points that do not fill matrices of frames."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tessera.xpcs.optimization.cmc._native import Drawn
from tessera.xpcs.optimization.cmc.config import CMCConfig
from tessera.xpcs.optimization.cmc.priors import build_init_values_dict
from tessera.xpcs.optimization.cmc.scaling import (
    compute_scaling_factors,
    transform_initial_values_to_z,
)

_OURS = ("per_angle_mode", "n_total", "phi", "prepared_data")


def has_numpyro() -> bool:
    """Return whether NumPyro is installed."""
    return importlib.util.find_spec("numpyro") is not None


def sample_scattered(
    model: Callable[..., Any],
    points: Mapping[str, Any],
    config: CMCConfig,
    counts: tuple[int, int],
    initial_values: Mapping[str, float] | None,
    parameter_space: Any,
    analysis_mode: str,
    per_angle_mode: str,
    seed: int,
    progress: bool,
) -> Drawn:
    """Sample a model of NumPyro's at whatever points there are."""
    import jax
    from numpyro.infer import MCMC, NUTS
    from numpyro.infer.initialization import init_to_value

    jax.config.update("jax_enable_x64", True)
    n_phi = len(np.asarray(points["phi_unique"]))
    starts = build_init_values_dict(
        n_phi, analysis_mode, initial_values, parameter_space, per_angle_mode=per_angle_mode
    )
    scalings = compute_scaling_factors(parameter_space, n_phi, analysis_mode)
    begin = {**starts, **transform_initial_values_to_z(starts, scalings)}
    kernel = NUTS(
        model,
        init_strategy=init_to_value(values=begin),
        target_accept_prob=config.target_accept_prob,
        dense_mass=config.dense_mass,
        max_tree_depth=config.max_tree_depth,
    )
    run = MCMC(
        kernel,
        num_warmup=counts[0],
        num_samples=counts[1],
        num_chains=config.num_chains,
        chain_method="sequential",
        progress_bar=progress,
    )
    arrays = {
        name: jax.numpy.asarray(value) if isinstance(value, np.ndarray) else value
        for name, value in points.items()
        if name not in _OURS
    }
    wanted = ("accept_prob", "diverging", "num_steps", "potential_energy", "adapt_state.step_size")
    more = {"n_phi": n_phi, "analysis_mode": analysis_mode, "parameter_space": parameter_space}
    run.run(jax.random.PRNGKey(seed), extra_fields=wanted, **{**arrays, **more})
    drawn = run.get_samples(group_by_chain=True)
    samples = {name: np.asarray(values) for name, values in drawn.items()}
    fields = run.get_extra_fields(group_by_chain=True)
    extra = {name: np.asarray(values) for name, values in fields.items()}
    return Drawn(samples, extra, extra["adapt_state.step_size"][:, -1])
