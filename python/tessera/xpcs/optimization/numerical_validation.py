"""Values of a fit that are not numbers, found where they first appear."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.optimization.exceptions import NLSQNumericalError

Bounds = tuple[npt.ArrayLike, npt.ArrayLike]
_SHOWN = 5


class NumericalValidator:
    """Raises NLSQNumericalError for gradients, parameters and losses that are not finite."""

    def __init__(self, enable_validation: bool = True, bounds: Bounds | None = None) -> None:
        self.enable_validation = enable_validation
        self.bounds = bounds

    @staticmethod
    def _finite(values: Any, name: str, word: str, point: str) -> npt.NDArray[Any]:
        array = np.asarray(values)
        wrong = np.flatnonzero(~np.isfinite(array))
        if len(wrong):
            flat = array.reshape(-1)
            shown = [f"{word}[{place}]={float(flat[place])}" for place in wrong[:_SHOWN]]
            raise NLSQNumericalError(
                f"Non-finite {name} detected at {len(wrong)} locations: {', '.join(shown)}; the "
                "model may overflow there, or a step was too large",
                detection_point=point,
                invalid_values=shown,
                error_context={"n_invalid": len(wrong)},
            )
        return array

    def validate_gradients(self, gradients: npt.ArrayLike) -> None:
        """Check derivatives."""
        if self.enable_validation:
            self._finite(gradients, "gradients", "grad", "gradient")

    def validate_parameters(self, parameters: npt.ArrayLike, bounds: Bounds | None = None) -> None:
        """Check parameters, also against bounds."""
        if not self.enable_validation:
            return
        values = self._finite(parameters, "parameters", "param", "parameter")
        limits = bounds or self.bounds
        if limits is None:
            return
        low, high = (np.asarray(side) for side in limits)
        outside = [
            *(
                f"param[{i}]={values[i]:.6g} < lower={low[i]:.6g}"
                for i in np.flatnonzero(values < low)
            ),
            *(
                f"param[{i}]={values[i]:.6g} > upper={high[i]:.6g}"
                for i in np.flatnonzero(values > high)
            ),
        ]
        if outside:
            raise NLSQNumericalError(
                f"Parameter bounds violations detected at {len(outside)} locations: "
                f"{', '.join(outside[:_SHOWN])}",
                detection_point="parameter_bounds",
                invalid_values=outside[: 2 * _SHOWN],
                error_context={"n_violations": len(outside)},
            )

    def validate_loss(self, loss_value: float) -> None:
        """Check a loss."""
        if self.enable_validation and not math.isfinite(float(loss_value)):
            raise NLSQNumericalError(
                f"Non-finite loss value detected: {float(loss_value)}; parameters may be outside "
                "what the model takes",
                detection_point="loss",
                invalid_values=[f"loss={float(loss_value)}"],
                error_context={"loss_value": float(loss_value)},
            )

    def set_bounds(self, bounds: Bounds) -> None:
        """Set bounds."""
        self.bounds = bounds

    def disable(self) -> None:
        """Check no more."""
        self.enable_validation = False

    def enable(self) -> None:
        """Check again."""
        self.enable_validation = True
