"""Priors, starts and the order of parameters, by the original's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import names_of
from tessera.xpcs.core import scaling_utils
from tessera.xpcs.optimization.cmc import _distributions as distributions
from tessera.xpcs.utils.logging import get_logger

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace, PriorDistribution

__all__ = [
    "LAMINAR_PARAMS",
    "STATIC_PARAMS",
    "build_init_values_dict",
    "build_nlsq_informed_prior",
    "build_nlsq_informed_priors",
    "build_prior",
    "build_prior_from_spec",
    "estimate_contrast_offset_from_data",
    "estimate_per_angle_scaling",
    "extract_nlsq_values_for_cmc",
    "get_init_value",
    "get_param_names_in_order",
    "validate_init_values_order",
    "validate_initial_value_bounds",
]

logger = get_logger(__name__)

STATIC_PARAMS = names_of("static_isotropic")
LAMINAR_PARAMS = names_of("laminar_flow")
SCALING = ("contrast", "offset")
# Entries of a result that are numbers and no parameters.
_FACTS = {
    "success",
    "message",
    "iterations",
    "chi_squared",
    "r_squared",
    "residuals",
    "jacobian",
    "covariance",
    "uncertainties",
    "std_errors",
}


def physical_names(analysis_mode: str) -> list[str]:
    """Return the physical parameters of a mode in the original's words."""
    return list(LAMINAR_PARAMS if analysis_mode == "laminar_flow" else STATIC_PARAMS)


def base_name(name: str) -> str:
    """Return the name without the number of an angle."""
    return next((word for word in SCALING if name.startswith(f"{word}_")), name)


def estimate_contrast_offset_from_data(
    c2_data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    contrast_bounds: tuple[float, float] = (0.0, 1.0),
    offset_bounds: tuple[float, float] = (0.5, 1.5),
    lag_floor_quantile: float = 0.80,
    lag_ceiling_quantile: float = 0.20,
    value_quantile_low: float = 0.10,
    value_quantile_high: float = 0.90,
) -> tuple[float, float]:
    """Estimate contrast and offset from quantiles at long and short lags.

    Parameters
    ----------
    c2_data, t1, t2 : array-like
        Points.
    contrast_bounds, offset_bounds : (float, float)
        Between which the answers lie.
    lag_floor_quantile, lag_ceiling_quantile : float
        Which lags are long and short.
    value_quantile_low, value_quantile_high : float
        Which values stand for floor and ceiling.

    Returns
    -------
    (float, float)
        Contrast and offset; the middles of their bounds for fewer than 100 points.
    """
    values = np.asarray(c2_data, np.float64)
    if len(values) < 100:
        return sum(contrast_bounds) / 2, sum(offset_bounds) / 2
    lag = np.abs(np.asarray(t1, np.float64) - np.asarray(t2, np.float64))

    def quantile(where: npt.NDArray[np.bool_], share: float) -> float:
        chosen = values[where] if where.sum() >= 10 else values
        return float(np.percentile(chosen, 100 * share))

    floor = quantile(lag >= np.percentile(lag, 100 * lag_floor_quantile), value_quantile_low)
    top = quantile(lag <= np.percentile(lag, 100 * lag_ceiling_quantile), value_quantile_high)
    offset = float(np.clip(floor, *offset_bounds))
    return float(np.clip(top - offset, *contrast_bounds)), offset


def estimate_per_angle_scaling(
    c2_data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    phi_indices: npt.ArrayLike,
    n_phi: int,
    contrast_bounds: tuple[float, float],
    offset_bounds: tuple[float, float],
) -> dict[str, float]:
    """Estimate contrast and offset of every angle from quantiles.

    Parameters
    ----------
    c2_data, t1, t2, phi_indices : array-like
        Points and the angle of each.
    n_phi : int
        Angles.
    contrast_bounds, offset_bounds : (float, float)
        Between which the answers lie.

    Returns
    -------
    dict
        ``contrast_0``, ``offset_0`` and so on.
    """
    return scaling_utils.estimate_per_angle_scaling(
        np.asarray(c2_data),
        np.asarray(t1),
        np.asarray(t2),
        np.asarray(phi_indices),
        n_phi,
        contrast_bounds,
        offset_bounds,
    )


