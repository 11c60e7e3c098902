"""Standard deviations of a covariance that may be singular, and solvers that begin anew."""

from __future__ import annotations

from collections.abc import Callable
from logging import Logger, LoggerAdapter
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats

__all__ = ["diagnose_error", "execute_with_recovery", "safe_uncertainties_from_pcov"]

_ATTEMPTS = 3


def safe_uncertainties_from_pcov(pcov: npt.NDArray[Any], n_params: int) -> Floats:
    """Return standard deviations; 0 of a matrix of another size, never less than 0.

    Parameters
    ----------
    pcov : ndarray
        A covariance, perhaps singular.
    n_params : int
        How many there shall be.

    Returns
    -------
    ndarray, shape (n_params,)
        Standard deviations.
    """
    if pcov.shape[0] != n_params:
        return np.zeros(n_params)
    variances = np.diag(pcov).astype(float)
    if np.any(variances < 1e-15):
        variances = variances + 1e-10
    found: Floats = np.sqrt(np.maximum(variances, 0.0))
    return found


# Words of an error, what they mean, what to look at, and what to do to the start.
_ERRORS: tuple[tuple[tuple[str, ...], str, tuple[str, ...], str], ...] = (
    (
        ("resource_exhausted", "out of memory"),
        "out_of_memory",
        ("take fewer angles with phi_filtering", "take fewer frames", "use more memory"),
        "no_recovery_available",
    ),
    (
        ("convergence", "max", "iteration"),
        "convergence_failure",
        ("begin elsewhere", "relax the tolerances", "look at the data and the bounds"),
        "perturb_initial_parameters",
    ),
    (
        ("bound", "constraint"),
        "bounds_violation",
        ("lower bounds have to be below upper ones", "widen bounds that are reached"),
        "reset_to_bounds_center",
    ),
    (
        ("singular", "condition", "rank"),
        "ill_conditioned_jacobian",
        ("fix parameters that the data say nothing of", "look for parameters that go together"),
        "scale_parameters_0.1x_for_conditioning",
    ),
    (
        ("nan", "inf"),
        "numerical_instability",
        ("look for extreme parameters and for NaN among the data", "scale the parameters"),
        "reset_to_geometric_mean_of_bounds",
    ),
)
_UNKNOWN = ("unknown_error", ("read the message", "look at data and residuals"), "generic")


def _clipped(params: Floats, bounds: tuple[Floats, Floats] | None) -> Floats:
    return params if bounds is None else np.clip(params, bounds[0], bounds[1])


def _perturbed(
    params: Floats, bounds: tuple[Floats, Floats] | None, size: float, seed: int
) -> Floats:
    noise = np.random.default_rng(seed).standard_normal(params.shape)
    return _clipped(params * (1 + size * noise), bounds)


def _new_start(
    action: str, params: Floats, bounds: tuple[Floats, Floats] | None, attempt: int
) -> tuple[str, Floats]:
    """Return what is done to a start, and the new one."""
    if action == "perturb_initial_parameters":
        size, seed = (0.1, 42) if attempt == 0 else (0.2, 123)
        return f"{action}_{100 * size:.0f}pct", _perturbed(params, bounds, size, seed)
    if action == "reset_to_bounds_center" and bounds is None:
        return "scale_parameters_0.9x", 0.9 * params
    low, high = (np.full_like(params, 0.5),) * 2 if bounds is None else bounds
    starts = {
        "reset_to_bounds_center": (low + high) / 2,
        "scale_parameters_0.1x_for_conditioning": _clipped(0.1 * params, bounds),
        "reset_to_geometric_mean_of_bounds": _clipped(np.sqrt(np.abs(low * high)), bounds),
    }
    if action in starts:
        return action, starts[action]
    return "generic_perturbation_5pct", _perturbed(params, bounds, 0.05, attempt)


def diagnose_error(
    error: Exception,
    params: Floats,
    bounds: tuple[Floats, Floats] | None,
    attempt: int,
) -> dict[str, Any]:
    """Say what an error of a solver means, and where to begin anew.

    Parameters
    ----------
    error : Exception
        The error; its words count.
    params : ndarray
        The start that led there.
    bounds : (ndarray, ndarray), optional
        Within which a new one lies.
    attempt : int
        Attempts before: later ones go further away.

    Returns
    -------
    dict
        ``error_type``, ``message``, ``suggestions`` and ``recovery_strategy`` with ``action`` and
        ``new_params``.
    """
    text = str(error).lower()
    known = (entry[1:] for entry in _ERRORS if any(word in text for word in entry[0]))
    kind, advice, action = next(known, _UNKNOWN)
    found = {"error_type": kind, "message": str(error), "suggestions": list(advice)}
    if action == "no_recovery_available":
        reason = "Memory exhaustion requires data reduction"
        return {**found, "recovery_strategy": {"action": action, "reason": reason}}
    own = np.asarray(params, np.float64)
    sides = None if bounds is None else (np.asarray(bounds[0]), np.asarray(bounds[1]))
    done, start = _new_start(action, own, sides, attempt)
    return {**found, "recovery_strategy": {"action": done, "new_params": start}}


