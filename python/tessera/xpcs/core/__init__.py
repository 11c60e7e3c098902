"""The model by the original's names: correlations, their derivatives, bounds and checks."""

from tessera.xpcs.core.fitting import FitResult, ParameterSpace, ScaledFittingEngine
from tessera.xpcs.core.homodyne_model import HomodyneModel
from tessera.xpcs.core.jax_backend import (
    compute_g1_diffusion,
    compute_g1_shear,
    compute_g1_total,
    compute_g2_scaled,
    compute_g2_scaled_with_factors,
    gradient_g2,
    hessian_g2,
    jax_available,
)
from tessera.xpcs.core.models import (
    CombinedModel,
    DiffusionModel,
    PhysicsModelBase,
    ShearModel,
)
from tessera.xpcs.core.physics import PhysicsConstants, parameter_bounds, validate_parameters
from tessera.xpcs.core.physics_factors import (
    PhysicsFactors,
    create_physics_factors_from_config_dict,
)
from tessera.xpcs.core.theory import TheoryEngine, compute_chi2_theory, compute_g2_theory

__all__ = [
    "CombinedModel",
    "DiffusionModel",
    "FitResult",
    "HomodyneModel",
    "ParameterSpace",
    "PhysicsConstants",
    "PhysicsFactors",
    "PhysicsModelBase",
    "ScaledFittingEngine",
    "ShearModel",
    "TheoryEngine",
    "compute_chi2_theory",
    "compute_g1_diffusion",
    "compute_g1_shear",
    "compute_g1_total",
    "compute_g2_scaled",
    "compute_g2_scaled_with_factors",
    "compute_g2_theory",
    "create_physics_factors_from_config_dict",
    "gradient_g2",
    "hessian_g2",
    "jax_available",
    "parameter_bounds",
    "validate_parameters",
]
