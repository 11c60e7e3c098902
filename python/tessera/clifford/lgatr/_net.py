"""The block and the network of L-GATr."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tessera import _core
from tessera.clifford.equivariant._block import Block
from tessera.clifford.equivariant._config import MLPConfig, SelfAttentionConfig, as_config
from tessera.clifford.equivariant._linear import EquivariantLinear, check_count, check_inputs
from tessera.clifford.lgatr._layers import geometry_of

__all__ = ["LGATr", "LGATrBlock"]

_AUTOCAST = ("cpu", "cuda")


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


def _listed(name: str, channels: Sequence[int] | None, n: int) -> list[int] | None:
    """Return channels to give again, of the n that the input has."""
    if channels is None:
        return None
    found = [operator.index(channel) for channel in channels]
    for channel in found:
        if not -n <= channel < n:
            raise _core.ArgumentError(
                f"{name}: {channel} is none of the {n} channels of the input, counted from 0"
            )
    return found or None


def _compile(net: nn.Module, options: Mapping[str, Any], budget: float | None) -> None:
    """Have torch.compile take the place of forward, as lgatr does."""
    compiled = torch.compile(net.forward, **options)
    if budget is not None:
        from torch._functorch import config

        compiled = config.patch(activation_memory_budget=budget)(compiled)
    net.forward = compiled


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
    naive_amp : bool
        Under autocast, compute in its type. Else the network computes in the type of its weights
        there: multivectors as in lgatr, and scalars, too, which lgatr maps in autocast's type.
    compile : bool
        Call the network by ``torch.compile``.
    compile_kwargs : mapping, optional
        Its options.
    activation_memory_budget : float, optional
        With ``compile``: share of what a pass forward would keep that it may keep, from 0 to 1.

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford.lgatr import LGATr
    >>> net = LGATr(1, 2, 1, 4, 3, 2, 6, attention={"num_heads": 2}, mlp={"mlp_ratio": 2})
    >>> mv, s = net(torch.randn(7, 5, 2, 16), torch.randn(7, 5, 3))
    >>> mv.shape, s.shape
    (torch.Size([7, 5, 1, 16]), torch.Size([7, 5, 2]))
    """

    naive_amp = False  # of networks that an older version pickled
    _compiling: tuple[Mapping[str, Any], float | None] | None = None

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
        naive_amp: bool = False,
        compile: bool = False,  # noqa: A002 - lgatr's name
        compile_kwargs: Mapping[str, Any] | None = None,
        activation_memory_budget: float | None = None,
    ) -> None:
        super().__init__()
        check_count("num_blocks", num_blocks, 0)
        geometry = geometry_of(primitives)[1]
        self.reinsert_mv_channels = _listed(
            "reinsert_mv_channels", reinsert_mv_channels, in_mv_channels
        )
        self.reinsert_s_channels = _listed(
            "reinsert_s_channels", reinsert_s_channels, in_s_channels
        )
        self.checkpoint_blocks = checkpoint_blocks
        self.naive_amp = naive_amp
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
        if compile:
            self._compiling = dict(compile_kwargs or {}), activation_memory_budget
            _compile(self, *self._compiling)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if self._compiling is not None:
            state.pop("forward", None)  # computes with the weights of this network, not of a copy
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._compiling is not None:
            _compile(self, *self._compiling)

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
            attend), ``is_causal``; of lgatr's backends ``backend="native"`` alone.

        Returns
        -------
        multivectors : torch.Tensor, shape (..., item, out_mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., item, out_s_channels), or None
            Scalars.
        """
        check_inputs(self.linear_in, multivectors, scalars, has_items=True)
        device = multivectors.device.type
        if self.naive_amp or device not in _AUTOCAST or not torch.is_autocast_enabled(device):
            return self._forward(multivectors, scalars, options)
        dtype = next(self.parameters()).dtype
        with torch.autocast(device, enabled=False):
            given = None if scalars is None else scalars.to(dtype)
            return self._forward(multivectors.to(dtype), given, options)

    def _forward(
        self, multivectors: Tensor, scalars: Tensor | None, options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        more: dict[str, Tensor] = {}
        if self.reinsert_mv_channels is not None:
            more["additional_qk_features_mv"] = multivectors[..., self.reinsert_mv_channels, :]
        if self.reinsert_s_channels is not None:
            assert scalars is not None  # there are channels of the input to give again
            more["additional_qk_features_s"] = scalars[..., self.reinsert_s_channels]
        mv, s = self.linear_in(multivectors, scalars)
        for block in self.blocks:
            if self.checkpoint_blocks:
                mv, s = checkpoint(block, mv, s, use_reentrant=False, **more, **options)
            else:
                mv, s = block(mv, s, **more, **options)
        found: tuple[Tensor, Tensor | None] = self.linear_out(mv, s)
        return found
