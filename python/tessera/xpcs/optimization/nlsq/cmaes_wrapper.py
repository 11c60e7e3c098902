"""A search of the whole box by an evolution strategy, then least squares from its best point."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._curve_fit import as_residuals, default_population, evolve, minimise

__all__ = ["CMAESResult", "CMAESWrapper", "CMAESWrapperConfig", "fit_with_cmaes"]

CMAES_AVAILABLE = True

Bounds = tuple[npt.ArrayLike, npt.ArrayLike]
_GENERATIONS = {"cmaes-fast": 50, "cmaes": 100, "cmaes-global": 200}
_REFINEMENT_SKIP_CHI2_RATIO = 10.0
# From which ratio of ranges on populations and generations grow: least, multiple; least, multiple.
_GROWTH = ((1e6, 200, 10, 500, 3), (1e4, 100, 5, 300, 2), (1e3, 50, 3, 200, 1))


def _sides(bounds: Bounds) -> tuple[Floats, Floats]:
    low, high = bounds
    return np.asarray(low, float), np.asarray(high, float)


def _format_bounds_summary(bounds: Bounds) -> str:
    low, high = _sides(bounds)
    widths = (high - low)[high > low]
    if not len(widths):
        return f"{len(low)} params (no valid ranges)"
    return f"{len(low)} params, range=[{widths.min():.2e}, {widths.max():.2e}]"


def _compute_normalization_factors(
    bounds: Bounds, epsilon: float = 1e-12
) -> tuple[Floats, Floats, Floats]:
    low, high = _sides(bounds)
    width = high - low
    return 1.0 / np.where(width > epsilon, width, 1.0), low, width


def _normalize_params(params: Floats, scale: Floats, offset: Floats) -> Floats:
    return (params - offset) * scale


def _denormalize_params(params_norm: Floats, scale: Floats, offset: Floats) -> Floats:
    return params_norm / scale + offset


def _normalize_bounds(bounds: Bounds) -> tuple[Floats, Floats]:
    n_params = np.size(bounds[0])
    return np.zeros(n_params), np.ones(n_params)


def _adjust_covariance_for_normalization(
    covariance: Floats | None, param_range: Floats
) -> Floats | None:
    return None if covariance is None else covariance * np.outer(param_range, param_range)


@dataclass
class CMAESWrapperConfig:
    """Options of the search.

    Parameters
    ----------
    preset : {'cmaes-fast', 'cmaes', 'cmaes-global'}
        50, 100 or 200 generations.
    max_generations : int, optional
        Of another preset.
    popsize : int, optional
        Points a generation.
    sigma, sigma_warmstart : float
        First spread in units of the box, from anywhere and from a fit.
    tol_fun, tol_x : float
        When it ends.
    restart_strategy : {'bipop', 'none'}
        Whether it begins again with twice the points.
    max_restarts : int, default 9
        How often.
    population_batch_size, data_chunk_size : int, optional
        Accepted for scripts of the original.
    auto_memory : bool
        Accepted for scripts of the original.
    memory_limit_gb : float
        Accepted for scripts of the original.
    refine_with_nlsq : bool, default True
        Least squares from the best point.
    refinement_workflow, refinement_loss : str
        Accepted for scripts of the original; the loss is linear.
    refinement_ftol, refinement_xtol, refinement_gtol : float
        When least squares end: the least of them.
    refinement_max_nfev : int
        Steps of least squares.
    normalize : bool, default True
        Accepted for scripts of the original: the search runs in the unit box.
    normalization_epsilon : float
        Ranges below it count as 1.
    """

    preset: str = "cmaes"
    max_generations: int | None = None
    popsize: int | None = None
    sigma: float = 0.5
    sigma_warmstart: float = 0.05
    tol_fun: float = 1e-8
    tol_x: float = 1e-8
    restart_strategy: str = "bipop"
    max_restarts: int = 9
    population_batch_size: int | None = None
    data_chunk_size: int | None = None
    auto_memory: bool = True
    memory_limit_gb: float = 8.0
    refine_with_nlsq: bool = True
    refinement_workflow: str = "auto"
    refinement_ftol: float = 1e-10
    refinement_xtol: float = 1e-10
    refinement_gtol: float = 1e-10
    refinement_max_nfev: int = 500
    refinement_loss: str = "linear"
    normalize: bool = True
    normalization_epsilon: float = 1e-12

    @classmethod
    def from_nlsq_config(cls, config: object) -> CMAESWrapperConfig:
        """Take what a configuration of the solver says.

        Parameters
        ----------
        config : NLSQConfig
            With ``cmaes_*``.

        Returns
        -------
        CMAESWrapperConfig
            The same, under the names here.
        """
        given = {
            entry.name: getattr(config, f"cmaes_{entry.name}")
            for entry in fields(cls)
            if hasattr(config, f"cmaes_{entry.name}")
        }
        automatic = (
            given.get("population_batch_size") is None and given.get("data_chunk_size") is None
        )
        return cls(**(given | {"auto_memory": automatic}))

    def generations(self) -> int:
        """Return how many generations there are.

        Returns
        -------
        int
            By the preset.
        """
        return _GENERATIONS.get(self.preset, self.max_generations or 100)


@dataclass
class CMAESResult:
    """Where the search ended.

    Parameters
    ----------
    parameters : ndarray
        The best point.
    covariance : ndarray or None
        There, if least squares were run.
    chi_squared : float
        There.
    success : bool
        It ended of itself.
    diagnostics : dict
        How it went.
    method_used : str
        'cmaes'.
    nlsq_refined : bool
        Least squares were run.
    message : str
        Why it ended.
    """

    parameters: npt.NDArray[Any]
    covariance: npt.NDArray[Any] | None
    chi_squared: float
    success: bool
    diagnostics: dict[str, Any] = field(default_factory=dict)
    method_used: str = "cmaes"
    nlsq_refined: bool = False
    message: str = ""


class CMAESWrapper:
    """The search.

    Parameters
    ----------
    config : CMAESWrapperConfig, optional
        Options.
    """

    def __init__(self, config: CMAESWrapperConfig | None = None) -> None:
        self.config = config or CMAESWrapperConfig()

    @property
    def is_available(self) -> bool:
        """True: nothing has to be installed."""
        return CMAES_AVAILABLE

    def compute_scale_ratio(self, bounds: Bounds) -> float:
        """Return the widest range of parameters over the narrowest.

        Parameters
        ----------
        bounds : (lower, upper)
            Of all parameters.

        Returns
        -------
        float
            1 with fewer than two ranges.
        """
        low, high = _sides(bounds)
        widths = (high - low)[high > low]
        return float(widths.max() / widths.min()) if len(widths) >= 2 else 1.0

    def should_use_cmaes(self, bounds: Bounds, scale_threshold: float = 1000.0) -> bool:
        """Return whether ranges differ so much that the original would search.

        Parameters
        ----------
        bounds : (lower, upper)
            Of all parameters.
        scale_threshold : float, default 1000
            From which ratio on.

        Returns
        -------
        bool
            Whether.
        """
        return self.is_available and self.compute_scale_ratio(bounds) >= scale_threshold

    def _sizes(self, bounds: Bounds) -> tuple[int, int]:
        """Return points a generation, and generations."""
        size, rounds = default_population(np.size(bounds[0])), self.config.generations()
        if self.config.popsize is not None:
            return self.config.popsize, rounds
        ratio = self.compute_scale_ratio(bounds)
        for least, n_size, by_size, n_round, by_round in _GROWTH:
            if ratio > least:
                return max(n_size, size * by_size), max(n_round, rounds * by_round)
        return size, rounds

    def fit(
        self,
        model_func: Callable[..., npt.ArrayLike],
        xdata: npt.ArrayLike,
        ydata: npt.ArrayLike,
        p0: npt.ArrayLike,
        bounds: Bounds,
        sigma: npt.ArrayLike | None = None,
        warmstart_chi2: float | None = None,
    ) -> CMAESResult:
        """Search, then least squares.

        Parameters
        ----------
        model_func : callable
            ``f(xdata, *params)``.
        xdata, ydata : array
            Points and values.
        p0 : array
            Where to begin.
        bounds : (lower, upper)
            Of all parameters.
        sigma : array, optional
            Standard deviations.
        warmstart_chi2 : float, optional
            Chi squared of a fit that ended at ``p0``: the search stays near, once.

        Returns
        -------
        CMAESResult
            The best point.
        """
        own = self.config
        low, high = _sides(bounds)
        residuals = as_residuals(model_func, xdata, ydata, sigma)
        warm = warmstart_chi2 is not None and np.isfinite(warmstart_chi2)
        size, rounds = self._sizes(bounds)
        again = 0 if warm or own.restart_strategy == "none" else own.max_restarts
        begin = time.perf_counter()
        found = evolve(
            lambda x: float(np.sum(residuals(x) ** 2)),
            p0,
            low,
            high,
            sigma=own.sigma_warmstart if warm else own.sigma,
            population=size,
            generations=rounds,
            restarts=min(again, 2),  # populations double: more than that finds nothing new
            tolerance=own.tol_fun,
        )
        facts: dict[str, Any] = {
            "generations": found.generations,
            "evaluations": found.evaluations,
            "restarts": found.restarts,
            "convergence_reason": found.reason,
            "global_search_time_s": time.perf_counter() - begin,
            "normalization_enabled": own.normalize,
        }
        result = CMAESResult(
            found.x,
            None,
            found.value,
            found.reason in ("tol_fun", "tol_x"),
            facts,
            message=f"CMA-ES ended: {found.reason}",
        )
        worse = warmstart_chi2 is not None and (
            found.value > _REFINEMENT_SKIP_CHI2_RATIO * warmstart_chi2
        )
        if own.refine_with_nlsq and not worse:
            self._refine(result, residuals, low, high, absolute=sigma is not None)
        facts["total_time_s"] = time.perf_counter() - begin
        return result

    def _refine(
        self, result: CMAESResult, residuals: Any, low: Floats, high: Floats, absolute: bool
    ) -> None:
        own = self.config
        least = min(own.refinement_ftol, own.refinement_xtol, own.refinement_gtol)
        found = minimise(
            residuals,
            result.parameters,
            low,
            high,
            tolerance=least,
            most_steps=own.refinement_max_nfev,
        )
        before, after = result.chi_squared, 2.0 * found.cost
        result.diagnostics |= {
            "refinement_nfev": found.n_call,
            "refinement_message": found.message,
            "cmaes_chi_squared": before,
            "refined_chi_squared": after,
            "chi_squared_improvement": (before - after) / before if before > 0 else 0.0,
        }
        result.parameters, result.chi_squared = found.x, after
        result.covariance = found.covariance(absolute)
        result.nlsq_refined = result.success = True


def fit_with_cmaes(
    model_func: Callable[..., npt.ArrayLike],
    xdata: npt.ArrayLike,
    ydata: npt.ArrayLike,
    p0: npt.ArrayLike,
    bounds: Bounds,
    sigma: npt.ArrayLike | None = None,
    config: CMAESWrapperConfig | None = None,
) -> CMAESResult:
    """Search, then least squares; see :meth:`CMAESWrapper.fit`.

    Parameters
    ----------
    model_func, xdata, ydata, p0, bounds, sigma
        As there.
    config : CMAESWrapperConfig, optional
        Options.

    Returns
    -------
    CMAESResult
        The best point.
    """
    return CMAESWrapper(config).fit(model_func, xdata, ydata, p0, bounds, sigma)
