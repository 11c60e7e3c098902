"""Files of results by the original's names."""

from tessera.xpcs.io.json_utils import json_safe, json_serializer
from tessera.xpcs.io.mcmc_writers import (
    create_mcmc_analysis_dict,
    create_mcmc_diagnostics_dict,
    create_mcmc_parameters_dict,
)
from tessera.xpcs.io.nlsq_writers import save_nlsq_json_files, save_nlsq_npz_file

__all__ = [
    "create_mcmc_analysis_dict",
    "create_mcmc_diagnostics_dict",
    "create_mcmc_parameters_dict",
    "json_safe",
    "json_serializer",
    "save_nlsq_json_files",
    "save_nlsq_npz_file",
]
