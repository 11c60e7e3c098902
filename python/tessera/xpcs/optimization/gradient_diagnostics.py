"""Derivatives of the sum of squares by every physical parameter, and scales that even them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tessera.xpcs._arguments import names_of
from tessera.xpcs._foreign import data_of
from tessera.xpcs.core.jax_backend import compute_g2_scaled, gradient_g2
from tessera.xpcs.utils.logging import get_logger

_LEAST = 1e-10


def _names(analysis_mode: str) -> list[str]:
    return names_of("static_isotropic" if "static" in analysis_mode.lower() else "laminar_flow")


def compute_gradient_norms(
    parameters: Mapping[str, float], data: Any, config: Any, analysis_mode: str
) -> dict[str, float]:
    """Return sizes of the derivatives of the sum of squares; data are matrices of every angle."""
    own = data_of(data)
    scaling = getattr(data, "per_angle_scaling_solver", None)
    phi = np.atleast_1d(np.asarray(own["phi_angles_list"], float))
    t1, t2 = (np.asarray(own[name], float) for name in ("t1", "t2"))
    setup = (float(np.ravel(own["wavevector_q_list"])[0]), float(own.get("L", 2e6)))
    dt = float(own.get("dt") or 1.0)
    theta = np.array([float(parameters[name]) for name in _names(analysis_mode)])
    pairs = np.tile([0.5, 1.0], (len(phi), 1)) if scaling is None else np.asarray(scaling)
    contrast, offset = (pairs[:, side][:, None, None] for side in (0, 1))
    plain = compute_g2_scaled(theta, t1, t2, phi, *setup, 1.0, 0.0, dt)
    slopes = gradient_g2(theta, t1, t2, phi, *setup, 1.0, 0.0, dt)
    miss = offset + contrast * plain - np.asarray(own["c2_exp"], float)
    found = 2.0 * np.einsum("atu,atup->p", miss * contrast, slopes)
    return dict(zip(_names(analysis_mode), np.abs(found).tolist(), strict=True))


def compute_optimal_x_scale(
    parameters: Mapping[str, float],
    data: Any,
    config: Any,
    analysis_mode: str,
    baseline_params: Sequence[str] | None = None,
    safety_factor: float = 1.0,
    min_scale: float = 1e-8,
    max_scale: float = 100.0,
) -> dict[str, float]:
    """Return scales that bring all derivatives to the size of some."""
    norms = compute_gradient_norms(parameters, data, config, analysis_mode)
    names = baseline_params or ("D0", "D_offset", "phi0")
    chosen = [max(norms[name], _LEAST) for name in names if name in norms] or [1.0]
    level = float(np.exp(np.mean(np.log(chosen))))
    return {
        name: float(np.clip(level / max(size, _LEAST) * safety_factor, min_scale, max_scale))
        for name, size in norms.items()
    }


def diagnose_gradient_imbalance(
    parameters: Mapping[str, float],
    data: Any,
    config: Any,
    analysis_mode: str,
    threshold: float = 10.0,
) -> dict[str, Any]:
    """Say whether derivatives differ much, and which scales would help the original."""
    norms = compute_gradient_norms(parameters, data, config, analysis_mode)
    most, least = max(norms.values()), min(norms.values())
    ratio = most / max(least, _LEAST)
    advice: dict[str, Any] = {
        "summary": f"No significant gradient imbalance detected ({ratio:.1f}x ratio)",
        "action": "no_action_needed",
    }
    if ratio > threshold:
        scales = compute_optimal_x_scale(parameters, data, config, analysis_mode)
        lines = "\n".join(f"      {name}: {scale:.2e}" for name, scale in scales.items())
        advice = {
            "x_scale_map": scales,
            "summary": f"Gradient imbalance detected: {ratio:.0f}x ratio; in the configuration:\n"
            f"optimization:\n  nlsq:\n    x_scale_map:\n{lines}\n",
            "action": "apply_x_scale_map",
        }
    return {
        "gradient_norms": norms,
        "imbalance_detected": ratio > threshold,
        "max_ratio": ratio,
        "max_grad": most,
        "min_grad": least,
        "recommendations": advice,
    }


def print_gradient_report(
    parameters: Mapping[str, float], data: Any, config: Any, analysis_mode: str
) -> None:
    """Log the derivatives and what to do about them."""
    found = diagnose_gradient_imbalance(parameters, data, config, analysis_mode)
    lines = [f"{name:20s} {size:.3e}" for name, size in found["gradient_norms"].items()]
    get_logger(__name__).info("\n".join([*lines, found["recommendations"]["summary"]]))
