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

import importlib
import importlib.util
from typing import Any

from tessera import __version__
from tessera.xpcs._arguments import parameters
from tessera.xpcs._compare import compare_models
from tessera.xpcs._compat import (
    NLSQWrapper,
    OptimizationResult,
    fit_nlsq,
    fit_nlsq_jax,
)
from tessera.xpcs._config import Settings, template
from tessera.xpcs._data import G2, Data, estimate_sigma, g2, inspect, load, quantile_scaling
from tessera.xpcs._device import (
    benchmark_device_performance,
    configure_optimal_device,
    get_device_status,
)
from tessera.xpcs._fit import accumulate, fit, plan
from tessera.xpcs._joint import JointResult, fit_joint
from tessera.xpcs._model import grids, model, model_pairs
from tessera.xpcs._posterior import Posterior
from tessera.xpcs._rates import RateCurve, RatesResult, fit_rates
from tessera.xpcs._result import Result
from tessera.xpcs._sample import combine, sample
from tessera.xpcs._simulate import simulate, simulate_file
from tessera.xpcs.config.manager import ConfigManager
from tessera.xpcs.data.xpcs_loader import XPCSDataLoader, load_xpcs_data

# What the original has at its top, brought in when it is first asked for: name, module.
_LATER = {
    "ParameterSpace": "core",
    "ScaledFittingEngine": "core",
    "TheoryEngine": "core",
    "compute_g2_scaled": "core",
    "fit_mcmc_jax": "optimization",
    "get_optimization_info": "optimization",
}
_PARTS = ("data", "core", "optimization", "config", "device", "cli", "viz", "io", "utils")

__all__ = [
    "G2",
    "ConfigManager",
    "Data",
    "JointResult",
    "NLSQWrapper",
    "OptimizationResult",
    "Posterior",
    "RateCurve",
    "RatesResult",
    "Result",
    "Settings",
    "XPCSDataLoader",
    "accumulate",
    "benchmark_device_performance",
    "combine",
    "compare_models",
    "configure_optimal_device",
    "estimate_sigma",
    "fit",
    "fit_joint",
    "fit_nlsq",
    "fit_nlsq_jax",
    "fit_rates",
    "g2",
    "get_device_status",
    "get_package_info",
    "grids",
    "inspect",
    "load",
    "load_xpcs_data",
    "model",
    "model_pairs",
    "parameters",
    "plan",
    "quantile_scaling",
    "sample",
    "simulate",
    "simulate_file",
    "template",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"tessera.xpcs.{_LATER[name]}"), name)
    if name in _PARTS:
        return importlib.import_module(f"tessera.xpcs.{name}")
    if name == "cli_main":
        return importlib.import_module("tessera.xpcs.cli").main
    if name.startswith("HAS_") and name[4:].lower() in _PARTS:
        return importlib.util.find_spec(f"tessera.xpcs.{name[4:].lower()}") is not None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_package_info() -> dict[str, Any]:
    """Say what there is, as the original's function does.

    Returns
    -------
    dict
        ``version``, ``features``, ``modules_available``, ``dependencies`` and
        ``recommendations``.
    """

    def has(name: str) -> bool:
        return importlib.util.find_spec(name) is not None

    parts = {name: has(f"tessera.xpcs.{name}") for name in _PARTS[:6]}
    words = "data_loading core_physics optimization configuration device_optimization cli_interface"
    features = dict(zip(words.split(), parts.values(), strict=True))
    wanted = ("jax", "h5py", "yaml", "numpy", "scipy", "matplotlib")
    return {
        "version": __version__,
        "features": {**features, "jax_acceleration": has("jax")},
        "modules_available": parts,
        "dependencies": {name: has(name) for name in wanted},
        "recommendations": [] if has("matplotlib") else ["pip install matplotlib for pictures"],
    }
