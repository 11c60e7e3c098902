"""What solvers share: checks of points, bounds by name, covariance of a Jacobian."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs._arguments import Floats
from tessera.xpcs.utils.logging import get_logger

_SINGULAR = 1e12


class NLSQAdapterBase(ABC):
    """A solver."""

    @abstractmethod
    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Fit.

        Parameters
        ----------
        *args, **kwargs
            As the solver takes them.

        Returns
        -------
        Result
            What it found.
        """

    def _prepare_data(
        self,
        t1: npt.ArrayLike,
        t2: npt.ArrayLike,
        phi: npt.ArrayLike,
        g2: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> dict[str, Any]:
        arrays = {"t1": t1, "t2": t2, "phi": phi, "g2": g2, "weights": weights}
        found: dict[str, Any] = {
            name: None if values is None else np.asarray(values, np.float64)
            for name, values in arrays.items()
        }
        angles = np.unique(found["phi"])
        return found | {
            "n_points": len(found["t1"]),
            "phi_unique": angles,
            "n_phi": len(angles),
        }

    def _validate_input(
        self,
        t1: npt.NDArray[Any],
        t2: npt.NDArray[Any],
        phi: npt.NDArray[Any],
        g2: npt.NDArray[Any],
        weights: npt.NDArray[Any] | None = None,
    ) -> None:
        n = len(t1)
        for name, values in (("t2", t2), ("phi", phi), ("g2", g2)):
            if len(values) != n:
                raise ValueError(f"t1 and {name} must have same length: {n} vs {len(values)}")
        if weights is not None and len(weights) != n:
            raise ValueError(f"weights must have same length as data: {n} vs {len(weights)}")
        arrays = {"t1": t1, "t2": t2, "phi": phi, "g2": g2, "weights": weights}
        for name, found in arrays.items():
            if found is not None and not np.isfinite(found).all():
                raise ValueError(f"{name} contains NaN or Inf values")
        if n == 0:
            raise ValueError("Input arrays cannot be empty")

    def _build_result(
        self,
        params: npt.NDArray[Any],
        chi_squared: float,
        covariance: npt.NDArray[Any] | None,
        param_names: Sequence[str],
        n_iter: int,
        success: bool,
        message: str,
        diagnostics: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        found: dict[str, Any] = {
            "params": params,
            "chi_squared": chi_squared,
            "covariance": covariance,
            "param_names": param_names,
            "n_iter": n_iter,
            "success": success,
            "message": message,
            "uncertainties": None if covariance is None else np.sqrt(np.diag(covariance)),
        }
        return found if diagnostics is None else {**found, "diagnostics": diagnostics}

    def _handle_error(
        self,
        error: Exception,
        context: str,
        params: npt.NDArray[Any] | None = None,
        raise_on_error: bool = False,
    ) -> dict[str, Any]:
        get_logger(__name__).error(f"{context}: {error}")
        if raise_on_error:
            raise error
        return {
            "params": params,
            "chi_squared": np.inf,
            "covariance": None,
            "param_names": [],
            "n_iter": 0,
            "success": False,
            "message": f"Error: {error}",
            "error": str(error),
        }

    def _setup_bounds(
        self,
        param_names: Sequence[str],
        bounds_dict: Mapping[str, tuple[float, float]] | None = None,
        default_bounds: tuple[float, float] | None = None,
    ) -> tuple[Floats, Floats]:
        others = default_bounds or (-np.inf, np.inf)
        pairs = [(bounds_dict or {}).get(name, others) for name in param_names]
        found = np.array(pairs, float).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _compute_covariance(
        self, jacobian: npt.NDArray[Any], residuals: npt.NDArray[Any], n_params: int
    ) -> Floats | None:
        freedom = len(residuals) - n_params
        if freedom <= 0:
            return None
        try:
            normal = jacobian.T @ jacobian
            singular = np.linalg.cond(normal) > _SINGULAR
            inverse = np.linalg.pinv(normal) if singular else np.linalg.inv(normal)
        except (np.linalg.LinAlgError, ValueError):
            return None
        found: Floats = inverse * (np.sum(residuals**2) / freedom)
        return found
