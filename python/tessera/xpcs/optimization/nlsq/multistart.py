"""Fits from many starts: the starts, the choice among them, and what came of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.nlsq.results import OptimizationResult
from tessera.xpcs.utils.logging import get_logger

__all__ = ["MultiStartConfig", "MultiStartResult", "SingleStartResult"]

_NO_WIDTH = 1e-15


@dataclass
class MultiStartConfig:
    """How many starts, and where.

    Parameters
    ----------
    enable : bool, default False
        Whether there are several.
    n_starts : int, default 10
        How many.
    seed : int, default 42
        Of their places.
    sampling_strategy : {'latin_hypercube', 'random'}
        Of their places.
    custom_starts : list of list of float, optional
        More of them.
    n_workers : int, default 0
        Accepted for scripts of the original: a fit here uses all threads.
    use_screening : bool, default True
        Leave out the starts of the largest cost.
    screen_keep_fraction : float, default 0.5
        Share that is kept.
    refine_top_k : int, default 3
        Accepted for scripts of the original: all are fitted to the end.
    refinement_ftol : float, default 1e-12
        Accepted for scripts of the original.
    degeneracy_threshold : float, default 0.1
        How far chi squared of two minima may be apart, relatively, for both to count.
    """

    enable: bool = False
    n_starts: int = 10
    seed: int = 42
    sampling_strategy: str = "latin_hypercube"
    custom_starts: list[list[float]] | None = None
    n_workers: int = 0
    use_screening: bool = True
    screen_keep_fraction: float = 0.5
    refine_top_k: int = 3
    refinement_ftol: float = 1e-12
    degeneracy_threshold: float = 0.1

    @classmethod
    def from_nlsq_config(cls, nlsq_config: object) -> MultiStartConfig:
        """Take what a configuration of the solver says.

        Parameters
        ----------
        nlsq_config : NLSQConfig
            With ``enable_multi_start`` and ``multi_start_*``.

        Returns
        -------
        MultiStartConfig
            The same, under the names here.
        """
        own: Any = nlsq_config
        names = [
            "n_starts",
            "seed",
            "sampling_strategy",
            "n_workers",
            "use_screening",
            "screen_keep_fraction",
            "refine_top_k",
            "refinement_ftol",
            "degeneracy_threshold",
        ]
        return cls(
            enable=own.enable_multi_start,
            custom_starts=getattr(own, "multi_start_custom_starts", None),
            **{name: getattr(own, f"multi_start_{name}") for name in names},
        )


@dataclass
class SingleStartResult:
    """What came of one start.

    Parameters
    ----------
    start_idx : int
        Which.
    initial_params, final_params : ndarray
        Where it began and ended.
    chi_squared, reduced_chi_squared : float
        Where it ended.
    success : bool
        Whether that is a minimum.
    status : int
        Of the solver.
    message : str
        Why it stopped.
    n_iterations, n_fev : int
        Steps and evaluations.
    wall_time : float
        Seconds.
    hessian, covariance, jacobian : ndarray, optional
        There.
    """

    start_idx: int
    initial_params: npt.NDArray[Any]
    final_params: npt.NDArray[Any]
    chi_squared: float
    reduced_chi_squared: float = float("inf")
    success: bool = False
    status: int = 0
    message: str = ""
    n_iterations: int = 0
    n_fev: int = 0
    wall_time: float = 0.0
    hessian: npt.NDArray[Any] | None = None
    covariance: npt.NDArray[Any] | None = None
    jacobian: npt.NDArray[Any] | None = None


@dataclass
class MultiStartResult:
    """What came of all starts.

    Parameters
    ----------
    best : SingleStartResult
        The one of least chi squared.
    all_results : list of SingleStartResult
        All of them.
    config : MultiStartConfig
        What was asked for.
    strategy_used : str
        'full', or 'single_start_fallback' where bounds leave no room.
    n_successful, n_unique_basins : int
        Minima that were reached, and how many of them differ.
    degeneracy_detected : bool
        Several minima are about as good as each other.
    total_wall_time : float
        Seconds.
    screening_costs : ndarray, optional
        Costs of the starts.
    basin_labels : ndarray, optional
        Which minimum each result belongs to; -1 to one that is worse.
    result : Result, optional
        The best fit whole, where the engine made it.
    """

    best: SingleStartResult
    all_results: list[SingleStartResult]
    config: MultiStartConfig
    strategy_used: str
    n_successful: int = 0
    n_unique_basins: int = 1
    degeneracy_detected: bool = False
    total_wall_time: float = 0.0
    screening_costs: npt.NDArray[Any] | None = None
    basin_labels: npt.NDArray[Any] | None = None
    result: object | None = None

    def to_optimization_result(self) -> OptimizationResult:
        """Return the best as the result of a fit.

        Returns
        -------
        OptimizationResult
            With the numbers of all starts in ``nlsq_diagnostics``.
        """
        best = self.best
        reduced = best.reduced_chi_squared
        flag = "good" if reduced < 2.0 else "marginal" if reduced < 10.0 else "poor"
        n_params = len(best.final_params)
        covariance = np.eye(n_params) if best.covariance is None else best.covariance
        known = best.covariance is not None
        return OptimizationResult(
            parameters=best.final_params,
            uncertainties=np.sqrt(np.diag(covariance)) if known else np.zeros(n_params),
            covariance=covariance,
            chi_squared=best.chi_squared,
            reduced_chi_squared=reduced,
            convergence_status="converged" if best.success else "failed",
            iterations=best.n_iterations,
            execution_time=self.total_wall_time,
            device_info={"type": "cpu", "multistart": True},
            quality_flag=flag,
            nlsq_diagnostics={
                "strategy_used": self.strategy_used,
                "n_starts": len(self.all_results),
                "n_successful": self.n_successful,
                "n_unique_basins": self.n_unique_basins,
                "degeneracy_detected": self.degeneracy_detected,
                "total_wall_time": self.total_wall_time,
                "best_start_idx": best.start_idx,
            },
        )


def check_zero_volume_bounds(bounds: npt.ArrayLike) -> bool:
    """Return whether bounds (n, 2) leave no room at all."""
    low, high = np.asarray(bounds, float).T
    return bool(np.all(np.abs(high - low) < _NO_WIDTH))


def validate_n_starts_for_lhs(n_starts: int, n_params: int, warn: bool = True) -> int:
    """Return the number of starts; too few or too many are logged."""
    if warn and not n_params <= n_starts <= 1000 * n_params:
        get_logger(__name__).warning(
            f"{n_starts} starts for {n_params} parameters: {n_params} to {1000 * n_params} are wise"
        )
    return n_starts


def generate_lhs_starts(bounds: npt.ArrayLike, n_starts: int, seed: int = 42) -> Floats:
    """Return starts of which every parameter has one in each of as many strips."""
    low, high = np.asarray(bounds, float).T
    rng = np.random.default_rng(seed)
    strips = np.stack([rng.permutation(n_starts) for _ in low], axis=1)
    places: Floats = low + (high - low) * (strips + rng.random(strips.shape)) / n_starts
    return places


def generate_random_starts(bounds: npt.ArrayLike, n_starts: int, seed: int = 42) -> Floats:
    """Return starts anywhere within bounds."""
    low, high = np.asarray(bounds, float).T
    return np.random.default_rng(seed).uniform(low, high, (n_starts, len(low)))


def include_custom_starts(
    generated_starts: Floats,
    custom_starts: Sequence[Sequence[float]] | npt.NDArray[Any] | None,
    bounds: npt.ArrayLike,
) -> Floats:
    """Put the user's starts first; those of another length or outside bounds are left out."""
    if custom_starts is None or len(custom_starts) == 0:
        return generated_starts
    own = np.atleast_2d(np.asarray(custom_starts, float))
    low, high = np.asarray(bounds, float).T
    if own.shape[1] != len(low):
        get_logger(__name__).warning(
            f"custom starts of {own.shape[1]} values for {len(low)} parameters are left out"
        )
        return generated_starts
    inside = np.all((own >= low) & (own <= high), axis=1)
    if not inside.all():
        get_logger(__name__).warning(f"{np.sum(~inside)} custom starts lie outside bounds")
    return np.vstack([own[inside], generated_starts])


