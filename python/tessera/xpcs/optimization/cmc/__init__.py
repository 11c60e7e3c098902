"""Sampling by the original's names; there is no sampler here yet."""

from tessera.xpcs._no_sampling import no_sampling
from tessera.xpcs.optimization.cmc.config import CMCConfig

__all__ = ["CMCConfig", "CMCResult", "fit_mcmc_jax", "run_cmc_analysis"]

CMCResult = no_sampling("CMCResult", __name__)
fit_mcmc_jax = no_sampling("fit_mcmc_jax", __name__)
run_cmc_analysis = no_sampling("run_cmc_analysis", __name__)
