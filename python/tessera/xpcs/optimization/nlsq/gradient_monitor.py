"""Watches derivatives for physical parameters that no longer matter beside the scaling."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.nlsq.config import safe_float, safe_int
from tessera.xpcs.utils.logging import get_logger


@dataclass
class GradientMonitorConfig:
    """When derivatives count as collapsed, and what then."""

    enable: bool = True
    ratio_threshold: float = 0.01
    consecutive_triggers: int = 5
    response_mode: str = "hierarchical"
    reset_per_angle_to_mean: bool = True
    lambda_multiplier_on_collapse: float = 10.0
    check_interval: int = 1
    watch_parameters: list[int] | None = None
    watch_threshold: float = 1e-8
    watch_consecutive_triggers: int = 3
    watch_min_iteration: int = 5

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> GradientMonitorConfig:
        """Take what section ``gradient_monitoring`` says."""
        get = config_dict.get
        watched = get("watch_parameters")
        if isinstance(watched, int):
            watched = [watched]
        return cls(
            enable=bool(get("enable", True)),
            ratio_threshold=safe_float(get("ratio_threshold"), 0.01),
            consecutive_triggers=safe_int(get("consecutive_triggers"), 5),
            response_mode=get("response", "hierarchical"),
            reset_per_angle_to_mean=bool(get("reset_per_angle_to_mean", True)),
            lambda_multiplier_on_collapse=safe_float(get("lambda_multiplier_on_collapse"), 10.0),
            check_interval=safe_int(get("check_interval"), 1),
            watch_parameters=[int(x) for x in watched] if isinstance(watched, list) else None,
            watch_threshold=safe_float(get("watch_threshold"), 1e-8),
            watch_consecutive_triggers=safe_int(get("watch_consecutive_triggers"), 3),
            watch_min_iteration=safe_int(get("watch_min_iteration"), 5),
        )


@dataclass
class CollapseEvent:
    """A collapse."""

    iteration: int
    ratio: float
    physical_grad_norm: float
    per_angle_grad_norm: float
    response_mode: str


@dataclass
class _Watch:
    count: int = 0
    collapsed: bool = False


class GradientCollapseMonitor:
    """Counts steps at which physical derivatives are small beside those of the scaling."""

    MAX_HISTORY_SIZE = 1000

    def __init__(
        self,
        config: GradientMonitorConfig,
        physical_indices: Sequence[int] | npt.NDArray[Any],
        per_angle_indices: Sequence[int] | npt.NDArray[Any],
    ) -> None:
        self.config = config
        self.physical_indices = np.asarray(physical_indices, np.intp)
        self.per_angle_indices = np.asarray(per_angle_indices, np.intp)
        self.reset()

    def reset(self) -> None:
        """Forget all."""
        self.history: deque[dict[str, Any]] = deque(maxlen=self.MAX_HISTORY_SIZE)
        self.consecutive_count = 0
        self.collapse_detected = False
        self.collapse_events: list[CollapseEvent] = []
        self.best_params: Floats | None = None
        self.best_loss = float("inf")
        self._watched = {place: _Watch() for place in self.config.watch_parameters or ()}

    @property
    def _watch_consecutive_counts(self) -> dict[int, int]:
        return {place: watch.count for place, watch in self._watched.items()}

    @property
    def _watch_collapse_detected(self) -> dict[int, bool]:
        return {place: watch.collapsed for place, watch in self._watched.items()}

    def check(
        self,
        gradients: npt.ArrayLike,
        iteration: int,
        params: npt.ArrayLike | None = None,
        loss: float | None = None,
    ) -> str:
        """Return 'OK', 'WARNING' or 'COLLAPSE_DETECTED'."""
        own = self.config
        if not own.enable or iteration % own.check_interval:
            return "OK"
        if params is not None and loss is not None and loss < self.best_loss:
            self.best_loss, self.best_params = loss, np.array(params, float)
        slopes = np.asarray(gradients, float)
        physical = float(np.linalg.norm(slopes[self.physical_indices]))
        scaling = float(np.linalg.norm(slopes[self.per_angle_indices]))
        ratio = physical / (scaling + 1e-12)
        self.history.append(
            {
                "iteration": iteration,
                "physical_grad_norm": physical,
                "per_angle_grad_norm": scaling,
                "ratio": ratio,
            }
        )
        self.consecutive_count = self.consecutive_count + 1 if ratio < own.ratio_threshold else 0
        if self.consecutive_count >= own.consecutive_triggers:
            if not self.collapse_detected:
                event = CollapseEvent(iteration, ratio, physical, scaling, own.response_mode)
                self.collapse_events.append(event)
                get_logger(__name__).warning(f"gradients collapsed: {event}")
            self.collapse_detected = True
            return "COLLAPSE_DETECTED"
        if not self.consecutive_count:
            self.collapse_detected = False
        if iteration >= own.watch_min_iteration:
            self._look_at_watched(slopes)
        return "WARNING" if self.consecutive_count else "OK"

    def _look_at_watched(self, slopes: Floats) -> None:
        for place, watch in self._watched.items():
            if place >= len(slopes):
                continue
            size = abs(float(slopes[place]))
            self.history[-1][f"watched_param_{place}_grad"] = size
            if size >= self.config.watch_threshold:
                watch.count, watch.collapsed = 0, False
                continue
            watch.count += 1
            if watch.count >= self.config.watch_consecutive_triggers and not watch.collapsed:
                watch.collapsed = True
                get_logger(__name__).warning(f"the gradient of parameter {place} is {size:.2e}")

    def get_response(self) -> dict[str, Any] | None:
        """Return what to do about a collapse, or None."""
        if not self.collapse_detected:
            return None
        return {
            "mode": self.config.response_mode,
            "reset_per_angle": self.config.reset_per_angle_to_mean,
            "lambda_multiplier": self.config.lambda_multiplier_on_collapse,
            "best_params": self.best_params,
            "best_loss": self.best_loss,
            "history": list(self.history)[-10:],
            "collapse_events": self.collapse_events,
        }

    def compute_reset_params(self, params: npt.ArrayLike, n_phi: int) -> Floats:
        """Return parameters with all contrasts and all offsets at their means."""
        values = np.array(params, float)
        if len(self.per_angle_indices) >= 2:
            for group in (
                self.per_angle_indices[:n_phi],
                self.per_angle_indices[n_phi : 2 * n_phi],
            ):
                values[group] = np.nanmean(values[group])
        return values

    def get_diagnostics(self) -> dict[str, Any]:
        """Return all of it."""
        if not self.history:
            return {"enabled": self.config.enable, "n_checks": 0}
        ratios = [entry["ratio"] for entry in self.history]
        norms = [entry["physical_grad_norm"] for entry in self.history]
        found: dict[str, Any] = {
            "enabled": self.config.enable,
            "n_checks": len(ratios),
            "min_ratio": min(ratios),
            "max_ratio": max(ratios),
            "mean_ratio": float(np.nanmean(ratios)),
            "final_ratio": ratios[-1],
            "min_physical_grad": min(norms),
            "max_physical_grad": max(norms),
            "mean_physical_grad": float(np.nanmean(norms)),
            "collapse_detected": self.collapse_detected,
            "consecutive_triggers": self.consecutive_count,
            "n_collapse_events": len(self.collapse_events),
            "response_mode": self.config.response_mode,
            "threshold": self.config.ratio_threshold,
        }
        if self.config.watch_parameters:
            found |= {
                "watch_parameters": self.config.watch_parameters,
                "watch_consecutive_counts": self._watch_consecutive_counts,
                "watch_collapse_detected": self._watch_collapse_detected,
            }
        return found

    def log_summary(self) -> None:
        """Log all of it."""
        get_logger(__name__).info(f"gradients: {self.get_diagnostics()}")


@dataclass
class _Counted:
    function: Callable[[Any], Any]
    monitor: GradientCollapseMonitor
    count: int = field(default=0)

    def __call__(self, params: Any) -> Any:
        found = self.function(params)
        self.monitor.check(found, self.count, params=params)
        self.count += 1
        return found


def create_gradient_function_with_monitoring(
    grad_fn: Callable[[Any], Any], monitor: GradientCollapseMonitor
) -> Callable[[Any], Any]:
    """Return a function of derivatives that shows them to a monitor."""
    return _Counted(grad_fn, monitor)
