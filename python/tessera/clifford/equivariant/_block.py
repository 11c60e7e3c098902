"""Blocks of transformers: attention and feed-forward part, each normed before and added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tessera.clifford._constants import Constants
from tessera.clifford.equivariant._config import (
    MLPConfig,
    PrimitivesConfig,
    SelfAttentionConfig,
)
from tessera.clifford.equivariant._dense import Matrices
from tessera.clifford.equivariant._fused import norm_rows
from tessera.clifford.equivariant._gains import gain_labels
from tessera.clifford.equivariant._linear import check_inputs, pack, unpack
from tessera.clifford.equivariant._maps import Geometry
from tessera.clifford.equivariant._mlp import FeedForward, can_fuse
from tessera.clifford.equivariant._norm import EquivariantNorm
from tessera.clifford.equivariant._packed import Packed, packs
from tessera.clifford.equivariant._parts import Parts
from tessera.clifford.equivariant._self_attention import SelfAttention

__all__ = ["Block"]

_FUSED = ("norm1", "norm2", "attention", "mlp")


class Block(Constants):
    """x + attention(norm x), then that plus its normed feed-forward part.

    Parameters
    ----------
    mv_channels, s_channels : int
        Channels.
    geometry : Geometry
        The algebra.
    attention, mlp, primitives
        Options.
    dropout_prob : float, optional
        Of both parts.
    norm_elementwise_affine : bool
        Whether the norms have gains.
    """

    def __init__(
        self,
        mv_channels: int,
        s_channels: int,
        geometry: Geometry,
        attention: SelfAttentionConfig,
        mlp: MLPConfig,
        primitives: PrimitivesConfig,
        dropout_prob: float | None = None,
        norm_elementwise_affine: bool = True,
    ) -> None:
        super().__init__()
        sizes = (geometry, mv_channels, s_channels)
        self.geometry = geometry
        mlp = replace(
            mlp, mv_channels=mv_channels, s_channels=s_channels, dropout_prob=dropout_prob
        )
        has_more = attention.additional_qk_mv_channels or attention.additional_qk_s_channels
        self.is_fused = can_fuse(mlp, geometry, primitives) and not has_more
        self.norm1 = EquivariantNorm(*sizes, elementwise_affine=norm_elementwise_affine)
        self.norm2 = EquivariantNorm(*sizes, elementwise_affine=norm_elementwise_affine)
        self.attention = SelfAttention(
            replace(
                attention,
                in_mv_channels=mv_channels,
                out_mv_channels=mv_channels,
                in_s_channels=s_channels,
                out_s_channels=s_channels,
                output_init="small",
                dropout_prob=dropout_prob,
            ),
            geometry,
            is_part=self.is_fused,
        )
        self.mlp = FeedForward(mlp, geometry, primitives, is_part=self.is_fused)
        self._parts = Parts(self, *_FUSED) if self.is_fused else None
        self._matrices = self._arrange() if self.is_fused else None
        self.keep_later("_packed")
        self.keep("_one", (1.0,))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_parts" not in state:  # of an older version
            self._parts = Parts(self, *_FUSED) if self.is_fused else None
        self.keep_later("_packed")

    def _weights(self) -> list[Tensor]:
        """Return the weights of all matrices."""
        return [*self.attention.weights(), *self.mlp.weights()]

    def _gains(self) -> list[Tensor]:
        """Return the gains of the norms, then 1; nothing where there are none."""
        gain = self.norm1.weight_mv
        if gain is None:
            return []
        found = [w for norm in (self.norm1, self.norm2) for w in (norm.weight_mv, norm.weight_s)]
        return [*found, self.constant("_one", gain).to(gain.dtype)]

    def _arrange(self) -> Matrices:
        """Give the weights of the block their places: all matrices are spread at once."""
        matrices = self.attention.labels()
        n = self.attention.n_weight
        behind = self.mlp.labels(n)
        n += self.mlp.n_weight
        if self.norm1.weight_mv is None:
            return Matrices([*matrices, *behind], n)
        sizes = (self.geometry, self.mlp.config.mv_channels, self.mlp.config.s_channels)
        n_gain = self.norm1.weight_mv.numel() + self.norm1.weight_s.numel()
        hidden = self.mlp.hidden_channels
        gain, _ = gain_labels(*sizes, hidden, n, n + 2 * n_gain)
        gains = gain_labels(*sizes, hidden, n + n_gain, n + 2 * n_gain)
        # Gains last: they have an odd number of items, and matrices are best aligned.
        return Matrices([*matrices, *behind, gain, *gains], n + 2 * n_gain + 1, n_constant=1)

    def _arrange_pairs(self) -> Packed:
        """Give the weights their places in maps by pairs of components, gains included."""
        attention, mlp = self.attention, self.mlp
        labels = [*attention.labels(), *mlp.labels(attention.n_weight)]
        sizes = [*attention.sizes(), *mlp.sizes()]
        n_weight = attention.n_weight + mlp.n_weight
        if self.norm1.weight_mv is None:
            return Packed(labels, sizes, n_weight)
        n_gain = self.norm1.weight_mv.numel() + self.norm1.weight_s.numel()
        of = (self.geometry, mlp.config.mv_channels, mlp.config.s_channels, mlp.hidden_channels)
        first, _ = gain_labels(*of, 0, 2 * n_gain)
        pair, out = gain_labels(*of, n_gain, 2 * n_gain)
        one = np.array([[2 * n_gain + 1]])
        return Packed(labels, sizes, n_weight, [first, one, pair, out, one], 2 * n_gain + 1)

    def _pack(self, rows: Tensor) -> list[Any] | None:
        """Return all maps by pairs of components, None where they are to be matrices."""
        if self.attention.config.multi_query:
            return None
        known = self._packed
        sizes = [*self.attention.sizes(), *self.mlp.sizes()] if known is None else known.sizes
        if not packs(rows, *(side for one in sizes for side in (one.x, one.z))):
            return None
        packed = self.made("_packed", lambda: self._arrange_pairs().to(rows.device))
        found: list[Any] = packed(self._weights(), self._gains())
        return found

    def rows(self, rows: Tensor, **options: Any) -> Tensor:
        """Compute packed rows; for blocks that are fused.

        Parameters
        ----------
        rows : torch.Tensor, shape (..., item, feature)
            Packed rows.
        **options
            Of ``torch.nn.functional.scaled_dot_product_attention``.

        Returns
        -------
        torch.Tensor
            Like rows.
        """
        c, s = self.mlp.config.mv_channels, self.mlp.config.s_channels
        assert self._matrices is not None
        packed = self._pack(rows)
        if packed is not None:
            z = norm_rows(rows, c, s, self.geometry)
            rows = rows + self.attention.rows(z, packed[:2], **options)
            z = norm_rows(rows, c, s, self.geometry)
            return rows + self.mlp.rows(z, [one.items for one in packed[2:]], None)
        matrices = self._matrices([*self._weights(), *self._gains()])
        gain = gains = None
        if self.norm1.weight_mv is not None:
            *matrices, gain, to_pair, to_out = matrices
            gains = (to_pair, to_out)
        *matrices, pair, out, last = matrices
        z = norm_rows(rows, c, s, self.geometry)
        rows = rows + self.attention.rows(z, matrices, gain=gain, **options)
        z = norm_rows(rows, c, s, self.geometry)
        return rows + self.mlp.rows(z, [pair, out, last], gains)

    def forward(
        self,
        multivectors: Tensor,
        scalars: Tensor | None = None,
        additional_qk_features_mv: Tensor | None = None,
        additional_qk_features_s: Tensor | None = None,
        reference: Tensor | None = None,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., item, mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., item, s_channels), optional
            Scalars.
        additional_qk_features_mv, additional_qk_features_s : torch.Tensor, optional
            More channels that queries and keys are made of.
        reference : torch.Tensor, optional
            Of the joins of GATr.
        **options
            Of ``torch.nn.functional.scaled_dot_product_attention``.

        Returns
        -------
        multivectors, scalars
            Like the inputs.
        """
        has_more = additional_qk_features_mv is not None or additional_qk_features_s is not None
        parts = self._parts if self.is_fused and not has_more else None
        if parts is not None and parts.are_whole(self):
            check_inputs(self.attention.qkv_inputs, multivectors, scalars, has_items=True)
            rows = self.rows(pack(multivectors, scalars), **options)
            return unpack(rows, self.mlp.config.mv_channels, self.mlp.config.s_channels)
        mv, s = self.norm1(multivectors, scalars)
        mv, s = self.attention(
            mv, s, additional_qk_features_mv, additional_qk_features_s, **options
        )
        multivectors, scalars = multivectors + mv, _sum(scalars, s)
        mv, s = self.norm2(multivectors, scalars)
        mv, s = self.mlp(mv, s, **({} if reference is None else {"reference": reference}))
        return multivectors + mv, _sum(scalars, s)


def _sum(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else torch.add(a, b)
