"""Checks before and after a fit."""

from tessera.xpcs.optimization.nlsq.validation.fit_quality import (
    FitQualityConfig as FitQualityConfig,
)
from tessera.xpcs.optimization.nlsq.validation.fit_quality import (
    FitQualityReport as FitQualityReport,
)
from tessera.xpcs.optimization.nlsq.validation.fit_quality import (
    validate_fit_quality as validate_fit_quality,
)
from tessera.xpcs.optimization.nlsq.validation.input_validator import (
    InputValidator as InputValidator,
)
from tessera.xpcs.optimization.nlsq.validation.input_validator import (
    validate_array_dimensions as validate_array_dimensions,
)
from tessera.xpcs.optimization.nlsq.validation.input_validator import (
    validate_bounds_consistency as validate_bounds_consistency,
)
from tessera.xpcs.optimization.nlsq.validation.input_validator import (
    validate_initial_params as validate_initial_params,
)
from tessera.xpcs.optimization.nlsq.validation.input_validator import (
    validate_no_nan_inf as validate_no_nan_inf,
)
from tessera.xpcs.optimization.nlsq.validation.result_validator import (
    ResultValidator as ResultValidator,
)
from tessera.xpcs.optimization.nlsq.validation.result_validator import (
    validate_covariance as validate_covariance,
)
from tessera.xpcs.optimization.nlsq.validation.result_validator import (
    validate_optimized_params as validate_optimized_params,
)
from tessera.xpcs.optimization.nlsq.validation.result_validator import (
    validate_result_consistency as validate_result_consistency,
)
