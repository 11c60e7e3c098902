"""Sampling by the original's names: the native sampler on points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.cmc._native import sample_points
from tessera.xpcs.optimization.cmc._points import has_numpyro, sample_scattered
from tessera.xpcs.optimization.cmc.config import CMCConfig
from tessera.xpcs.optimization.cmc.priors import get_param_names_in_order
from tessera.xpcs.utils.logging import get_logger

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace

__all__ = [
    "DIVERGENCE_RATE_CRITICAL",
    "DIVERGENCE_RATE_HIGH",
    "DIVERGENCE_RATE_TARGET",
    "MCMCSamples",
    "SamplingPlan",
    "SamplingStats",
    "create_init_strategy",
    "run_nuts_sampling",
    "run_nuts_with_retry",
]

logger = get_logger(__name__)

DIVERGENCE_RATE_TARGET = 0.05
DIVERGENCE_RATE_HIGH = 0.10
DIVERGENCE_RATE_CRITICAL = 0.30


@dataclass(frozen=True)
class SamplingPlan:
    """How many draws a shard gets.

    Parameters
    ----------
    n_warmup, n_samples, n_chains : int
        Draws and chains.
    shard_size, n_params : int
        Points and parameters.
    was_adapted : bool
        Whether these are fewer than the configuration's.
    """

    n_warmup: int
    n_samples: int
    n_chains: int
    shard_size: int
    n_params: int
    was_adapted: bool

    @classmethod
    def from_config(cls, config: CMCConfig, shard_size: int, n_params: int) -> SamplingPlan:
        """Return the plan of a shard.

        Parameters
        ----------
        config : CMCConfig
            The configuration.
        shard_size, n_params : int
            Points and parameters.

        Returns
        -------
        SamplingPlan
            The plan.
        """
        counts = config.get_adaptive_sample_counts(shard_size=shard_size, n_params=n_params)
        adapted = counts != (config.num_warmup, config.num_samples)
        return cls(*counts, config.num_chains, shard_size, n_params, adapted)

    @property
    def total_samples(self) -> int:
        """Draws of all chains."""
        return self.n_samples * self.n_chains


@dataclass
class SamplingStats:
    """How a run went.

    Parameters
    ----------
    warmup_time, sampling_time, total_time : float
        Seconds.
    num_divergent : int
        Paths that were broken off.
    accept_prob, step_size, tree_depth : float
        Means.
    step_size_min, step_size_max : float, optional
        Of the chains.
    inverse_mass_matrix_summary : str, optional
        Of the metric.
    plan : SamplingPlan, optional
        What was planned.
    """

    warmup_time: float = 0.0
    sampling_time: float = 0.0
    total_time: float = 0.0
    num_divergent: int = 0
    accept_prob: float = 0.0
    step_size: float = 0.0
    step_size_min: float | None = None
    step_size_max: float | None = None
    inverse_mass_matrix_summary: str | None = None
    tree_depth: float = 0.0
    plan: SamplingPlan | None = None


@dataclass
class MCMCSamples:
    """Draws.

    Parameters
    ----------
    samples : dict of ndarray, shape (n_chains, n_samples)
        By name.
    param_names : list of str
        Names.
    n_chains, n_samples : int
        Chains and draws.
    extra_fields : dict of ndarray
        What the sampler says of its draws.
    num_shards : int, default 1
        Runs that were put together.
    shard_adapted_n_warmup : int, optional
        Warm-up of the shards.
    bimodal_consensus : BimodalConsensusResult, optional
        Where shards had two modes.
    """

    samples: dict[str, Floats]
    param_names: list[str]
    n_chains: int
    n_samples: int
    extra_fields: dict[str, Any] = field(default_factory=dict)
    num_shards: int = 1
    shard_adapted_n_warmup: int | None = None
    bimodal_consensus: Any = None


def create_init_strategy(
    initial_values: Mapping[str, float] | None,
    param_names: Sequence[str],
    use_init_to_value: bool = True,
    z_space_values: Mapping[str, float] | None = None,
) -> Callable[..., Any]:
    """Return NumPyro's way to begin at values; needs numpyro.

    Parameters
    ----------
    initial_values : dict, optional
        Starts.
    param_names : list of str
        Those that count.
    use_init_to_value : bool, default True
        False begins at the priors' medians.
    z_space_values : dict, optional
        Starts in the coordinates that are sampled, which win.

    Returns
    -------
    callable
        For ``numpyro.infer.NUTS(init_strategy=...)``.
    """
    from numpyro.infer.initialization import init_to_median, init_to_value

    given = initial_values or {}
    chosen = z_space_values or {name: given[name] for name in param_names if name in given}
    found: Callable[..., Any] = (
        init_to_value(values=dict(chosen)) if chosen and use_init_to_value else init_to_median()
    )
    return found


def _seed_of(rng_key: Any, config: CMCConfig) -> int:
    """Return a seed of the native sampler for a key of JAX's, a number or nothing."""
    if rng_key is None:
        return config.seed
    words = np.asarray(rng_key).reshape(-1).astype(np.uint64)
    return int(words[-1] % np.uint64(8_388_608))


