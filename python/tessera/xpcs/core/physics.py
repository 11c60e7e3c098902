"""Ranges of what is measured, checks of parameters against them, and estimates by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._namespace import is_traced

__all__ = [
    "PhysicsConstants",
    "ValidationResult",
    "clip_parameters",
    "estimate_correlation_time",
    "get_default_parameters",
    "get_parameter_info",
    "parameter_bounds",
    "validate_experimental_setup",
    "validate_parameters",
    "validate_parameters_detailed",
]

_GAPS = (1e5, 1e8)  # Å, of rheometers
_WAVELENGTHS = (0.1, 10.0)  # Å


@dataclass
class ValidationResult:
    """What a check of parameters found.

    Parameters
    ----------
    valid : bool
        Nothing was wrong.
    violations : list of str
        A sentence for each parameter outside.
    parameters_checked : int
        How many were looked at.
    message : str
        All in one sentence.
    """

    valid: bool
    violations: list[str] = field(default_factory=list)
    parameters_checked: int = 0
    message: str = ""

    def __str__(self) -> str:
        head = f"{'OK' if self.valid else 'FAIL'} {self.message}"
        return "\n  - ".join([head, *([] if self.valid else self.violations)])


class PhysicsConstants:
    """Typical values and bounds: lengths in Å, times in seconds, angles in degrees."""

    WAVELENGTH_CU_KA = 1.54
    WAVELENGTH_8KEV = 1.55
    WAVELENGTH_12KEV = 1.03
    WAVELENGTH_15KEV = 0.83

    Q_MIN_TYPICAL = 1e-4
    Q_MAX_TYPICAL = 1.0

    TIME_MIN_XPCS = 1e-6
    TIME_MAX_XPCS = 1e3

    DIFFUSION_MIN = 100.0
    DIFFUSION_MAX = 1e5
    DIFFUSION_TYPICAL = 100.0
    DIFFUSION_OFFSET_MIN = -1e5
    DIFFUSION_OFFSET_MAX = 1e5
    ALPHA_MIN = -2.0
    ALPHA_MAX = 2.0

    SHEAR_RATE_MIN = 1e-6
    SHEAR_RATE_MAX = 0.5
    SHEAR_RATE_TYPICAL = 0.01
    SHEAR_OFFSET_MIN = -0.1
    SHEAR_OFFSET_MAX = 0.1
    BETA_MIN = -2.0
    BETA_MAX = 2.0
    ANGLE_MIN = -10.0
    ANGLE_MAX = 10.0

    EPS = 1e-12
    MAX_EXP_ARG = 700.0
    MIN_POSITIVE = 1e-100


_C = PhysicsConstants
# Name, bounds, what it is and what it means, in the order of every vector.
_DIFFUSION: tuple[tuple[str, tuple[float, float], str, str], ...] = (
    ("D0", (_C.DIFFUSION_MIN, _C.DIFFUSION_MAX), "Scale of diffusion (Å²/s)", "how mobile"),
    (
        "alpha",
        (_C.ALPHA_MIN, _C.ALPHA_MAX),
        "Exponent of diffusion (-)",
        "0 normal, above 0 it speeds up, below 0 it slows down",
    ),
    (
        "D_offset",
        (_C.DIFFUSION_OFFSET_MIN, _C.DIFFUSION_OFFSET_MAX),
        "Diffusion that stays (Å²/s)",
        "what does not change with time",
    ),
)
_SHEAR: tuple[tuple[str, tuple[float, float], str, str], ...] = (
    ("gamma_dot_t0", (_C.SHEAR_RATE_MIN, _C.SHEAR_RATE_MAX), "Scale of shear (1/s)", "how fast"),
    (
        "beta",
        (_C.BETA_MIN, _C.BETA_MAX),
        "Exponent of shear (-)",
        "0 steady, above 0 it speeds up, below 0 it slows down",
    ),
    (
        "gamma_dot_t_offset",
        (_C.SHEAR_OFFSET_MIN, _C.SHEAR_OFFSET_MAX),
        "Shear that stays (1/s)",
        "what does not change with time",
    ),
    ("phi0", (_C.ANGLE_MIN, _C.ANGLE_MAX), "Direction of flow (degrees)", "where it flows"),
)
_MODELS = {"diffusion": _DIFFUSION, "shear": _SHEAR, "combined": _DIFFUSION + _SHEAR}


def parameter_bounds() -> dict[str, list[tuple[float, float]]]:
    """Return the bounds of every model's parameters.

    Returns
    -------
    dict
        ``diffusion``, ``shear`` and ``combined``: a list of (lower, upper) each.
    """
    return {model: [entry[1] for entry in entries] for model, entries in _MODELS.items()}


def validate_parameters_detailed(
    params: npt.ArrayLike,
    bounds: Sequence[tuple[float, float]],
    param_names: Sequence[str] | None = None,
    tolerance: float = 1e-10,
) -> ValidationResult:
    """Say which parameters lie outside their bounds, and how far.

    Parameters
    ----------
    params : array, shape (n,)
        Values; those JAX is tracing are taken as they are.
    bounds : sequence of (float, float)
        Of each.
    param_names : sequence of str, optional
        For the sentences.
    tolerance : float, default 1e-10
        How far outside still counts as inside.

    Returns
    -------
    ValidationResult
        What was found.
    """
    if is_traced(params) or (isinstance(params, Sequence) and is_traced(*params)):
        return ValidationResult(True, message="Skipped: the values are JAX tracers")
    values: Any = params
    if len(values) != len(bounds):
        return ValidationResult(
            False,
            [f"Parameter count mismatch: {len(values)} values for {len(bounds)} bounds"],
            message="Parameter count mismatch",
        )
    names = list(param_names or ())
    names += [f"param_{place}" for place in range(len(names), len(values))]
    wrong: list[str] = []
    checked = 0
    for name, value, (low, high) in zip(names, values, bounds, strict=False):
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        checked += 1
        if not low - tolerance <= number <= high + tolerance:
            side = "below" if number < low else "above"
            far = low - number if number < low else number - high
            wrong.append(
                f"{name} = {number:.6e} is {side} bounds [{low:.6e}, {high:.6e}] by {far:.6e}"
            )
    if wrong:
        return ValidationResult(False, wrong, checked, f"{len(wrong)} parameter(s) out of bounds")
    return ValidationResult(True, [], checked, f"Validated {checked} parameters")


def validate_parameters(
    params: npt.ArrayLike, bounds: Sequence[tuple[float, float]], tolerance: float = 1e-10
) -> bool:
    """Return whether all parameters lie within their bounds.

    Parameters
    ----------
    params, bounds, tolerance
        As in :func:`validate_parameters_detailed`.

    Returns
    -------
    bool
        Nothing was wrong.
    """
    return validate_parameters_detailed(params, bounds, None, tolerance).valid


def clip_parameters(
    params: npt.NDArray[Any], bounds: Sequence[tuple[float, float]]
) -> npt.NDArray[Any]:
    """Return parameters brought within their bounds.

    Parameters
    ----------
    params : array, shape (n,)
        Values.
    bounds : sequence of (float, float)
        Of each.

    Returns
    -------
    ndarray, shape (n,)
        A copy.
    """
    if len(params) != len(bounds):
        raise ValueError(f"Parameter count mismatch: {len(params)} values for {len(bounds)} bounds")
    low, high = (np.array([pair[side] for pair in bounds], float) for side in (0, 1))
    values = np.asarray(params)
    clipped: npt.NDArray[Any] = np.clip(values, low, high).astype(values.dtype, copy=False)
    return clipped


def get_default_parameters(model_type: str) -> Floats:
    """Return values to begin with.

    Parameters
    ----------
    model_type : {'diffusion', 'shear', 'combined'}
        Which model.

    Returns
    -------
    ndarray
        One value for every parameter.
    """
    diffusion = [_C.DIFFUSION_TYPICAL, 0.0, _C.DIFFUSION_TYPICAL / 10]
    shear = [_C.SHEAR_RATE_TYPICAL, 0.0, _C.SHEAR_OFFSET_MIN, 0.0]
    found = {"diffusion": diffusion, "shear": shear, "combined": diffusion + shear}
    if model_type not in found:
        raise ValueError(f"Unknown model type {model_type!r}: choose one of {', '.join(found)}")
    return np.array(found[model_type])


def validate_experimental_setup(
    q: float,
    L: float,  # noqa: N803
    wavelength: float | None = None,
) -> bool:
    """Return whether the numbers of an experiment are of the usual size.

    Parameters
    ----------
    q : float
        Wave vector, 1e-4 to 1 per Å.
    L : float
        Gap, 1e5 to 1e8 Å.
    wavelength : float, optional
        0.1 to 10 Å.

    Returns
    -------
    bool
        All are.
    """
    checks = [(q, (_C.Q_MIN_TYPICAL, _C.Q_MAX_TYPICAL)), (L, _GAPS)]
    if wavelength is not None:
        checks.append((wavelength, _WAVELENGTHS))
    return all(low <= value <= high for value, (low, high) in checks)


def estimate_correlation_time(D0: float, alpha: float, q: float) -> float:  # noqa: N803
    """Return about how long correlations last: ``(1 + |alpha|) / (q^2 D0)``.

    Parameters
    ----------
    D0, alpha : float
        Diffusion.
    q : float
        Wave vector.

    Returns
    -------
    float
        Seconds; infinite without diffusion.
    """
    if D0 <= 0:
        return math.inf
    return (1.0 + (abs(alpha) if abs(alpha) >= _C.EPS else 0.0)) / (q**2 * D0)


def get_parameter_info(model_type: str) -> dict[str, Any]:
    """Return all about the parameters of a model.

    Parameters
    ----------
    model_type : {'diffusion', 'shear', 'combined'}
        Which model.

    Returns
    -------
    dict
        ``names``, ``descriptions``, ``physical_meaning``, ``bounds``, ``defaults`` and
        ``n_parameters``.
    """
    if model_type not in _MODELS:
        raise ValueError(f"Unknown model type {model_type!r}: choose one of {', '.join(_MODELS)}")
    entries = _MODELS[model_type]
    return {
        "names": [entry[0] for entry in entries],
        "descriptions": [entry[2] for entry in entries],
        "physical_meaning": [entry[3] for entry in entries],
        "bounds": parameter_bounds()[model_type],
        "defaults": get_default_parameters(model_type).tolist(),
        "n_parameters": len(entries),
    }
