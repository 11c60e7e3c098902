"""Parts of a block as one step of autograd each, on packed rows.

They keep little: the feed-forward part its input and the result of its second linear map, from
which the pass backward makes the rest again, some rows at a time. Where second derivatives are
wanted, the pass backward goes through the plain operations, which have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tessera.clifford import _torch, _torch_eager
from tessera.clifford.equivariant import _native as native
from tessera.clifford.equivariant import _node as node
from tessera.clifford.equivariant._differentiable import differentiable
from tessera.clifford.equivariant._gate import gated
from tessera.clifford.equivariant._linear import pack, times, unpack
from tessera.clifford.equivariant._maps import N_COMPONENT, Geometry
from tessera.clifford.equivariant._norm import normalized_rows
from tessera.clifford.equivariant._packed import Row, Sizes, unpacked

__all__ = ["FeedForwardSizes", "feed_forward", "is_plain", "norm_rows"]

_CHUNK_BYTES = 48 << 20  # of one array of hidden rows, of which the pass backward has seven
_ROW_STEP = 128  # matrix products work on tiles of as many rows


class FeedForwardSizes(NamedTuple):
    """Channels and scalars of rows, channels of products, scalars beside them."""

    c: int
    s: int
    hidden_c: int
    hidden_s: int
    geometry: Geometry


def is_plain(*tensors: Tensor) -> bool:
    """Say whether nobody but autograd watches, and all tensors are of one type and device."""
    first = tensors[0]
    return (
        not torch.compiler.is_compiling()
        and _torch._is_plain(tensors)
        and not torch.is_autocast_enabled(first.device.type)
        and all(t.dtype == first.dtype and t.device == first.device for t in tensors)
        and not _torch_eager.has_tangents(tensors)
    )


def _gradients_of_part(
    inputs: tuple[Tensor, ...],
    wanted: tuple[bool, ...],
    grad: Tensor,
    c: int,
    s: int,
    hidden_c: int,
    hidden_s: int,
    geometry: Geometry,
) -> list[Any]:
    """Return gradients of a part, a norm or the feed-forward one, that have gradients again."""

    def compute(rows: Tensor, *matrices: Tensor) -> Tensor:
        if not matrices:
            return normalized_rows(rows, c, s, geometry)
        pair, out, last = matrices
        sizes = FeedForwardSizes(c, s, hidden_c, hidden_s, geometry)
        return composed(rows, pair, out, last, sizes)

    return differentiable(compute, inputs, wanted, grad)


def _outside_autocast(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Have a pass backward compute in the types of its pass forward.

    Autocast, which is never around that, may be around loss.backward(): products got its type.
    """

    @wraps(backward)
    def wrapped(ctx: Any, *gradients: Any) -> Any:
        with torch.autocast(gradients[0].device.type, enabled=False):
            return backward(ctx, *gradients)

    return wrapped


class _NormRows(torch.autograd.Function):
    """Norms of packed rows."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, c: int, s: int, geometry: Geometry) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.sizes = (c, s, geometry)
        return native.norm(rows, c, geometry)

    @staticmethod
    @_outside_autocast
    def backward(ctx: Any, *gradients: Any) -> Any:
        (rows,) = ctx.saved_tensors
        c, s, geometry = ctx.sizes
        if torch.is_grad_enabled():
            found = _gradients_of_part((rows,), (True,), gradients[0], c, s, 0, 0, geometry)
            return found[0], None, None, None
        return native.norm_back(rows, gradients[0].contiguous(), c, geometry), None, None, None


def _gradients(
    geometry: Geometry,
    inputs: tuple[Tensor, ...],
    wanted: tuple[bool, ...],
    grad: Tensor,
    *sizes: int,
) -> tuple[Any, ...]:
    """Return gradients that can be differentiated again, as the compiled node asks for them."""
    c, s, hidden_c, hidden_s = sizes
    return tuple(_gradients_of_part(inputs, wanted, grad, c, s, hidden_c, hidden_s, geometry))


def norm_rows(rows: Tensor, c: int, s: int, geometry: Geometry) -> Tensor:
    """Normalise packed rows, (..., 16 c + s)."""
    found = node.rows(geometry, _gradients, (c, s, 0, 0, 0), rows)
    if found is not None:
        return found
    if not is_plain(rows):
        return normalized_rows(rows, c, s, geometry)
    flat = rows.reshape(-1, rows.shape[-1])
    z: Tensor = _NormRows.apply(flat, c, s, geometry)
    return z.view(rows.shape)


def _chunks(n_row: int, n: FeedForwardSizes, item: int) -> Iterator[slice]:
    width = (N_COMPONENT * n.hidden_c + max(n.hidden_s, n.s)) * item
    n_chunk = max(-(-n_row * width // _CHUNK_BYTES), 1)
    step = max(-(-n_row // (n_chunk * _ROW_STEP)), 1) * _ROW_STEP
    for first in range(0, n_row, step):
        yield slice(first, min(first + step, n_row))


class _FeedForward(torch.autograd.Function):
    """Product of two linear maps, a third, norm, gate, and a fourth."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, pair: Tensor, out: Tensor, last: Tensor, n: FeedForwardSizes
    ) -> Tensor:
        hidden = rows.new_empty(rows.shape[0], out.shape[1])
        z = rows.new_empty(rows.shape[0], last.shape[1])
        for part in _chunks(rows.shape[0], n, rows.itemsize):
            x = rows[part]
            scalars = native.scalars_of(x, n.c)
            product = native.product(*_factors(x, pair), scalars, n.hidden_c, n.geometry)
            torch.addmm(out[-1], product, out[:-1], out=hidden[part])
            del product
            unit = native.norm(hidden[part], n.hidden_c, n.geometry)
            open_ = native.gate(unit, n.hidden_c, n.geometry)
            torch.addmm(last[-1], open_, last[:-1], out=z[part])
        ctx.save_for_backward(rows, pair, out, last, hidden)
        ctx.sizes = n
        return z

    @staticmethod
    @_outside_autocast
    def backward(ctx: Any, *gradients: Any) -> Any:
        *inputs, hidden = ctx.saved_tensors
        n = ctx.sizes
        if torch.is_grad_enabled():
            wanted = ctx.needs_input_grad[:4]
            return *_gradients_of_part(tuple(inputs), wanted, gradients[0], *n), None
        rows, pair, out, last = inputs
        gz = gradients[0].contiguous()
        sums = [torch.empty_like(m) for m in (pair, out, last)]
        if not rows.shape[0]:
            for m in sums:
                m.zero_()
        g_rows = torch.empty_like(rows)
        for part in _chunks(rows.shape[0], n, rows.itemsize):
            add = _add if part.start else _begin
            matrices = (pair, out, last)
            _feed_back(rows[part], hidden[part], gz[part], matrices, sums, g_rows[part], n, add)
        return g_rows, *sums, None


