"""What sampling found, by the original's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.core import physics_cmc
from tessera.xpcs.optimization.cmc.data_prep import extract_phi_info
from tessera.xpcs.optimization.cmc.diagnostics import (
    DEFAULT_MIN_ESS,
    check_convergence,
    compute_ess,
    compute_r_hat,
)
from tessera.xpcs.optimization.cmc.priors import SCALING, base_name, physical_names
from tessera.xpcs.optimization.cmc.sampler import MCMCSamples, SamplingStats
from tessera.xpcs.utils.logging import get_logger

__all__ = [
    "CMCResult",
    "ParameterStats",
    "compute_fitted_c2",
    "create_inference_data",
    "samples_dict_from_array",
]

logger = get_logger(__name__)

_MOST_FOR_COVARIANCE = 10_000
_BAND_DRAWS = 100


class ParameterStats(dict[Any, Any]):
    """Numbers by name and by place.

    Parameters
    ----------
    ordered_names : list of str
        Names.
    values : list of float
        Of each. What is added later is there by name alone.
    """

    def __init__(self, ordered_names: Sequence[str], values: Sequence[float]) -> None:
        super().__init__(zip(ordered_names, values, strict=True))
        self._values = list(values)

    def __getitem__(self, key: int | str) -> float:
        """Return the number of a name or a place."""
        if isinstance(key, int):
            return self._values[key]
        return float(super().__getitem__(key))

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._values, dtype=dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        names = list(self)[: len(self._values)]
        return _stats_of, (names, self._values, dict(self))

    @property
    def as_array(self) -> Floats:
        """The numbers in their order."""
        return np.array(self._values, float)

    def tolist(self) -> list[float]:
        """Return the numbers in their order.

        Returns
        -------
        list of float
            A copy.
        """
        return list(self._values)


def _stats_of(names: list[str], values: list[float], everything: dict[str, float]) -> Any:
    found = ParameterStats(names, values)
    found.update(everything)
    return found


def _nothing() -> ParameterStats:
    return ParameterStats([], [])


@dataclass
class CMCResult:
    """Draws, and what they say.

    Parameters
    ----------
    parameters, uncertainties : ndarray
        Means and standard deviations, in the order of ``param_names``.
    param_names : list of str
        Names.
    samples : dict of ndarray, shape (n_chains, n_samples)
        Draws by name.
    convergence_status : str
        'converged', 'not_converged' or 'divergences'.
    r_hat, ess_bulk, ess_tail : dict
        By name.
    divergences : int
        Paths that were broken off.
    inference_data : arviz.InferenceData or None
        The draws for ArviZ; None where that is not installed.
    execution_time, warmup_time : float
        Seconds.
    n_chains, n_samples, n_warmup : int
        Chains and draws.
    analysis_mode, per_angle_mode : str
        Of the model.
    num_shards : int
        Runs that were put together.
    covariance : ndarray
        Of the draws.
    chi_squared, reduced_chi_squared : float
        Zero, as in the original.
    device_info, recovery_actions, quality_flag
        Where it ran, and what was done.
    mean_params, std_params : ParameterStats
        Of the physical parameters.
    mean_contrast, std_contrast, mean_offset, std_offset : float or None
        Over all angles.
    """

    parameters: Floats
    uncertainties: Floats
    param_names: list[str]
    samples: dict[str, Floats]
    convergence_status: str
    r_hat: dict[str, float]
    ess_bulk: dict[str, float]
    ess_tail: dict[str, float]
    divergences: int
    inference_data: Any
    execution_time: float
    warmup_time: float
    n_chains: int = 4
    n_samples: int = 2000
    n_warmup: int = 500
    analysis_mode: str = "static"
    per_angle_mode: str = "auto"
    num_shards: int = 1
    covariance: Floats = field(default_factory=lambda: np.array([]))
    chi_squared: float = 0.0
    reduced_chi_squared: float = 0.0
    device_info: dict[str, Any] = field(default_factory=dict)
    recovery_actions: list[str] = field(default_factory=list)
    quality_flag: str = "good"
    mean_params: ParameterStats = field(default_factory=_nothing)
    std_params: ParameterStats = field(default_factory=_nothing)
    mean_contrast: float | None = None
    std_contrast: float | None = None
    mean_offset: float | None = None
    std_offset: float | None = None

    def is_cmc_result(self) -> bool:
        """Return True: it is one.

        Returns
        -------
        bool
            True.
        """
        return True

    @property
    def success(self) -> bool:
        """Whether the chains converged."""
        return self.convergence_status == "converged"

    @property
    def message(self) -> str:
        """A sentence on how it went."""
        if self.success:
            return f"CMC sampling converged. {self.divergences} divergences."
        if self.convergence_status == "divergences":
            return f"CMC completed with {self._divergence_rate():.1%} divergence rate."
        return f"CMC did not converge: {self.convergence_status}"

    def _divergence_rate(self) -> float:
        total = self.num_shards * self.n_chains * self.n_samples
        return self.divergences / total if total > 0 else 0.0

    @classmethod
    def from_mcmc_samples(
        cls,
        mcmc_samples: MCMCSamples,
        stats: SamplingStats,
        analysis_mode: str,
        n_warmup: int = 500,
        min_ess: float | None = None,
    ) -> CMCResult:
        """Return the result of draws.

        Parameters
        ----------
        mcmc_samples : MCMCSamples
            Draws.
        stats : SamplingStats
            How it went.
        analysis_mode : str
            The mode.
        n_warmup : int, default 500
            Draws that were thrown away.
        min_ess : float, optional
            Effective size that counts as converged.

        Returns
        -------
        CMCResult
            The result.
        """
        draws, names = mcmc_samples.samples, mcmc_samples.param_names
        r_hat = compute_r_hat(draws)
        bulk, tail = compute_ess(draws)
        status, lines = check_convergence(
            r_hat,
            bulk,
            stats.num_divergent,
            mcmc_samples.n_samples,
            mcmc_samples.n_chains,
            min_ess=DEFAULT_MIN_ESS if min_ess is None else min_ess,
            num_shards=getattr(mcmc_samples, "num_shards", 1),
        )
        for line in lines:
            logger.warning(line)
        means = np.array([np.nanmean(draws[n]) if n in draws else 0.0 for n in names])
        widths = np.array([np.nanstd(draws[n]) if n in draws else 0.0 for n in names])
        mean_stats, std_stats = _stats(names, draws, means, widths)
        return cls(
            parameters=means,
            uncertainties=widths,
            param_names=names,
            samples=draws,
            convergence_status=status,
            r_hat=r_hat,
            ess_bulk=bulk,
            ess_tail=tail,
            divergences=stats.num_divergent,
            inference_data=_inference_data_if_possible(mcmc_samples),
            execution_time=stats.total_time,
            warmup_time=stats.warmup_time,
            n_chains=mcmc_samples.n_chains,
            n_samples=mcmc_samples.n_samples,
            n_warmup=n_warmup,
            analysis_mode=analysis_mode,
            num_shards=getattr(mcmc_samples, "num_shards", 1),
            covariance=_covariance([draws[n] for n in names if n in draws]),
            device_info={"platform": "cpu", "device": "CPU"},
            mean_params=mean_stats,
            std_params=std_stats,
            mean_contrast=mean_stats.get("contrast"),
            std_contrast=std_stats.get("contrast"),
            mean_offset=mean_stats.get("offset"),
            std_offset=std_stats.get("offset"),
        )

    def get_posterior_stats(self) -> dict[str, dict[str, float]]:
        """Return mean, width, median, 5 and 95 %, R-hat and sizes by name.

        Returns
        -------
        dict of dict
            ``hdi_5%`` and ``hdi_95%`` are quantiles, as in the original.
        """
        nan = float("nan")
        found = {}
        for name in self.param_names:
            if name not in self.samples:
                continue
            values = np.asarray(self.samples[name]).ravel()
            low, high = np.nanpercentile(values, [5, 95]).tolist()
            found[name] = {
                "mean": float(np.nanmean(values)),
                "std": float(np.nanstd(values)),
                "median": float(np.nanmedian(values)),
                "hdi_5%": low,
                "hdi_95%": high,
                "r_hat": self.r_hat.get(name, nan),
                "ess_bulk": self.ess_bulk.get(name, nan),
                "ess_tail": self.ess_tail.get(name, nan),
            }
        return found

    def get_samples_array(self) -> Floats:
        """Return all draws as one array.

        Returns
        -------
        ndarray, shape (n_chains, n_samples, n_params)
            Zero for names without draws.
        """
        found = np.zeros((self.n_chains, self.n_samples, len(self.param_names)))
        for place, name in enumerate(self.param_names):
            if name in self.samples:
                found[:, :, place] = self.samples[name]
        return found

    def validate_parameters(self, n_phi: int | None = None) -> list[str]:
        """Say what is missing or doubtful.

        Parameters
        ----------
        n_phi : int, optional
            Angles; by default as many as there are contrasts.

        Returns
        -------
        list of str
            A sentence each.
        """
        lines = []
        for name in physical_names(self.analysis_mode):
            if name not in self.samples:
                lines.append(f"Missing required parameter: {name}")
            elif not np.isfinite(self.samples[name]).all():
                lines.append(f"Non-finite values in parameter: {name}")
        n = n_phi
        if n is None:
            n = sum(name.startswith("contrast_") for name in self.param_names)
        wanted = [f"{word}_{i}" for i in range(n) for word in SCALING]
        lines += [
            f"Missing per-angle parameter: {name}" for name in wanted if name not in self.samples
        ]
        held = ("constant", "constant_averaged")
        is_held = self.analysis_mode in held or self.per_angle_mode in held
        if n == 0 and not is_held and not {"contrast", "contrast_0"} & set(self.samples):
            lines.append(
                "No contrast/offset sites found in posterior samples: expected 'contrast' and "
                "'offset', or 'contrast_0' and 'offset_0'"
            )
        worst = max(filter(np.isfinite, self.r_hat.values()), default=float("nan"))
        least = min(filter(np.isfinite, self.ess_bulk.values()), default=0.0)
        if worst > 1.1:
            lines.append(f"High R-hat detected: {worst:.3f} > 1.1")
        if least < DEFAULT_MIN_ESS:
            lines.append(f"Low ESS detected: {least:.0f} < {DEFAULT_MIN_ESS}")
        if self._divergence_rate() > 0.01:
            lines.append(f"High divergence rate: {self._divergence_rate():.1%}")
        return lines


def _stats(
    names: Sequence[str], draws: dict[str, Floats], means: Floats, widths: Floats
) -> tuple[ParameterStats, ParameterStats]:
    """Return means and widths of the physical parameters, and of all contrasts and offsets."""
    kinds = [base_name(name) for name in names]
    own = [name in draws and not name.endswith("_z") for name in names]
    rest = [k for k, name in enumerate(names) if own[k] and (kinds[k] == name or name not in draws)]
    physical = [names[k] for k in rest]
    found = []
    for numbers in (means, widths):
        stats = ParameterStats(physical, [float(numbers[k]) for k in rest])
        for word in SCALING:
            of_angles = [
                numbers[k]
                for k, name in enumerate(names)
                if own[k] and kinds[k] == word and name != word
            ]
            if of_angles:
                stats[word] = float(np.nanmean(of_angles))
        found.append(stats)
    return found[0], found[1]


def _covariance(columns: Sequence[Floats]) -> Floats:
    """Return the covariance of draws, of at most some thousands of them."""
    n = len(columns)
    table = np.column_stack([np.ravel(values) for values in columns]) if n else np.zeros((0, 0))
    table = table[np.isfinite(table).all(axis=1)]
    if len(table) < 2:
        return np.zeros((n, n))
    if len(table) > _MOST_FOR_COVARIANCE:
        rng = np.random.default_rng(seed=0)
        table = table[rng.choice(len(table), size=_MOST_FOR_COVARIANCE, replace=False)]
    return np.cov(table, rowvar=False)


def _inference_data_if_possible(mcmc_samples: MCMCSamples) -> Any:
    try:
        return create_inference_data(mcmc_samples)
    except ImportError:
        return None


def create_inference_data(mcmc_samples: MCMCSamples) -> Any:
    """Return draws as ArviZ has them; needs arviz.

    Parameters
    ----------
    mcmc_samples : MCMCSamples
        Draws.

    Returns
    -------
    arviz.InferenceData
        Groups ``posterior`` and ``sample_stats``.
    """
    try:
        import arviz
    except ImportError:
        raise ImportError("ArviZ is required to create InferenceData: pip install arviz") from None
    names = [name for name in mcmc_samples.param_names if name in mcmc_samples.samples]
    groups: dict[str, Any] = {"posterior": {name: mcmc_samples.samples[name] for name in names}}
    stats: dict[str, Any] = {}
    for key, values in mcmc_samples.extra_fields.items():
        renamed = "energy" if key == "potential_energy" else key.replace(".", "_")
        stats.setdefault(renamed, values)
    if stats:
        groups["sample_stats"] = stats
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.from_dict(**groups)
    return arviz.from_dict(groups)


def samples_dict_from_array(
    samples_array: npt.NDArray[Any], param_names: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """Return draws by name.

    Parameters
    ----------
    samples_array : ndarray, shape (n_chains, n_samples, n_params)
        Draws.
    param_names : list of str
        Names.

    Returns
    -------
    dict of ndarray
        By name.
    """
    return {name: samples_array[:, :, place] for place, name in enumerate(param_names)}


def _scaling_of(
    draws: dict[str, Any], n_phi: int, fixed: Sequence[npt.ArrayLike | None]
) -> list[npt.NDArray[Any]]:
    """Return contrasts and offsets, with an axis of angles at the end."""
    if "contrast_0" in draws:
        return [
            np.stack([np.asarray(draws[f"{word}_{i}"]) for i in range(n_phi)], axis=-1)
            for word in SCALING
        ]
    if "contrast" in draws:
        return [np.repeat(np.asarray(draws[word])[..., None], n_phi, axis=-1) for word in SCALING]
    if fixed[0] is None or fixed[1] is None:
        raise KeyError(
            f"no contrast among {sorted(draws)}; for scaling that was held, give fixed_contrasts "
            f"and fixed_offsets of shape ({n_phi},)"
        )
    values = [np.asarray(own, np.float64) for own in fixed if own is not None]
    if any(own.shape != (n_phi,) for own in values):
        raise ValueError(
            f"fixed_contrasts/fixed_offsets must have shape ({n_phi},), got {values[0].shape} and "
            f"{values[1].shape}"
        )
    return values


def compute_fitted_c2(
    result: CMCResult,
    t1: npt.NDArray[Any],
    t2: npt.NDArray[Any],
    phi: npt.NDArray[Any],
    q: float,
    L: float,  # noqa: N803
    dt: float,
    analysis_mode: str,
    fixed_contrasts: npt.ArrayLike | None = None,
    fixed_offsets: npt.ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Compute correlations at the mean of the draws, and their spread over some draws.

    Parameters
    ----------
    result : CMCResult
        Draws.
    t1, t2, phi : ndarray, shape (n,)
        Times and angle of every point.
    q, L, dt : float
        Wave vector, gap and time between frames.
    analysis_mode : str
        The mode.
    fixed_contrasts, fixed_offsets : array-like, optional
        Where scaling was held.

    Returns
    -------
    (ndarray, ndarray)
        Correlations and their standard deviations, shape (n,).
    """
    names = physical_names(analysis_mode)
    angles, places = extract_phi_info(np.asarray(phi))
    points = np.arange(len(places))
    fixed = (fixed_contrasts, fixed_offsets)

    def correlations(theta: Floats, contrast: Floats, offset: Floats) -> Floats:
        g1 = np.asarray(physics_cmc.compute_g1_total(theta, t1, t2, angles, q, L, dt))
        own: Floats = contrast[places] * g1[places, points] ** 2 + offset[places]
        return own

    means = {name: row["mean"] for name, row in result.get_posterior_stats().items()}
    middle = _scaling_of(means, len(angles), fixed)
    fitted = correlations(np.array([means[name] for name in names]), *middle)
    n = min(_BAND_DRAWS, result.n_samples)
    chain, draw = np.arange(n) % result.n_chains, np.arange(n) // result.n_chains
    chosen = {name: np.asarray(values)[chain, draw] for name, values in result.samples.items()}
    scaling = [
        np.broadcast_to(s, (n, len(angles))) for s in _scaling_of(chosen, len(angles), fixed)
    ]
    curves = [
        correlations(np.array([chosen[name][k] for name in names]), scaling[0][k], scaling[1][k])
        for k in range(n)
    ]
    spread: Floats = np.nanstd(curves, axis=0)
    return fitted, spread
