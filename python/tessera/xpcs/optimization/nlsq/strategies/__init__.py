"""Ways of the original to go through data."""

import importlib
from typing import Any

# What the original's package has from its modules, looked up when asked for.
_HOME = {
    "chunking": (
        "StratificationDiagnostics",
        "analyze_angle_distribution",
        "compute_stratification_diagnostics",
        "create_angle_stratified_data",
        "create_angle_stratified_indices",
        "estimate_stratification_memory",
        "format_diagnostics_report",
        "should_use_stratification",
    ),
    "executors": (
        "ExecutionResult",
        "LargeDatasetExecutor",
        "OptimizationExecutor",
        "StandardExecutor",
        "StreamingExecutor",
        "get_executor",
    ),
    "residual": ("StratifiedResidualFunction", "create_stratified_residual_function"),
    "residual_jit": ("StratifiedResidualFunctionJIT",),
    "sequential": ("JAC_SAMPLE_SIZE", "optimize_per_angle_sequential"),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