def run_nuts_sampling(
    model: Callable[..., Any],
    model_kwargs: Mapping[str, Any],
    config: CMCConfig,
    initial_values: Mapping[str, float] | None,
    parameter_space: ParameterSpace,
    n_phi: int,
    analysis_mode: str,
    rng_key: Any = None,
    progress_bar: bool = True,
    per_angle_mode: str = "individual",
) -> tuple[MCMCSamples, SamplingStats]:
    """Sample points by the native NUTS, contrast and offset of every angle integrated out.

    Parameters
    ----------
    model : callable
        Used by NumPyro where points do not fill matrices of frames; the density is the library's
        else.
    model_kwargs : dict
        ``data``, ``t1``, ``t2``, ``phi_unique``, ``phi_indices``, ``q``, ``L``, ``dt``, and
        optionally ``noise_scale``, ``num_shards``, ``nlsq_prior_config``, ``fixed_contrast`` and
        ``fixed_offset``.
    config : CMCConfig
        Draws, chains, acceptance.
    initial_values : dict, optional
        Where the fit before begins.
    parameter_space : ParameterSpace
        Bounds and priors.
    n_phi : int
        Angles.
    analysis_mode : str
        The mode.
    rng_key : optional
        A key of JAX's or a number; by default the configuration's seed.
    progress_bar : bool, default True
        Whether to show how far it is.
    per_angle_mode : str, default 'individual'
        Which contrasts and offsets are told: of every angle, their means ('auto'), or none, held
        at the mean of the estimates ('constant_averaged').

    Returns
    -------
    (MCMCSamples, SamplingStats)
        Draws and how it went.
    """
    names = get_param_names_in_order(n_phi, analysis_mode, per_angle_mode)
    plan = SamplingPlan.from_config(config, len(np.asarray(model_kwargs["data"])), len(names) + 1)
    begin = time.perf_counter()
    rest = (
        config,
        (plan.n_warmup, plan.n_samples),
        initial_values,
        parameter_space,
        analysis_mode,
        per_angle_mode,
        _seed_of(rng_key, config),
        progress_bar,
    )
    try:
        drawn = sample_points(model_kwargs, *rest)
    except _core.NumericError as error:
        if not has_numpyro():
            error.add_note("points that do not fill matrices of frames need numpyro")
            raise
        logger.info("%s: NumPyro samples these points", error)
        drawn = sample_scattered(model, model_kwargs, *rest)
    total = time.perf_counter() - begin
    share = plan.n_warmup / (plan.n_warmup + plan.n_samples)
    stats = SamplingStats(
        warmup_time=share * total,
        sampling_time=(1 - share) * total,
        total_time=total,
        num_divergent=int(drawn.extra["diverging"].sum()),
        accept_prob=float(drawn.extra["accept_prob"].mean()),
        step_size=float(np.median(drawn.step)),
        step_size_min=float(drawn.step.min()),
        step_size_max=float(drawn.step.max()),
        tree_depth=float(np.log2(np.maximum(drawn.extra["num_steps"], 1)).mean()),
        plan=plan,
    )
    n_shard = int(config.num_shards) if str(config.num_shards).isdigit() else 1
    samples = MCMCSamples(
        drawn.samples,
        list(drawn.samples),
        config.num_chains,
        plan.n_samples,
        drawn.extra,
        num_shards=n_shard,
    )
    return samples, stats


def run_nuts_with_retry(
    model: Callable[..., Any],
    model_kwargs: Mapping[str, Any],
    config: CMCConfig,
    initial_values: Mapping[str, float] | None,
    parameter_space: ParameterSpace,
    n_phi: int,
    analysis_mode: str,
    max_retries: int = 3,
    rng_key: Any = None,
    per_angle_mode: str = "individual",
) -> tuple[MCMCSamples, SamplingStats]:
    """Sample, and again with smaller steps where too many paths were broken off.

    Parameters
    ----------
    model, model_kwargs, config, initial_values, parameter_space, n_phi, analysis_mode
        As in :func:`run_nuts_sampling`.
    max_retries : int, default 3
        Attempts.
    rng_key, per_angle_mode
        As in :func:`run_nuts_sampling`.

    Returns
    -------
    (MCMCSamples, SamplingStats)
        Of the first attempt that went well.
    """
    accept = config.target_accept_prob
    why: Exception = RuntimeError("no attempt was made")
    seed = _seed_of(rng_key, config)
    for attempt in range(max_retries):
        limit = DIVERGENCE_RATE_HIGH if attempt else DIVERGENCE_RATE_TARGET
        try:
            samples, stats = run_nuts_sampling(
                model,
                model_kwargs,
                replace(config, target_accept_prob=accept),
                initial_values,
                parameter_space,
                n_phi,
                analysis_mode,
                rng_key=np.array([(seed + attempt) % 8_388_608]),
                progress_bar=attempt == 0,
                per_angle_mode=per_angle_mode,
            )
        except Exception as error:
            logger.warning("attempt %d: %s", attempt + 1, error)
            why = error
            continue
        total = samples.n_samples * samples.n_chains
        rate = stats.num_divergent / total if total else math.inf
        if rate <= limit:
            return samples, stats
        accept = min(0.95, accept + 0.05)
        why = RuntimeError(f"High divergence rate: {rate:.1%}")
    raise RuntimeError(f"MCMC sampling failed after {max_retries} attempts: {why}")