def screen_starts(
    cost_func: Callable[[Floats], float],
    starts: Floats,
    keep_fraction: float = 0.5,
    min_keep: int = 3,
    n_workers: int = 0,
) -> tuple[Floats, Floats]:
    """Return the starts of least cost, the best first, and the costs of all."""
    costs = np.array([float(cost_func(start)) for start in starts])
    n_keep = min(max(min_keep, int(len(starts) * keep_fraction)), len(starts))
    return starts[np.argsort(costs)[:n_keep]], costs


def detect_degeneracy(
    results: Sequence[SingleStartResult],
    chi_sq_threshold: float = 0.1,
    param_threshold: float = 0.2,
) -> tuple[bool, int, npt.NDArray[np.int64] | None]:
    """Return whether several minima are about as good, how many, and which result is of which."""
    good = sorted((entry for entry in results if entry.success), key=lambda r: r.chi_squared)
    if len(good) < 2:
        return False, 1, None
    least = good[0].chi_squared
    centres: list[Floats] = []
    labels: list[int] = []
    for entry in good:
        if abs(entry.chi_squared - least) / (least + 1e-10) > chi_sq_threshold:
            labels.append(-1)
            continue
        apart = [
            np.linalg.norm(entry.final_params - centre) / (np.linalg.norm(centre) + 1e-10)
            for centre in centres
        ]
        near = next((i for i, far in enumerate(apart) if far < param_threshold), len(centres))
        if near == len(centres):
            centres.append(np.asarray(entry.final_params, float))
        labels.append(near)
    return len(centres) > 1, len(centres), np.array(labels, dtype=np.int64)


