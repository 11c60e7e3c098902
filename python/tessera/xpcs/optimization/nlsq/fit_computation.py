"""The fitted surfaces of a result, with the solver's scaling and with the best one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs._namespace import Array, namespace
from tessera.xpcs.core.jax_backend import compute_g2_scaled

_PHYSICAL = {"static": 3, "laminar_flow": 7}


def compute_g2_batch(
    physical_params: Array,
    t1: Array,
    t2: Array,
    phi_angles: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    contrast: float = 1.0,
    offset: float = 1.0,
) -> Array:
    """Return c2 of all angles with one scaling."""
    return compute_g2_scaled(physical_params, t1, t2, phi_angles, q, L, contrast, offset, dt)


def compute_g2_batch_with_per_angle_scaling(
    physical_params: Array,
    t1: Array,
    t2: Array,
    phi_angles: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    contrasts: Array,
    offsets: Array,
) -> Array:
    """Return c2 of all angles, each with its scaling."""
    plain = compute_g2_scaled(physical_params, t1, t2, phi_angles, q, L, 1.0, 0.0, dt)
    xp = namespace(plain)
    return xp.asarray(offsets)[:, None, None] + xp.asarray(contrasts)[:, None, None] * plain


def solve_lstsq_batch(theory_batch: Array, exp_batch: Array) -> tuple[Array, Array]:
    """Return contrast and offset of every row (n_angle, n) by linear least squares."""
    xp = namespace(theory_batch, exp_batch)
    pairs = []
    for theory, data in zip(theory_batch, exp_batch, strict=True):
        design = xp.stack([theory, xp.ones_like(theory)], axis=1)
        pairs.append(xp.linalg.lstsq(design, data, rcond=None)[0])
    found = xp.stack(pairs)
    return found[:, 0], found[:, 1]


def normalize_analysis_mode(mode: str | None, n_params: int, n_angles: int) -> str:
    """Return 'static' or 'laminar_flow', from the word or from the number of parameters."""
    word = (mode or "").lower()
    if word in ("static", "static_isotropic"):
        return "static"
    if word == "laminar_flow":
        return word
    for name, n_physical in _PHYSICAL.items():
        if n_params in (n_physical + 2, 2 * n_angles + n_physical):
            return name
    return "static"


def get_physical_param_count(analysis_mode: str) -> int:
    """Return the number of physical parameters."""
    if analysis_mode not in _PHYSICAL:
        raise ValueError(
            f"Unknown analysis_mode: {analysis_mode!r}; expected 'static' or 'laminar_flow'"
        )
    return _PHYSICAL[analysis_mode]


def extract_parameters_from_result(
    parameters: npt.ArrayLike, n_angles: int, analysis_mode: str
) -> tuple[Floats, Floats, Floats, bool]:
    """Return contrasts, offsets, physical parameters, and whether one scaling was for all."""
    values = np.asarray(parameters, float)
    n_physical = get_physical_param_count(analysis_mode)
    scaling, physical = values[: len(values) - n_physical], values[len(values) - n_physical :]
    if len(scaling) == 2 * n_angles:
        return scaling[:n_angles], scaling[n_angles:], physical, False
    if len(scaling) == 2:
        return np.full(n_angles, scaling[0]), np.full(n_angles, scaling[1]), physical, True
    raise ValueError(
        f"Parameter count mismatch: expected {2 * n_angles + n_physical} (2x{n_angles} scaling + "
        f"{n_physical} physical), got {len(values)}"
    )


def compute_theoretical_fits(
    result: Any,
    data: Mapping[str, Any],
    metadata: Mapping[str, Any],
    *,
    analysis_mode: str | None = None,
    include_solver_surface: bool = True,
) -> dict[str, Any]:
    """Return the surfaces of a result, their scaling and the residuals."""
    phi, c2, t1, t2 = (np.asarray(data[n]) for n in ("phi_angles_list", "c2_exp", "t1", "t2"))
    t1 = t1[:, 0] if t1.ndim == 2 else t1
    t2 = t2[0, :] if t2.ndim == 2 else t2
    word = analysis_mode or getattr(result, "analysis_mode", None)
    mode = normalize_analysis_mode(word, len(result.parameters), len(phi))
    contrasts, offsets, theta, one_for_all = extract_parameters_from_result(
        result.parameters, len(phi), mode
    )
    for name, what in (("dt", "the time between frames"), ("q", "the wavevector")):
        if metadata.get(name) is None:
            raise ValueError(f"{name} ({what}) is required but was not found in metadata")
    setup = (float(metadata["q"]), float(metadata["L"]), float(metadata["dt"]))
    raw = compute_g2_batch(theta, t1, t2, phi, *setup)
    own = (theta, t1, t2, phi, *setup, contrasts, offsets)
    rows = (matrices.reshape(len(phi), -1) for matrices in (raw, c2))
    best_contrast, best_offset = solve_lstsq_batch(*rows)
    scaled = best_contrast[:, None, None] * raw + best_offset[:, None, None]
    return {
        "c2_theoretical_raw": raw,
        "c2_theoretical_scaled": scaled,
        "c2_solver_scaled": (
            compute_g2_batch_with_per_angle_scaling(*own) if include_solver_surface else None
        ),
        "per_angle_scaling": np.column_stack([best_contrast, best_offset]),
        "per_angle_scaling_solver": np.column_stack([contrasts, offsets]),
        "residuals": c2 - scaled,
        "scalar_per_angle_expansion": one_for_all,
    }
