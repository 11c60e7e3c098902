"""What a fit found, as a plain record.

Fits here give a :class:`tessera.xpcs.Result`, which counts as one of these and has more.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from tessera.xpcs._result import Result

if TYPE_CHECKING:
    from tessera.xpcs.optimization.nlsq.strategies.chunking import StratificationDiagnostics

__all__ = ["FallbackInfo", "FunctionEvaluationCounter", "OptimizationResult"]


@dataclass
class FunctionEvaluationCounter:
    """A function that counts its calls.

    Parameters
    ----------
    fn : callable
        The function.
    count : int, default 0
        Calls so far.
    """

    fn: Callable[..., object]
    count: int = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Count and call."""
        self.count += 1
        return self.fn(*args, **kwargs)


@dataclass
class OptimizationResult(metaclass=ABCMeta):
    """What a fit found.

    Parameters
    ----------
    parameters, uncertainties : ndarray, shape (n,)
        Contrasts, offsets, physical parameters; and their standard deviations.
    covariance : ndarray, shape (n, n)
        Of the parameters.
    chi_squared, reduced_chi_squared : float
        Of the residuals.
    convergence_status : {'converged', 'max_iter', 'failed'}
        How it ended.
    iterations : int
        Steps.
    execution_time : float
        Seconds.
    device_info : dict
        Where it ran.
    recovery_actions : list of str
        What was tried after failures.
    quality_flag : {'good', 'marginal', 'poor'}
        By reduced chi squared.
    streaming_diagnostics, nlsq_diagnostics : dict, optional
        How it went.
    stratification_diagnostics : StratificationDiagnostics, optional
        How data were ordered.
    sigma_is_default : bool
        No errors were given.
    """

    parameters: npt.NDArray[Any]
    uncertainties: npt.NDArray[Any]
    covariance: npt.NDArray[Any]
    chi_squared: float
    reduced_chi_squared: float
    convergence_status: str
    iterations: int
    execution_time: float
    device_info: dict[str, Any]
    recovery_actions: list[str] = field(default_factory=list)
    quality_flag: str = "good"
    streaming_diagnostics: dict[str, Any] | None = None
    stratification_diagnostics: StratificationDiagnostics | None = None
    nlsq_diagnostics: dict[str, Any] | None = None
    sigma_is_default: bool = False

    @property
    def success(self) -> bool:
        """Whether the fit ended at a minimum."""
        return self.convergence_status == "converged"

    @property
    def message(self) -> str:
        """How the fit ended, in a sentence."""
        if self.success:
            return f"Optimization converged: chi2={self.chi_squared:.6f}"
        if self.convergence_status == "max_iter":
            return "Optimization stopped: maximum iterations reached"
        return f"Optimization failed: {self.convergence_status}"


OptimizationResult.register(Result)


@dataclass
class FallbackInfo:
    """Which solver was used, and why not the other.

    Parameters
    ----------
    fallback_occurred : bool
        The first one failed.
    adapter_used : str
        Which one was used.
    adapter_error, wrapper_error : str, optional
        Why.
    """

    fallback_occurred: bool
    adapter_used: str
    adapter_error: str | None = None
    wrapper_error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it.

        Returns
        -------
        dict
            By name.
        """
        return asdict(self)


@dataclass
class UseSequentialOptimization:
    """Asks for one fit an angle instead of one for all."""

    data: Any
    reason: str
