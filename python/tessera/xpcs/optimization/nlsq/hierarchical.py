"""Physical parameters and scaling fitted in turns, of a loss of the user's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.nlsq.config import safe_float, safe_int
from tessera.xpcs.optimization.nlsq.fourier_reparam import FourierReparameterizer

Loss = Callable[[Floats], Any]


@dataclass
class HierarchicalConfig:
    """How many turns, and how exact each."""

    enable: bool = True
    max_outer_iterations: int = 5
    outer_tolerance: float = 1e-6
    physical_max_iterations: int = 100
    physical_ftol: float = 1e-8
    per_angle_max_iterations: int = 50
    per_angle_ftol: float = 1e-6
    log_stage_transitions: bool = True
    save_intermediate_results: bool = False

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> HierarchicalConfig:
        """Take what section ``hierarchical`` says."""
        given: dict[str, Any] = {}
        for entry in fields(cls):
            value = config_dict.get(entry.name)
            if isinstance(entry.default, bool):
                given[entry.name] = bool(config_dict.get(entry.name, entry.default))
            elif isinstance(entry.default, int):
                given[entry.name] = safe_int(value, entry.default)
            elif isinstance(entry.default, float):
                given[entry.name] = safe_float(value, entry.default)
        return cls(**given)


@dataclass
class HierarchicalResult:
    """Where it ended."""

    x: Floats
    fun: float
    success: bool
    n_outer_iterations: int
    history: list[dict[str, Any]] = field(default_factory=list)
    total_time: float = 0.0
    message: str = ""


def _slopes(loss: Loss, x: Floats) -> Floats:
    steps = 6e-6 * np.maximum(np.abs(x), 1e-3)
    moves = np.diag(steps)
    return np.array([(loss(x + m) - loss(x - m)) for m in moves], float) / (2 * steps)


def _descend(
    loss: Loss, gradient: Loss, x: Floats, low: Floats, high: Floats, steps: int, tolerance: float
) -> tuple[Floats, float, int]:
    """Return a minimum within bounds by projected quasi-Newton steps (BFGS)."""
    value, slope = float(loss(x)), np.asarray(gradient(x), float)
    scale = np.maximum(np.abs(x), 1e-3 * np.where(np.isfinite(high - low), high - low, 1.0))
    inverse = np.diag(np.maximum(scale, 1e-8) ** 2) / max(
        float(np.abs(slope * np.maximum(scale, 1e-8)).max()), 1e-300
    )
    for count in range(1, steps + 1):
        free = ~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))
        if not free.any():
            return x, value, count
        step = np.zeros_like(x)
        step[free] = -(inverse[np.ix_(free, free)] @ slope[free])
        for _ in range(40):
            trial = np.clip(x + step, low, high)
            found = float(loss(trial))
            if found < value:
                break
            step *= 0.3
        else:
            return x, value, count
        moved, before = trial - x, value
        fresh = np.asarray(gradient(trial), float)
        turned = fresh - slope
        x, value, slope = trial, found, fresh
        along = float(moved @ turned)
        if along > 1e-300:
            left = np.eye(len(x)) - np.outer(moved, turned) / along
            inverse = left @ inverse @ left.T + np.outer(moved, moved) / along
        if before - value <= tolerance * max(abs(value), 1e-12) and count > 1:
            return x, value, count
    return x, value, steps


class HierarchicalOptimizer:
    """Fits physical parameters with the scaling held, then the scaling, and again."""

    def __init__(
        self,
        config: HierarchicalConfig,
        n_phi: int,
        n_physical: int,
        fourier_reparameterizer: FourierReparameterizer | None = None,
    ) -> None:
        self.config = config
        self.n_phi = n_phi
        self.n_physical = n_physical
        self.fourier = fourier_reparameterizer
        self.n_per_angle = 2 * n_phi if self.fourier is None else self.fourier.n_coeffs
        self.per_angle_indices = np.arange(self.n_per_angle)
        self.physical_indices = np.arange(self.n_per_angle, self.n_per_angle + n_physical)

    def _stage(
        self,
        places: npt.NDArray[Any],
        loss_fn: Loss,
        grad_fn: Loss | None,
        params: Floats,
        bounds: tuple[Floats, Floats],
        steps: int,
        tolerance: float,
    ) -> tuple[Floats, float, int]:
        def whole(part: Floats) -> Floats:
            out = params.copy()
            out[places] = part
            return out

        def loss(part: Floats) -> float:
            return float(loss_fn(whole(part)))

        def gradient(part: Floats) -> Floats:
            if grad_fn is None:
                return _slopes(loss, part)
            found: Floats = np.asarray(grad_fn(whole(part)), float)[places]
            return found

        low, high = (np.asarray(side, float)[places] for side in bounds)
        start = np.clip(params[places], low, high)
        found, value, count = _descend(loss, gradient, start, low, high, steps, tolerance)
        return whole(found), value, count

    def fit(
        self,
        loss_fn: Loss,
        grad_fn: Loss | None,
        p0: npt.ArrayLike,
        bounds: tuple[Floats, Floats],
        outer_iteration_callback: Callable[[Floats, int], None] | None = None,
    ) -> HierarchicalResult:
        """Minimise a loss."""
        own = self.config
        begin = time.perf_counter()
        params = np.array(p0, float)
        history: list[dict[str, Any]] = []
        converged = False
        for turn in range(own.max_outer_iterations):
            if outer_iteration_callback is not None:
                outer_iteration_callback(params, turn)
            started, before = time.perf_counter(), params[self.physical_indices].copy()
            how = (own.physical_max_iterations, own.physical_ftol)
            params, first, n_first = self._stage(
                self.physical_indices, loss_fn, grad_fn, params, bounds, *how
            )
            how = (own.per_angle_max_iterations, own.per_angle_ftol)
            params, second, n_second = self._stage(
                self.per_angle_indices, loss_fn, grad_fn, params, bounds, *how
            )
            history.append(
                {
                    "outer_iter": turn,
                    "stage1_loss": first,
                    "stage1_iterations": n_first,
                    "stage2_loss": second,
                    "stage2_iterations": n_second,
                    "physical_params": params[self.physical_indices].copy(),
                    "time": time.perf_counter() - started,
                }
            )
            if np.linalg.norm(params[self.physical_indices] - before) < own.outer_tolerance:
                converged = True
                break
        return HierarchicalResult(
            params,
            float(loss_fn(params)),
            converged,
            len(history),
            history,
            time.perf_counter() - begin,
            "Converged" if converged else "Max iterations reached",
        )

    def get_diagnostics(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "enabled": self.config.enable,
            "n_phi": self.n_phi,
            "n_physical": self.n_physical,
            "n_per_angle": self.n_per_angle,
            "fourier_enabled": self.fourier is not None,
            "max_outer_iterations": self.config.max_outer_iterations,
            "outer_tolerance": self.config.outer_tolerance,
        }
