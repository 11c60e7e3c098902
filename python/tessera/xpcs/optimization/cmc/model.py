"""The original's models for NumPyro, which they need; the native sampler does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tessera.xpcs._namespace import namespace
from tessera.xpcs.core.physics_cmc import compute_g1_total, compute_g1_total_with_precomputed
from tessera.xpcs.optimization.cmc._distributions import truncated_normal
from tessera.xpcs.optimization.cmc.priors import (
    SCALING,
    build_nlsq_informed_prior,
    physical_names,
)
from tessera.xpcs.optimization.cmc.reparameterization import ReparamConfig
from tessera.xpcs.optimization.cmc.scaling import (
    ParameterScaling,
    compute_scaling_factors,
    sample_scaled_parameter,
)

if TYPE_CHECKING:
    from tessera.xpcs._namespace import Array
    from tessera.xpcs.config.parameter_space import ParameterSpace
    from tessera.xpcs.core.physics_cmc import ShardGrid

__all__ = [
    "get_model_param_count",
    "get_xpcs_model",
    "validate_model_output",
    "xpcs_model_averaged",
    "xpcs_model_constant",
    "xpcs_model_constant_averaged",
    "xpcs_model_reparameterized",
    "xpcs_model_scaled",
]


def validate_model_output(c2_theory: Array, params: Array) -> Any:
    """Return whether correlations are numbers between -1 and 10.

    Parameters
    ----------
    c2_theory : array
        Correlations.
    params : array
        Accepted for scripts of the original.

    Returns
    -------
    bool
        Whether; an array where JAX traces it.
    """
    del params
    xp = namespace(c2_theory)
    values = xp.asarray(c2_theory)
    fine = xp.all(xp.isfinite(values) & (values >= -1.0) & (values <= 10.0))
    try:
        return bool(fine)
    except TypeError:
        return fine


def get_model_param_count(
    n_phi: int, analysis_mode: str, per_angle_mode: str = "individual"
) -> int:
    """Return how many numbers are sampled, the noise among them.

    Parameters
    ----------
    n_phi : int
        Angles.
    analysis_mode : str
        The mode.
    per_angle_mode : str, default 'individual'
        Which contrasts and offsets there are.

    Returns
    -------
    int
        How many.
    """
    n_scaling = {"constant": 0, "auto": 2}.get(per_angle_mode, 2 * n_phi)
    return n_scaling + len(physical_names(analysis_mode)) + 1


class _Sites:
    """Declares parameters to NumPyro: about a fit where that is said, else by their priors."""

    def __init__(
        self,
        parameter_space: ParameterSpace,
        n_phi: int,
        analysis_mode: str,
        num_shards: int,
        more: Mapping[str, Any],
        nlsq_prior_config: Mapping[str, Any] | None = None,
    ) -> None:
        self.space = parameter_space
        self.width = math.sqrt(num_shards)
        self.scalings: Mapping[str, ParameterScaling] = more.get(
            "scalings"
        ) or compute_scaling_factors(parameter_space, n_phi, analysis_mode)
        self.about = nlsq_prior_config or {}

    def scaled(self, name: str, like: str | None = None) -> Array:
        key = like or name
        if key not in self.scalings:
            raise ValueError(f"scalings dict missing {key!r} key; there are {list(self.scalings)}")
        return sample_scaled_parameter(name, self.scalings[key], prior_scale=self.width)

    def physical(self, name: str) -> Array:
        values = self.about.get("values", {})
        if name not in values:
            return self.scaled(name)
        import numpyro

        errors = self.about.get("uncertainties") or {}
        prior = build_nlsq_informed_prior(
            name,
            values[name],
            errors.get(name),
            self.space.get_bounds(name),
            self.about.get("width_factor", 2.0),
        )
        return numpyro.sample(name, prior)


def _observe(
    points: Mapping[str, Any],
    theta: list[Array],
    pair: Sequence[Array],
    noise_width: float,
    more: Mapping[str, Any],
) -> None:
    """Declare noise and data."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    params = jnp.array(theta)
    q, gap, dt = (points[name] for name in ("q", "L", "dt"))
    grid = points["shard_grid"]
    if grid is not None:
        diffusion = more.get("wavevector_q_squared_half_dt")
        shear = more.get("sinc_prefactor")
        g1 = compute_g1_total_with_precomputed(
            params,
            points["phi_unique"],
            grid,
            jnp.asarray(0.5 * q**2 * dt) if diffusion is None else diffusion,
            jnp.asarray(0.5 / math.pi * q * gap * dt) if shear is None else shear,
        )
    else:
        g1 = compute_g1_total(
            params,
            points["t1"],
            points["t2"],
            points["phi_unique"],
            q,
            gap,
            dt,
            time_grid=points["time_grid"],
        )
    places = points["phi_indices"]
    order = more.get("point_idx")
    own = jnp.asarray(g1)[places, jnp.arange(places.shape[0]) if order is None else order]
    own = jnp.where(jnp.isfinite(own), own, 1e-10)
    contrast, offset = pair
    c2 = contrast[places] * own**2 + offset[places]
    numpyro.deterministic("n_numerical_issues", jnp.sum(~jnp.isfinite(c2)))
    noise = numpyro.sample("sigma", dist.HalfNormal(scale=noise_width))
    numpyro.sample("obs", dist.Normal(c2, noise), obs=points["data"])


