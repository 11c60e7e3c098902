"""Least squares by the original's names."""

from tessera.xpcs._compat import NLSQWrapper, fit_nlsq_jax
from tessera.xpcs.optimization.nlsq.adapter import (
    AdapterConfig,
    NLSQAdapter,
    clear_model_cache,
    get_adapter,
    get_cache_stats,
    get_or_create_model,
    is_adapter_available,
)
from tessera.xpcs.optimization.nlsq.cmaes_wrapper import (
    CMAESResult,
    CMAESWrapper,
    CMAESWrapperConfig,
    fit_with_cmaes,
)
from tessera.xpcs.optimization.nlsq.config import HybridRecoveryConfig as HybridRecoveryConfig
from tessera.xpcs.optimization.nlsq.config import NLSQConfig as NLSQConfig
from tessera.xpcs.optimization.nlsq.core import (
    JAX_AVAILABLE,
    NLSQ_AVAILABLE,
    NLSQResult,
    fit_nlsq_cmaes,
    fit_nlsq_multistart,
)
from tessera.xpcs.optimization.nlsq.core import _get_param_names as _get_param_names
from tessera.xpcs.optimization.nlsq.multistart import (
    MultiStartConfig,
    MultiStartResult,
    SingleStartResult,
)
from tessera.xpcs.optimization.nlsq.results import OptimizationResult
from tessera.xpcs.optimization.nlsq.strategies.chunking import (
    StratificationDiagnostics,
    create_angle_stratified_data,
    create_angle_stratified_indices,
    should_use_stratification,
)

fit_nlsq = fit_nlsq_jax

__all__ = [
    "JAX_AVAILABLE",
    "NLSQ_AVAILABLE",
    "AdapterConfig",
    "CMAESResult",
    "CMAESWrapper",
    "CMAESWrapperConfig",
    "MultiStartConfig",
    "MultiStartResult",
    "NLSQAdapter",
    "NLSQResult",
    "NLSQWrapper",
    "OptimizationResult",
    "SingleStartResult",
    "StratificationDiagnostics",
    "clear_model_cache",
    "create_angle_stratified_data",
    "create_angle_stratified_indices",
    "fit_nlsq",
    "fit_nlsq_cmaes",
    "fit_nlsq_jax",
    "fit_nlsq_multistart",
    "fit_with_cmaes",
    "get_adapter",
    "get_cache_stats",
    "get_or_create_model",
    "is_adapter_available",
    "should_use_stratification",
]
