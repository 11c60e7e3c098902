"""One fit an angle, of residuals of the user's, and their mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._curve_fit import minimise
from tessera.xpcs.utils.logging import get_logger

JAC_SAMPLE_SIZE = 4096
Residuals = Callable[..., Any]
_TOLERANCES = ("ftol", "xtol", "gtol")


@dataclass
class AngleSubset:
    """Points of one angle."""

    phi_angle: float
    phi_indices: npt.NDArray[Any]
    n_points: int
    phi: npt.NDArray[Any]
    t1: npt.NDArray[Any]
    t2: npt.NDArray[Any]
    g2_exp: npt.NDArray[Any]


@dataclass
class SequentialResult:
    """What the angles say together."""

    combined_parameters: Floats
    combined_covariance: Floats
    per_angle_results: list[dict[str, Any]]
    n_angles_optimized: int
    n_angles_failed: int
    total_cost: float
    success_rate: float
    initial_jacobian_norms: Floats | None = None
    final_jacobian_norms: Floats | None = None


def split_data_by_angle(
    phi: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    g2_exp: npt.ArrayLike,
    min_points_per_angle: int = 10,
) -> list[AngleSubset]:
    """Return the points of every angle."""
    angles, *others = (np.asarray(values) for values in (phi, t1, t2, g2_exp))
    found = []
    for angle in np.unique(angles):
        places = np.flatnonzero(np.isclose(angles, angle, atol=1e-6))
        if len(places) < min_points_per_angle:
            raise ValueError(
                f"Angle {angle:.2f} deg has only {len(places)} points, minimum required: "
                f"{min_points_per_angle}"
            )
        parts = (values[places] for values in (angles, *others))
        found.append(AngleSubset(float(angle), places, len(places), *parts))
    return found


def _checked(
    initial_params: npt.ArrayLike, bounds: tuple[npt.ArrayLike, npt.ArrayLike]
) -> tuple[Floats, Floats, Floats]:
    start, low, high = (np.asarray(v, np.float64) for v in (initial_params, *bounds))
    if not start.shape == low.shape == high.shape:
        raise ValueError(
            f"Initial parameters and bounds must have matching shapes: init={start.shape}, "
            f"lower={low.shape}, upper={high.shape}"
        )
    if not all(np.isfinite(values).all() for values in (start, low, high)):
        raise ValueError("Initial parameters and bounds must be finite float64 values")
    if not np.all(low < high):
        raise ValueError(
            "lower < upper is needed for all parameters: take fixed ones out "
            "(strip_fixed_parameters)"
        )
    return start, low, high


def optimize_single_angle(
    subset: AngleSubset,
    residual_func: Residuals,
    initial_params: npt.ArrayLike,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike],
    **optimizer_kwargs: Any,
) -> dict[str, Any]:
    """Fit the points of one angle; a failure is a result too."""

    def residuals(params: Floats) -> Floats:
        found = residual_func(params, subset.phi, subset.t1, subset.t2, subset.g2_exp)
        return np.asarray(found, np.float64).reshape(-1)

    facts = {"n_points": subset.n_points, "phi_angle": subset.phi_angle}
    try:
        start, low, high = _checked(initial_params, bounds)
        least = min([optimizer_kwargs.get(name, 1e-10) for name in _TOLERANCES])
        steps = optimizer_kwargs.get("max_nfev") or 200
        first = minimise(residuals, start, low, high, most_steps=0).jacobian
        found = minimise(residuals, start, low, high, tolerance=least, most_steps=steps)
    except (ValueError, RuntimeError, OSError, np.linalg.LinAlgError) as error:
        start = np.asarray(initial_params, np.float64)
        return {
            "parameters": start,
            "covariance": np.eye(len(start)),
            "cost": np.inf,
            "success": False,
            "n_iterations": 0,
            "message": f"Failed: {error}",
            "jac_initial_norms": None,
            "jac_final_norms": None,
            **facts,
        }
    return {
        "parameters": found.x,
        "covariance": found.covariance(absolute=False),
        "cost": found.cost,
        "success": found.converged and bool(np.isfinite(found.cost)),
        "n_iterations": found.n_call,
        "message": found.message,
        "jac_initial_norms": np.linalg.norm(first, axis=0),
        "jac_final_norms": np.linalg.norm(found.jacobian, axis=0),
        **facts,
    }


def combine_angle_results(
    per_angle_results: Sequence[Mapping[str, Any]], weighting: str = "inverse_variance"
) -> tuple[Floats, Floats, float]:
    """Return the weighted mean of the angles, its covariance, and the sum of costs."""
    good = [entry for entry in per_angle_results if entry["success"]]
    if not good:
        raise ValueError("No angles converged - cannot combine results")
    values = np.array([entry["parameters"] for entry in good], float)
    covariances = np.array([entry["covariance"] for entry in good], float)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    if weighting == "inverse_variance":
        weights = 1.0 / (variances.mean(axis=1) + 1e-10)
    elif weighting == "n_points":
        weights = np.array([entry["n_points"] for entry in good], float)
    elif weighting == "uniform":
        weights = np.ones(len(good))
    else:
        raise ValueError(f"Unknown weighting: {weighting}")
    weights = weights / (weights.sum() + 1e-10)
    if weighting == "inverse_variance":
        covariance = np.diag(1.0 / np.sum(1.0 / (variances + 1e-10), axis=0))
    else:
        covariance = np.einsum("a,apq->pq", weights, covariances)
    return weights @ values, covariance, float(sum(entry["cost"] for entry in good))


def strip_fixed_parameters(
    initial_params: Floats, lower_bounds: Floats, upper_bounds: Floats
) -> tuple[Floats, Floats, Floats, npt.NDArray[np.bool_]]:
    """Return starts and bounds of the parameters that may move, and which they are."""
    free = np.asarray(lower_bounds) < np.asarray(upper_bounds)
    start, low, high = (np.asarray(v)[free] for v in (initial_params, lower_bounds, upper_bounds))
    return start, low, high, free


def restore_fixed_parameters(
    free_result: npt.ArrayLike, fixed_values: npt.ArrayLike, free_mask: npt.NDArray[np.bool_]
) -> Floats:
    """Return all parameters, those that moved among them."""
    found = np.array(fixed_values, np.float64)
    found[free_mask] = free_result
    return found


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as numbers; what is none is left out, with a line in the log."""
    found: dict[str, Any] = {}
    for name, kind in (*((name, float) for name in _TOLERANCES), ("max_nfev", int)):
        if options.get(name) is None:
            continue
        try:
            found[name] = kind(options[name])
        except (TypeError, ValueError):
            get_logger(__name__).warning(f"{name}: {options[name]!r} is no number and left out")
    return found


