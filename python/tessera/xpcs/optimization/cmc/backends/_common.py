"""What backends have in common, and how draws of shards are put together."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.cmc.data_prep import prepare_mcmc_data
from tessera.xpcs.optimization.cmc.diagnostics import BimodalConsensusResult, ModeCluster
from tessera.xpcs.optimization.cmc.sampler import MCMCSamples, run_nuts_sampling

if TYPE_CHECKING:
    from tessera.xpcs.optimization.cmc.config import CMCConfig
    from tessera.xpcs.optimization.cmc.data_prep import PreparedData

_LEAST_VARIANCE, _LEAST_COMBINED = 1e-10, 1e-12
_FAR = 3.5  # of Iglewicz and Hoaglin's modified z
_TOO_NARROW = 1e-6  # of the median variance


class CMCBackend(ABC):
    """Something that runs shards."""

    @abstractmethod
    def run(
        self,
        model: Callable[..., Any],
        model_kwargs: Mapping[str, Any],
        config: CMCConfig,
        shards: Sequence[PreparedData] | None = None,
    ) -> MCMCSamples:
        """Sample the points of all shards.

        Parameters
        ----------
        model : callable
            Accepted for scripts of the original.
        model_kwargs : dict
            As of ``run_nuts_sampling``.
        config : CMCConfig
            Options.
        shards : list of PreparedData, optional
            Points of every shard.

        Returns
        -------
        MCMCSamples
            Draws.
        """

    @abstractmethod
    def get_name(self) -> str:
        """Return what it is called.

        Returns
        -------
        str
            The name.
        """

    def is_available(self) -> bool:
        """Return whether it can run here.

        Returns
        -------
        bool
            Whether.
        """
        return True


def run_shards(
    model: Callable[..., Any],
    model_kwargs: Mapping[str, Any],
    config: CMCConfig,
    shards: Sequence[PreparedData] | None,
    initial_values: Mapping[str, float] | None,
    parameter_space: Any,
    analysis_mode: str,
    progress_bar: bool,
) -> MCMCSamples:
    """Sample the points of all shards at once, which needs no consensus among them."""
    parts: list[Any] = list(shards) if shards else [model_kwargs.get("prepared_data")]
    if parts[0] is None:
        raise ValueError("No data provided for MCMC sampling")
    data, t1, t2, phi = (
        np.concatenate([np.asarray(getattr(part, name)) for part in parts])
        for name in ("data", "t1", "t2", "phi")
    )
    whole = prepare_mcmc_data(data, t1, t2, phi, filter_diagonal=False)
    samples, stats = run_nuts_sampling(
        model=model,
        model_kwargs={**model_kwargs, **vars(whole), "num_shards": 1},
        config=replace(config, num_shards="auto"),
        initial_values=initial_values,
        parameter_space=parameter_space,
        n_phi=whole.n_phi,
        analysis_mode=analysis_mode,
        progress_bar=progress_bar,
        per_angle_mode=model_kwargs.get("per_angle_mode", "individual"),
    )
    samples.shard_adapted_n_warmup = None if stats.plan is None else stats.plan.n_warmup
    return samples


def _moments(shard_samples: Sequence[MCMCSamples], name: str) -> tuple[Floats, Floats]:
    """Return means and variances of the shards whose draws are all numbers."""
    draws = (np.ravel(shard.samples[name]) for shard in shard_samples)
    pairs = [(d.mean(), d.var(ddof=1)) for d in draws if np.isfinite(d).all()]
    if not pairs:
        raise ValueError(
            f"All shards excluded for parameter '{name}' due to non-finite samples: look at "
            "divergences"
        )
    means, variances = np.array(pairs).T
    return means, variances


def _without_narrow(means: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """Leave out shards that are certain of nothing but themselves."""
    if len(variances) >= 3:
        narrow = variances < _TOO_NARROW * np.median(variances)
        if 0 < narrow.sum() < len(variances):
            return means[~narrow], variances[~narrow]
    return means, variances


def _robust(means: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """Leave out shards far from the others, and cut the extremes of the variances."""
    middle = np.median(means)
    mad = np.median(np.abs(means - middle))
    if mad > 0:
        near = 0.6745 * np.abs(means - middle) / mad < _FAR
        if near.sum() >= 3:
            means, variances = means[near], variances[near]
    means, variances = _without_narrow(means, variances)
    if len(variances) >= 5:
        variances = np.clip(variances, *np.percentile(variances, [5, 95]))
    return means, variances


def _product(means: Floats, variances: Floats) -> tuple[float, float]:
    """Return mean and standard deviation of the product of normals."""
    precision = 1 / np.maximum(variances, _LEAST_VARIANCE)
    variance = max(1 / float(precision.sum()), _LEAST_COMBINED)
    return variance * float(precision @ means), float(np.sqrt(variance))


def _extra_of(shard_samples: Sequence[MCMCSamples]) -> dict[str, Any]:
    """Put together what samplers say of their draws."""
    found: dict[str, Any] = {}
    for key in shard_samples[0].extra_fields:
        parts = [s.extra_fields[key] for s in shard_samples if key in s.extra_fields]
        try:
            join = np.stack if np.ndim(parts[0]) == 0 else np.concatenate
            found[key] = join(parts, axis=0)
        except (ValueError, TypeError):
            found[key] = parts[0]
    return found


def _by_draws(shard_samples: Sequence[MCMCSamples], name: str, is_weighted: bool) -> Floats:
    """Return the mean of the shards' draws, one by one."""
    draws = [shard.samples[name] for shard in shard_samples]
    if not is_weighted:
        mean: Floats = np.nanmean(draws, axis=0)
        return mean
    weights = np.array([1 / max(float(np.nanvar(d)), _LEAST_VARIANCE) for d in draws])
    weights /= weights.sum()
    weighted: Floats = np.tensordot(weights, np.array(draws), axes=1)
    return weighted