def build_prior_from_spec(prior_spec: PriorDistribution) -> Any:
    """Return the distribution that a prior describes.

    Parameters
    ----------
    prior_spec : PriorDistribution
        Kind, mean, width and bounds.

    Returns
    -------
    distribution
        NumPyro's where that is installed; else an object with ``log_prob``.
    """
    kind = prior_spec.dist_type.lower()
    mean, width = prior_spec.mu, prior_spec.sigma
    low, high = prior_spec.min_val, prior_spec.max_val
    if kind == "truncatednormal":
        return distributions.truncated_normal(mean, width, low, high)
    if kind == "uniform":
        return distributions.uniform(low, high)
    if kind == "lognormal":
        return distributions.log_normal(mean, width)
    if kind == "halfnormal":
        return distributions.half_normal(width)
    if kind == "normal":
        return distributions.normal(mean, width)
    if kind == "betascaled":
        alpha, beta = (getattr(prior_spec, name, 2.0) for name in ("alpha", "beta"))
        return distributions.beta_scaled(alpha, beta, low, high)
    raise ValueError(f"Unsupported distribution type: {kind}")


def build_prior(param_name: str, parameter_space: ParameterSpace) -> Any:
    """Return the prior of a parameter; even between its bounds where none is described.

    Parameters
    ----------
    param_name : str
        Such as ``D0`` or ``contrast_3``.
    parameter_space : ParameterSpace
        Bounds and priors.

    Returns
    -------
    distribution
        As of :func:`build_prior_from_spec`.
    """
    name = base_name(param_name)
    try:
        return build_prior_from_spec(parameter_space.get_prior(name))
    except (KeyError, AttributeError):
        return distributions.uniform(*parameter_space.get_bounds(name))


def _middle(name: str, parameter_space: ParameterSpace) -> float:
    low, high = parameter_space.get_bounds(base_name(name))
    return (low + high) / 2


def get_init_value(
    param_name: str,
    initial_values: Mapping[str, float] | None,
    parameter_space: ParameterSpace,
) -> float:
    """Return a start: as given, as given for all angles, or the middle of the bounds.

    Parameters
    ----------
    param_name : str
        The parameter.
    initial_values : dict, optional
        What is given.
    parameter_space : ParameterSpace
        Bounds.

    Returns
    -------
    float
        The start.
    """
    given = initial_values or {}
    for name in (param_name, base_name(param_name)):
        if name in given:
            return float(given[name])
    return _middle(param_name, parameter_space)


def validate_initial_value_bounds(
    param_name: str, value: float, parameter_space: ParameterSpace
) -> tuple[float, bool]:
    """Move a start that lies outside its bounds a hundredth of their distance inside.

    Parameters
    ----------
    param_name : str
        The parameter.
    value : float
        The start.
    parameter_space : ParameterSpace
        Bounds.

    Returns
    -------
    (float, bool)
        The start, and whether it was moved.
    """
    low, high = parameter_space.get_bounds(base_name(param_name))
    margin = 0.01 * (high - low)
    if not isfinite(value):
        return (low + high) / 2, True
    if value < low:
        return low + margin, True
    if value > high:
        return high - margin, True
    return value, False


def _scaling_start(
    name: str,
    given: Mapping[str, float],
    estimates: Mapping[str, float],
    parameter_space: ParameterSpace,
) -> float:
    word = base_name(name)
    for key in (name, word):
        if key in given:
            return float(given[key])
    if name == word and estimates:
        return float(np.mean([value for key, value in estimates.items() if base_name(key) == word]))
    return float(estimates[name]) if name in estimates else _middle(name, parameter_space)