def get_n_workers(config: MultiStartConfig, n_starts: int) -> int:
    """Return how many fits the original would run at once."""
    return min(config.n_workers if config.n_workers > 0 else os.cpu_count() or 4, n_starts)


def _get_phi_from_data(data: Mapping[str, Any]) -> npt.NDArray[Any] | None:
    found = next((data[n] for n in ("phi", "phi_angles_list") if data.get(n) is not None), None)
    return None if found is None else np.asarray(found)


def _get_dataset_size(data: Mapping[str, Any]) -> int:
    for name in ("g2", "c2_exp"):
        if data.get(name) is not None:
            return int(np.size(data[name]))
    phi = _get_phi_from_data(data)
    if phi is None:
        raise ValueError("Cannot determine dataset size: no 'g2', 'c2_exp', or 'phi' found")
    return int(phi.size)


def _run_one(
    function: Callable[[Any, Floats], SingleStartResult], data: Any, place: int, start: Floats
) -> SingleStartResult:
    begin = time.perf_counter()
    try:
        found = function(data, start)
    except (ValueError, RuntimeError, OSError) as error:
        return SingleStartResult(place, start, start, np.inf, message=str(error))
    found.start_idx, found.initial_params = place, start
    found.wall_time = time.perf_counter() - begin
    return found


def run_multistart_nlsq(
    data: Mapping[str, Any],
    bounds: npt.ArrayLike,
    config: MultiStartConfig,
    single_fit_func: Callable[[Any, Floats], SingleStartResult],
    cost_func: Callable[[Floats], float] | None = None,
    custom_starts: Sequence[Sequence[float]] | npt.NDArray[Any] | None = None,
) -> MultiStartResult:
    """Run a function of the user's from many starts, one after the other."""
    begin = time.perf_counter()
    limits = np.asarray(bounds, float)
    if check_zero_volume_bounds(limits):
        only = _run_one(single_fit_func, data, 0, limits.mean(axis=1))
        return MultiStartResult(
            only,
            [only],
            config,
            "single_start_fallback",
            n_successful=int(only.success),
            total_wall_time=time.perf_counter() - begin,
        )
    _get_dataset_size(data)  # raises for data that are none
    validate_n_starts_for_lhs(config.n_starts, len(limits))
    lattice = config.sampling_strategy == "latin_hypercube"
    generate = generate_lhs_starts if lattice else generate_random_starts
    own = config.custom_starts if custom_starts is None else custom_starts
    starts = include_custom_starts(generate(limits, config.n_starts, config.seed), own, limits)
    costs = None
    if config.use_screening and cost_func is not None:
        starts, costs = screen_starts(cost_func, starts, config.screen_keep_fraction)
    results = [_run_one(single_fit_func, data, i, start) for i, start in enumerate(starts)]
    good = [entry for entry in results if entry.success]
    degenerate, n_basins, labels = detect_degeneracy(results, config.degeneracy_threshold)
    return MultiStartResult(
        min(good, key=lambda r: r.chi_squared) if good else results[0],
        results,
        config,
        "full",
        n_successful=len(good),
        n_unique_basins=n_basins,
        degeneracy_detected=degenerate,
        total_wall_time=time.perf_counter() - begin,
        screening_costs=costs,
        basin_labels=labels,
    )
