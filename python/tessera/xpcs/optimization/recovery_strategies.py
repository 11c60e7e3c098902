"""What to change before a fit that failed is tried again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.optimization.exceptions import NLSQConvergenceError, NLSQNumericalError

ERROR_RECOVERY_STRATEGIES: dict[type[Exception], list[tuple[str, Any]]] = {
    NLSQConvergenceError: [
        ("perturb_parameters", 0.05),
        ("increase_iterations", 1.5),
        ("relax_tolerance", 10.0),
    ],
    NLSQNumericalError: [
        ("reduce_step_size", 0.5),
        ("tighten_bounds", 0.9),
        ("rescale_data", "normalize"),
    ],
}


class RecoveryStrategyApplicator:
    """Gives the next thing to try, with the parameters to begin from."""

    def __init__(self, max_retries: int = 2, seed: int = 42) -> None:
        self.max_retries = max_retries
        self._rng = np.random.default_rng(seed)

    def get_recovery_strategy(
        self,
        error: Exception,
        params: npt.ArrayLike,
        attempt: int,
        bounds: tuple[Floats, Floats] | None = None,
    ) -> tuple[str, Floats] | None:
        """Return the name of what to try and where to begin, or None if all was tried."""
        ways = ERROR_RECOVERY_STRATEGIES.get(type(error), [])
        if attempt >= len(ways):
            return None
        name, amount = ways[attempt]
        return name, self._apply_strategy(name, np.asarray(params, float), amount, bounds)

    def _apply_strategy(
        self,
        strategy_name: str,
        params: Floats,
        strategy_param: Any,
        bounds: tuple[Floats, Floats] | None,
    ) -> Floats:
        if strategy_name == "perturb_parameters":
            return self._perturb_parameters(params, strategy_param)
        if strategy_name == "tighten_bounds" and bounds is not None:
            low, high = (np.asarray(side, float) for side in bounds)
            middle, half = (low + high) / 2, (high - low) * strategy_param / 2
            return np.clip(params, middle - half, middle + half)
        return params.copy()

    def _perturb_parameters(self, params: Floats, perturbation_fraction: float) -> Floats:
        size = np.where(np.abs(params) > 1e-30, np.abs(params), 1.0)
        return params + self._rng.standard_normal(params.shape) * perturbation_fraction * size

    def should_retry(self, attempt: int) -> bool:
        """Return whether there are tries left."""
        return attempt < self.max_retries
