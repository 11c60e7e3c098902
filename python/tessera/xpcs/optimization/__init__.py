"""Fits by the original's names."""

from __future__ import annotations

from typing import Any

from tessera.xpcs.optimization import cmc, nlsq
from tessera.xpcs.optimization.cmc import CMCConfig, CMCResult, fit_mcmc_jax
from tessera.xpcs.optimization.nlsq import (
    MultiStartConfig,
    MultiStartResult,
    NLSQResult,
    NLSQWrapper,
    OptimizationResult,
    StratificationDiagnostics,
    create_angle_stratified_data,
    create_angle_stratified_indices,
    fit_nlsq,
    fit_nlsq_cmaes,
    fit_nlsq_jax,
    fit_nlsq_multistart,
    should_use_stratification,
)
from tessera.xpcs.optimization.nlsq.strategies import residual as _residual
from tessera.xpcs.optimization.nlsq.strategies import sequential as _sequential

StratifiedResidualFunction = _residual.StratifiedResidualFunction
StratifiedResidualFunctionJIT = _residual.StratifiedResidualFunctionJIT
create_stratified_residual_function = _residual.create_stratified_residual_function
optimize_per_angle_sequential = _sequential.optimize_per_angle_sequential

NLSQ_AVAILABLE = True
MCMC_AVAILABLE = True
MCMCResult = CMCResult
OPTIMIZATION_STATUS = {
    "nlsq_available": NLSQ_AVAILABLE,
    "mcmc_available": MCMC_AVAILABLE,
    "cmc_available": MCMC_AVAILABLE,
    "jax_available": nlsq.JAX_AVAILABLE,
    "numpyro_available": False,
    "blackjax_available": False,
}

__all__ = [
    "MCMC_AVAILABLE",
    "NLSQ_AVAILABLE",
    "OPTIMIZATION_STATUS",
    "CMCConfig",
    "CMCResult",
    "MCMCResult",
    "MultiStartConfig",
    "MultiStartResult",
    "NLSQResult",
    "NLSQWrapper",
    "OptimizationResult",
    "StratificationDiagnostics",
    "cmc",
    "create_angle_stratified_data",
    "create_angle_stratified_indices",
    "fit_mcmc_jax",
    "fit_nlsq",
    "fit_nlsq_cmaes",
    "fit_nlsq_jax",
    "fit_nlsq_multistart",
    "get_optimization_info",
    "nlsq",
    "should_use_stratification",
]


def get_optimization_info() -> dict[str, Any]:
    """Say which ways of fitting there are.

    Returns
    -------
    dict
        ``status``, ``primary_method``, ``secondary_method`` and ``recommendations``.
    """
    return {
        "status": dict(OPTIMIZATION_STATUS),
        "primary_method": "nlsq",
        "secondary_method": "mcmc",
        "recommendations": [
            "Use fit_nlsq_jax() for parameters with intervals; fit_nlsq_multistart() where there "
            "may be several minima",
            "Use fit_mcmc_jax() for the posterior",
        ],
    }