def combine_shard_samples(
    shard_samples: Sequence[MCMCSamples],
    method: str = "weighted_gaussian",
    chunk_size: int = 500,
) -> MCMCSamples:
    """Put draws of shards together.

    Parameters
    ----------
    shard_samples : list of MCMCSamples
        Draws of every shard.
    method : str, default 'weighted_gaussian'
        'consensus_mc' multiplies normals, 'robust_consensus_mc' leaves out shards far from the
        others before; 'simple_average' and 'weighted_gaussian' average draws.
    chunk_size : int, default 500
        Shards from which on outliers are no longer looked for, as in the original.

    Returns
    -------
    MCMCSamples
        Draws.
    """
    first = shard_samples[0]
    if len(shard_samples) == 1:
        return first
    shape = (first.n_chains, first.n_samples)
    found: dict[str, Floats] = {}
    rng = np.random.default_rng(42)
    if method in ("robust_consensus_mc", "consensus_mc", "auto"):
        is_plain = method == "consensus_mc" or len(shard_samples) > chunk_size
        clean = _without_narrow if is_plain else _robust
        for name in first.param_names:
            mean, width = _product(*clean(*_moments(shard_samples, name)))
            found[name] = rng.normal(loc=mean, scale=width, size=shape)
    else:
        warnings.warn(
            f"combination_method={method!r} is deprecated; use 'consensus_mc'",
            DeprecationWarning,
            stacklevel=2,
        )
        for name in first.param_names:
            found[name] = _by_draws(shard_samples, name, method != "simple_average")
    return MCMCSamples(
        found,
        first.param_names,
        *shape,
        _extra_of(shard_samples),
        num_shards=sum(getattr(shard, "num_shards", 1) for shard in shard_samples),
    )


