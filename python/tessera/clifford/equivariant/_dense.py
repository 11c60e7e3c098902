"""Weights of equivariant maps spread out into one matrix, so that a layer is one matrix product.

A map of c_in to c_out multivector channels and their scalars is a matrix of (16 c_in + s_in) rows
and (16 c_out + s_out) columns, and a row of biases. Every item is a weight, its negative, or zero:
where, is counted once; spreading is one gather, and its gradient gathers the few places of every
weight and sums them in a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tessera.clifford._constants import Constants
from tessera.clifford._torch import nobody_watches

__all__ = ["Labels", "Matrices", "Places"]

Labels = npt.NDArray[np.int64]


class _Spread(torch.autograd.Function):
    """Items of weights, their negatives and zeros, in their places."""

    generate_vmap_rule = True

    @staticmethod
    def forward(weights: Tensor, where: Tensor, places: Tensor, signs: Tensor) -> Tensor:
        source = torch.cat([weights.new_zeros(1), weights, -weights])
        return source.index_select(0, where)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        where, places, signs = ctx.saved_tensors
        return _Gather.apply(gradients[0], where, places, signs), None, None, None


class _Gather(torch.autograd.Function):
    """The sum over the places of every weight: what _Spread is differentiated by."""

    generate_vmap_rule = True

    @staticmethod
    def forward(items: Tensor, where: Tensor, places: Tensor, signs: Tensor) -> Tensor:
        found = items.index_select(0, places).view(signs.shape)
        return (found * signs.to(found.dtype)).sum(-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        where, places, signs = ctx.saved_tensors
        return _Spread.apply(gradients[0], where, places, signs), None, None, None


class _PlainSpread(torch.autograd.Function):
    """_Spread of many weights outside of compilers and transformations.

    A block has dozens: that they are joined here, and their gradients cut apart, takes the host
    less time than a step of autograd for each.
    """

    @staticmethod
    def forward(ctx: Any, where: Tensor, places: Tensor, signs: Tensor, *weights: Tensor) -> Tensor:
        ctx.save_for_backward(where, places, signs)
        ctx.shapes = [w.shape for w in weights]
        return _Spread.forward(_joined(weights), where, places, signs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        is_watched = torch.is_grad_enabled() or not nobody_watches()
        gather = _Gather.apply if is_watched else _Gather.forward
        found = gather(gradients[0], *ctx.saved_tensors)
        parts = found.split([shape.numel() for shape in ctx.shapes])
        return None, None, None, *map(Tensor.view, parts, ctx.shapes)


def _joined(weights: Sequence[Tensor]) -> Tensor:
    return torch.cat([w.reshape(-1) for w in weights])


class Places(Constants):
    """Where the weights go.

    Parameters
    ----------
    labels : array of int
        1 + the number of the weight at every place, negative for its negative, 0 for zero.
    n_weight : int
        How many weights there are.
    n_constant : int
        How many of them, the last ones, get no gradient.
    """

    def __init__(self, labels: Labels, n_weight: int, n_constant: int = 0) -> None:
        super().__init__()
        self.shape = labels.shape
        flat = labels.ravel()
        index = np.where(flat < 0, n_weight - flat, flat)
        used = np.flatnonzero((flat != 0) & (np.abs(flat) <= n_weight - n_constant))
        owner = np.abs(flat[used]) - 1
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=n_weight)
        width = int(counts.max(initial=1))
        rank = np.arange(len(used)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.zeros((n_weight, width), np.int32)
        signs = np.zeros((n_weight, width), np.int8)
        places[owner[order], rank] = used[order]
        signs[owner[order], rank] = np.sign(flat[used[order]])
        for name, values in (
            ("where", index.astype(np.int32)),
            ("places", places.ravel()),
            ("signs", signs),
        ):
            self.keep(name, values)

    def forward(self, weights: Sequence[Tensor]) -> Tensor:
        """Spread weights, joined in the order in which they were numbered."""
        places = [self.constant(name, weights[0]) for name in ("where", "places", "signs")]
        found: Tensor
        if not torch.compiler.is_compiling() and nobody_watches():
            found = _PlainSpread.apply(*places, *weights)
        else:
            found = _Spread.apply(_joined(weights), *places)
        return found.view(self.shape)


class Matrices(torch.nn.Module):
    """Several matrices of one list of weights, spread at once.

    Parameters
    ----------
    labels : sequence of arrays of int
        Of each matrix.
    n_weight, n_constant : int
        As of :class:`Places`.
    """

    def __init__(self, labels: Sequence[Labels], n_weight: int, n_constant: int = 0) -> None:
        super().__init__()
        self.shapes = [one.shape for one in labels]
        self.sizes = [one.size for one in labels]
        flat = np.concatenate([one.ravel() for one in labels])
        self.places = Places(flat, n_weight, n_constant)

    def forward(self, weights: Sequence[Tensor]) -> list[Tensor]:
        """Return the matrices."""
        parts = self.places(weights).split(self.sizes)
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]
