"""The original's call for sampling."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera.xpcs.optimization.cmc._plan import (
    _cap_laminar_max_points,
    _compute_suggested_timeout,
    _infer_time_step,
    _resolve_max_points_per_shard,
)
from tessera.xpcs.optimization.cmc.config import CMCConfig
from tessera.xpcs.optimization.cmc.data_prep import (
    PreparedData,
    prepare_mcmc_data,
)
from tessera.xpcs.optimization.cmc.diagnostics import (
    compute_precision_analysis,
    log_precision_analysis,
)
from tessera.xpcs.optimization.cmc.io import save_all_results
from tessera.xpcs.optimization.cmc.model import get_xpcs_model
from tessera.xpcs.optimization.cmc.priors import (
    estimate_per_angle_scaling,
    extract_nlsq_values_for_cmc,
    physical_names,
)
from tessera.xpcs.optimization.cmc.results import CMCResult
from tessera.xpcs.optimization.cmc.sampler import run_nuts_sampling
from tessera.xpcs.utils.logging import get_logger, log_exception

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace

__all__ = ["fit_mcmc_jax", "run_cmc_analysis"]

logger = get_logger(__name__)

# The original's tests have these from here.
_PRIVATE = (_cap_laminar_max_points, _compute_suggested_timeout, _resolve_max_points_per_shard)


def _mode_of(analysis_mode: str) -> str:
    word = analysis_mode.lower()
    if "static" in word:
        return "static"
    if "laminar" in word:
        return "laminar_flow"
    raise ValueError(f"analysis_mode: {analysis_mode!r} is neither static nor laminar_flow")


def _space_of(parameter_space: Any, analysis_mode: str) -> Any:
    if parameter_space is not None:
        return parameter_space
    from tessera.xpcs.config.parameter_space import ParameterSpace

    mode = "laminar_flow" if analysis_mode == "laminar_flow" else "static"
    return ParameterSpace.from_defaults(mode)


def _start_of_fit(
    nlsq_result: Any, initial_values: Mapping[str, float] | None, space: Any, mode: str
) -> tuple[dict[str, float], dict[str, float], dict[str, float] | None]:
    """Return starts with those of a fit over them, and the fit's values and errors."""
    starts = dict(initial_values or {})
    if nlsq_result is None:
        return starts, {}, None
    values, errors = extract_nlsq_values_for_cmc(nlsq_result)
    for name in physical_names(mode):
        if name in values:
            low, high = space.get_bounds(name)
            starts[name] = min(max(values[name], low), high)
    return starts, values, errors


def _time_step(dt: float | None, prepared: PreparedData) -> float:
    """Return the time between frames: as given, unless the data say otherwise."""
    seen = _infer_time_step(prepared.t1, prepared.t2)
    if dt is None or not np.isfinite(dt) or dt <= 0:
        return seen
    if abs(dt - seen) > 0.01 * seen:
        logger.warning("dt: %g given, but the times are %g apart, which is taken", dt, seen)
        return seen
    return float(dt)


def _held(prepared: PreparedData, space: Any) -> dict[str, npt.NDArray[Any]]:
    """Return estimates of contrast and offset, at which they are held."""
    found = estimate_per_angle_scaling(
        prepared.data,
        prepared.t1,
        prepared.t2,
        prepared.phi_indices,
        prepared.n_phi,
        space.get_bounds("contrast"),
        space.get_bounds("offset"),
    )
    return {
        f"fixed_{word}": np.array([found[f"{word}_{i}"] for i in range(prepared.n_phi)])
        for word in ("contrast", "offset")
    }


def _check_warm_start(config: CMCConfig, mode: str, is_cold: bool) -> None:
    if mode != "laminar_flow" or not is_cold:
        return
    if config.require_nlsq_warmstart:
        raise ValueError(
            "CMC WARM-START REQUIRED: laminar_flow mode requires NLSQ warm-start when "
            "require_nlsq_warmstart=True. Run NLSQ first and pass nlsq_result to fit_mcmc_jax(), "
            "or set require_nlsq_warmstart=False in CMC config."
        )
    logger.info("no fit was given: sampling begins from one that is made now")


