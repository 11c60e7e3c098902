"""Sums over edges of torch tensors. Each is linear in both inputs, and a derivative is another.

``torch.ops.tessera.clifford_graph_sum`` and ``clifford_graph_dot`` take the lists of both
directions: derivatives by senders go along the reversed edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tessera import _core
from tessera.clifford import _arrays, _torch, _torch_eager, _torch_ops
from tessera.clifford._torch_call import _Context, _lent, _room, _workspace_of

if TYPE_CHECKING:
    from tessera.clifford._graph import Graph

Lists = tuple[Tensor, ...]  # offsets, senders, edges; the same of the reversed graph


def indices(senders: Any, receivers: Any) -> tuple[Tensor, Tensor]:
    """Return whole numbers as contiguous tensors of int64 on one device."""
    device = senders.device if isinstance(senders, Tensor) else receivers.device
    found = []
    for name, values in (("senders", senders), ("receivers", receivers)):
        t = torch.as_tensor(values).detach()
        if t.dim() != 1:
            raise _core.ShapeError(f"{name}: expected one axis, got {t.dim()}")
        is_other = t.is_floating_point() or t.is_complex() or t.dtype == torch.bool
        if t.numel() and is_other:  # an empty list has no type of its own
            raise _core.DTypeError(
                f"{name}: is {str(t.dtype).removeprefix('torch.')}; expected integers, long() "
                "makes them"
            )
        found.append(t.to(device, torch.int64, copy=True).contiguous())
    return found[0], found[1]


def sort(receivers: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return numbers of edges by receiver, their offsets and how many each receiver has."""
    by_receiver, edges = torch.sort(receivers, stable=True)
    starts = torch.arange(n + 1, device=receivers.device)
    offsets = torch.searchsorted(by_receiver, starts)
    return edges, offsets, offsets.diff()


def join(parts: list[Tensor]) -> Tensor:
    """Put lists one behind the other, on the device of the first."""
    return torch.cat([p.to(parts[0].device) for p in parts])


@torch.compiler.disable  # type: ignore[untyped-decorator]
def make_lists(graph: Graph, device: Any) -> Lists:
    """Return the lists of both directions on a device, and keep them there."""
    key = str(torch.empty(0, device=device).device)
    found = graph._tensors.get(key)
    if found is None:
        lists = (*graph._lists, *graph._back_lists)
        with torch.inference_mode(False):  # they are for calls with gradients as well
            found = tuple(torch.as_tensor(t).to(key).contiguous() for t in lists)
        graph._tensors[key] = found
    return found


def lists_of(graph: Graph, device: torch.device) -> Lists:
    """Return the lists of both directions on the device of some tensor."""
    found = graph._tensors.get(str(device))
    return make_lists(graph, device) if found is None else found


def _sum(x: Tensor, scale: Tensor | None, lists: Lists) -> Tensor:
    z = _room(x, (x.shape[0], lists[0].shape[0] - 1, x.shape[2]))
    arguments: tuple[Any, ...] = (*lists[:3], *_lent((x, scale, z)), lists[3].shape[0] - 1)
    arguments += (_workspace_of(x),)
    lease = _Context(x)
    try:
        _core.clifford_graph_sum(lease.context, *arguments)
    finally:
        lease.give_back()
    return z


def _dot(x: Tensor, y: Tensor, lists: Lists, is_narrow: bool, is_wide: bool) -> Tensor:
    d = torch.empty(
        (lists[1].shape[0], 1 if is_narrow else x.shape[2]),
        dtype=torch.float32 if is_wide else x.dtype,
        device=x.device,
    )
    arguments: tuple[Any, ...] = (*lists[:3], *_lent((x, y, d)), lists[3].shape[0] - 1)
    lease = _Context(x)
    try:
        _core.clifford_graph_dot(lease.context, *arguments)
    finally:
        lease.give_back()
    return d


def _is_wide(x: Tensor, scale: Tensor) -> bool:
    """Say whether numbers of edges are float32 beside 16 bits."""
    return scale.dtype != x.dtype


def _reversed(lists: Lists) -> Lists:
    return (*lists[3:], *lists[:3])


