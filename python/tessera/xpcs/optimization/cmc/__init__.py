"""Sampling by the original's names."""

from tessera.xpcs.optimization.cmc.config import CMCConfig
from tessera.xpcs.optimization.cmc.core import fit_mcmc_jax, run_cmc_analysis
from tessera.xpcs.optimization.cmc.results import CMCResult

__all__ = ["CMCConfig", "CMCResult", "fit_mcmc_jax", "run_cmc_analysis"]