def fit_mcmc_jax(
    data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    phi: npt.ArrayLike,
    q: float,
    L: float,  # noqa: N803
    analysis_mode: str,
    method: str = "mcmc",
    cmc_config: Mapping[str, Any] | None = None,
    initial_values: Mapping[str, float] | None = None,
    parameter_space: ParameterSpace | None = None,
    dt: float | None = None,
    output_dir: Path | str | None = None,
    progress_bar: bool = True,
    run_id: str | None = None,
    nlsq_result: Any = None,
    **kwargs: Any,
) -> CMCResult:
    """Sample as the original's function of this name does; nothing of JAX is needed.

    All data are sampled at once, unless the configuration says how many shards there shall be or
    how large, which are sampled by themselves and combined. Contrast and offset of every angle
    (``per_angle_mode`` individual) or of all (auto) are integrated out, or held at their estimates
    (constant, constant_averaged); each pair of frames counts once, where the original counts it
    twice and gets errors that are smaller by the root of two.

    Parameters
    ----------
    data, t1, t2, phi : array-like, shape (n,)
        Correlation, times and angle of every point.
    q, L : float
        Wave vector and gap.
    analysis_mode : str
        The mode.
    method : str, default 'mcmc'
        Accepted for scripts of the original.
    cmc_config : dict, optional
        Section ``optimization.cmc``.
    initial_values : dict, optional
        Where the fit before begins.
    parameter_space : ParameterSpace, optional
        Bounds and priors; by default those of the mode.
    dt : float, optional
        Time between frames; by default from the times.
    output_dir : path, optional
        Gets the files of :func:`tessera.xpcs.optimization.cmc.io.save_all_results`.
    progress_bar : bool, default True
        Whether to show how far it is.
    run_id : str, optional
        A name for the log.
    nlsq_result : dict or OptimizationResult, optional
        A fit, about which priors are put if ``use_nlsq_informed_priors`` says so.
    **kwargs
        Accepted for scripts of the original.

    Returns
    -------
    CMCResult
        Draws and how well the chains mixed.
    """
    del method, kwargs
    try:
        begin = time.perf_counter()
        mode = _mode_of(analysis_mode)
        config = CMCConfig.from_dict(dict(cmc_config or {}))
        config.run_id = config.run_id or run_id or datetime.now().strftime("%Y%m%d_%H%M%S")
        result = _sampled(
            prepare_mcmc_data(data, t1, t2, phi),
            (float(q), float(L), dt),
            mode,
            config,
            initial_values,
            _space_of(parameter_space, mode),
            nlsq_result,
            progress_bar,
        )
        result.execution_time = time.perf_counter() - begin
        if output_dir is not None:
            save_all_results(result, output_dir)
        return result
    except Exception as error:
        log_exception(logger, error, context={"phase": "CMC fitting"})
        raise


def _sampled(
    prepared: PreparedData,
    experiment: tuple[float, float, float | None],
    mode: str,
    config: CMCConfig,
    initial_values: Mapping[str, float] | None,
    space: Any,
    nlsq_result: Any,
    progress_bar: bool,
) -> CMCResult:
    of_fit = nlsq_result.get("metadata", {}) if isinstance(nlsq_result, Mapping) else {}
    scaling = config.get_effective_per_angle_mode(
        prepared.n_phi,
        nlsq_per_angle_mode=of_fit.get("per_angle_mode"),
        has_nlsq_warmstart=nlsq_result is not None,
    )
    _check_warm_start(config, mode, nlsq_result is None and not initial_values)
    starts, values, errors = _start_of_fit(nlsq_result, initial_values, space, mode)
    q, gap, dt = experiment
    model_kwargs: dict[str, Any] = {
        **vars(prepared),
        "q": q,
        "L": gap,
        "dt": _time_step(dt, prepared),
        "analysis_mode": mode,
        "parameter_space": space,
        "per_angle_mode": scaling,
    }
    if values and config.use_nlsq_informed_priors:
        factor = config.nlsq_prior_width_factor
        about = {"values": values, "uncertainties": errors, "width_factor": factor}
        model_kwargs["nlsq_prior_config"] = about
    if scaling.startswith("constant"):
        model_kwargs |= _held(prepared, space)
    samples, stats = run_nuts_sampling(
        model=get_xpcs_model(scaling),
        model_kwargs=model_kwargs,
        config=config,
        initial_values=starts,
        parameter_space=space,
        n_phi=prepared.n_phi,
        analysis_mode=mode,
        progress_bar=progress_bar,
        per_angle_mode=scaling,
    )
    n_warmup = stats.plan.n_warmup if stats.plan is not None else config.num_warmup
    result = CMCResult.from_mcmc_samples(samples, stats, mode, n_warmup, config.min_ess)
    result.per_angle_mode = scaling
    if values:
        table = compute_precision_analysis(result.get_posterior_stats(), values, errors)
        log_precision_analysis(table)
    return result


def run_cmc_analysis(
    data: npt.ArrayLike,
    t1: npt.ArrayLike,
    t2: npt.ArrayLike,
    phi: npt.ArrayLike,
    q: float,
    L: float,  # noqa: N803
    analysis_mode: str,
    config: CMCConfig,
    parameter_space: ParameterSpace,
    initial_values: Mapping[str, float] | None = None,
    dt: float | None = None,
) -> CMCResult:
    """Call :func:`fit_mcmc_jax` with options as an object.

    Parameters
    ----------
    data, t1, t2, phi, q, L, analysis_mode
        As there.
    config : CMCConfig
        Options.
    parameter_space, initial_values, dt
        As there.

    Returns
    -------
    CMCResult
        As there.
    """
    return fit_mcmc_jax(
        data,
        t1,
        t2,
        phi,
        q,
        L,
        analysis_mode,
        cmc_config=config.to_dict(),
        initial_values=initial_values,
        parameter_space=parameter_space,
        dt=dt,
    )
