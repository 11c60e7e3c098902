"""What older versions of the original keep under this name."""

from tessera.xpcs._compat import NLSQWrapper
from tessera.xpcs.optimization.nlsq.results import OptimizationResult

__all__ = ["NLSQWrapper", "OptimizationResult"]
