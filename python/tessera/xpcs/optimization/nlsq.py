"""What the original keeps under this name."""

from tessera.xpcs._compat import OptimizationResult, fit_nlsq, fit_nlsq_jax

__all__ = ["OptimizationResult", "fit_nlsq", "fit_nlsq_jax"]
