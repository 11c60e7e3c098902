"""Logarithms of shear rates and shifted exponents, for those who drive their own solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats, parameters

__all__ = [
    "DEFAULT_SHEAR_X_SCALE",
    "PARAMETER_NAME_ALIASES",
    "adjust_covariance_for_transforms",
    "apply_forward_shear_transforms_to_bounds",
    "apply_forward_shear_transforms_to_vector",
    "apply_inverse_shear_transforms_to_vector",
    "build_per_parameter_x_scale",
    "build_physical_index_map",
    "format_x_scale_for_log",
    "normalize_param_key",
    "normalize_x_scale_map",
    "parse_shear_transform_config",
    "wrap_model_function_with_transforms",
    "wrap_stratified_function_with_transforms",
]

_State = Mapping[str, Any]

PARAMETER_NAME_ALIASES: dict[str, str] = {
    alias: entry["name"]
    for entry in parameters("laminar_flow")
    for alias in entry["aliases"].split("|")
    if alias and entry["name"] != "D0"
}
DEFAULT_SHEAR_X_SCALE = {"gamma_dot_t0": 524.0, "beta": 4.0, "gamma_dot_t_offset": 771.0}


def normalize_param_key(name: str | None) -> str:
    """Return the name that a parameter goes by.

    Parameters
    ----------
    name : str, optional
        Any of its names.

    Returns
    -------
    str
        The name; empty for nothing.
    """
    key = str(name).strip() if name else ""
    return PARAMETER_NAME_ALIASES.get(key, key)


def normalize_x_scale_map(raw_map: object) -> dict[str, float]:
    """Return sizes of parameters by the names they go by; what is no number is left out.

    Parameters
    ----------
    raw_map : dict
        Sizes by any name; anything else gives an empty dict.

    Returns
    -------
    dict
        Sizes.
    """
    found = {}
    for name, value in raw_map.items() if isinstance(raw_map, Mapping) else ():
        key = normalize_param_key(name)
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if key:
            found[key] = number
    return found


def build_per_parameter_x_scale(
    per_angle_scaling: bool,
    n_angles: int,
    physical_param_names: Sequence[str],
    analysis_mode: str,
    override_map: Mapping[str, float],
) -> Floats | None:
    """Return sizes of contrasts, offsets and physical parameters.

    Parameters
    ----------
    per_angle_scaling : bool
        A pair for every angle, or one.
    n_angles : int
        Angles.
    physical_param_names : list of str
        Names.
    analysis_mode : str
        The mode.
    override_map : dict
        Sizes that are given.

    Returns
    -------
    ndarray or None
        None where all are 1.
    """
    sizes = dict.fromkeys(physical_param_names, 1.0)
    if analysis_mode == "laminar_flow":
        sizes |= {k: v for k, v in DEFAULT_SHEAR_X_SCALE.items() if k in sizes}
    for name, value in override_map.items():
        key = normalize_param_key(name)
        if key in sizes:
            sizes[key] = value
    pair = [float(override_map.get(word, 1.0)) for word in ("contrast", "offset")]
    if all(abs(size - 1) <= 1e-12 for size in (*sizes.values(), *pair)):
        return None
    n = n_angles if per_angle_scaling else 1
    return None if n <= 0 else np.array([*np.repeat(pair, n), *sizes.values()], float)


def format_x_scale_for_log(value: object) -> str:
    """Return sizes as a word.

    Parameters
    ----------
    value : array or anything
        Sizes.

    Returns
    -------
    str
        Of an array its length.
    """
    return f"array(len={value.size})" if isinstance(value, np.ndarray) else str(value)


def parse_shear_transform_config(config: object | None) -> dict[str, Any]:
    """Return what a section says of transforms, with defaults.

    Parameters
    ----------
    config : dict, optional
        The section.

    Returns
    -------
    dict
        ``enable_gamma_dot_log``, ``enable_beta_centering`` and ``beta_reference``.
    """
    given = config if isinstance(config, Mapping) else {}
    return {
        "enable_gamma_dot_log": bool(given.get("enable_gamma_dot_log", False)),
        "enable_beta_centering": bool(given.get("enable_beta_centering", False)),
        "beta_reference": float(given.get("beta_reference", 0.0)),
    }


def build_physical_index_map(
    per_angle_scaling: bool, n_angles: int, physical_param_names: Sequence[str]
) -> dict[str, int]:
    """Return where physical parameters are in a vector with contrasts and offsets before them.

    Parameters
    ----------
    per_angle_scaling : bool
        A pair for every angle, or one.
    n_angles : int
        Angles.
    physical_param_names : list of str
        Names.

    Returns
    -------
    dict
        Places.
    """
    first = 2 * n_angles if per_angle_scaling else 2
    return {name: first + k for k, name in enumerate(physical_param_names)}


def apply_forward_shear_transforms_to_vector(
    params: npt.ArrayLike, index_map: Mapping[str, int], transform_cfg: Mapping[str, Any]
) -> tuple[Floats, dict[str, Any]]:
    """Return parameters as a solver shall see them, and how to get back.

    Parameters
    ----------
    params : array-like
        Parameters.
    index_map : dict
        Of :func:`build_physical_index_map`.
    transform_cfg : dict
        Of :func:`parse_shear_transform_config`.

    Returns
    -------
    (ndarray, dict)
        A copy, and the state that other functions want; empty where nothing was changed.
    """
    vector = np.array(params, float)
    shift = float(transform_cfg.get("beta_reference", 0.0))
    gamma = index_map.get("gamma_dot_t0", index_map.get("gamma_dot_0"))
    beta = index_map.get("beta")
    gamma = gamma if transform_cfg.get("enable_gamma_dot_log", False) else None
    beta = beta if transform_cfg.get("enable_beta_centering", False) else None
    if gamma is None and beta is None:
        return vector, {}
    if gamma is not None:
        if vector[gamma] <= 0:
            raise ValueError("gamma_dot_t0 must be > 0 when enable_gamma_dot_log is true")
        vector[gamma] = np.log(vector[gamma])
    if beta is not None:
        vector[beta] -= shift
    return vector, {"gamma_log_idx": gamma, "beta_center_idx": beta, "beta_reference": shift}


def apply_forward_shear_transforms_to_bounds(
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None, state: _State
) -> tuple[npt.ArrayLike, npt.ArrayLike] | None:
    """Return bounds as a solver shall see them.

    Parameters
    ----------
    bounds : (array, array), optional
        Lower and upper.
    state : dict
        Of :func:`apply_forward_shear_transforms_to_vector`.

    Returns
    -------
    (array, array) or None
        Copies, or what was given where nothing changes.
    """
    if not bounds or not state:
        return bounds
    low, high = (np.array(side, float) for side in bounds)
    gamma, beta = state.get("gamma_log_idx"), state.get("beta_center_idx")
    for side in (low, high):
        if gamma is not None:
            if side[gamma] <= 0:
                raise ValueError(
                    "gamma_dot_t0 bounds must be > 0 when enable_gamma_dot_log is true"
                )
            side[gamma] = np.log(side[gamma])
        if beta is not None:
            side[beta] -= state.get("beta_reference", 0.0)
    return low, high


def apply_inverse_shear_transforms_to_vector(
    params: npt.NDArray[Any], state: _State | None
) -> npt.NDArray[Any]:
    """Return parameters as the model wants them.

    Parameters
    ----------
    params : ndarray
        As a solver has them.
    state : dict, optional
        Of :func:`apply_forward_shear_transforms_to_vector`.

    Returns
    -------
    ndarray
        A copy, or what was given where nothing changes.
    """
    if not state:
        return params
    vector = np.array(params, float)
    gamma, beta = state.get("gamma_log_idx"), state.get("beta_center_idx")
    if gamma is not None:
        vector[gamma] = np.exp(vector[gamma])
    if beta is not None:
        vector[beta] += state.get("beta_reference", 0.0)
    return vector


def adjust_covariance_for_transforms(
    covariance: npt.NDArray[Any],
    transformed_params: npt.NDArray[Any],
    physical_params: npt.NDArray[Any],
    state: _State | None,
) -> npt.NDArray[Any]:
    """Return the covariance of the model's parameters.

    Parameters
    ----------
    covariance : ndarray
        Of the solver's.
    transformed_params, physical_params : ndarray
        Of the solver and of the model; the second counts.
    state : dict, optional
        Of :func:`apply_forward_shear_transforms_to_vector`.

    Returns
    -------
    ndarray
        A copy, or what was given where nothing changes.
    """
    del transformed_params
    if not state or covariance.size == 0:
        return covariance
    found = np.array(covariance, float)
    gamma = state.get("gamma_log_idx")
    if gamma is not None:
        found[gamma, :] *= physical_params[gamma]
        found[:, gamma] *= physical_params[gamma]
    return found


def wrap_model_function_with_transforms(
    model_fn: Callable[..., Any], state: _State | None
) -> Callable[..., Any]:
    """Return a model that takes the solver's parameters.

    Parameters
    ----------
    model_fn : callable
        Called with points and the model's parameters, one by one.
    state : dict, optional
        Of :func:`apply_forward_shear_transforms_to_vector`.

    Returns
    -------
    callable
        With the attributes ``n_phi``, ``n_angles`` and ``per_angle_scaling`` of the model.
    """
    if not state or not callable(model_fn):
        return model_fn

    def wrapped(xdata: Any, *solver_params: float) -> Any:
        own = apply_inverse_shear_transforms_to_vector(np.asarray(solver_params), state)
        return model_fn(xdata, *own)

    for name in ("n_phi", "n_angles", "per_angle_scaling"):
        if hasattr(model_fn, name):
            setattr(wrapped, name, getattr(model_fn, name))
    return wrapped


class _Transformed:
    """A residual function of the solver's parameters; all else is the model's."""

    def __init__(self, function: Any, state: _State) -> None:
        self._function = function
        self._state = state

    def __call__(self, params: npt.NDArray[Any]) -> Any:
        return self._function(apply_inverse_shear_transforms_to_vector(params, self._state))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def wrap_stratified_function_with_transforms(
    residual_fn: Callable[..., Any], state: _State | None
) -> Callable[..., Any]:
    """Return residuals that take the solver's parameters.

    Parameters
    ----------
    residual_fn : callable
        Called with the model's parameters as one vector.
    state : dict, optional
        Of :func:`apply_forward_shear_transforms_to_vector`.

    Returns
    -------
    callable
        With all attributes of the residuals.
    """
    return _Transformed(residual_fn, state) if state else residual_fn