class _Sum(torch.autograd.Function):
    """z[k, r, n] = sum over edges of scale[e, n] x[k, s, n]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor | None, *lists: Tensor) -> Tensor:
        ctx.lists = lists
        ctx.save_for_backward(x, scale)
        return _sum(x, scale, lists)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, scale = ctx.saved_tensors
        gx, gscale = _sum_backward(ctx, gradients[0], x, scale, ctx.lists, 0)
        return gx, gscale, *(None,) * 6


class _Dot(torch.autograd.Function):
    """d[e, n] = sum over components of x[k, s, n] y[k, r, n]."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor, is_narrow: bool, is_wide: bool, *lists: Tensor
    ) -> Tensor:
        ctx.lists = lists
        ctx.save_for_backward(x, y)
        return _dot(x, y, lists, is_narrow, is_wide)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, y = ctx.saved_tensors
        gx, gy = _dot_backward(ctx, gradients[0], x, y, ctx.lists, 0)
        return gx, gy, *(None,) * 8


def _sum_backward(
    ctx: Any, gz: Tensor, x: Tensor, scale: Tensor | None, lists: Lists, first: int
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of x and scale; first: where x is among the inputs."""
    gx = _apply_sum(gz, scale, _reversed(lists)) if ctx.needs_input_grad[first] else None
    if scale is None or not ctx.needs_input_grad[first + 1]:
        return gx, None
    is_narrow = scale.shape[1] == 1
    return gx, _apply_dot(x, gz, lists, is_narrow, _is_wide(x, scale))


def _dot_backward(
    ctx: Any, gd: Tensor, x: Tensor, y: Tensor, lists: Lists, first: int
) -> tuple[Tensor | None, Tensor | None]:
    """Return the gradients of x and y."""
    needs_x, needs_y = ctx.needs_input_grad[first : first + 2]
    gx = _apply_sum(y, gd, _reversed(lists)) if needs_x else None
    return gx, _apply_sum(x, gd, lists) if needs_y else None


_LISTS = ", ".join(f"Tensor {a}{b}" for a in ("", "back_") for b in ("offsets", "senders", "edges"))


def _check_shapes(x: Tensor, lists: tuple[Any, ...]) -> None:
    if x.dim() != 3 or x.shape[1] != lists[3].shape[0] - 1:
        raise _core.ShapeError(
            f"clifford.graph: x: {tuple(x.shape)}, expected (component, sender, feature) with "
            f"{lists[3].shape[0] - 1} senders"
        )


def _define_sum() -> None:
    def kernel(x: Tensor, scale: Tensor | None, *lists: Tensor) -> Tensor:
        return _sum(x, scale, lists)

    def fake(x: Tensor, scale: Tensor | None, *lists: Tensor) -> Tensor:
        _check_shapes(x, lists)
        return x.new_empty((x.shape[0], lists[0].shape[0] - 1, x.shape[2]))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        if gradients[0] is None:
            return (None,) * 9
        x, scale, *lists = ctx.saved_tensors
        found = _sum_backward(ctx, gradients[0], x, scale, tuple(lists), 1)
        return (None, *found, *(None,) * 6)

    def jvp(ctx: Any, *tangents: Any) -> Tensor | None:
        x, scale, *lists = ctx.saved_tensors
        along = [
            _apply_sum(*pair, tuple(lists))
            for pair, t in (((tangents[1], scale), tangents[1]), ((x, tangents[2]), tangents[2]))
            if t is not None
        ]
        return sum(along[1:], start=along[0]) if along else None

    def vmap_rule(op: Any) -> Any:
        def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
            x, scale, *lists = args
            if in_dims[1] is None and not any(d is not None for d in in_dims[2:]):
                joined = x.movedim(in_dims[0], 0)  # more components: each is on its own
                found = op(joined.flatten(0, 1), scale, *lists)
                return found.unflatten(0, (info.batch_size, -1)), 0
            return _loop(op, info.batch_size, in_dims, args)

        return rule

    rules = (setup_context, backward, jvp)
    schema = f"(Tensor x, Tensor? scale, {_LISTS}) -> Tensor"
    _torch_ops._register("clifford_graph_sum", schema, kernel, fake, rules, vmap_rule)


def _define_dot() -> None:
    def kernel(x: Tensor, y: Tensor, *rest: Any) -> Tensor:
        *lists, is_narrow, is_wide = rest
        return _dot(x, y, tuple(lists), is_narrow, is_wide)

    def fake(x: Tensor, y: Tensor, *rest: Any) -> Tensor:
        *lists, is_narrow, is_wide = rest
        _check_shapes(x, tuple(lists))
        shape = (lists[1].shape[0], 1 if is_narrow else x.shape[2])
        return x.new_empty(shape, dtype=torch.float32 if is_wide else x.dtype)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.is_narrow, ctx.is_wide = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        if gradients[0] is None:
            return (None,) * 11
        x, y, *lists = ctx.saved_tensors
        found = _dot_backward(ctx, gradients[0], x, y, tuple(lists), 1)
        return (None, *found, *(None,) * 8)

    def jvp(ctx: Any, *tangents: Any) -> Tensor | None:
        x, y, *lists = ctx.saved_tensors
        along = [
            _apply_dot(*pair, tuple(lists), ctx.is_narrow, ctx.is_wide)
            for pair, t in (((tangents[1], y), tangents[1]), ((x, tangents[2]), tangents[2]))
            if t is not None
        ]
        return sum(along[1:], start=along[0]) if along else None

    def vmap_rule(op: Any) -> Any:
        def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
            return _loop(op, info.batch_size, in_dims, args)

        return rule

    rules = (setup_context, backward, jvp)
    schema = f"(Tensor x, Tensor y, {_LISTS}, bool is_narrow, bool is_wide) -> Tensor"
    _torch_ops._register("clifford_graph_dot", schema, kernel, fake, rules, vmap_rule)


def _loop(op: Any, size: int, in_dims: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    found = [
        op(*(a if d is None else a.select(d, v) for a, d in zip(args, in_dims, strict=True)))
        for v in range(size)
    ]
    return torch.stack(found), 0


_define_sum()
_define_dot()
_ops = torch.ops.tessera


def _goes_around(tensors: tuple[Any, ...]) -> bool:
    """Say whether nobody but autograd watches: then torch's dispatcher is not needed."""
    return (
        not torch.compiler.is_compiling()
        and _torch._is_plain(tensors)
        and not any(t is not None and _torch_eager._is_batched(t) for t in tensors)
        and not _torch_eager.has_tangents(tensors)
    )


def _apply_sum(x: Tensor, scale: Tensor | None, lists: Lists) -> Tensor:
    if _goes_around((x, scale)):
        found: Tensor = _Sum.apply(x, scale, *lists)
        return found
    return _ops.clifford_graph_sum.default(x, scale, *lists)


def _apply_dot(x: Tensor, y: Tensor, lists: Lists, is_narrow: bool, is_wide: bool) -> Tensor:
    if _goes_around((x, y)):
        found: Tensor = _Dot.apply(x, y, is_narrow, is_wide, *lists)
        return found
    return _ops.clifford_graph_dot.default(x, y, *lists, is_narrow, is_wide)


def _check(name: str, t: Any, x: Tensor) -> None:
    if not isinstance(t, Tensor):
        raise _core.DTypeError(
            f"clifford.graph: {name}: expected a tensor as x is, got {type(t).__name__}; "
            "torch.as_tensor() makes one"
        )
    _arrays.refuse_sparse(t, f"clifford.graph: {name}")
    if t.device != x.device:
        raise _core.ArgumentError(
            f"clifford.graph: {name}: is on {t.device}, but x is on {x.device}; move it with "
            f".to({str(x.device)!r})"
        )
    if t.device.type not in ("cpu", "cuda", "meta"):
        raise _core.ArgumentError(
            f"clifford.graph: {name}: is on {t.device}; graphs are computed on CPUs and NVIDIA "
            "GPUs, .cpu() moves it there"
        )


def _cast(x: Tensor, other: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Give tensors the type of autocast, where it is on."""
    device = x.device.type
    if device not in ("cpu", "cuda") or not torch.is_autocast_enabled(device):
        return x, other
    dtype = torch.get_autocast_dtype(device)
    cast = _torch_ops.autocast(x, dtype)
    assert cast is not None
    return cast, _torch_ops.autocast(other, dtype)


def graph_sum(x: Tensor, graph: Graph, scale: Tensor | None) -> Tensor:
    """Sum over edges, differentiable."""
    _check("x", x, x)
    if scale is not None:
        _check("scale", scale, x)
    x, scale = _cast(x, scale)
    return _apply_sum(x, scale, lists_of(graph, x.device))


def graph_dot(x: Tensor, y: Tensor, graph: Graph) -> Tensor:
    """Multiply sender and receiver along every edge, (edge, feature), differentiable."""
    _check("x", x, x)
    _check("y", y, x)
    left, right = _cast(x, y)
    assert right is not None
    return _apply_dot(left, right, lists_of(graph, x.device), False, False)
