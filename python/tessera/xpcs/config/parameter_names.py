"""Names of parameters by mode, in the order of every vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from tessera.xpcs.config.types import LAMINAR_FLOW_PARAM_NAMES, STATIC_PARAM_NAMES

AnalysisMode = Literal["static", "static_isotropic", "static_anisotropic", "laminar_flow"]

SCALING_PARAMS = ["contrast", "offset"]
STATIC_PHYSICAL_PARAMS = list(STATIC_PARAM_NAMES)
FLOW_PARAMS = LAMINAR_FLOW_PARAM_NAMES[len(STATIC_PARAM_NAMES) :]
STATIC_ISOTROPIC_PARAMS = SCALING_PARAMS + STATIC_PHYSICAL_PARAMS
LAMINAR_FLOW_PARAMS = STATIC_ISOTROPIC_PARAMS + FLOW_PARAMS
NUM_PARAMS_STATIC = len(STATIC_ISOTROPIC_PARAMS)
NUM_PARAMS_LAMINAR = len(LAMINAR_FLOW_PARAMS)

PARAMETER_DESCRIPTIONS = {
    "contrast": "Contrast: c2 = contrast c1² + offset",
    "offset": "Baseline: c2 = contrast c1² + offset",
    "D0": "Diffusion coefficient at 1 s [Å²/s]",
    "alpha": "Exponent of diffusion in time (below 0 slower, above 0 faster than Brownian)",
    "D_offset": "Diffusion that does not change in time [Å²/s]",
    "gamma_dot_t0": "Shear rate at 1 s [1/s]",
    "beta": "Exponent of the shear rate in time",
    "gamma_dot_t_offset": "Shear rate that does not change in time [1/s]",
    "phi0": "Direction of the flow [degrees]",
}


def _is_static(analysis_mode: str) -> bool:
    mode = analysis_mode.lower()
    if "static" in mode:
        return True
    if "laminar" in mode or "flow" in mode:
        return False
    raise ValueError(
        f"Unknown analysis mode: {analysis_mode}. Expected 'static', 'static_isotropic', "
        f"'static_anisotropic' or 'laminar_flow'"
    )


def get_parameter_names(analysis_mode: AnalysisMode | str) -> list[str]:
    """Return the names of a mode's parameters, contrast and offset first.

    Parameters
    ----------
    analysis_mode : str
        The mode.

    Returns
    -------
    list of str
        In the order of vectors.

    Examples
    --------
    >>> get_parameter_names("static_isotropic")
    ['contrast', 'offset', 'D0', 'alpha', 'D_offset']
    """
    return list(STATIC_ISOTROPIC_PARAMS if _is_static(analysis_mode) else LAMINAR_FLOW_PARAMS)


def get_physical_param_names(analysis_mode: AnalysisMode | str) -> list[str]:
    """Return the names of a mode's parameters without contrast and offset.

    Parameters
    ----------
    analysis_mode : str
        The mode.

    Returns
    -------
    list of str
        In the order of vectors.
    """
    return get_parameter_names(analysis_mode)[len(SCALING_PARAMS) :]


def get_num_parameters(analysis_mode: AnalysisMode | str) -> int:
    """Return how many parameters a mode has, contrast and offset among them.

    Parameters
    ----------
    analysis_mode : str
        The mode.

    Returns
    -------
    int
        5 or 9.
    """
    return len(get_parameter_names(analysis_mode))


def validate_parameter_names(
    param_names: Iterable[str], analysis_mode: AnalysisMode | str, strict: bool = True
) -> None:
    """Raise ValueError where names are not those of a mode.

    Parameters
    ----------
    param_names : list of str
        The names.
    analysis_mode : str
        The mode.
    strict : bool, default True
        The order counts, too.
    """
    expected = get_parameter_names(analysis_mode)
    given = list(param_names)
    both = f"\nExpected: {expected}\nGot: {given}"
    if strict:
        if given != expected:
            raise ValueError(
                f"Parameter names don't match expected order for {analysis_mode}.{both}"
            )
        return
    if missing := sorted(set(expected) - set(given)):
        raise ValueError(f"Missing parameters for {analysis_mode}: {missing}{both}")
    if extra := sorted(set(given) - set(expected)):
        raise ValueError(f"Unexpected parameters for {analysis_mode}: {extra}{both}")


def get_parameter_description(param_name: str) -> str:
    """Return what a parameter is.

    Parameters
    ----------
    param_name : str
        Its name.

    Returns
    -------
    str
        A line, with the unit.
    """
    if param_name not in PARAMETER_DESCRIPTIONS:
        raise ValueError(
            f"Unknown parameter: {param_name}. Valid parameters: {list(PARAMETER_DESCRIPTIONS)}"
        )
    return PARAMETER_DESCRIPTIONS[param_name]


def verify_samples_dict(samples_dict: Mapping[str, Any], analysis_mode: AnalysisMode | str) -> None:
    """Raise KeyError where draws lack a parameter of the mode.

    Parameters
    ----------
    samples_dict : dict
        Draws by name.
    analysis_mode : str
        The mode.
    """
    expected = get_parameter_names(analysis_mode)
    missing = [name for name in expected if name not in samples_dict]
    if missing:
        raise KeyError(
            f"Missing parameters in MCMC samples for {analysis_mode}: {missing}; expected "
            f"{expected}, available {list(samples_dict)}"
        )


__all__ = [
    "FLOW_PARAMS",
    "LAMINAR_FLOW_PARAMS",
    "NUM_PARAMS_LAMINAR",
    "NUM_PARAMS_STATIC",
    "PARAMETER_DESCRIPTIONS",
    "SCALING_PARAMS",
    "STATIC_ISOTROPIC_PARAMS",
    "STATIC_PHYSICAL_PARAMS",
    "get_num_parameters",
    "get_parameter_description",
    "get_parameter_names",
    "get_physical_param_names",
    "validate_parameter_names",
    "verify_samples_dict",
]
