"""Sums over edges of torch tensors. Each is linear in both inputs, and a derivative is another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tessera import _core
from tessera.clifford._torch_call import _Context, _lent

if TYPE_CHECKING:
    from tessera.clifford._graph import Graph


def _check(name: str, t: Any) -> None:
    if not isinstance(t, Tensor):
        raise _core.DTypeError(
            f"clifford.graph: {name}: expected a tensor as x is, got {type(t).__name__}; "
            "torch.as_tensor() makes one"
        )
    if t.device.type != "cpu":
        raise _core.ArgumentError(
            f"clifford.graph: {name}: is on {t.device}; graphs are computed on the CPU, "
            ".cpu() moves it there"
        )


class _Sum(torch.autograd.Function):
    """z[k, r, n] = sum over edges of scale[e, n] x[k, s, n]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor | None, graph: Graph) -> Tensor:
        ctx.graph = graph
        ctx.save_for_backward(x, scale)
        z = x.new_empty((x.shape[0], graph.n_receiver, x.shape[2]))
        lease = _Context(x)
        try:
            graph._sum(lease.context, *_lent((x, scale, z)))
        finally:
            lease.give_back()
        return z

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, scale = ctx.saved_tensors
        gz = gradients[0]
        gx = _Sum.apply(gz, scale, ctx.graph.reversed) if ctx.needs_input_grad[0] else None
        by = ctx.needs_input_grad[1]
        return gx, _Dot.apply(x, gz, ctx.graph, scale) if by else None, None


class _Dot(torch.autograd.Function):
    """d[e, n] = sum over components of x[k, s, n] y[k, r, n]; of the shape and type of like."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, graph: Graph, like: Tensor) -> Tensor:
        ctx.graph = graph
        ctx.save_for_backward(x, y)
        d = torch.empty_like(like)
        lease = _Context(x)
        try:
            graph._dot(lease.context, *_lent((x, y, d)))
        finally:
            lease.give_back()
        return d

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, y = ctx.saved_tensors
        gd = gradients[0]
        gx = _Sum.apply(y, gd, ctx.graph.reversed) if ctx.needs_input_grad[0] else None
        gy = _Sum.apply(x, gd, ctx.graph) if ctx.needs_input_grad[1] else None
        return gx, gy, None, None


@torch.compiler.disable  # type: ignore[untyped-decorator]
def graph_sum(x: Tensor, graph: Graph, scale: Tensor | None) -> Tensor:
    """Sum over edges, differentiable."""
    _check("x", x)
    if scale is not None:
        _check("scale", scale)
    if x.dim() != 3:
        raise _core.ShapeError(f"x: expected (component, sender, feature), got {x.dim()} axes")
    found: Tensor = _Sum.apply(x, scale, graph)
    return found


@torch.compiler.disable  # type: ignore[untyped-decorator]
def graph_dot(x: Tensor, y: Tensor, graph: Graph) -> Tensor:
    """Multiply sender and receiver along every edge, (edge, feature), differentiable."""
    _check("x", x)
    _check("y", y)
    found: Tensor = _Dot.apply(x, y, graph, x.new_empty((graph.n_edge, x.shape[2])))
    return found
