"""The layers of GATr."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from tessera.clifford.equivariant import _bilinear
from tessera.clifford.equivariant._config import MLPConfig, SelfAttentionConfig, as_config
from tessera.clifford.equivariant._gate import EquivariantGate
from tessera.clifford.equivariant._linear import EquivariantLinear, Initialization
from tessera.clifford.equivariant._maps import PIN
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
    "equivariant_join",
]


def attention_config(given: Any, name: str) -> SelfAttentionConfig:
    """Return options of attention, by default without the norms of L-GATr."""
    if given is None or not isinstance(given, SelfAttentionConfig):
        given = {"normalizes": False, **(given or {})}
    return as_config(SelfAttentionConfig, given, name)


class EquiLinear(EquivariantLinear):
    """Mix channels by the 9 linear maps that commute with Pin(3,0,1).

    Parameters
    ----------
    in_mv_channels, out_mv_channels : int
        Multivector channels.
    in_s_channels, out_s_channels : int
        Scalar channels; 0 for none.
    bias : bool
        Add a bias.
    initialization : {'default', 'small', 'unit_scalar', 'almost_unit_scalar'}
        How weights are drawn.

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford.gatr import EquiLinear
    >>> mv, s = EquiLinear(3, 4, 5, 2)(torch.randn(7, 3, 16), torch.randn(7, 5))
    >>> mv.shape, s.shape
    (torch.Size([7, 4, 16]), torch.Size([7, 2]))
    """

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
        bias: bool = True,
        initialization: Initialization = "default",
    ) -> None:
        super().__init__(
            in_mv_channels,
            out_mv_channels,
            PIN,
            in_s_channels,
            out_s_channels,
            bias,
            initialization,
        )


class EquiLayerNorm(EquivariantNorm):
    """Divide multivectors by the root of the mean over channels of their squares.

    Parameters
    ----------
    epsilon : float
        Least mean square.
    """

    def __init__(self, epsilon: float | None = None) -> None:
        super().__init__(PIN, epsilon=epsilon)


class ScalarGatedNonlinearity(EquivariantGate):
    """Multiply multivectors by a function of their scalar component, and apply it to scalars.

    Parameters
    ----------
    nonlinearity : {'gelu', 'relu', 'sigmoid', 'tanh', 'silu'}
        The function; 'gelu' is its tanh form.
    """

    def __init__(self, nonlinearity: str = "gelu") -> None:
        super().__init__(PIN, nonlinearity)


class GeometricBilinear(_bilinear.JoinBilinear):
    """A linear map of products and of joins, side by side.

    Parameters
    ----------
    in_mv_channels, out_mv_channels : int
        Multivector channels.
    hidden_mv_channels : int, optional
        Channels of products and joins together; default: out_mv_channels.
    in_s_channels, out_s_channels : int
        Scalar channels, which enter all linear maps.
    """

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        hidden_mv_channels: int | None = None,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
    ) -> None:
        super().__init__(
            in_mv_channels,
            out_mv_channels,
            PIN,
            hidden_mv_channels,
            in_s_channels,
            out_s_channels,
        )


class GeoMLP(FeedForward):
    """Bilinear layer, gates and linear layers.

    Parameters
    ----------
    config : MLPConfig or mapping
        Sizes and options.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(as_config(MLPConfig, config, "config"), PIN)


class SelfAttention(_SelfAttention):
    """Attention of items to each other, by inner products and distances.

    Parameters
    ----------
    config : SelfAttentionConfig or mapping
        Sizes and options.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(attention_config(config, "config"), PIN)


def equivariant_join(x: Tensor, y: Tensor, reference: Tensor) -> Tensor:
    """Join x and y, (..., channel, 16), scaled by component e123 of a reference.

    Parameters
    ----------
    x, y : torch.Tensor, shape (..., channel, 16)
        Multivectors.
    reference : torch.Tensor, shape (..., 16)
        Multivectors that broadcast with x.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _bilinear.equivariant_join(x, y, reference, PIN)
