"""Options of networks: names and defaults are those of lgatr."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tessera import _core
from tessera.clifford.equivariant._linear import Initialization

__all__ = ["MLPConfig", "PrimitivesConfig", "SelfAttentionConfig", "as_config"]

Config = TypeVar("Config")


def as_config(cls: type[Config], given: Any, name: str) -> Config:
    """Return options as their class: given as such, as a mapping, or as None for the defaults."""
    if isinstance(given, cls):
        return given
    if given is None:
        return cls()
    if not isinstance(given, Mapping):
        raise _core.ArgumentError(
            f"{name}: expected a {cls.__name__}, a mapping or None, got {type(given).__name__}"
        )
    known = {f.name for f in fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(set(given) - known)
    if unknown:
        raise _core.ArgumentError(
            f"{name}: {unknown[0]!r} is unknown; expected {', '.join(sorted(known))}"
        )
    return cls(**given)


@dataclass
class SelfAttentionConfig:
    """Options of :class:`SelfAttention`.

    Parameters
    ----------
    in_mv_channels, out_mv_channels, in_s_channels, out_s_channels : int
        Channels; a network fills them in.
    additional_qk_mv_channels, additional_qk_s_channels : int
        More channels that queries and keys are made of; a network fills them in.
    output_init : str
        Initialization of the last linear layer; a network fills it in.
    dropout_prob : float, optional
        A network fills it in.
    num_heads : int
        Heads.
    multi_query : bool
        One head of keys and values for all heads of queries.
    attn_ratio : int
        Channels of all heads together, over the channels of the input.
    head_scale : bool
        A learnable factor for every head.
    normalizes : bool
        Normalise queries, keys and values, as L-GATr does.
    """

    in_mv_channels: int = 1
    out_mv_channels: int = 1
    in_s_channels: int = 0
    out_s_channels: int = 0
    additional_qk_mv_channels: int = 0
    additional_qk_s_channels: int = 0
    output_init: Initialization = "default"
    dropout_prob: float | None = None
    num_heads: int = 8
    multi_query: bool = False
    attn_ratio: int = 1
    head_scale: bool = False
    normalizes: bool = True

    @property
    def hidden_mv_channels(self) -> int:
        """Multivector channels of a head."""
        return max(self.attn_ratio * self.in_mv_channels // self.num_heads, 1)

    @property
    def hidden_s_channels(self) -> int:
        """Scalar channels of a head."""
        if not self.in_s_channels:
            return 0
        return max(self.attn_ratio * self.in_s_channels // self.num_heads, 4)


@dataclass
class MLPConfig:
    """Options of :class:`GeoMLP`.

    Parameters
    ----------
    mv_channels, s_channels : int
        Channels; a network fills them in.
    dropout_prob : float, optional
        A network fills it in.
    nonlinearity : {'gelu', 'relu', 'sigmoid', 'tanh', 'silu'}
        Of the gates.
    mlp_ratio : int
        Hidden channels over channels.
    num_layers_mlp : int
        Layers, at least 1: a bilinear one, then gated linear ones.
    """

    mv_channels: int = 1
    s_channels: int = 0
    dropout_prob: float | None = None
    nonlinearity: str = "gelu"
    mlp_ratio: int = 4
    num_layers_mlp: int = 2


@dataclass
class PrimitivesConfig:
    """Options of the algebra.

    Parameters
    ----------
    subgroup : bool
        Ten linear maps, which commute with transformations of determinant 1 alone, instead of the
        five that commute with the full Lorentz group.
    bivector : bool
        Keep the bivectors of products.
    geometric_product : bool
        Multiply in the first layer of an MLP; else it is gated and linear.
    sparse_gp, sparse_linear : bool
        Taken for the sake of scripts written for lgatr; results do not depend on them.
    """

    subgroup: bool = True
    bivector: bool = True
    geometric_product: bool = True
    sparse_gp: bool = True
    sparse_linear: bool = False
