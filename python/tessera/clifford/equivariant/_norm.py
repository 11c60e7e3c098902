"""The norm over channels of GATr and L-GATr."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tessera import _core
from tessera.clifford import _functional
from tessera.clifford._constants import Constants
from tessera.clifford._spec import make_spec
from tessera.clifford.equivariant._linear import pack, unpack
from tessera.clifford.equivariant._maps import Geometry

__all__ = ["EquivariantNorm", "normalize", "normalized_rows"]


def normalize(multivectors: Tensor, geometry: Geometry, eps: float | None = None) -> Tensor:
    """Divide multivectors, (..., channel, 16), by the root mean square over their channels."""
    spec = make_spec(
        geometry.signs,
        norm_metric=geometry.norm_metric,
        eps=geometry.eps if eps is None else eps,
    )
    found: Tensor = _functional.run("norm", spec, multivectors, axis=-1)
    return found


def normalized_rows(rows: Tensor, n_channel: int, n_scalar: int, geometry: Geometry) -> Tensor:
    """Normalise packed rows: their multivectors, and their scalars for themselves."""
    multivectors, scalars = unpack(rows, n_channel, n_scalar)
    z = normalize(multivectors, geometry)
    if scalars is None:
        return z.flatten(-2)
    return pack(z, functional.layer_norm(scalars, scalars.shape[-1:]))


class EquivariantNorm(Constants):
    """Divide multivectors by their root mean square over channels, and normalise scalars.

    Parameters
    ----------
    geometry : Geometry
        The algebra and what counts as a square.
    mv_channels, s_channels : int
        Sizes of the gains; not needed without.
    epsilon : float, optional
        Least mean square.
    elementwise_affine : bool
        Multiply by gains: one per channel and grade, and one per scalar.
    """

    SETTINGS = ("epsilon",)

    def __init__(
        self,
        geometry: Geometry,
        mv_channels: int = 0,
        s_channels: int = 0,
        epsilon: float | None = None,
        elementwise_affine: bool = False,
    ) -> None:
        super().__init__()
        if epsilon is not None and not epsilon > 0:
            raise _core.ArgumentError(f"epsilon: expected a positive number, got {epsilon!r}")
        self.geometry = geometry
        self.epsilon = geometry.eps if epsilon is None else float(epsilon)
        if elementwise_affine:
            self.keep("grade_index", geometry.algebra.grade_of)
            self.weight_mv = nn.Parameter(torch.ones(mv_channels, geometry.algebra.n_grade))
            # Without items it has no use, and gradients that DDP waits for and FSDP cannot join.
            self.weight_s = nn.Parameter(torch.ones(s_channels), requires_grad=s_channels > 0)
        else:
            self.register_parameter("weight_mv", None)
            self.register_parameter("weight_s", None)

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Normalise.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., channel, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., channel), optional
            Scalars.

        Returns
        -------
        multivectors : torch.Tensor
            Like the input.
        scalars : torch.Tensor or None
            Like the input.
        """
        z = normalize(multivectors, self.geometry, self.epsilon)
        if self.weight_mv is not None:
            grades = self.constant("grade_index", z)
            z = z * self.weight_mv[:, grades].to(z.dtype)
        if scalars is None:
            return z, None
        gain = None if self.weight_s is None else self.weight_s.to(scalars.dtype)
        return z, functional.layer_norm(scalars, scalars.shape[-1:], gain)