def build_init_values_dict(
    n_phi: int,
    analysis_mode: str,
    initial_values: Mapping[str, float] | None,
    parameter_space: ParameterSpace,
    *,
    c2_data: npt.ArrayLike | None = None,
    t1: npt.ArrayLike | None = None,
    t2: npt.ArrayLike | None = None,
    phi_indices: npt.ArrayLike | None = None,
    per_angle_mode: str = "individual",
) -> dict[str, float]:
    """Return starts of all that is sampled, in its order.

    Parameters
    ----------
    n_phi : int
        Angles.
    analysis_mode : str
        The mode.
    initial_values : dict, optional
        What is given; the rest comes from the data or the middles of the bounds.
    parameter_space : ParameterSpace
        Bounds.
    c2_data, t1, t2, phi_indices : array-like, optional
        Points, for contrasts and offsets.
    per_angle_mode : str, default 'individual'
        Which contrasts and offsets there are.

    Returns
    -------
    dict
        By name.
    """
    given = dict(initial_values or {})
    names = get_param_names_in_order(n_phi, analysis_mode, per_angle_mode)
    estimates: dict[str, float] = {}
    has_points = not any(part is None for part in (c2_data, t1, t2, phi_indices))
    said = {base_name(key) for key in given}
    if has_points and np.size(np.asarray(c2_data)) >= 100 and not said.issuperset(SCALING):
        of_contrast, of_offset = (parameter_space.get_bounds(word) for word in SCALING)
        estimates = estimate_per_angle_scaling(
            np.asarray(c2_data),
            np.asarray(t1),
            np.asarray(t2),
            np.asarray(phi_indices),
            n_phi,
            of_contrast,
            of_offset,
        )
    found, moved = {}, []
    for name in names:
        if base_name(name) in SCALING:
            value = _scaling_start(name, given, estimates, parameter_space)
        else:
            value = get_init_value(name, given, parameter_space)
        found[name], is_moved = validate_initial_value_bounds(name, value, parameter_space)
        moved += [name] * is_moved
    if moved:
        logger.warning("starts outside their bounds were moved inside: %s", ", ".join(moved))
    validate_init_values_order(found, names)
    return found


def get_param_names_in_order(
    n_phi: int, analysis_mode: str, per_angle_mode: str = "individual"
) -> list[str]:
    """Return the names of what is sampled: contrasts, offsets, physical parameters.

    Parameters
    ----------
    n_phi : int
        Angles.
    analysis_mode : str
        The mode.
    per_angle_mode : str, default 'individual'
        'individual' has contrasts and offsets of every angle, 'auto' one pair, others none.

    Returns
    -------
    list of str
        Names.
    """
    names: list[str] = []
    if per_angle_mode == "auto":
        names = list(SCALING)
    elif per_angle_mode == "individual":
        names = [f"{word}_{i}" for word in SCALING for i in range(n_phi)]
    return names + physical_names(analysis_mode)


def validate_init_values_order(
    init_values: Mapping[str, float], expected_names: Sequence[str]
) -> None:
    """Raise if names are not those expected, in their order.

    Parameters
    ----------
    init_values : dict
        Starts.
    expected_names : list of str
        Names.
    """
    own = list(init_values)
    if len(own) != len(expected_names):
        raise ValueError(
            f"Parameter count mismatch: expected {len(expected_names)} {list(expected_names)}, "
            f"got {len(own)} {own}"
        )
    for place, (name, expected) in enumerate(zip(own, expected_names, strict=True)):
        if name != expected:
            raise ValueError(
                f"Parameter order mismatch at position {place}: expected {expected}, got {name}"
            )


def informed_width(
    nlsq_std: float | None, bounds: tuple[float, float], width_factor: float
) -> float:
    """Return the width of a prior about a fit: within 1 and 50 % of the bounds' distance."""
    reach = bounds[1] - bounds[0]
    has_std = nlsq_std is not None and nlsq_std > 0
    width = nlsq_std * width_factor if nlsq_std is not None and has_std else 0.1 * reach
    return float(np.clip(width, 0.01 * reach, 0.5 * reach))


