"""torch.vmap over the operators: rows take one more axis, or a loop goes over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# Where activations (component, row, feature) and statistics (grade, row) are among the arguments.
_FORWARD_ROWS = (0, 1)
_BACKWARD_ROWS = (0, 1, 2, 6, 7, 8)
_TANGENT_ROWS = (0, 1, 5, 6)
_ACTIVATIONS_ONLY = 0b11  # bits of `wanted`: x and y


def _fold(t: Any, dim: int | None, size: int) -> Any:
    """Put the mapped axis in front of the rows and join the two."""
    if t is None or t.dim() - (dim is not None) == 1:  # the tensor that stands for nothing
        return t if dim is None or t is None else t.select(dim, 0)
    t = t.unsqueeze(1).expand(-1, size, *t.shape[1:]) if dim is None else t.movedim(dim, 1)
    return t.flatten(1, 2)


def _unfold(found: tuple[Tensor, ...], size: int) -> tuple[tuple[Tensor, ...], Any]:
    tensors = tuple(t if t.dim() == 1 else t.unflatten(1, (size, -1)) for t in found)
    return tensors, tuple(None if t.dim() == 1 else 1 for t in tensors)


def _loop(
    op: Callable[..., Any], size: int, in_dims: tuple[Any, ...], args: tuple[Any, ...]
) -> tuple[tuple[Tensor, ...], Any]:
    found = [
        op(*(a if d is None else a.select(d, v) for a, d in zip(args, in_dims, strict=True)))
        for v in range(size)
    ]
    stacked = tuple(torch.stack(parts) for parts in zip(*found, strict=True))
    return stacked, (0,) * len(stacked)


def forward_rule(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a pass forward."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        if any(d is not None for d in in_dims[2:5]):  # a weight per mapped item
            return _loop(op, info.batch_size, in_dims, args)
        rows = [_fold(args[i], in_dims[i], info.batch_size) for i in _FORWARD_ROWS]
        return _unfold(op(*rows, *args[2:]), info.batch_size)

    return rule


def backward_rule(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a pass backward; gradients of weights are one per mapped item."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        has_weights = any(d is not None for d in in_dims[3:6])
        if has_weights or args[-1] & ~_ACTIVATIONS_ONLY:
            return _loop(op, info.batch_size, in_dims, args)
        folded = list(args)
        for i in _BACKWARD_ROWS:
            folded[i] = _fold(args[i], in_dims[i], info.batch_size)
        return _unfold(op(*folded), info.batch_size)

    return rule


def jvp_rule(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of a pass along tangents: rows too, while no weight is mapped."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        if any(d is not None for d in (*in_dims[2:5], *in_dims[7:10])):
            found = _loop(lambda *each: (op(*each),), info.batch_size, in_dims, args)
            return found[0][0], 0
        folded = list(args)
        for i in _TANGENT_ROWS:
            folded[i] = _fold(args[i], in_dims[i], info.batch_size)
        return op(*folded).unflatten(1, (info.batch_size, -1)), 1

    return rule


def double_rule(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of second derivatives."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        return _loop(op, info.batch_size, in_dims, args)

    return rule
