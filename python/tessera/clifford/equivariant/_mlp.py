"""The feed-forward part of a block: a bilinear layer, then gated linear ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from tessera.clifford.equivariant._bilinear import JoinBilinear, ProductBilinear
from tessera.clifford.equivariant._config import MLPConfig, PrimitivesConfig
from tessera.clifford.equivariant._dense import Labels
from tessera.clifford.equivariant._dropout import GradeDropout
from tessera.clifford.equivariant._fused import FeedForwardSizes, feed_forward
from tessera.clifford.equivariant._gate import EquivariantGate
from tessera.clifford.equivariant._linear import EquivariantLinear, check_count
from tessera.clifford.equivariant._maps import Geometry
from tessera.clifford.equivariant._packed import Row, Sizes

__all__ = ["FeedForward", "can_fuse"]


def can_fuse(config: MLPConfig, geometry: Geometry, primitives: PrimitivesConfig) -> bool:
    """Say whether the part is one that _fused has as a whole."""
    return (
        geometry.signs == "+---"
        and config.num_layers_mlp == 2
        and config.nonlinearity == "gelu"
        and config.dropout_prob is None
        and primitives.geometric_product
        and primitives.bivector
    )


class FeedForward(nn.Module):
    """Bilinear layer, gates and linear layers.

    Parameters
    ----------
    config : MLPConfig
        Sizes and options.
    geometry : Geometry
        The algebra.
    primitives : PrimitivesConfig, optional
        Of L-GATr.
    is_part : bool
        Whether a block that is fused arranges the weights.
    """

    def __init__(
        self,
        config: MLPConfig,
        geometry: Geometry,
        primitives: PrimitivesConfig | None = None,
        is_part: bool = False,
    ) -> None:
        super().__init__()
        check_count("mlp: num_layers_mlp", config.num_layers_mlp, 1)
        check_count("mlp: mlp_ratio", config.mlp_ratio, 1)
        primitives = primitives or PrimitivesConfig()
        self.config = config
        self.geometry = geometry
        inner = config.num_layers_mlp - 1
        mv = [config.mv_channels, *[config.mlp_ratio * config.mv_channels] * inner]
        s = [config.s_channels, *[config.mlp_ratio * config.s_channels] * inner]
        mv.append(config.mv_channels)
        s.append(config.s_channels)
        layers: list[nn.Module] = []
        for i in range(config.num_layers_mlp):
            sizes: dict[str, Any] = {"in_s_channels": s[i], "out_s_channels": s[i + 1]}
            if i == 0 and geometry.signs == "0+++":
                layers.append(JoinBilinear(mv[0], mv[1], geometry, **sizes))
            elif i == 0 and primitives.geometric_product:
                keeps = primitives.bivector
                layers.append(
                    ProductBilinear(
                        mv[0],
                        mv[1],
                        geometry,
                        keeps_bivectors=keeps,
                        is_part=is_part,
                        **sizes,
                    )
                )
            else:
                layers.append(EquivariantGate(geometry, config.nonlinearity))
                sizes["is_part"] = is_part
                layers.append(EquivariantLinear(mv[i], mv[i + 1], geometry, **sizes))
            if config.dropout_prob is not None:
                layers.append(GradeDropout(config.dropout_prob))
        self.layers = nn.ModuleList(layers)

    @property
    def hidden_channels(self) -> int:
        """Multivector channels of the product."""
        return self.config.mlp_ratio * self.config.mv_channels

    def _linears(self) -> list[EquivariantLinear]:
        """Return the linear layers of a part that is fused."""
        first: Any = self.layers[0]
        last: Any = self.layers[-1]
        return [first.linear_left, first.linear_right, first.linear_out, last]

    @property
    def n_weight(self) -> int:
        """How many weights the linear layers have."""
        return sum(linear.n_weight for linear in self._linears())

    def weights(self) -> list[Tensor]:
        """Return what :meth:`labels` numbers, in its order; for parts that are fused.

        Returns
        -------
        list of torch.Tensor
            Weights and biases of the four linear layers.
        """
        return [w for linear in self._linears() for w in linear.weights()]

    def labels(self, first: int = 0) -> list[Labels]:
        """Return the numbers of the weights in packed matrices; for parts that are fused.

        Parameters
        ----------
        first : int
            Number of the first of :meth:`weights`.

        Returns
        -------
        list of arrays of int
            Of three matrices: to both factors side by side, of the product, of what was gated.
        """
        found = []
        for linear in self._linears():
            found.append(linear.labels(first))
            first += linear.n_weight
        return [np.concatenate(found[:2], axis=1), *found[2:]]

    def sizes(self) -> list[Sizes]:
        """Return what the library calls the maps of :meth:`labels`; for parts that are fused.

        Returns
        -------
        list of Sizes
            Of each.
        """
        left, _, out, last = (linear.sizes for linear in self._linears())
        both = Row(2 * left.z.n_channel, 0)
        return [left._replace(z=both, has_bias=True), out, last]

    def rows(
        self, rows: Tensor, matrices: Sequence[Tensor], gains: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        """Compute packed rows.

        Parameters
        ----------
        rows : torch.Tensor, shape (..., feature)
            Packed rows.
        matrices : sequence of torch.Tensor
            With the weights as :meth:`labels` has them; or items of maps of :meth:`sizes`.
        gains : tuple of torch.Tensor or None
            Factors of the rows of the first and of the second matrix.

        Returns
        -------
        torch.Tensor
            Packed rows.
        """
        pair, out, last = matrices
        if gains is not None:
            pair, out = pair * gains[0], out * gains[1]
        linear = self._linears()[2]
        sizes = FeedForwardSizes(
            self.config.mv_channels,
            self.config.s_channels,
            linear.out_mv_channels,
            linear.out_s_channels,
            self.geometry,
        )
        return feed_forward(rows, pair, out, last, sizes)

    def forward(
        self, multivectors: Tensor, scalars: Tensor | None = None, **options: Any
    ) -> tuple[Tensor, Tensor | None]:
        """Compute.

        Parameters
        ----------
        multivectors : torch.Tensor, shape (..., mv_channels, 16)
            Multivectors.
        scalars : torch.Tensor, shape (..., s_channels), optional
            Scalars.
        **options
            Of the bilinear layer.

        Returns
        -------
        multivectors, scalars
            Like the inputs.
        """
        for i, layer in enumerate(self.layers):
            multivectors, scalars = layer(multivectors, scalars, **(options if i == 0 else {}))
        return multivectors, scalars
