"""Fits by the original's names: one start, many starts, a search of the whole box."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.xpcs._arguments import Floats, names_of
from tessera.xpcs._arguments import parameters as parameters_of_mode
from tessera.xpcs._compat import NLSQWrapper, _start_of, fit_nlsq_jax
from tessera.xpcs._config import Settings
from tessera.xpcs._curve_fit import evolve
from tessera.xpcs._data import Data
from tessera.xpcs._fit import accumulate
from tessera.xpcs._foreign import data_of, settings_of_any, symmetric
from tessera.xpcs._namespace import HAS_JAX
from tessera.xpcs.optimization.nlsq.adapter import NLSQAdapter
from tessera.xpcs.optimization.nlsq.cmaes_wrapper import CMAESWrapper, CMAESWrapperConfig
from tessera.xpcs.optimization.nlsq.config import NLSQConfig
from tessera.xpcs.optimization.nlsq.multistart import (
    MultiStartConfig,
    MultiStartResult,
    SingleStartResult,
    run_multistart_nlsq,
)

if TYPE_CHECKING:
    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._result import Result

__all__ = [
    "NLSQAdapter",
    "NLSQResult",
    "NLSQWrapper",
    "fit_nlsq_cmaes",
    "fit_nlsq_jax",
    "fit_nlsq_multistart",
]

JAX_AVAILABLE = HAS_JAX
NLSQ_AVAILABLE = True
HAS_NLSQ_ADAPTER = True

_NEEDED = ("wavevector_q_list", "phi_angles_list", "t1", "t2", "c2_exp")
_SCALING = {"contrast": 0.5, "offset": 1.0}
_STARTS = {
    "D0": 1e4,
    "alpha": -1.5,
    "D_offset": 0.0,
    "gamma_dot_t0": 1e-3,
    "beta": 0.0,
    "gamma_dot_t_offset": 0.0,
    "phi0": 0.0,
}
_IMPOSSIBLE = 1e300


class NLSQResult:
    """What a fit found, as older versions of the original return it.

    Parameters
    ----------
    parameters, parameter_errors : dict
        Values and standard deviations by name.
    chi_squared, reduced_chi_squared : float
        Of the residuals.
    success : bool
        It ended at a minimum.
    message : str
        Why it ended.
    n_iterations : int
        Steps.
    optimization_time : float
        Seconds.
    method : str, default 'nlsq'
        How.
    """

    def __init__(
        self,
        parameters: dict[str, float],
        parameter_errors: dict[str, float],
        chi_squared: float,
        reduced_chi_squared: float,
        success: bool,
        message: str,
        n_iterations: int,
        optimization_time: float,
        method: str = "nlsq",
    ) -> None:
        self.parameters = parameters
        self.parameter_errors = parameter_errors
        self.chi_squared = chi_squared
        self.reduced_chi_squared = reduced_chi_squared
        self.success = success
        self.message = message
        self.n_iterations = n_iterations
        self.optimization_time = optimization_time
        self.method = method


class _Problem:
    """Data, settings and the physical parameters with their bounds, for searches around fits."""

    def __init__(self, data: Any, config: Any, initial_params: Any, per_angle: bool) -> None:
        self.settings = settings_of_any(config) or Settings()
        self.mode: Any = self.settings.model["mode"]
        own = symmetric(data_of(data))
        self.sigma: dict[str, Any] = {}
        if isinstance(own, Mapping) and own.get("sigma") is not None:
            scalar = np.ndim(own["sigma"]) == 0
            self.sigma = {"sigma": float(own["sigma"])} if scalar else {"sigma_mode": "dataset"}
        self.data = own if isinstance(own, Data) else Data.from_dict(own, self.settings)
        self.names = names_of(self.mode)
        self.per_angle = per_angle
        entries = parameters_of_mode(self.mode)
        low, high, start = (
            np.array([dict(entry)[key] for entry in entries], np.float64)
            for key in ("lower", "upper", "start")
        )
        said = self.settings.vectors
        self.low, self.high, self.start = (
            other if value is None else np.where(np.isfinite(value), value, other)
            for value, other in (
                (said["lower"], low),
                (said["upper"], high),
                (said["start"], start),
            )
        )
        theta, self.contrast, self.offset = _start_of(initial_params, self.mode)
        if isinstance(theta, Mapping):
            known = dict(zip(self.names, self.start, strict=True))
            self.start = np.array([float(theta.get(name, known[name])) for name in self.names])
        elif theta is not None:
            self.start = np.asarray(theta, float)

    def cost(self, theta: Floats) -> float:
        """Return half of chi squared at the best scaling."""
        how: dict[str, Any] = {} if self.per_angle else {"scaling": "averaged"}
        try:
            found = accumulate(
                self.data, theta, self.settings, level=0, mode=self.mode, **self.sigma, **how
            )
        except (_core.Error, ValueError):
            return _IMPOSSIBLE
        value = float(found["cost"])
        return value if np.isfinite(value) else _IMPOSSIBLE

    def fit(self, theta: Floats) -> Result:
        """Fit from somewhere."""
        more: dict[str, Any] = dict(self.sigma)
        for name in ("contrast", "offset"):
            if getattr(self, name) is not None:
                more[name] = getattr(self, name)
        start = dict(zip(self.names, np.clip(theta, self.low, self.high).tolist(), strict=True))
        return fit_nlsq_jax(
            self.data, self.settings, start, self.per_angle, mode=self.mode, n_start=1, **more
        )


def _nlsq_config(config: Any) -> NLSQConfig:
    own = getattr(config, "config", config)
    if not isinstance(own, Mapping):
        return NLSQConfig()
    return NLSQConfig.from_dict((own.get("optimization") or {}).get("nlsq") or {})


def _single(result: Result) -> SingleStartResult:
    return SingleStartResult(
        0,
        np.asarray(result.theta),
        np.asarray(result.parameters),
        float(result.chi_squared),
        float(result.reduced_chi_squared),
        bool(result.success),
        message=str(result.message),
        n_iterations=int(result.iterations),
        n_fev=int(result.nfev),
        covariance=np.asarray(result.covariance),
    )


def fit_nlsq_multistart(
    data: Mapping[str, Any] | Data,
    config: ConfigLike,
    initial_params: Mapping[str, Any] | npt.ArrayLike | None = None,
    per_angle_scaling: bool = True,
) -> MultiStartResult:
    """Fit from many starts over the bounds of the physical parameters.

    Parameters
    ----------
    data, config, initial_params, per_angle_scaling
        As in :func:`tessera.xpcs.fit_nlsq_jax`; ``optimization.nlsq.multi_start`` says how many
        starts. ``initial_params`` is one of them.

    Returns
    -------
    MultiStartResult
        All of them; ``result`` is the best fit whole, a :class:`tessera.xpcs.Result`.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> from tessera.xpcs.optimization import fit_nlsq_multistart
    >>> data = tx.simulate(mode="static_isotropic", n_angle=2, n_frame=40, dt=0.1, sigma=0.01)
    >>> config = {"analysis_mode": "static_isotropic",
    ...           "optimization": {"nlsq": {"multi_start": {"enable": True, "n_starts": 4}}}}
    >>> fit_nlsq_multistart(data, config).best.success
    True
    """
    own = MultiStartConfig.from_nlsq_config(_nlsq_config(config))
    problem = _Problem(data, config, initial_params, per_angle_scaling)
    fits: list[Result] = []

    def one(_: Any, theta: Floats) -> SingleStartResult:
        fits.append(problem.fit(theta))
        return _single(fits[-1])

    found = run_multistart_nlsq(
        {"g2": problem.data.c2 if hasattr(problem.data, "c2") else [0.0]},
        np.stack([problem.low, problem.high], axis=1),
        own,
        one,
        problem.cost,
        [problem.start.tolist(), *(own.custom_starts or [])],
    )
    found.result = min(fits, key=lambda r: (not r.success, r.chi_squared)) if fits else None
    return found


def fit_nlsq_cmaes(
    data: Mapping[str, Any] | Data,
    config: ConfigLike,
    initial_params: Mapping[str, Any] | npt.ArrayLike | None = None,
    per_angle_scaling: bool = True,
) -> Result:
    """Search the bounds of the physical parameters by an evolution strategy, then fit.

    Contrast and offset are eliminated at every point, so that the search has 3 or 7 dimensions,
    whatever the number of angles.

    Parameters
    ----------
    data, config, initial_params, per_angle_scaling
        As in :func:`tessera.xpcs.fit_nlsq_jax`; ``optimization.nlsq.cmaes`` has the options of the
        search.

    Returns
    -------
    Result
        Of the fit from the best point, or from ``initial_params`` if that ends lower.
    """
    own = CMAESWrapperConfig.from_nlsq_config(_nlsq_config(config))
    problem = _Problem(data, config, initial_params, per_angle_scaling)
    bounds = (problem.low, problem.high)
    size, rounds = CMAESWrapper(own)._sizes(bounds)
    begin = time.perf_counter()
    found = evolve(
        problem.cost,
        problem.start,
        *bounds,
        sigma=own.sigma,
        population=size,
        generations=rounds,
        tolerance=own.tol_fun,
    )
    seconds = time.perf_counter() - begin
    fits = [problem.fit(found.x), problem.fit(problem.start)]
    best = min(fits, key=lambda r: (not r.success, r.chi_squared))
    best.recovery_actions.append(
        f"CMA-ES: {found.evaluations} points in {seconds:.1f} s, ended by {found.reason}"
    )
    return best


def _get_param_names(analysis_mode: str) -> list[str]:
    flow = "static" not in analysis_mode.lower()
    return [*_SCALING, *names_of("laminar_flow" if flow else "static_isotropic")]


def _get_physical_param_names(analysis_mode: str) -> list[str]:
    return _get_param_names(analysis_mode)[2:]


def _get_default_initial_params(analysis_mode: str) -> dict[str, float]:
    return {name: {**_SCALING, **_STARTS}[name] for name in _get_param_names(analysis_mode)}


def _params_to_array(params: Mapping[str, float], analysis_mode: str) -> Floats:
    return np.array([float(params[name]) for name in _get_param_names(analysis_mode)])


def _array_to_params(array: npt.ArrayLike, analysis_mode: str) -> dict[str, Any]:
    return dict(zip(_get_param_names(analysis_mode), np.asarray(array), strict=False))


def _bounds_to_arrays(
    bounds: Mapping[str, tuple[float, float]], analysis_mode: str
) -> tuple[Floats, Floats]:
    pairs = np.array([bounds[name] for name in _get_param_names(analysis_mode)], float)
    return pairs[:, 0], pairs[:, 1]


def _get_analysis_mode(config: Any) -> str:
    own = getattr(config, "config", None) or {}
    return str(own.get("analysis_mode", "static_isotropic"))


def _validate_data(data: Mapping[str, Any]) -> None:
    for name in _NEEDED:
        if name not in data:
            raise ValueError(f"Missing required data key: {name}")
    if np.shape(data["c2_exp"])[0] == 0:
        raise ValueError("Empty experimental data")


def _estimate_contrast_offset_from_data(data: Any) -> tuple[float, float]:
    own = data if isinstance(data, Mapping) else vars(data)
    found = own.get("g2") if own.get("g2") is not None else own.get("c2_exp")
    if found is None:
        return 0.5, 1.0
    values = np.asarray(found, float)
    offset = float(np.nanpercentile(values, 5))
    contrast = float(np.nanmax(values)) - offset
    return (contrast, offset) if contrast > 0 and offset > 0 else (0.5, 1.0)