def _mode_moments(
    shard_samples: Sequence[MCMCSamples],
    members: Sequence[int],
    detections: Mapping[tuple[int, str], Mapping[str, Any]],
    name: str,
    is_lower: bool,
) -> tuple[float, float]:
    """Return mean and standard deviation of a parameter in one mode."""
    pairs = []
    for shard in members:
        entry = detections.get((shard, name))
        if entry is not None:
            ends = sorted((entry[f"mode{k}"], entry[f"std{k}"]) for k in (1, 2))
            mean, width = ends[0] if is_lower else ends[1]
            pairs.append((mean, width**2))
            continue
        draws = np.ravel(shard_samples[shard].samples[name])
        draws = draws[np.isfinite(draws)]
        if draws.size:
            pairs.append((draws.mean(), draws.var(ddof=1) if draws.size > 1 else 0.0))
    means, variances = np.array(pairs).reshape(-1, 2).T
    if len(variances) >= 3:
        middle = float(np.median(variances))
        wide = variances >= (_TOO_NARROW * middle if middle > 0 else 1e-30)
        means, variances = means[wide], variances[wide]
    if len(means) < 3:
        return (
            float(means.mean()) if len(means) else 0.0,
            float(means.std()) if len(means) > 1 else 1e-6,
        )
    precision = 1 / np.maximum(variances, _LEAST_VARIANCE)
    return float(precision @ means / precision.sum()), float(1 / np.sqrt(precision.sum()))


def combine_shard_samples_bimodal(
    shard_samples: Sequence[MCMCSamples],
    cluster_assignments: tuple[Sequence[int], Sequence[int]],
    bimodal_detections: Sequence[Mapping[str, Any]],
    modal_params: list[str],
    co_occurrence: dict[str, Any],
    method: str = "consensus_mc",
    chunk_seed: int = 0,
) -> tuple[MCMCSamples, BimodalConsensusResult]:
    """Put draws of shards together by mode.

    Parameters
    ----------
    shard_samples : list of MCMCSamples
        Draws of every shard.
    cluster_assignments : (list of int, list of int)
        Shards of the lower and of the upper mode.
    bimodal_detections : list of dict
        ``shard``, ``param``, and ``mode1``, ``std1``, ``mode2``, ``std2`` of those with both.
    modal_params : list of str
        Parameters with two modes.
    co_occurrence : dict
        Passed on.
    method : str, default 'consensus_mc'
        Accepted for scripts of the original.
    chunk_seed : int, default 0
        Of the draws.

    Returns
    -------
    (MCMCSamples, BimodalConsensusResult)
        Draws of both modes by their weights, and the modes.
    """
    del method
    first = shard_samples[0]
    names, n_chains, n_samples = first.param_names, first.n_chains, first.n_samples
    rng = np.random.default_rng(42 + chunk_seed)
    by_place = {
        (entry["shard"], entry["param"]): entry
        for entry in bimodal_detections
        if entry["param"] in modal_params
    }
    numbers = [
        {n: _mode_moments(shard_samples, members, by_place, n, k == 0) for n in names}
        for k, members in enumerate(cluster_assignments)
    ]
    sizes = [len(members) for members in cluster_assignments]
    weights = [size / max(sum(sizes), 1) for size in sizes]
    counts = [round(weights[0] * n_samples)]
    counts.append(n_samples - counts[0])

    def draws(mode: int, name: str, n: int) -> Floats:
        mean, width = numbers[mode][name]
        return rng.normal(loc=mean, scale=max(width, 1e-10), size=(n_chains, n))

    found = {}
    for name in names:
        found[name] = np.concatenate([draws(k, name, counts[k]) for k in (0, 1)], axis=1)
        for chain in found[name]:
            rng.shuffle(chain)
    modes = [
        ModeCluster(
            mean={name: numbers[k][name][0] for name in names},
            std={name: numbers[k][name][1] for name in names},
            weight=weights[k],
            n_shards=sizes[k],
            samples={name: draws(k, name, n_samples) for name in names},
        )
        for k in (0, 1)
    ]
    extra = _extra_of(shard_samples)
    combined = MCMCSamples(found, names, n_chains, n_samples, extra, num_shards=len(shard_samples))
    return combined, BimodalConsensusResult(modes, modal_params, co_occurrence)
