"""The block and the network of L-GATr."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tessera import _core
from tessera.clifford.equivariant._block import Block
from tessera.clifford.equivariant._config import MLPConfig, SelfAttentionConfig, as_config
from tessera.clifford.equivariant._linear import EquivariantLinear
from tessera.clifford.lgatr._layers import geometry_of

__all__ = ["LGATr", "LGATrBlock"]


class LGATrBlock(Block):
    """Attention and feed-forward part, each normed before and added.

    Parameters
    ----------
    mv_channels, s_channels : int
        Channels.
    attention : SelfAttentionConfig or mapping
        Options of the attention: ``num_heads``, ``multi_query``, ``attn_ratio``, ``head_scale``.
    mlp : MLPConfig or mapping
        Options of the feed-forward part: ``mlp_ratio``, ``num_layers_mlp``, ``nonlinearity``.
    primitives : PrimitivesConfig, mapping or None
        Options of the algebra: ``subgroup``.
    dropout_prob : float, optional
        Of both parts.
    norm_elementwise_affine : bool
        Whether the norms have gains.
    """

    def __init__(
        self,
        mv_channels: int,
        s_channels: int,
        attention: Any = None,
        mlp: Any = None,
        primitives: Any = None,
        dropout_prob: float | None = None,
        norm_elementwise_affine: bool = True,
    ) -> None:
        options, geometry = geometry_of(primitives)
        super().__init__(
            mv_channels,
            s_channels,
            geometry,
            as_config(SelfAttentionConfig, attention, "attention"),
            as_config(MLPConfig, mlp, "mlp"),
            options,
            dropout_prob,
            norm_elementwise_affine,
        )


def _listed(channels: Sequence[int] | None) -> list[int] | None:
    return None if channels is None else list(channels)


class LGATr(nn.Module):
    """A transformer of multivectors of spacetime, as the package lgatr has it.

    Parameters
    ----------
    num_blocks : int
        Blocks.
    in_mv_channels, out_mv_channels, hidden_mv_channels : int
        Multivector channels.
    in_s_channels, out_s_channels, hidden_s_channels : int
        Scalar channels; 0 for none.
    attention, mlp, primitives
        As of :class:`LGATrBlock`.
    reinsert_mv_channels, reinsert_s_channels : sequence of int, optional
        Channels of the input that the queries and keys of every block get again.
    dropout_prob, norm_elementwise_affine
        As of :class:`LGATrBlock`.
    checkpoint_blocks : bool
        Compute blocks again in the backward pass instead of keeping what is in them.

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford.lgatr import LGATr
    >>> net = LGATr(1, 2, 1, 4, 3, 2, 6, attention={"num_heads": 2}, mlp={"mlp_ratio": 2})
    >>> mv, s = net(torch.randn(7, 5, 2, 16), torch.randn(7, 5, 3))
    >>> mv.shape, s.shape
    (torch.Size([7, 5, 1, 16]), torch.Size([7, 5, 2]))
    """

    def __init__(
        self,
        num_blocks: int,
        in_mv_channels: int,
        out_mv_channels: int,
        hidden_mv_channels: int,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
        hidden_s_channels: int = 0,
        attention: Any = None,
        mlp: Any = None,
        primitives: Any = None,
        reinsert_mv_channels: Sequence[int] | None = None,
        reinsert_s_channels: Sequence[int] | None = None,
        dropout_prob: float | None = None,
        norm_elementwise_affine: bool = True,
        checkpoint_blocks: bool = False,
    ) -> None:
        super().__init__()
        geometry = geometry_of(primitives)[1]
        self.reinsert_mv_channels = _listed(reinsert_mv_channels)
        self.reinsert_s_channels = _listed(reinsert_s_channels)
        self.checkpoint_blocks = checkpoint_blocks
        self.linear_in = EquivariantLinear(
            in_mv_channels, hidden_mv_channels, geometry, in_s_channels, hidden_s_channels
        )
        config = replace(
            as_config(SelfAttentionConfig, attention, "attention"),
            additional_qk_mv_channels=len(self.reinsert_mv_channels or ()),
            additional_qk_s_channels=len(self.reinsert_s_channels or ()),
        )
        self.blocks = nn.ModuleList(
            LGATrBlock(
                hidden_mv_channels,
                hidden_s_channels,
                config,
                mlp,
                primitives,
                dropout_prob,
                norm_elementwise_affine,
            )
            for _ in range(num_blocks)
        )
        self.linear_out = EquivariantLinear(
            hidden_mv_channels, out_mv_channels, geometry, hidden_s_channels, out_s_channels
        )

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None, **options: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Compute.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., item, in_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., item, in_s_channels), optional
            Scalars.
        **options
            Of ``torch.nn.functional.scaled_dot_product_attention``: ``attn_mask`` (True: may
            attend), ``is_causal``.

        Returns
        -------
        multivectors : torch.Tensor, shape (..., item, out_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., item, out_s_channels), or None
            Scalars.
        """
        more: dict[str, Tensor] = {}
        if self.reinsert_mv_channels is not None:
            more["additional_qk_features_mv"] = multivectors[..., self.reinsert_mv_channels, :]
        if self.reinsert_s_channels is not None:
            if scalars is None:
                raise _core.ArgumentError("scalars: reinsert_s_channels needs them, got None")
            more["additional_qk_features_s"] = scalars[..., self.reinsert_s_channels]
        mv, s = self.linear_in(multivectors, scalars)
        for block in self.blocks:
            if self.checkpoint_blocks:
                mv, s = checkpoint(block, mv, s, use_reentrant=False, **more, **options)
            else:
                mv, s = block(mv, s, **more, **options)
        found: tuple[Tensor, Tensor | None] = self.linear_out(mv, s)
        return found
