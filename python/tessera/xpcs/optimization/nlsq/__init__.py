"""Least squares by the original's names."""

import importlib
from typing import Any

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

# Parts of the package nlsq, which is not used here: fits and searches are the library's.
NLSQ_CACHING_AVAILABLE = NLSQ_CMAES_AVAILABLE = NLSQ_CURVEFIT_AVAILABLE = False
NLSQ_GLOBAL_OPT_AVAILABLE = NLSQ_GOAL_AVAILABLE = NLSQ_RESULT_AVAILABLE = False
NLSQ_STABILITY_AVAILABLE = NLSQ_STREAMING_AVAILABLE = NLSQ_WORKFLOW_AVAILABLE = False

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

# What the original's package has from its modules besides, looked up when asked for.
_HOME = {
    "adapter": ("NLSQAdapterBase",),
    "anti_degeneracy_controller": (
        "AntiDegeneracyConfig",
        "AntiDegeneracyController",
        "ParameterIndexMapper",
    ),
    "core": ("run_multistart_nlsq",),
    "data_prep": (
        "ExpandedParameters",
        "PreparedData",
        "build_parameter_labels",
        "classify_parameter_status",
        "convert_bounds_to_nlsq_format",
        "expand_per_angle_parameters",
        "validate_bounds",
        "validate_initial_params",
    ),
    "fallback_chain": ("normalize_nlsq_result",),
    "fit_computation": (
        "compute_theoretical_fits",
        "extract_parameters_from_result",
        "get_physical_param_count",
        "normalize_analysis_mode",
    ),
    "jacobian": ("compute_jacobian_stats",),
    "memory": (
        "DEFAULT_MEMORY_FRACTION",
        "FALLBACK_THRESHOLD_GB",
        "NLSQStrategy",
        "StrategyDecision",
        "detect_total_system_memory",
        "estimate_peak_memory_gb",
        "get_adaptive_memory_threshold",
        "select_nlsq_strategy",
    ),
    "multistart": (
        "check_zero_volume_bounds",
        "detect_degeneracy",
        "generate_lhs_starts",
        "generate_random_starts",
        "include_custom_starts",
        "screen_starts",
        "validate_n_starts_for_lhs",
    ),
    "parameter_utils": ("compute_consistent_per_angle_init", "sample_xdata"),
    "result_builder": (
        "QualityMetrics",
        "ResultBuilder",
        "compute_quality_metrics",
        "compute_uncertainties",
        "determine_convergence_status",
    ),
    "results": ("FunctionEvaluationCounter",),
    "strategies.chunking": (
        "analyze_angle_distribution",
        "compute_stratification_diagnostics",
        "estimate_stratification_memory",
        "format_diagnostics_report",
    ),
    "strategies.executors": (
        "ExecutionResult",
        "LargeDatasetExecutor",
        "OptimizationExecutor",
        "StandardExecutor",
        "StreamingExecutor",
        "get_executor",
    ),
    "strategies.residual": (
        "StratifiedResidualFunction",
        "StratifiedResidualFunctionJIT",
        "create_stratified_residual_function",
    ),
    "strategies.sequential": ("JAC_SAMPLE_SIZE", "optimize_per_angle_sequential"),
}
# Names that the original has twice.
_ALIASES = {
    "build_parameter_labels_utils": ("parameter_utils", "build_parameter_labels"),
    "classify_parameter_status_utils": ("data_prep", "classify_parameter_status"),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    module, own = _ALIASES.get(name, (_MODULES.get(name), name))
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), own)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_ALIASES})