def _points(
    data: Array,
    t1: Array,
    t2: Array,
    phi_unique: Array,
    phi_indices: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    time_grid: Array,
    shard_grid: ShardGrid | None,
) -> dict[str, Any]:
    return {
        "data": data,
        "t1": t1,
        "t2": t2,
        "phi_unique": phi_unique,
        "phi_indices": phi_indices,
        "q": q,
        "L": L,
        "dt": dt,
        "time_grid": time_grid,
        "shard_grid": shard_grid,
    }


def _fixed(
    phi_unique: Array, contrast: Array, offset: Array, more: Mapping[str, Any], name: str
) -> tuple[Array, Array]:
    """Return contrasts and offsets of a shard's angles, which are given for all angles."""
    import jax.numpy as jnp

    if contrast is None or offset is None:
        raise ValueError(
            f"{name} requires fixed_contrast and fixed_offset arrays: estimates of every angle"
        )
    angles = more.get("global_phi_unique")
    if angles is None or phi_unique is None:
        return contrast, offset
    apart = jnp.abs(jnp.asarray(phi_unique)[:, None] - jnp.asarray(angles)[None, :])
    places = jnp.argmin(apart, axis=1)
    return jnp.asarray(contrast)[places], jnp.asarray(offset)[places]


def xpcs_model_scaled(
    data: Array,
    t1: Array,
    t2: Array,
    phi_unique: Array,
    phi_indices: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    analysis_mode: str,
    parameter_space: ParameterSpace,
    n_phi: int,
    time_grid: Array | None = None,
    noise_scale: float = 0.1,
    num_shards: int = 1,
    shard_grid: ShardGrid | None = None,
    **kwargs: Any,
) -> None:
    """Declare the model with contrast and offset of every angle; needs numpyro.

    Parameters
    ----------
    data, t1, t2, phi_unique, phi_indices : array
        Points.
    q, L, dt : float
        Wave vector, gap and time between frames.
    analysis_mode, parameter_space, n_phi
        Mode, bounds and priors, angles.
    time_grid, shard_grid : optional
        The grid of times, and what pairs need of it.
    noise_scale : float, default 0.1
        Of which 1.5 times is the scale of the noise's prior.
    num_shards : int, default 1
        By whose root priors are wider.
    **kwargs
        ``scalings``, ``point_idx`` and prefactors, computed once.
    """
    import jax.numpy as jnp

    sites = _Sites(parameter_space, n_phi, analysis_mode, num_shards, kwargs)
    pair = [jnp.array([sites.scaled(f"{w}_{i}") for i in range(n_phi)]) for w in SCALING]
    theta = [sites.scaled(name) for name in physical_names(analysis_mode)]
    points = _points(data, t1, t2, phi_unique, phi_indices, q, L, dt, time_grid, shard_grid)
    _observe(points, theta, pair, 1.5 * noise_scale * sites.width, kwargs)


def xpcs_model_constant(
    data: Array,
    t1: Array,
    t2: Array,
    phi_unique: Array,
    phi_indices: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    analysis_mode: str,
    parameter_space: ParameterSpace,
    n_phi: int,
    time_grid: Array | None = None,
    noise_scale: float = 0.1,
    fixed_contrast: Array | None = None,
    fixed_offset: Array | None = None,
    num_shards: int = 1,
    shard_grid: ShardGrid | None = None,
    **kwargs: Any,
) -> None:
    """Declare the model with contrast and offset of every angle held; needs numpyro.

    Parameters
    ----------
    data, t1, t2, phi_unique, phi_indices, q, L, dt, analysis_mode, parameter_space, n_phi
        As of :func:`xpcs_model_scaled`.
    time_grid, noise_scale, num_shards, shard_grid, **kwargs
        As of :func:`xpcs_model_scaled`.
    fixed_contrast, fixed_offset : array
        Of every angle.
    """
    pair = _fixed(phi_unique, fixed_contrast, fixed_offset, kwargs, "xpcs_model_constant")
    sites = _Sites(parameter_space, n_phi, analysis_mode, num_shards, kwargs)
    theta = [sites.scaled(name) for name in physical_names(analysis_mode)]
    points = _points(data, t1, t2, phi_unique, phi_indices, q, L, dt, time_grid, shard_grid)
    _observe(points, theta, pair, 1.5 * noise_scale * sites.width, kwargs)