def build_nlsq_informed_prior(
    param_name: str,
    nlsq_value: float,
    nlsq_std: float | None,
    bounds: tuple[float, float],
    width_factor: float = 2.0,
) -> Any:
    """Return a normal between bounds about the value of a fit.

    Parameters
    ----------
    param_name : str
        The parameter.
    nlsq_value, nlsq_std : float
        Of the fit; without the second a tenth of the bounds' distance.
    bounds : (float, float)
        Bounds.
    width_factor : float, default 2
        Times the fit's standard deviation.

    Returns
    -------
    distribution
        As of :func:`build_prior_from_spec`.
    """
    del param_name
    width = informed_width(nlsq_std, bounds, width_factor)
    return distributions.truncated_normal(nlsq_value, width, *bounds)


def build_nlsq_informed_priors(
    nlsq_result: Mapping[str, float],
    nlsq_uncertainties: Mapping[str, float] | None,
    parameter_space: ParameterSpace,
    analysis_mode: str,
    n_phi: int,
    width_factor: float = 2.0,
) -> dict[str, Any]:
    """Return priors about a fit for the physical parameters it has.

    Parameters
    ----------
    nlsq_result, nlsq_uncertainties : dict
        Values and standard deviations.
    parameter_space : ParameterSpace
        Bounds.
    analysis_mode : str
        The mode.
    n_phi : int
        Accepted for scripts of the original.
    width_factor : float, default 2
        Times the fit's standard deviation.

    Returns
    -------
    dict
        Distributions by name.
    """
    del n_phi
    errors = nlsq_uncertainties or {}
    return {
        name: build_nlsq_informed_prior(
            name,
            nlsq_result[name],
            errors.get(name),
            parameter_space.get_bounds(name),
            width_factor,
        )
        for name in physical_names(analysis_mode)
        if name in nlsq_result
    }


def _names_of_vector(n: int, mode: str | None) -> list[str]:
    """Return the names of contrasts, offsets and physical parameters of a vector."""
    is_static = mode == "static" or (mode is None and n - 3 >= 4 and n % 2 == 1 and n - 7 < 2)
    physical = STATIC_PARAMS if is_static or n < 9 else LAMINAR_PARAMS
    n_scaling = n - len(physical)
    if n_scaling == 2:
        scaling = list(SCALING)
    elif n_scaling > 2 and n_scaling % 2 == 0:
        scaling = [f"{word}_{i}" for word in SCALING for i in range(n_scaling // 2)]
    else:
        scaling = [f"scaling_{i}" for i in range(n_scaling)]
    return scaling + list(physical)


def extract_nlsq_values_for_cmc(
    nlsq_result: Any,
) -> tuple[dict[str, float], dict[str, float] | None]:
    """Return values and standard deviations of a fit by name.

    Parameters
    ----------
    nlsq_result : dict or OptimizationResult
        The fit.

    Returns
    -------
    (dict, dict or None)
        Values, and standard deviations if it has them.
    """
    if hasattr(nlsq_result, "parameters") and hasattr(nlsq_result.parameters, "__len__"):
        values = np.asarray(nlsq_result.parameters, np.float64)
        names = _names_of_vector(len(values), getattr(nlsq_result, "analysis_mode", None))
        own = getattr(nlsq_result, "names", None)
        if isinstance(own, list) and len(own) == len(values):
            names = own
        errors = getattr(nlsq_result, "uncertainties", None)
        found = dict(zip(names, values.tolist(), strict=True))
        if errors is None or len(errors) != len(values):
            return found, None
        return found, dict(zip(names, np.asarray(errors, np.float64).tolist(), strict=True))
    if not isinstance(nlsq_result, Mapping):
        raise TypeError(
            "extract_nlsq_values_for_cmc expects dict or OptimizationResult, got "
            f"{type(nlsq_result).__name__}"
        )
    for key in ("params", "parameters", "best_params"):
        if key in nlsq_result:
            numbers = nlsq_result[key]
            break
    else:
        numbers = {
            key: value
            for key, value in nlsq_result.items()
            if key not in _FACTS and isinstance(value, int | float)
        }
    deviations = nlsq_result.get("uncertainties", nlsq_result.get("std_errors"))
    if deviations:
        deviations = {key: float(value) for key, value in deviations.items()}
    return {key: float(value) for key, value in numbers.items()}, deviations
