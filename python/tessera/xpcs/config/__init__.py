"""Configurations as the original's package of this name has them."""

from tessera.xpcs.config.manager import ConfigManager, load_xpcs_config
from tessera.xpcs.config.parameter_manager import ParameterManager
from tessera.xpcs.config.parameter_registry import (
    ParameterInfo,
    ParameterRegistry,
    get_all_param_names,
    get_bounds,
    get_defaults,
    get_param_names,
    get_registry,
)
from tessera.xpcs.config.parameter_space import ParameterSpace, PriorDistribution
from tessera.xpcs.config.physics_validators import (
    PHYSICS_CONSTRAINTS,
    ConstraintRule,
    ConstraintSeverity,
    PhysicsViolation,
    validate_all_parameters,
    validate_cross_parameter_constraints,
    validate_single_parameter,
)
from tessera.xpcs.config.types import (
    BoundDict,
    ExperimentalDataConfig,
    InitialParametersConfig,
    ParameterSpaceConfig,
)

__all__ = [
    "PHYSICS_CONSTRAINTS",
    "BoundDict",
    "ConfigManager",
    "ConstraintRule",
    "ConstraintSeverity",
    "ExperimentalDataConfig",
    "InitialParametersConfig",
    "ParameterInfo",
    "ParameterManager",
    "ParameterRegistry",
    "ParameterSpace",
    "ParameterSpaceConfig",
    "PhysicsViolation",
    "PriorDistribution",
    "get_all_param_names",
    "get_bounds",
    "get_defaults",
    "get_param_names",
    "get_registry",
    "load_xpcs_config",
    "validate_all_parameters",
    "validate_cross_parameter_constraints",
    "validate_single_parameter",
]
