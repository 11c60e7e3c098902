"""Geometric bilinear layers: products of linear maps, and for GATr joins of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tessera import _core
from tessera.clifford.equivariant._linear import EquivariantLinear, Initialization
from tessera.clifford.equivariant._maps import N_COMPONENT, Geometry
from tessera.clifford.equivariant._norm import EquivariantNorm

__all__ = ["JoinBilinear", "ProductBilinear", "equivariant_join"]

_E123 = 14


class ProductBilinear(nn.Module):
    """Norm of a linear map of the product of two linear maps: L-GATr's bilinear layer.

    Parameters
    ----------
    in_mv_channels, out_mv_channels : int
        Multivector channels.
    geometry : Geometry
        The algebra.
    hidden_mv_channels : int, optional
        Channels of the product; default: out_mv_channels.
    in_s_channels, out_s_channels : int
        Scalar channels, which enter all linear maps.
    keeps_bivectors : bool
        Keep the bivectors of the product.
    is_part : bool
        Whether another module arranges the weights for itself.
    """

    SETTINGS = ("keeps_bivectors",)

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        geometry: Geometry,
        hidden_mv_channels: int | None = None,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
        keeps_bivectors: bool = True,
        is_part: bool = False,
    ) -> None:
        super().__init__()
        hidden = out_mv_channels if hidden_mv_channels is None else hidden_mv_channels
        self.geometry = geometry
        self.keeps_bivectors = keeps_bivectors
        self.linear_left = EquivariantLinear(
            in_mv_channels, hidden, geometry, in_s_channels, is_part=is_part
        )
        self.linear_right = EquivariantLinear(
            in_mv_channels,
            hidden,
            geometry,
            in_s_channels,
            initialization=_near_one(in_s_channels),
            is_part=is_part,
        )
        self.linear_out = EquivariantLinear(
            hidden, out_mv_channels, geometry, in_s_channels, out_s_channels, is_part=is_part
        )
        self.norm = EquivariantNorm(geometry)

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Multiply.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., in_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., in_s_channels), optional
            Scalars.

        Returns
        -------
        multivectors : torch.Tensor, shape (..., out_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., out_s_channels), or None
            Scalars.
        """
        left, _ = self.linear_left(multivectors, scalars)
        right, _ = self.linear_right(multivectors, scalars)
        product = self.geometry.algebra.geometric_product(left, right)
        if not self.keeps_bivectors:
            product = self.geometry.algebra.grade(product, 0, 1, 3, 4)
        mv, s = self.linear_out(product, scalars)
        found: tuple[Tensor, Tensor | None] = self.norm(mv, s)
        return found


def _near_one(in_s_channels: int) -> Initialization:
    """Factors near one keep what they multiply; without scalars there is no bias to say so."""
    return "almost_unit_scalar" if in_s_channels else "default"


def equivariant_join(x: Tensor, y: Tensor, reference: Tensor, geometry: Geometry) -> Tensor:
    """Join x and y, (..., channel, 16), and scale by the reference's component e123.

    The bare join changes its sign under reflections, and so does that component of a point.

    Parameters
    ----------
    x, y : torch.Tensor, shape (..., channel, 16)
        Multivectors of Cl(3,0,1).
    reference : torch.Tensor, shape (..., 16)
        Multivectors that broadcast with x.
    geometry : Geometry
        The algebra.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return reference[..., _E123 : _E123 + 1] * geometry.algebra.join(x, y)


class JoinBilinear(nn.Module):
    """A linear map of products and of joins, side by side: GATr's bilinear layer.

    Parameters
    ----------
    in_mv_channels, out_mv_channels, geometry, in_s_channels, out_s_channels
        As in :class:`ProductBilinear`.
    hidden_mv_channels : int, optional
        Channels of products and joins together, an even number; default: out_mv_channels, or one
        more.
    """

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        geometry: Geometry,
        hidden_mv_channels: int | None = None,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
    ) -> None:
        super().__init__()
        self.geometry = geometry
        half = ((out_mv_channels if hidden_mv_channels is None else hidden_mv_channels) + 1) // 2

        def linear(initialization: Initialization = "default") -> EquivariantLinear:
            return EquivariantLinear(
                in_mv_channels, half, geometry, in_s_channels, initialization=initialization
            )

        self.linear_left = linear()
        self.linear_right = linear(_near_one(in_s_channels))
        self.linear_join_left = linear()
        self.linear_join_right = linear(_near_one(in_s_channels))
        self.linear_out = EquivariantLinear(
            2 * half, out_mv_channels, geometry, in_s_channels, out_s_channels
        )

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None, reference: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Multiply and join.

        Parameters
        ----------
        multivectors, scalars
            As in :class:`ProductBilinear`.
        reference : torch.Tensor, shape (..., 16), optional
            Of the joins; default: a point at the origin, which breaks reflections.

        Returns
        -------
        multivectors, scalars
            As of :class:`ProductBilinear`.
        """
        left, _ = self.linear_left(multivectors, scalars)
        right, _ = self.linear_right(multivectors, scalars)
        product = self.geometry.algebra.geometric_product(left, right)
        left, _ = self.linear_join_left(multivectors, scalars)
        right, _ = self.linear_join_right(multivectors, scalars)
        if reference is None:
            join = self.geometry.algebra.join(left, right)
        else:
            join = equivariant_join(left, right, reference, self.geometry)
        found: tuple[Tensor, Tensor | None] = self.linear_out(
            torch.cat([product, join], -2), scalars
        )
        return found


def mean_reference(multivectors: Tensor) -> Tensor:
    """Return the mean of the multivectors of a set of items, as a reference.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., item, channel, 16)
        Multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 1, 1, 16)
        The mean over items and channels.
    """
    if multivectors.dim() < 3 or multivectors.shape[-1] != N_COMPONENT:
        raise _core.ShapeError(
            f"multivectors: expected shape (..., item, channel, {N_COMPONENT}), got "
            f"{tuple(multivectors.shape)}"
        )
    return multivectors.mean((-3, -2), keepdim=True)
