"""Checks before and after a fit."""

from tessera.xpcs.optimization.nlsq.validation import fit_quality, input_validator, result_validator

FitQualityConfig = fit_quality.FitQualityConfig
FitQualityReport = fit_quality.FitQualityReport
validate_fit_quality = fit_quality.validate_fit_quality
InputValidator = input_validator.InputValidator
validate_array_dimensions = input_validator.validate_array_dimensions
validate_bounds_consistency = input_validator.validate_bounds_consistency
validate_initial_params = input_validator.validate_initial_params
validate_no_nan_inf = input_validator.validate_no_nan_inf
ResultValidator = result_validator.ResultValidator
validate_covariance = result_validator.validate_covariance
validate_optimized_params = result_validator.validate_optimized_params
validate_result_consistency = result_validator.validate_result_consistency