def _mean_norms(results: Sequence[Mapping[str, Any]], name: str) -> Floats | None:
    rows = [entry[name] for entry in results if entry.get(name) is not None]
    return np.mean(rows, axis=0) if rows else None


def optimize_per_angle_sequential(
    phi: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    g2_exp: npt.ArrayLike,
    residual_func: Residuals,
    initial_params: npt.ArrayLike,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike],
    weighting: str = "inverse_variance",
    min_success_rate: float = 0.5,
    parameter_names: Sequence[str] | None = None,
    **optimizer_kwargs: Any,
) -> SequentialResult:
    """Fit every angle by itself and combine what they say."""
    whole = np.asarray(initial_params, np.float64)
    start, low, high, free = strip_fixed_parameters(
        whole, np.asarray(bounds[0], np.float64), np.asarray(bounds[1], np.float64)
    )

    def residuals(params: Floats, *points: Any) -> Any:
        return residual_func(restore_fixed_parameters(params, whole, free), *points)

    results = []
    for subset in split_data_by_angle(phi, t1, t2, g2_exp):
        entry = optimize_single_angle(
            subset, residuals, start, (low, high), **_plain(optimizer_kwargs)
        )
        entry["parameters"] = restore_fixed_parameters(entry["parameters"], whole, free)
        if not free.all():
            wide = np.zeros((len(whole), len(whole)))
            wide[np.ix_(free, free)] = entry["covariance"]
            entry["covariance"] = wide
        results.append(entry)
    n_good = sum(entry["success"] for entry in results)
    rate = n_good / len(results)
    if rate < min_success_rate:
        raise RuntimeError(
            f"Insufficient convergence: {n_good}/{len(results)} angles converged ({rate:.1%}), "
            f"minimum required: {min_success_rate:.1%}"
        )
    values, covariance, cost = combine_angle_results(results, weighting)
    return SequentialResult(
        values,
        covariance,
        results,
        n_good,
        len(results) - n_good,
        cost,
        rate,
        _mean_norms(results, "jac_initial_norms"),
        _mean_norms(results, "jac_final_norms"),
    )
