"""What the original keeps under this name."""

from tessera.xpcs.optimization.cmc import fit_mcmc_jax, run_cmc_analysis

__all__ = ["fit_mcmc_jax", "run_cmc_analysis"]
