"""What the original keeps under this name."""

from tessera.xpcs.optimization.nlsq.strategies import residual

StratifiedResidualFunctionJIT = residual.StratifiedResidualFunctionJIT
