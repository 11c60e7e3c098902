"""Passes of the library over packed rows: multivectors and scalars of an item side by side.

Nothing here is differentiable or traced. Rows are (row, 16 channels + scalars), contiguous; the
library reads and writes their multivectors where they are.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from tessera.clifford import _torch_call as call
from tessera.clifford._spec import Operation, make_spec, operation
from tessera.clifford.equivariant._maps import N_COMPONENT, Geometry

__all__ = [
    "gate",
    "gate_back",
    "norm",
    "norm_back",
    "product",
    "product_back",
    "scalars_of",
]

_SCALAR_EPS = 1e-5
_NARROW = 8  # torch's layer norm takes a block of threads per row, however short that is


@cache
def _norm_op(geometry: Geometry) -> Operation:
    return operation(
        "norm", make_spec(geometry.signs, norm_metric=geometry.norm_metric, eps=geometry.eps)
    )


@cache
def _gate_op(geometry: Geometry) -> Operation:
    return operation("gate", make_spec(geometry.signs, activation="gelu_tanh"))


@cache
def _product_op(geometry: Geometry) -> Operation:
    return operation("sgp", make_spec(geometry.signs, activation="none", normalize=False))


def _mv(rows: Tensor, n_channel: int) -> Tensor:
    """View the multivectors of rows as (component, row, channel)."""
    return rows.as_strided(
        (N_COMPONENT, rows.shape[0], n_channel), (1, rows.stride(0), N_COMPONENT)
    )


def scalars_of(rows: Tensor, n_channel: int) -> Tensor:
    """View the scalars of rows."""
    return rows[:, N_COMPONENT * n_channel :]


def _forward(o: Operation, x: Tensor, y: Tensor | None, z: Tensor) -> None:
    if not x.shape[1]:
        return
    lease = call._Context(x)
    try:
        nothing = (None,) * 3
        o.native().forward(
            lease.context, call._workspace_of(x), *call._lent((x, y)), *nothing, z, None, None
        )
    finally:
        lease.give_back()


def _backward(
    o: Operation, x: Tensor, y: Tensor | None, gz: Tensor, gx: Tensor, gy: Tensor | None
) -> None:
    if not x.shape[1]:
        return
    lease = call._Context(x)
    nothing = (None,) * 3
    try:
        o.native().backward(
            lease.context,
            call._workspace_of(x),
            *call._lent((x, y)),
            *nothing,
            *call._lent((gz,)),
            None,
            None,
            gx,
            gy,
            *nothing,
        )
    finally:
        lease.give_back()


def norm(rows: Tensor, n_channel: int, geometry: Geometry) -> Tensor:
    """Normalise multivectors over channels, and scalars."""
    z = torch.empty_like(rows)
    _forward(_norm_op(geometry), _mv(rows, n_channel), None, _mv(z, n_channel))
    s = scalars_of(rows, n_channel)
    if s.shape[1] > _NARROW:
        scalars_of(z, n_channel).copy_(torch.layer_norm(s, s.shape[1:], eps=_SCALAR_EPS))
    elif s.numel():
        var, mean = torch.var_mean(s, 1, correction=0, keepdim=True)
        torch.mul(s - mean, var.add_(_SCALAR_EPS).rsqrt_(), out=scalars_of(z, n_channel))
    return z


def norm_back(rows: Tensor, grad: Tensor, n_channel: int, geometry: Geometry) -> Tensor:
    """Return the gradient of norm by its rows."""
    g = torch.empty_like(rows)
    _backward(
        _norm_op(geometry),
        _mv(rows, n_channel),
        None,
        _mv(grad, n_channel),
        _mv(g, n_channel),
        None,
    )
    s, gs = scalars_of(rows, n_channel), scalars_of(grad, n_channel)
    if s.shape[1] > _NARROW:
        s = s.contiguous()
        _, mean, inverse = torch.native_layer_norm(s, s.shape[1:], None, None, _SCALAR_EPS)
        found = torch.ops.aten.native_layer_norm_backward(
            gs.contiguous(), s, s.shape[1:], mean, inverse, None, None, [True, False, False]
        )[0]
        scalars_of(g, n_channel).copy_(found)
    elif s.numel():
        var, mean = torch.var_mean(s, 1, correction=0, keepdim=True)
        inverse = var.add_(_SCALAR_EPS).rsqrt_()
        unit = (s - mean).mul_(inverse)
        along = torch.linalg.vecdot(gs, unit).unsqueeze(1) / -s.shape[1]
        slope = torch.addcmul(gs, unit, along).sub_(gs.mean(1, keepdim=True))
        torch.mul(slope, inverse, out=scalars_of(g, n_channel))
    return g


def gate(rows: Tensor, n_channel: int, geometry: Geometry) -> Tensor:
    """Gate multivectors by the tanh form of GELU of their scalar component, and scalars by it."""
    z = torch.empty_like(rows)
    _forward(_gate_op(geometry), _mv(rows, n_channel), None, _mv(z, n_channel))
    s = scalars_of(rows, n_channel)
    if s.shape[1]:
        scalars_of(z, n_channel).copy_(torch.nn.functional.gelu(s, approximate="tanh"))
    return z


def gate_back(rows: Tensor, grad: Tensor, n_channel: int, geometry: Geometry) -> Tensor:
    """Return the gradient of gate by its rows."""
    g = torch.empty_like(rows)
    _backward(
        _gate_op(geometry),
        _mv(rows, n_channel),
        None,
        _mv(grad, n_channel),
        _mv(g, n_channel),
        None,
    )
    s = scalars_of(rows, n_channel)
    if s.shape[1]:
        found = torch.ops.aten.gelu_backward(scalars_of(grad, n_channel), s, approximate="tanh")
        scalars_of(g, n_channel).copy_(found)
    return g


def product(
    left: Tensor, right: Tensor, scalars: Tensor, n_channel: int, geometry: Geometry
) -> Tensor:
    """Multiply rows of multivectors; scalars follow the product."""
    width = N_COMPONENT * n_channel
    z = left.new_empty(left.shape[0], width + scalars.shape[1])
    _forward(
        _product_op(geometry), _mv(left, n_channel), _mv(right, n_channel), _mv(z, n_channel)
    )
    if scalars.shape[1]:
        z[:, width:].copy_(scalars)
    return z


def product_back(
    left: Tensor, right: Tensor, grad: Tensor, n_channel: int, geometry: Geometry
) -> Tensor:
    """Return the gradients of product by its factors, side by side."""
    both = left.new_empty(left.shape[0], left.shape[1] + right.shape[1])
    g_left, g_right = both.chunk(2, 1)
    _backward(
        _product_op(geometry),
        _mv(left, n_channel),
        _mv(right, n_channel),
        _mv(grad, n_channel),
        _mv(g_left, n_channel),
        _mv(g_right, n_channel),
    )
    return both
