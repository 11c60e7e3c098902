"""Numbers of an experiment that every evaluation of the model needs, computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["PhysicsFactors", "create_physics_factors_from_config_dict"]


def diffusion_factor(q: float, dt: float) -> float:
    """Return what the diffusion integral in steps is multiplied by: q^2 dt / 2."""
    return 0.5 * q**2 * dt


def shear_factor(q: float, L: float, dt: float) -> float:  # noqa: N803
    """Return what the shear integral in steps is multiplied by: q L dt / (2 pi)."""
    return 0.5 / math.pi * q * L * dt


@dataclass(frozen=True, repr=False)
class PhysicsFactors:
    """Wave vector, gap and time step with the two factors that follow from them.

    Parameters
    ----------
    wavevector_q : float
        1 / Å.
    stator_rotor_gap : float
        Å.
    dt : float
        Seconds.
    wavevector_q_squared_half_dt, sinc_prefactor : float
        q^2 dt / 2 and q L dt / (2 pi); :meth:`from_config` computes them.

    Examples
    --------
    >>> from tessera.xpcs.core.physics_factors import PhysicsFactors
    >>> PhysicsFactors.from_config(q=0.01, L=2e6, dt=0.1).wavevector_q_squared_half_dt
    5e-06
    """

    wavevector_q: float
    stator_rotor_gap: float
    dt: float
    wavevector_q_squared_half_dt: float
    sinc_prefactor: float

    def __post_init__(self) -> None:
        for name in ("wavevector_q", "stator_rotor_gap", "dt"):
            value = getattr(self, name)
            if value <= 0:
                raise ValueError(f"{name} must be positive, got {value}")
        for name, value in self.to_dict().items():
            if not math.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value}: see q, L and dt")

    @classmethod
    def from_config(
        cls,
        q: float,
        L: float,  # noqa: N803
        dt: float,
        validate: bool = True,
    ) -> PhysicsFactors:
        """Compute the factors.

        Parameters
        ----------
        q, L, dt : float
            Wave vector, gap and time step.
        validate : bool, default True
            Accepted for scripts of the original, which checks either way too.

        Returns
        -------
        PhysicsFactors
            The factors.
        """
        return cls(q, L, dt, diffusion_factor(q, dt), shear_factor(q, L, dt))

    def to_tuple(self) -> tuple[float, float]:
        """Return the two factors.

        Returns
        -------
        (float, float)
            Of diffusion and of shear.
        """
        return (self.wavevector_q_squared_half_dt, self.sinc_prefactor)

    def to_dict(self) -> dict[str, float]:
        """Return all five numbers by name.

        Returns
        -------
        dict
            The numbers.
        """
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"PhysicsFactors(q={self.wavevector_q:.6e} 1/Å, L={self.stator_rotor_gap:.6e} Å, "
            f"dt={self.dt:.6e} s)"
        )

    def __repr__(self) -> str:
        inner = ",\n".join(f"  {name}={value:.6e}" for name, value in self.to_dict().items())
        return f"PhysicsFactors(\n{inner}\n)"


def create_physics_factors_from_config_dict(config: Mapping[str, Any]) -> PhysicsFactors:
    """Compute the factors of a configuration.

    Parameters
    ----------
    config : dict
        With ``analyzer_parameters``: ``temporal.dt``, ``scattering.wavevector_q`` and
        ``geometry.stator_rotor_gap``.

    Returns
    -------
    PhysicsFactors
        The factors.
    """
    try:
        own = config["analyzer_parameters"]
        return PhysicsFactors.from_config(
            q=own["scattering"]["wavevector_q"],
            L=own["geometry"]["stator_rotor_gap"],
            dt=own["temporal"]["dt"],
        )
    except KeyError as error:
        raise KeyError(
            f"Missing required configuration key: {error}; wanted are analyzer_parameters with "
            "temporal.dt, scattering.wavevector_q and geometry.stator_rotor_gap"
        ) from error
