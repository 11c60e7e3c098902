"""Two-time X-ray correlations (XPCS): read, model, fit, report.

>>> import tessera.xpcs
>>> data = tessera.xpcs.simulate(n_angle=4, n_frame=80, dt=0.1, gap=2e6, sigma=0.01)
>>> result = tessera.xpcs.fit(data, sigma=0.01)
>>> sorted(result.physical)
['D0', 'D_offset', 'alpha', 'beta', 'gamma_dot_t0', 'gamma_dot_t_offset', 'phi0']

A script written for ``homodyne`` runs with its import lines changed: ``fit_nlsq_jax``,
``load_xpcs_data``, ``XPCSDataLoader``, ``ConfigManager`` and ``OptimizationResult`` are here, and
in modules of the original's names.
"""

from __future__ import annotations

from tessera.xpcs._arguments import parameters
from tessera.xpcs._compat import (
    NLSQWrapper,
    OptimizationResult,
    XPCSDataLoader,
    fit_nlsq,
    fit_nlsq_jax,
    load_xpcs_data,
)
from tessera.xpcs._config import ConfigManager, Settings, template
from tessera.xpcs._data import Data, estimate_sigma, inspect, load, quantile_scaling
from tessera.xpcs._device import (
    benchmark_device_performance,
    configure_optimal_device,
    get_device_status,
)
from tessera.xpcs._fit import accumulate, fit, plan
from tessera.xpcs._model import grids, model, model_pairs
from tessera.xpcs._result import Result
from tessera.xpcs._simulate import simulate, simulate_file

__all__ = [
    "ConfigManager",
    "Data",
    "NLSQWrapper",
    "OptimizationResult",
    "Result",
    "Settings",
    "XPCSDataLoader",
    "accumulate",
    "benchmark_device_performance",
    "configure_optimal_device",
    "estimate_sigma",
    "fit",
    "fit_nlsq",
    "fit_nlsq_jax",
    "get_device_status",
    "grids",
    "inspect",
    "load",
    "load_xpcs_data",
    "model",
    "model_pairs",
    "parameters",
    "plan",
    "quantile_scaling",
    "simulate",
    "simulate_file",
    "template",
]
