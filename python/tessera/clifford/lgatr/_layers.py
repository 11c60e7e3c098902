"""The layers of L-GATr under the names and with the arguments of lgatr."""

from __future__ import annotations

from typing import Any

from tessera.clifford.equivariant._bilinear import ProductBilinear
from tessera.clifford.equivariant._config import (
    MLPConfig,
    PrimitivesConfig,
    SelfAttentionConfig,
    as_config,
)
from tessera.clifford.equivariant._gate import EquivariantGate
from tessera.clifford.equivariant._linear import EquivariantLinear, Initialization
from tessera.clifford.equivariant._maps import LORENTZ, LORENTZ_FULL, Geometry
from tessera.clifford.equivariant._mlp import FeedForward
from tessera.clifford.equivariant._norm import EquivariantNorm
from tessera.clifford.equivariant._self_attention import SelfAttention as _SelfAttention

__all__ = [
    "EquiLayerNorm",
    "EquiLinear",
    "GeoMLP",
    "GeometricBilinear",
    "ScalarGatedNonlinearity",
    "SelfAttention",
]


def geometry_of(primitives: Any) -> tuple[PrimitivesConfig, Geometry]:
    """Return options of the algebra and its maps."""
    config = as_config(PrimitivesConfig, primitives, "primitives")
    return config, LORENTZ if config.subgroup else LORENTZ_FULL


class EquiLinear(EquivariantLinear):
    """Mix channels by the 10 (or 5) linear maps that commute with the Lorentz group.

    Parameters
    ----------
    in_mv_channels, out_mv_channels : int
        Multivector channels.
    primitives : PrimitivesConfig, mapping or None
        ``subgroup``: ten maps, for transformations of determinant 1; else five, for all.
    in_s_channels, out_s_channels : int
        Scalar channels; 0 for none.
    bias : bool
        Add a bias.
    initialization : {'default', 'small', 'unit_scalar', 'almost_unit_scalar'}
        How weights are drawn.

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford.lgatr import EquiLinear
    >>> layer = EquiLinear(3, 4, {"subgroup": True}, in_s_channels=5, out_s_channels=2)
    >>> mv, s = layer(torch.randn(7, 3, 16), torch.randn(7, 5))
    >>> mv.shape, s.shape
    (torch.Size([7, 4, 16]), torch.Size([7, 2]))
    """

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        primitives: Any = None,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
        bias: bool = True,
        initialization: Initialization = "default",
    ) -> None:
        super().__init__(
            in_mv_channels,
            out_mv_channels,
            geometry_of(primitives)[1],
            in_s_channels,
            out_s_channels,
            bias,
            initialization,
        )


class EquiLayerNorm(EquivariantNorm):
    """Divide multivectors by one root for all grades, normalise scalars.

    The root is of the mean over channels of the sizes of the metric's squares of all grades, and at
    least that of epsilon.

    Parameters
    ----------
    mv_channels, s_channels : int
        Sizes of the gains; not needed without.
    epsilon : float
        Least mean square.
    elementwise_affine : bool
        Multiply by gains: one per channel and grade, and one per scalar.
    """

    def __init__(
        self,
        mv_channels: int = 0,
        s_channels: int = 0,
        *,
        epsilon: float | None = None,
        elementwise_affine: bool = False,
    ) -> None:
        super().__init__(LORENTZ, mv_channels, s_channels, epsilon, elementwise_affine)


class ScalarGatedNonlinearity(EquivariantGate):
    """Multiply multivectors by a function of their scalar component, and apply it to scalars.

    Parameters
    ----------
    nonlinearity : {'gelu', 'relu', 'sigmoid', 'tanh', 'silu'}
        The function; 'gelu' is its tanh form.
    """

    def __init__(self, nonlinearity: str = "gelu") -> None:
        super().__init__(LORENTZ, nonlinearity)


class GeometricBilinear(ProductBilinear):
    """Norm of a linear map of the product of two linear maps.

    Parameters
    ----------
    in_mv_channels, out_mv_channels : int
        Multivector channels.
    primitives : PrimitivesConfig, mapping or None
        Options of the algebra.
    hidden_mv_channels : int, optional
        Channels of the product; default: out_mv_channels.
    in_s_channels, out_s_channels : int
        Scalar channels, which enter all linear maps.
    """

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        primitives: Any = None,
        hidden_mv_channels: int | None = None,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
    ) -> None:
        config, geometry = geometry_of(primitives)
        super().__init__(
            in_mv_channels,
            out_mv_channels,
            geometry,
            hidden_mv_channels,
            in_s_channels,
            out_s_channels,
            config.bivector,
        )


class GeoMLP(FeedForward):
    """Bilinear layer, gates and linear layers.

    Parameters
    ----------
    config : MLPConfig or mapping
        Sizes and options.
    primitives : PrimitivesConfig, mapping or None
        Options of the algebra.
    """

    def __init__(self, config: Any, primitives: Any = None) -> None:
        options, geometry = geometry_of(primitives)
        super().__init__(as_config(MLPConfig, config, "config"), geometry, options)


class SelfAttention(_SelfAttention):
    """Attention of items to each other.

    Parameters
    ----------
    config : SelfAttentionConfig or mapping
        Sizes and options.
    primitives : PrimitivesConfig, mapping or None
        Options of the algebra.
    """

    def __init__(self, config: Any, primitives: Any = None) -> None:
        super().__init__(
            as_config(SelfAttentionConfig, config, "config"), geometry_of(primitives)[1]
        )