def _initial_cost(residual_fn: Any, xdata: Any, params: Floats) -> float:
    is_whole = hasattr(residual_fn, "n_total_points") or type(residual_fn).__name__ == (
        "FunctionEvaluationCounter"
    )
    values = residual_fn(params) if is_whole else residual_fn(xdata, *params)
    return float(np.sum(np.asarray(values) ** 2))


def execute_with_recovery(
    residual_fn: Callable[..., Any],
    xdata: npt.NDArray[Any],
    ydata: npt.NDArray[Any],
    initial_params: Floats,
    bounds: tuple[Floats, Floats] | None,
    strategy: Any,
    log: Logger | LoggerAdapter[Logger],
    loss_name: str,
    x_scale_value: float | str | Floats,
    handle_nlsq_result_fn: Callable[..., Any],
    curve_fit_fn: Callable[..., Any],
    curve_fit_large_fn: Callable[..., Any],
) -> tuple[Floats, Floats, dict[str, Any], list[str], str]:
    """Call a solver, and again from other starts where it fails or stays where it began.

    Parameters
    ----------
    residual_fn, xdata, ydata, initial_params, bounds
        What the solver gets.
    strategy : OptimizationStrategy
        Any but STANDARD calls ``curve_fit_large_fn``.
    log : Logger
        Hears of every attempt.
    loss_name : str
        The solver's ``loss``.
    x_scale_value : float, str or ndarray
        Sizes of parameters; by default their starts' for large data.
    handle_nlsq_result_fn : callable
        Makes parameters, covariance and facts of what ``curve_fit_large_fn`` returns.
    curve_fit_fn, curve_fit_large_fn : callable
        The solver.

    Returns
    -------
    (ndarray, ndarray, dict, list of str, str)
        Parameters, covariance, facts, what was done, and 'converged' or
        'converged_with_recovery'.
    """
    name = str(getattr(strategy, "value", strategy))
    is_large = name.lower() != "standard"
    start = np.array(initial_params, np.float64)
    cost = _initial_cost(residual_fn, xdata, start)
    actions: list[str] = []
    for attempt in range(_ATTEMPTS):
        log.info(f"attempt {attempt + 1} of {_ATTEMPTS}, {name}")
        sizes = np.abs(start) + 1e-3
        if is_large and isinstance(x_scale_value, np.ndarray):
            sizes = x_scale_value
        options = {
            "p0": start.tolist(),
            "bounds": bounds,
            "loss": loss_name,
            "x_scale": sizes,
            "gtol": 1e-6,
            "ftol": 1e-6,
            "max_nfev": 5000,
            "verbose": 2,
            "stability": "auto",
        }
        try:
            if is_large:
                answer = curve_fit_large_fn(
                    residual_fn, xdata, ydata, show_progress=True, **options
                )
                popt, pcov, facts = handle_nlsq_result_fn(answer, strategy)
            else:
                popt, pcov = curve_fit_fn(residual_fn, xdata, ydata, rescale_data=False, **options)
                facts = {}
        except (ValueError, RuntimeError, TypeError, AttributeError, OSError, MemoryError) as error:
            found = diagnose_error(error, start, bounds, attempt)
            way = found["recovery_strategy"]
            if way["action"] == "no_recovery_available" or attempt == _ATTEMPTS - 1:
                raise RuntimeError(
                    f"Optimization failed after {attempt + 1} attempts: {found['error_type']}: "
                    f"{found['message']}; {'; '.join(found['suggestions'])}"
                ) from error
            log.warning(f"{found['error_type']}: {found['message']}; {way['action']}")
            actions.append(way["action"])
            start = way["new_params"]
            continue
        stayed = np.allclose(popt, start, rtol=1e-10) or np.allclose(pcov, np.eye(len(popt)))
        if stayed and attempt < _ATTEMPTS - 1:
            actions.append("detected_parameter_stagnation")
            push = np.random.default_rng(seed=42 + attempt).uniform(-1, 1, size=len(start))
            start = _clipped(start + 0.05 * start * push, bounds)
            continue
        word = "converged" if attempt == 0 else "converged_with_recovery"
        return popt, pcov, {**facts, "initial_cost": cost}, actions, word
    raise RuntimeError("Optimization failed: exhausted all retry attempts")
