"""The block and the network of GATr."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tessera import _core
from tessera.clifford.equivariant._bilinear import mean_reference
from tessera.clifford.equivariant._block import Block
from tessera.clifford.equivariant._config import MLPConfig, PrimitivesConfig, as_config
from tessera.clifford.equivariant._linear import EquivariantLinear, check_count, check_inputs
from tessera.clifford.equivariant._maps import PIN
from tessera.clifford.gatr._layers import attention_config

__all__ = ["GATr", "GATrBlock"]


class GATrBlock(Block):
    """Attention and feed-forward part, each normed before and added.

    Parameters
    ----------
    mv_channels, s_channels : int
        Channels.
    attention : SelfAttentionConfig or mapping
        Options of the attention: ``num_heads``, ``multi_query``, ``attn_ratio``, ``head_scale``.
    mlp : MLPConfig or mapping
        Options of the feed-forward part: ``mlp_ratio``, ``num_layers_mlp``, ``nonlinearity``.
    dropout_prob : float, optional
        Of both parts.
    """

    def __init__(
        self,
        mv_channels: int,
        s_channels: int,
        attention: Any = None,
        mlp: Any = None,
        dropout_prob: float | None = None,
    ) -> None:
        super().__init__(
            mv_channels,
            s_channels,
            PIN,
            attention_config(attention, "attention"),
            as_config(MLPConfig, mlp if mlp is not None else {"mlp_ratio": 2}, "mlp"),
            PrimitivesConfig(),
            dropout_prob,
            norm_elementwise_affine=False,
        )


class GATr(nn.Module):
    """A transformer of points, lines, planes and motions of space.

    Parameters
    ----------
    in_mv_channels, out_mv_channels, hidden_mv_channels : int
        Multivector channels.
    in_s_channels, out_s_channels, hidden_s_channels : int
        Scalar channels; 0 for none.
    attention, mlp
        As of :class:`GATrBlock`.
    num_blocks : int
        Blocks.
    dropout_prob : float, optional
        Of all blocks.
    checkpoint_blocks : bool
        Compute blocks again in the backward pass instead of keeping what is in them.

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford.gatr import GATr
    >>> net = GATr(2, 1, 4, 3, 2, 6, attention={"num_heads": 2}, num_blocks=1)
    >>> mv, s = net(torch.randn(7, 5, 2, 16), torch.randn(7, 5, 3))
    >>> mv.shape, s.shape
    (torch.Size([7, 5, 1, 16]), torch.Size([7, 5, 2]))
    """

    def __init__(
        self,
        in_mv_channels: int,
        out_mv_channels: int,
        hidden_mv_channels: int,
        in_s_channels: int = 0,
        out_s_channels: int = 0,
        hidden_s_channels: int = 0,
        attention: Any = None,
        mlp: Any = None,
        num_blocks: int = 10,
        dropout_prob: float | None = None,
        checkpoint_blocks: bool = False,
    ) -> None:
        super().__init__()
        check_count("num_blocks", num_blocks, 0)
        self.checkpoint_blocks = checkpoint_blocks
        self.linear_in = EquivariantLinear(
            in_mv_channels, hidden_mv_channels, PIN, in_s_channels, hidden_s_channels
        )
        self.blocks = nn.ModuleList(
            GATrBlock(hidden_mv_channels, hidden_s_channels, attention, mlp, dropout_prob)
            for _ in range(num_blocks)
        )
        self.linear_out = EquivariantLinear(
            hidden_mv_channels, out_mv_channels, PIN, hidden_s_channels, out_s_channels
        )

    def forward(
        self,
        multivectors: Tensor,
        scalars: Tensor | None = None,
        join_reference: Tensor | Literal["data", "canonical"] = "data",
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., item, in_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., item, in_s_channels), optional
            Scalars.
        join_reference : 'data', 'canonical' or torch.Tensor
            What joins are scaled by: the mean of the multivectors of the items; nothing, which
            breaks reflections; or multivectors that broadcast with (..., item, channel, 16).
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
        check_inputs(self.linear_in, multivectors, scalars, has_items=True)
        if isinstance(join_reference, Tensor):
            reference = join_reference
        elif join_reference == "data":
            reference = mean_reference(multivectors)
        elif join_reference == "canonical":
            reference = None
        else:
            raise _core.ArgumentError(
                f"join_reference: expected 'data', 'canonical' or a tensor, got {join_reference!r}"
            )
        options["reference"] = reference
        mv, s = self.linear_in(multivectors, scalars)
        for block in self.blocks:
            if self.checkpoint_blocks:
                mv, s = checkpoint(block, mv, s, use_reentrant=False, **options)
            else:
                mv, s = block(mv, s, **options)
        found: tuple[Tensor, Tensor | None] = self.linear_out(mv, s)
        return found
