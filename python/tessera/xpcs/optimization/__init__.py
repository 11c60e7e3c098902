"""What the original keeps under this name."""

from tessera.xpcs._compat import NLSQWrapper, OptimizationResult, fit_nlsq, fit_nlsq_jax

__all__ = ["NLSQWrapper", "OptimizationResult", "fit_nlsq", "fit_nlsq_jax"]
