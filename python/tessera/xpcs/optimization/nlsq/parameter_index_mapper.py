"""Which places of a vector are scaling, and which physical."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    from tessera.xpcs.optimization.nlsq.fourier_reparam import FourierReparameterizer


@dataclass
class ParameterIndexMapper:
    """Places of contrasts, offsets and physical parameters."""

    n_phi: int
    n_physical: int
    fourier: FourierReparameterizer | None = None
    use_constant: bool = False

    def __post_init__(self) -> None:
        for name in ("n_phi", "n_physical"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.use_constant and self.use_fourier:
            raise ValueError(
                "Cannot use both Fourier reparameterization and constant scaling: set "
                "use_constant=False or fourier=None"
            )

    @property
    def use_fourier(self) -> bool:
        """Whether scaling is a Fourier series over angles."""
        return self.fourier is not None and bool(self.fourier.use_fourier)

    @property
    def mode_name(self) -> str:
        """'constant', 'fourier' or 'individual'."""
        if self.use_constant:
            return "constant"
        return "fourier" if self.use_fourier else "individual"

    @property
    def n_per_group(self) -> int:
        """Number of contrasts, which is that of offsets."""
        if self.use_constant:
            return 1
        if self.use_fourier:
            assert self.fourier is not None
            return int(self.fourier.n_coeffs_per_param)
        return self.n_phi

    @property
    def n_per_angle_total(self) -> int:
        """Number of parameters of scaling."""
        if self.use_fourier:
            assert self.fourier is not None
            return int(self.fourier.n_coeffs)
        return 2 * self.n_per_group

    @property
    def total_params(self) -> int:
        """Number of all parameters."""
        return self.n_per_angle_total + self.n_physical

    def get_group_indices(self) -> list[tuple[int, int]]:
        """Return begin and end of contrasts and of offsets."""
        n = self.n_per_group
        return [(0, n), (n, 2 * n)]

    def get_physical_indices(self) -> list[int]:
        """Return the places of physical parameters."""
        return list(range(self.n_per_angle_total, self.total_params))

    def get_per_angle_indices(self) -> list[int]:
        """Return the places of scaling."""
        return list(range(self.n_per_angle_total))

    def validate_indices(self, params: npt.ArrayLike) -> bool:
        """Return True for a vector that is long enough, else raise."""
        n_params = len(params)  # type: ignore[arg-type]
        for place, (begin, end) in enumerate(self.get_group_indices()):
            if end > n_params:
                raise ValueError(
                    f"Group {place} end index {end} exceeds parameter count {n_params}: a "
                    "Fourier/regularization mode mismatch"
                )
            if not 0 <= begin < end:
                raise ValueError(f"Group {place} has invalid range [{begin}, {end})")
        return True

    def get_diagnostics(self) -> dict[str, Any]:
        """Return all of it."""
        names = (
            "mode_name use_constant use_fourier n_phi n_physical n_per_group n_per_angle_total "
            "total_params"
        )
        return {
            **{name: getattr(self, name) for name in names.split()},
            "group_indices": self.get_group_indices(),
            "physical_indices": self.get_physical_indices(),
        }

    def get_covariance_slice_indices(self) -> tuple[slice, slice]:
        """Return the places of scaling and of physical parameters as slices."""
        n = self.n_per_angle_total
        return slice(0, n), slice(n, self.total_params)
