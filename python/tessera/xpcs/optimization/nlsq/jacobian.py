"""What a Jacobian says of parameters: how much each matters, how well they are told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.optimization.nlsq import parameter_utils

compute_jacobian_stats = parameter_utils.compute_jacobian_stats


def compute_jacobian_condition_number(
    residual_fn: Callable[..., Any], x_subset: npt.NDArray[Any], params: npt.ArrayLike
) -> float | None:
    """Return the condition number of the Jacobian, or None where it cannot be computed."""
    normal, _ = compute_jacobian_stats(residual_fn, x_subset, params, 1.0)
    return None if normal is None else float(np.linalg.cond(normal)) ** 0.5


def analyze_parameter_sensitivity(
    residual_fn: Callable[..., Any],
    x_subset: npt.NDArray[Any],
    params: npt.ArrayLike,
    param_names: Sequence[str],
) -> dict[str, float]:
    """Return how much residuals change with each parameter, the most being 1."""
    _, sizes = compute_jacobian_stats(residual_fn, x_subset, params, 1.0)
    if sizes is None:
        return {}
    most = float(sizes.max()) or 1.0
    return {name: float(size / most) for name, size in zip(param_names, sizes, strict=False)}


def estimate_gradient_noise(
    residual_fn: Callable[..., Any],
    x_subset: npt.NDArray[Any],
    params: npt.ArrayLike,
    n_samples: int = 5,
    perturbation: float = 1e-6,
    seed: int = 42,
) -> float | None:
    """Return the relative spread of the Jacobian's size at parameters moved a little."""
    values = np.asarray(params, float)
    rng = np.random.default_rng(seed)
    sizes = []
    for _ in range(n_samples):
        moved = values * (1.0 + perturbation * rng.standard_normal(values.shape))
        _, found = compute_jacobian_stats(residual_fn, x_subset, moved, 1.0)
        if found is None:
            return None
        sizes.append(float(np.linalg.norm(found)))
    return float(np.std(sizes) / (np.mean(sizes) + 1e-300))