def xpcs_model_averaged(
    data: Array,
    t1: Array,
    t2: Array,
    phi_unique: Array,
    phi_indices: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    analysis_mode: str,
    parameter_space: ParameterSpace,
    n_phi: int,
    time_grid: Array | None = None,
    noise_scale: float = 0.1,
    fixed_contrast: Array | None = None,
    fixed_offset: Array | None = None,
    nlsq_prior_config: Mapping[str, Any] | None = None,
    num_shards: int = 1,
    shard_grid: ShardGrid | None = None,
    **kwargs: Any,
) -> None:
    """Declare the model with one contrast and offset for all angles; needs numpyro.

    Parameters
    ----------
    data, t1, t2, phi_unique, phi_indices, q, L, dt, analysis_mode, parameter_space, n_phi
        As of :func:`xpcs_model_scaled`.
    time_grid, noise_scale, num_shards, shard_grid, **kwargs
        As of :func:`xpcs_model_scaled`.
    fixed_contrast, fixed_offset
        Accepted for scripts of the original.
    nlsq_prior_config : dict, optional
        ``values``, ``uncertainties`` and ``width_factor`` of a fit.
    """
    del fixed_contrast, fixed_offset
    import jax.numpy as jnp

    sites = _Sites(parameter_space, n_phi, analysis_mode, num_shards, kwargs, nlsq_prior_config)
    pair = [jnp.full(n_phi, sites.scaled(word, f"{word}_0")) for word in SCALING]
    theta = [sites.physical(name) for name in physical_names(analysis_mode)]
    points = _points(data, t1, t2, phi_unique, phi_indices, q, L, dt, time_grid, shard_grid)
    _observe(points, theta, pair, 1.5 * noise_scale * sites.width, kwargs)


def xpcs_model_constant_averaged(
    data: Array,
    t1: Array,
    t2: Array,
    phi_unique: Array,
    phi_indices: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    analysis_mode: str,
    parameter_space: ParameterSpace,
    n_phi: int,
    time_grid: Array | None = None,
    noise_scale: float = 0.1,
    fixed_contrast: Array | None = None,
    fixed_offset: Array | None = None,
    nlsq_prior_config: Mapping[str, Any] | None = None,
    num_shards: int = 1,
    shard_grid: ShardGrid | None = None,
    **kwargs: Any,
) -> None:
    """Declare the model with contrast and offset held at their means; needs numpyro.

    Parameters
    ----------
    data, t1, t2, phi_unique, phi_indices, q, L, dt, analysis_mode, parameter_space, n_phi
        As of :func:`xpcs_model_scaled`.
    time_grid, noise_scale, num_shards, shard_grid, **kwargs
        As of :func:`xpcs_model_scaled`.
    fixed_contrast, fixed_offset : array
        Of every angle.
    nlsq_prior_config : dict, optional
        As of :func:`xpcs_model_averaged`.
    """
    own = _fixed(phi_unique, fixed_contrast, fixed_offset, kwargs, "xpcs_model_constant_averaged")
    import jax.numpy as jnp
    import numpyro

    means = [jnp.mean(jnp.asarray(values)) for values in own]
    for word, mean in zip(SCALING, means, strict=True):
        numpyro.deterministic(f"fixed_{word}_mean", mean)
    pair = [jnp.full(n_phi, mean) for mean in means]
    sites = _Sites(parameter_space, n_phi, analysis_mode, num_shards, kwargs, nlsq_prior_config)
    theta = [sites.physical(name) for name in physical_names(analysis_mode)]
    points = _points(data, t1, t2, phi_unique, phi_indices, q, L, dt, time_grid, shard_grid)
    _observe(points, theta, pair, 1.5 * noise_scale * sites.width, kwargs)


def _rate(sites: _Sites, name: str, loc: float, most: float) -> Array:
    """Declare the logarithm of a rate at the reference time."""
    import numpyro
    import numpyro.distributions as dist

    mean = sites.about.get("reparam_values", {}).get(name, loc)
    width = sites.about.get("reparam_uncertainties", {}).get(name, 1.0)
    return numpyro.sample(name, dist.Normal(loc=mean, scale=min(width * sites.width, most)))


