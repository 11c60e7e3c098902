"""Parameters in units of their priors, kept within bounds by a smooth step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.xpcs.optimization.cmc.priors import SCALING, base_name, physical_names
from tessera.xpcs.utils.logging import get_logger

if TYPE_CHECKING:
    from tessera.xpcs.config.parameter_space import ParameterSpace

__all__ = [
    "ParameterScaling",
    "compute_scaling_factors",
    "log_scaling_factors",
    "sample_scaled_parameter",
    "transform_initial_values_to_z",
    "transform_samples_from_z",
]

logger = get_logger(__name__)


def _tanh(value: Any) -> Any:
    """Return tanh, of JAX's for what JAX traces."""
    if type(value).__module__.startswith(("jax", "jaxlib")):
        import jax.numpy as jnp

        return jnp.tanh(value)
    return np.tanh(value)


@dataclass
class ParameterScaling:
    """How a parameter x comes from z: mid + half tanh((center + scale z - mid) / half).

    Parameters
    ----------
    name : str
        The parameter.
    center, scale : float
        Mean and standard deviation of its prior.
    low, high : float
        Bounds.
    """

    name: str
    center: float
    scale: float
    low: float
    high: float

    def _frame(self) -> tuple[float, float]:
        half = 0.5 * (self.high - self.low)
        return 0.5 * (self.low + self.high), half if half > 0 else 1e-12

    def to_normalized(self, value: float) -> float:
        """Return z of a value.

        Parameters
        ----------
        value : float
            Within the bounds.

        Returns
        -------
        float
            z.
        """
        mid, half = self._frame()
        share = float(np.clip((float(value) - mid) / half, -1 + 1e-6, 1 - 1e-6))
        raw = mid + half * float(np.arctanh(share))
        return (raw - self.center) / (self.scale or 1.0)

    def to_original(self, z_value: Any) -> Any:
        """Return the value of z.

        Parameters
        ----------
        z_value : float or array
            z.

        Returns
        -------
        float or array
            Within the bounds.
        """
        mid, half = self._frame()
        return mid + half * _tanh((self.center + self.scale * z_value - mid) / half)


def _scaling_of(name: str, parameter_space: ParameterSpace) -> ParameterScaling:
    low, high = parameter_space.get_bounds(base_name(name))
    center, scale = (low + high) / 2, (high - low) / 4
    try:
        prior = parameter_space.get_prior(base_name(name))
        center, scale = getattr(prior, "mu", center), getattr(prior, "sigma", scale)
    except KeyError:
        pass
    return ParameterScaling(name, center, max(scale, (high - low) / 10, 1e-6), low, high)


def compute_scaling_factors(
    parameter_space: ParameterSpace, n_phi: int, analysis_mode: str
) -> dict[str, ParameterScaling]:
    """Return the scaling of everything that is sampled.

    Parameters
    ----------
    parameter_space : ParameterSpace
        Bounds and priors.
    n_phi : int
        Angles.
    analysis_mode : str
        The mode.

    Returns
    -------
    dict
        By name; parameters without bounds are left out.
    """
    found = {
        f"{word}_{i}": _scaling_of(f"{word}_{i}", parameter_space)
        for i in range(n_phi)
        for word in SCALING
    }
    for name in physical_names(analysis_mode):
        try:
            found[name] = _scaling_of(name, parameter_space)
        except KeyError:
            logger.warning("%s has no bounds and is left out", name)
    return found


def sample_scaled_parameter(
    name: str,
    scaling: ParameterScaling,
    initial_z: float | None = None,
    prior_scale: float = 1.0,
) -> Any:
    """Declare a parameter in a NumPyro model; needs numpyro.

    Parameters
    ----------
    name : str
        The parameter; ``<name>_z`` is sampled.
    scaling : ParameterScaling
        How it comes from that.
    initial_z : float, optional
        Accepted for scripts of the original.
    prior_scale : float, default 1
        Width of the prior of z.

    Returns
    -------
    array
        The value.
    """
    import numpyro
    import numpyro.distributions as dist

    del initial_z
    value = scaling.to_original(numpyro.sample(f"{name}_z", dist.Normal(0.0, prior_scale)))
    numpyro.deterministic(name, value)
    return value


def log_scaling_factors(scalings: Mapping[str, ParameterScaling]) -> None:
    """Write the scalings to the log.

    Parameters
    ----------
    scalings : dict
        Of :func:`compute_scaling_factors`.
    """
    for name, s in scalings.items():
        logger.info("%s: %g + %g z within [%g, %g]", name, s.center, s.scale, s.low, s.high)


def transform_initial_values_to_z(
    initial_values: Mapping[str, float] | None, scalings: Mapping[str, ParameterScaling]
) -> dict[str, float]:
    """Return starts as z.

    Parameters
    ----------
    initial_values : dict, optional
        Starts.
    scalings : dict
        Of :func:`compute_scaling_factors`.

    Returns
    -------
    dict
        ``<name>_z`` of those that are given.
    """
    given = initial_values or {}
    return {
        f"{name}_z": scaling.to_normalized(given[name])
        for name, scaling in scalings.items()
        if name in given
    }


def transform_samples_from_z(
    samples: Mapping[str, Any], scalings: Mapping[str, ParameterScaling]
) -> dict[str, Any]:
    """Return draws of z as parameters.

    Parameters
    ----------
    samples : dict of array
        ``<name>_z``.
    scalings : dict
        Of :func:`compute_scaling_factors`.

    Returns
    -------
    dict of array
        By name.
    """
    return {
        name: scaling.to_original(samples[f"{name}_z"])
        for name, scaling in scalings.items()
        if f"{name}_z" in samples
    }
