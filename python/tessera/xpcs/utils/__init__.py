"""Logging and paths by the original's names."""

from tessera.xpcs.utils.logging import (
    configure_logging,
    get_logger,
    log_calls,
    log_operation,
    log_performance,
    with_context,
)
from tessera.xpcs.utils.path_validation import (
    PathValidationError,
    get_safe_output_dir,
    validate_plot_save_path,
    validate_save_path,
)

__all__ = [
    "PathValidationError",
    "configure_logging",
    "get_logger",
    "get_safe_output_dir",
    "log_calls",
    "log_operation",
    "log_performance",
    "validate_plot_save_path",
    "validate_save_path",
    "with_context",
]