def _diffusion(sites: _Sites, config: ReparamConfig, t_ref: float) -> list[Array]:
    import jax.numpy as jnp
    import numpyro

    alpha = sites.physical("alpha")
    if not config.enable_d_ref:
        return [sites.physical("D0"), alpha, sites.physical("D_offset")]
    rate = jnp.exp(_rate(sites, "log_D_ref", 10.0, 10.0))
    middle = sites.about.get("reparam_values", {}).get("D_offset_ratio", 0.0)
    width = sites.about.get("reparam_uncertainties", {}).get("D_offset_ratio", 0.5)
    prior = truncated_normal(middle, min(width * sites.width, 2.0), -1 + 1e-4, None)  # type: ignore[arg-type]
    ratio = numpyro.sample("D_offset_ratio", prior)
    return [
        numpyro.deterministic("D0", rate * t_ref ** (-alpha)),
        alpha,
        numpyro.deterministic("D_offset", rate * ratio),
    ]


def _shear(sites: _Sites, config: ReparamConfig, t_ref: float) -> list[Array]:
    import jax.numpy as jnp
    import numpyro

    beta = sites.physical("beta")
    if config.enable_gamma_ref:
        rate = jnp.exp(_rate(sites, "log_gamma_ref", -5.0, 10.0))
        gamma = numpyro.deterministic("gamma_dot_t0", rate * t_ref ** (-beta))
    else:
        gamma = sites.physical("gamma_dot_t0")
    return [gamma, beta, sites.physical("gamma_dot_t_offset"), sites.physical("phi0")]


def xpcs_model_reparameterized(
    data: Array,
    t1: Array,
    t2: Array,
    phi_unique: Array,
    phi_indices: Array,
    q: float,
    L: float,  # noqa: N803
    dt: float,
    analysis_mode: str,
    parameter_space: ParameterSpace,
    n_phi: int,
    time_grid: Array | None = None,
    noise_scale: float = 0.1,
    fixed_contrast: Array | None = None,
    fixed_offset: Array | None = None,
    reparam_config: ReparamConfig | None = None,
    nlsq_prior_config: Mapping[str, Any] | None = None,
    num_shards: int = 1,
    t_ref: float = 1.0,
    shard_grid: ShardGrid | None = None,
    **kwargs: Any,
) -> None:
    """Declare the model by rates at a time in the middle of the data; needs numpyro.

    Parameters
    ----------
    data, t1, t2, phi_unique, phi_indices, q, L, dt, analysis_mode, parameter_space, n_phi
        As of :func:`xpcs_model_scaled`.
    time_grid, noise_scale, num_shards, shard_grid, **kwargs
        As of :func:`xpcs_model_scaled`.
    fixed_contrast, fixed_offset
        Accepted for scripts of the original.
    reparam_config : ReparamConfig, optional
        Which rates.
    nlsq_prior_config : dict, optional
        As of :func:`xpcs_model_averaged`, with ``reparam_values`` and ``reparam_uncertainties``.
    t_ref : float, default 1
        The time, where ``reparam_config`` says none.
    """
    del fixed_contrast, fixed_offset
    import jax.numpy as jnp

    config = reparam_config or ReparamConfig()
    time = config.t_ref if config.t_ref != 1.0 else t_ref
    sites = _Sites(parameter_space, n_phi, analysis_mode, num_shards, kwargs, nlsq_prior_config)
    pair = [jnp.full(n_phi, sites.scaled(word, f"{word}_0")) for word in SCALING]
    theta = _diffusion(sites, config, time)
    if analysis_mode == "laminar_flow":
        theta += _shear(sites, config, time)
    points = _points(data, t1, t2, phi_unique, phi_indices, q, L, dt, time_grid, shard_grid)
    _observe(points, theta, pair, 1.5 * noise_scale * sites.width, kwargs)


def get_xpcs_model(
    per_angle_mode: str = "individual", use_reparameterization: bool = False
) -> Callable[..., None]:
    """Return the model of a way of scaling.

    Parameters
    ----------
    per_angle_mode : str, default 'individual'
        'individual', 'auto', 'constant' or 'constant_averaged'.
    use_reparameterization : bool, default False
        With 'auto': rates at a time in the middle of the data.

    Returns
    -------
    callable
        For NumPyro.
    """
    models: dict[str, Callable[..., None]] = {
        "auto": xpcs_model_reparameterized if use_reparameterization else xpcs_model_averaged,
        "constant": xpcs_model_constant,
        "constant_averaged": xpcs_model_constant_averaged,
        "individual": xpcs_model_scaled,
    }
    if per_angle_mode not in models:
        raise ValueError(
            f"Unsupported CMC per_angle_mode: {per_angle_mode!r}; choose one of {', '.join(models)}"
        )
    return models[per_angle_mode]
