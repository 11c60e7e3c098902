"""Loading, choosing and checking data, as the original's package of this name has it."""

from __future__ import annotations

from typing import Any

from tessera import __version__
from tessera.xpcs.data.angle_filtering import (
    angle_in_range,
    apply_angle_filtering,
    apply_angle_filtering_for_optimization,
    apply_angle_filtering_for_plot,
    normalize_angle_to_symmetric_range,
)
from tessera.xpcs.data.optimization import (
    DatasetOptimizer,
    create_dataset_optimizer,
    optimize_for_method,
)
from tessera.xpcs.data.phi_filtering import (
    PhiAngleFilter,
    create_anisotropic_ranges,
    create_isotropic_ranges,
    filter_phi_angles,
    filter_phi_angles_jax,
)
from tessera.xpcs.data.preprocessing import (
    NoiseReductionMethod,
    NormalizationMethod,
    PreprocessingConfigurationError,
    PreprocessingError,
    PreprocessingPipeline,
    PreprocessingProvenance,
    PreprocessingResult,
    PreprocessingStage,
    create_default_preprocessing_config,
    preprocess_xpcs_data,
)
from tessera.xpcs.data.types import DatasetInfo, ProcessingStrategy
from tessera.xpcs.data.validation import DataQualityReport, validate_xpcs_data
from tessera.xpcs.data.validators import (
    VALIDATION_RULES,
    validate_by_rules,
    validate_enum_value,
    validate_file_path,
    validate_frame_range,
    validate_numeric_range,
    validate_positive_value,
)
from tessera.xpcs.data.xpcs_loader import (
    XPCSConfigurationError,
    XPCSDataFormatError,
    XPCSDataLoader,
    XPCSDependencyError,
    load_xpcs_config,
    load_xpcs_data,
)

__features__ = dict.fromkeys(
    (
        "xpcs_loader",
        "validation",
        "phi_filtering",
        "angle_filtering",
        "preprocessing",
        "optimization",
        "validators",
        "yaml_config",
        "json_support",
    ),
    True,
)


def get_data_module_info() -> dict[str, Any]:
    """Return what can be loaded.

    Returns
    -------
    dict
        ``version``, ``features``, ``xpcs_formats_supported``, ``config_formats_supported``.
    """
    return {
        "version": __version__,
        "features": dict(__features__),
        "xpcs_formats_supported": ["APS_old", "APS-U"],
        "config_formats_supported": ["YAML", "JSON"],
    }


__all__ = [
    "VALIDATION_RULES",
    "DataQualityReport",
    "DatasetInfo",
    "DatasetOptimizer",
    "NoiseReductionMethod",
    "NormalizationMethod",
    "PhiAngleFilter",
    "PreprocessingConfigurationError",
    "PreprocessingError",
    "PreprocessingPipeline",
    "PreprocessingProvenance",
    "PreprocessingResult",
    "PreprocessingStage",
    "ProcessingStrategy",
    "XPCSConfigurationError",
    "XPCSDataFormatError",
    "XPCSDataLoader",
    "XPCSDependencyError",
    "angle_in_range",
    "apply_angle_filtering",
    "apply_angle_filtering_for_optimization",
    "apply_angle_filtering_for_plot",
    "create_anisotropic_ranges",
    "create_dataset_optimizer",
    "create_default_preprocessing_config",
    "create_isotropic_ranges",
    "filter_phi_angles",
    "filter_phi_angles_jax",
    "get_data_module_info",
    "load_xpcs_config",
    "load_xpcs_data",
    "normalize_angle_to_symmetric_range",
    "optimize_for_method",
    "preprocess_xpcs_data",
    "validate_by_rules",
    "validate_enum_value",
    "validate_file_path",
    "validate_frame_range",
    "validate_numeric_range",
    "validate_positive_value",
    "validate_xpcs_data",
]
