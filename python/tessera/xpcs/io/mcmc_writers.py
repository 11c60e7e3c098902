"""Files of samplers by the original's names; there is no sampler here yet."""

from tessera.xpcs._no_sampling import no_sampling

__all__ = [
    "create_mcmc_analysis_dict",
    "create_mcmc_diagnostics_dict",
    "create_mcmc_parameters_dict",
]

create_mcmc_analysis_dict = no_sampling("create_mcmc_analysis_dict", __name__)
create_mcmc_diagnostics_dict = no_sampling("create_mcmc_diagnostics_dict", __name__)
create_mcmc_parameters_dict = no_sampling("create_mcmc_parameters_dict", __name__)