def _factors(x: Tensor, pair: Tensor) -> tuple[Tensor, Tensor]:
    """Return both factors of the product, side by side: matrix products are fast where wide."""
    left, right = torch.addmm(pair[-1], x, pair[:-1]).chunk(2, 1)
    return left, right


def _begin(sums: Tensor, x: Tensor, g: Tensor) -> None:
    """Write what the first rows x and gradients g give to the gradient of a packed matrix."""
    torch.mm(x.T, g, out=sums[:-1])
    torch.sum(g, 0, out=sums[-1])


def _add(sums: Tensor, x: Tensor, g: Tensor) -> None:
    """Add what more rows give."""
    sums[:-1].addmm_(x.T, g)
    sums[-1].add_(g.sum(0))


def _feed_back(
    x: Tensor,
    hidden: Tensor,
    gz: Tensor,
    matrices: tuple[Tensor, Tensor, Tensor],
    sums: list[Tensor],
    g_x: Tensor,
    n: FeedForwardSizes,
    add: Callable[[Tensor, Tensor, Tensor], None],
) -> None:
    pair, out, last = matrices
    c, geometry = n.hidden_c, n.geometry
    unit = native.norm(hidden, c, geometry)
    add(sums[2], native.gate(unit, c, geometry), gz)
    g = native.gate_back(unit, torch.mm(gz, last[:-1].T), c, geometry)
    del unit
    g = native.norm_back(hidden, g, c, geometry)
    factors = _factors(x, pair)
    add(sums[1], native.product(*factors, native.scalars_of(x, n.c), c, geometry), g)
    g = torch.mm(g, out[:-1].T)
    g_pair = native.product_back(*factors, g, c, geometry)
    del factors
    add(sums[0], x, g_pair)
    torch.mm(g_pair, pair[:-1].T, out=g_x)
    if n.s:
        native.scalars_of(g_x, n.c).add_(native.scalars_of(g, c))


def _matrices(n: FeedForwardSizes, *weights: Tensor) -> list[Tensor]:
    """Return packed matrices, of which weights may be the items by pairs of components."""
    rows, hidden = Row(n.c, n.s), Row(n.hidden_c, n.hidden_s)
    sides = (
        (rows, Row(2 * n.hidden_c, 0)),
        (Row(n.hidden_c, n.s), hidden),
        (hidden, rows),
    )
    return [
        w if w.dim() == 2 else unpacked(w, Sizes(*side, is_null=False, has_bias=True))
        for w, side in zip(weights, sides, strict=True)
    ]


def composed(rows: Tensor, pair: Tensor, out: Tensor, last: Tensor, n: FeedForwardSizes) -> Tensor:
    """Return the feed-forward part of plain operations."""
    pair, out, last = _matrices(n, pair, out, last)
    left, right = times(rows, pair, True).chunk(2, -1)
    shape = (n.hidden_c, N_COMPONENT)
    product = n.geometry.algebra.geometric_product(
        left.unflatten(-1, shape), right.unflatten(-1, shape)
    )
    scalars = rows[..., N_COMPONENT * n.c :] if n.s else None
    hidden = times(pack(product, scalars), out, True)
    unit = normalized_rows(hidden, n.hidden_c, n.hidden_s, n.geometry)
    open_ = pack(*gated(*unpack(unit, n.hidden_c, n.hidden_s), n.geometry, "gelu"))
    return times(open_, last, True)


def feed_forward(
    rows: Tensor, pair: Tensor, out: Tensor, last: Tensor, n: FeedForwardSizes
) -> Tensor:
    """Return norm, gate and linear map of a linear map of the product of two linear maps.

    Parameters
    ----------
    rows : torch.Tensor, shape (..., 16 c + s)
        Packed rows.
    pair, out, last : torch.Tensor
        Packed matrices with their biases: to both factors side by side, of the product, of what
        was gated. Or items of these maps.
    n : FeedForwardSizes
        Sizes.

    Returns
    -------
    torch.Tensor
        Packed rows.
    """
    sizes = (n.c, n.s, n.hidden_c, n.hidden_s, _CHUNK_BYTES)
    found = node.rows(n.geometry, _gradients, sizes, rows, pair, out, last)
    if found is not None:
        return found
    if not is_plain(rows, pair, out, last) or pair.dim() == 1:
        return composed(rows, pair, out, last, n)
    z: Tensor = _FeedForward.apply(rows.reshape(-1, rows.shape[-1]), pair, out, last, n)
    return z.view(*rows.shape[:-1], z.shape[-1])
