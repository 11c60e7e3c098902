"""What the original keeps under this name."""

from tessera.xpcs._compat import NLSQWrapper, OptimizationResult

__all__ = ["NLSQWrapper", "OptimizationResult"]
