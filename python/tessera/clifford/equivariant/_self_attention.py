"""Self-attention of GATr and L-GATr: one linear layer to all heads, attention, one back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tessera.clifford._constants import Constants
from tessera.clifford.equivariant._attention import (
    attend,
    checked_options,
    head_columns,
    head_rows,
    lorentz_attention,
    pin_attention,
    query_signs,
)
from tessera.clifford.equivariant._config import SelfAttentionConfig
from tessera.clifford.equivariant._dense import Labels, Matrices
from tessera.clifford.equivariant._dropout import GradeDropout
from tessera.clifford.equivariant._few_items import attend_to_few
from tessera.clifford.equivariant._fused import norm_rows
from tessera.clifford.equivariant._linear import (
    EquivariantLinear,
    check_count,
    check_inputs,
    pack,
    times,
    unpack,
)
from tessera.clifford.equivariant._maps import Geometry
from tessera.clifford.equivariant._norm import normalize
from tessera.clifford.equivariant._packed import PackedMap, Row, Sizes
from tessera.clifford.equivariant._parts import Parts

__all__ = ["SelfAttention"]


class _Projections(nn.Module):
    """The linear layers to queries, keys and values; names are those of lgatr's states."""

    def __init__(self, config: SelfAttentionConfig, geometry: Geometry) -> None:
        super().__init__()
        self.config = config
        self.geometry = geometry
        n_head = config.num_heads
        c, s = config.hidden_mv_channels, config.hidden_s_channels
        more = (config.additional_qk_mv_channels, config.additional_qk_s_channels)

        def linear(n: int, extra: tuple[int, int]) -> EquivariantLinear:
            return EquivariantLinear(
                config.in_mv_channels + extra[0],
                n * c,
                geometry,
                in_s_channels=config.in_s_channels + extra[1],
                out_s_channels=n * s,
                bias=False,
                is_part=True,
            )

        if config.multi_query:
            self.q_linear = linear(n_head, more)
            self.k_linear = linear(1, more)
            self.v_linear = linear(1, (0, 0))
        else:
            self.in_linear = linear(3 * n_head, more)

    def forward(
        self,
        multivectors: Tensor,
        scalars: Tensor | None = None,
        additional_qk_features_mv: Tensor | None = None,
        additional_qk_features_s: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """Return queries, keys and values, (..., head, item, channel, 16), and their scalars."""
        full = with_more(
            multivectors, scalars, additional_qk_features_mv, additional_qk_features_s
        )
        n_head = self.config.num_heads
        if self.config.multi_query:
            parts = [
                *self._heads(self.q_linear(*full), 1, n_head),
                *self._heads(self.k_linear(*full), 1, 1),
                *self._heads(self.v_linear(multivectors, scalars), 1, 1),
            ]
        else:
            parts = self._heads(self.in_linear(*full), 3, n_head)
        (q, q_s), (k, k_s), (v, v_s) = parts
        return q, k, v, q_s, k_s, v_s

    def _heads(
        self, z: tuple[Tensor, Tensor | None], n_part: int, n_head: int
    ) -> list[tuple[Tensor, Tensor | None]]:
        """Cut what a linear layer gave into parts, each with an axis of heads before items."""
        c, s = self.config.hidden_mv_channels, self.config.hidden_s_channels
        found: list[tuple[Tensor, Tensor | None]] = []
        several = z[0].unflatten(-2, (n_part, c, n_head)).unbind(-4)
        scalars: Any = [None] * n_part
        if z[1] is not None:
            scalars = z[1].unflatten(-1, (n_part, s, n_head)).unbind(-3)
        for t, t_s in zip(several, scalars, strict=True):
            mv = t.movedim(-2, -4)
            one = None if t_s is None else t_s.movedim(-1, -3)
            if self.config.normalizes:
                mv = normalize(mv, self.geometry)
                one = None if one is None else functional.layer_norm(one, one.shape[-1:])
            found.append((mv, one))
        return found


class SelfAttention(Constants):
    """Attention of items to each other.

    Parameters
    ----------
    config : SelfAttentionConfig
        Sizes and options.
    geometry : Geometry
        The algebra.
    is_part : bool
        Whether another module arranges the weights.
    """

    def __init__(
        self, config: SelfAttentionConfig, geometry: Geometry, is_part: bool = False
    ) -> None:
        super().__init__()
        check_count("attention: num_heads", config.num_heads, 1)
        check_count("attention: attn_ratio", config.attn_ratio, 1)
        self.config = config
        self.geometry = geometry
        n_head, c, s = config.num_heads, config.hidden_mv_channels, config.hidden_s_channels
        self.qkv_module = _Projections(config, geometry)
        self.out_linear = EquivariantLinear(
            c * n_head,
            config.out_mv_channels,
            geometry,
            in_s_channels=s * n_head,
            out_s_channels=config.out_s_channels,
            initialization=config.output_init,
            is_part=True,
        )
        # L-GATr's metric is one of signs, which the projection to queries takes along; GATr makes
        # features of queries and keys.
        self._is_signed = geometry.signs == "+---"
        self.dropout = None if config.dropout_prob is None else GradeDropout(config.dropout_prob)
        self.head_scale = nn.Parameter(torch.ones(n_head)) if config.head_scale else None
        self._parts = Parts(self, "qkv_module", "out_linear")
        self.keep_later("_matrices")
        if not is_part:
            self._matrices = self._make_matrices()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_parts" not in state:  # of an older version
            self._waiting = {}
            self.qkv_module.config, self.qkv_module.geometry = self.config, self.geometry
            self._parts = Parts(self, "qkv_module", "out_linear")
        self.keep_later("_matrices")

    def _make_matrices(self) -> Matrices:
        return Matrices(self.labels(), self.n_weight).to(self.out_linear.weight.device)

    def _inputs(self) -> list[tuple[EquivariantLinear, int, int, bool]]:
        """Return linear layers, how many parts and heads they make, whether queries come first."""
        m, n_head = self.qkv_module, self.config.num_heads
        if self.config.multi_query:
            return [
                (m.q_linear, 1, n_head, True),
                (m.k_linear, 1, 1, False),
                (m.v_linear, 1, 1, False),
            ]
        return [(m.in_linear, 3, n_head, True)]

    @property
    def qkv_inputs(self) -> EquivariantLinear:
        """The linear layer that the inputs have to fit."""
        return self._inputs()[0][0]

    def _linears(self) -> list[EquivariantLinear]:
        return [*(linear for linear, *_ in self._inputs()), self.out_linear]

    @property
    def n_weight(self) -> int:
        """How many weights the linear layers have."""
        return sum(linear.n_weight for linear in self._linears())

    def weights(self) -> list[Tensor]:
        """Return what :meth:`labels` numbers, in its order.

        Returns
        -------
        list of torch.Tensor
            Weights and biases of the linear layers: to the heads, and back.
        """
        return [w for linear in self._linears() for w in linear.weights()]

    def labels(self, first: int = 0) -> list[Labels]:
        """Return the numbers of the weights in the packed matrices.

        Parameters
        ----------
        first : int
            Number of the first of :meth:`weights`.

        Returns
        -------
        list of arrays of int
            Of each of :meth:`matrices`.
        """
        c, s = self.config.hidden_mv_channels, self.config.hidden_s_channels
        found = []
        for linear, n_part, n_head, has_queries in self._inputs():
            labels = linear.labels(first)[:, head_columns(n_part, n_head, c, s)]
            if has_queries and self._is_signed:
                labels = labels * query_signs(self.geometry, n_part, n_head, c, s)
            found.append(labels)
            first += linear.n_weight
        labels = self.out_linear.labels(first)
        labels[:-1] = labels[head_rows(self.config.num_heads, c, s)]
        return [*found, labels]

    def sizes(self) -> list[Sizes]:
        """Return what the library calls the maps of :meth:`labels`.

        Returns
        -------
        list of Sizes
            Of each.
        """
        c, s = self.config.hidden_mv_channels, self.config.hidden_s_channels
        found = []
        for linear, n_part, n_head, _ in self._inputs():
            n = n_part * n_head
            found.append(linear.sizes._replace(z=Row(n * c, n * s, n), has_bias=False))
        n = self.config.num_heads
        return [*found, self.out_linear.sizes._replace(x=Row(n * c, n * s, n))]

    def matrices(self) -> list[Tensor]:
        """Return the packed matrices.

        Returns
        -------
        list of torch.Tensor
            To the heads, one or with ``multi_query`` three (queries, keys, values), and one back.
        """
        found: list[Tensor] = self.made("_matrices", self._make_matrices)(self.weights())
        return found

    def _project(
        self,
        rows: Tensor,
        matrices: Sequence[Tensor | PackedMap],
        more: Tensor | None,
        gain: Tensor | None,
    ) -> list[Tensor]:
        """Return packed queries, keys and values, (..., item, part, head, feature)."""
        c, s = self.config.hidden_mv_channels, self.config.hidden_s_channels
        width = 16 * c + s
        found = []
        for (linear, n_part, n_head, _), matrix in zip(self._inputs(), matrices, strict=True):
            full = rows if more is None or linear.n_in == rows.shape[-1] else more
            scaled = matrix if gain is None or isinstance(matrix, PackedMap) else matrix * gain
            z = times(full, scaled, False)
            z = z.view(*z.shape[:-1], n_part, n_head, width)
            if self.config.normalizes:
                z = norm_rows(z, c, s, self.geometry)
            found.append(z)
        return found

    def _attend(self, parts: list[Tensor], options: dict[str, Any]) -> Tensor:
        """Return what items see of each other, (..., item, head, feature)."""
        c, s = self.config.hidden_mv_channels, self.config.hidden_s_channels
        found = None
        if self._is_signed and len(parts) == 1:
            found = attend_to_few(parts[0], options)
        if found is not None:
            return found
        # Not by index: the gradient of each part would be as large as all of them.
        q, k, v = (t.transpose(-3, -2) for part in parts for t in part.unbind(-3))
        if self._is_signed:
            return attend(q, k, v, **options).transpose(-3, -2)
        z = pin_attention(
            *(unpack(t, c, s)[0] for t in (q, k, v)),
            *(unpack(t, c, s)[1] for t in (q, k, v)),
            **options,
        )
        return pack(*z).transpose(-3, -2)

    def rows(
        self,
        rows: Tensor,
        matrices: Sequence[Tensor | PackedMap],
        more: Tensor | None = None,
        gain: Tensor | None = None,
        **options: Any,
    ) -> Tensor:
        """Attend on packed rows, (..., item, feature).

        Parameters
        ----------
        rows : torch.Tensor, shape (..., item, feature)
            Packed rows.
        matrices : sequence of torch.Tensor or PackedMap
            As of :meth:`matrices`, or maps of :meth:`sizes` that have the gain in them.
        more : torch.Tensor, optional
            The same with additional features of queries and keys.
        gain : torch.Tensor, shape (feature + 1, 1), optional
            Factors of the rows, and 1.
        **options
            Of ``torch.nn.functional.scaled_dot_product_attention``.

        Returns
        -------
        torch.Tensor
            Packed rows.
        """
        options = checked_options(options)
        z = self._attend(self._project(rows, matrices[:-1], more, gain), options)
        if self.head_scale is not None:
            z = z * self.head_scale[:, None].to(z.dtype)
        z = z.flatten(-2)
        return times(z, matrices[-1], self.out_linear.has_bias)

    def forward(
        self,
        multivectors: Tensor,
        scalars: Tensor | None = None,
        additional_qk_features_mv: Tensor | None = None,
        additional_qk_features_s: Tensor | None = None,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., item, channel, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., item, channel), optional
            Scalars.
        additional_qk_features_mv, additional_qk_features_s : torch.Tensor, optional
            More channels that queries and keys are made of.
        **options
            Of ``torch.nn.functional.scaled_dot_product_attention``.

        Returns
        -------
        multivectors, scalars
            Of the sizes of the configuration.
        """
        more = with_more(
            multivectors, scalars, additional_qk_features_mv, additional_qk_features_s
        )
        if self._parts.are_whole(self):
            check_inputs(self.qkv_inputs, *more, has_items=True)
            is_more = more[0] is not multivectors or more[1] is not scalars
            full = pack(*more) if is_more else None
            z = self.rows(pack(multivectors, scalars), self.matrices(), full, **options)
            mv, s = unpack(z, self.out_linear.out_mv_channels, self.out_linear.out_s_channels)
        else:
            parts = self.qkv_module(
                multivectors, scalars, additional_qk_features_mv, additional_qk_features_s
            )
            mv, s = self._by_parts(parts, options)
        return (mv, s) if self.dropout is None else self.dropout(mv, s)

    def _by_parts(
        self, parts: tuple[Tensor | None, ...], options: dict[str, Any]
    ) -> tuple[Tensor, Tensor | None]:
        """Attend, and call the linear layer back: somebody changed or watches the parts."""
        z: Any = (lorentz_attention if self._is_signed else pin_attention)(*parts, **options)
        mv, s = z
        if self.head_scale is not None:
            scale = self.head_scale[:, None, None].to(mv.dtype)
            mv, s = mv * scale[..., None], None if s is None else s * scale
        mv = mv.transpose(-4, -3).flatten(-3, -2)
        s = None if s is None else s.transpose(-3, -2).flatten(-2)
        found: tuple[Tensor, Tensor | None] = self.out_linear(mv, s)
        return found


def with_more(
    multivectors: Tensor, scalars: Tensor | None, more_mv: Tensor | None, more_s: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return the channels that queries and keys are made of."""
    if more_mv is not None:
        multivectors = torch.cat([multivectors, more_mv], -2)
    if more_s is not None:
        scalars = more_s if scalars is None else torch.cat([scalars, more_s], -1)
    return multivectors, scalars
