"""Types of what calls take and return, for type checkers; never imported at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import torch

from tessera.clifford._graph import Graph

Activation: TypeAlias = Literal["gelu", "gelu_tanh", "relu", "sigmoid", "tanh", "silu", "none"]
NormMetric: TypeAlias = Literal["auto", "euclid", "abs", "clamp", "abs_clamp"]
BiasMode: TypeAlias = Literal["scalar", "all"]
Precision: TypeAlias = Literal["highest", "high"]


class ArrayLike(Protocol):
    """An array of NumPy, a tensor of torch, or an array of any library with DLPack."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


# What comes out is of the library that went in.
ArrayT = TypeVar("ArrayT", bound=ArrayLike)
Weight: TypeAlias = ArrayLike
Device: TypeAlias = str | int | torch.device | None
DType: TypeAlias = torch.dtype | None
# Numbers of nodes, and edges as a graph or an edge_index.
Indices: TypeAlias = ArrayLike | Sequence[int]
Edges: TypeAlias = Graph | ArrayLike
