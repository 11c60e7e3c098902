"""Differentiation of plain tensors outside of any compiler or transformation.

torch's dispatcher costs more than a small pass itself, so these functions go around it; where
something wants to see the operation (compilers, functorch, modes, tensor subclasses),
``_torch_ops`` has it as a registered operator.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

from tessera.clifford import _torch_call as call
from tessera.clifford._spec import Operation, mask_of

THIRD = (
    "tessera.clifford: derivatives of third order are not available; forward, backward and "
    "double backward are"
)
TWICE = (
    "tessera.clifford: forward mode twice (jacfwd of jacfwd) is not available; torch.func.hessian, "
    "which is forward over backward, and jacrev of jacfwd are"
)


def has_tangents(inputs: Iterable[Any]) -> bool:
    """Say whether a derivative in forward mode travels with any of some tensors."""
    if forward_ad._current_level < 0 or not torch._C._is_fwd_grad_enabled():
        return False
    return any(
        isinstance(t, Tensor) and forward_ad.unpack_dual(t).tangent is not None for t in inputs
    )


# Many gradients at once (is_grads_batched, vectorize=True) reach the passes backward as tensors
# without memory, which only torch's dispatcher can take apart.
_is_batched: Any = getattr(torch._C._functorch, "is_legacy_batchedtensor", lambda t: False)


def _by_operator(name: str, wanted: int, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Call the registered operator of a pass backward."""
    found = getattr(torch.ops.tessera, name).default(*arguments, wanted)
    return tuple(t if wanted >> i & 1 else None for i, t in enumerate(found))


def gradients(
    o: Operation,
    wanted: int,
    statistics: Any,
    linear_out: Any,
    z: Any,
    gz: Tensor,
    *inputs: Any,
) -> tuple[Any, ...]:
    """Return the gradients whose bits are set, differentiable where that is asked for."""
    if _is_batched(gz) or has_tangents((gz, *inputs)):
        nothing = gz.new_empty((0,))
        kept = (nothing if t is None else t for t in (statistics, linear_out, z))
        name = f"clifford_{o.kind}_backward"
        return _by_operator(name, wanted, (gz, *inputs, *kept, o.spec))
    if torch.is_grad_enabled():
        found: tuple[Any, ...] = CliffordBackward.apply(
            o, wanted, statistics, linear_out, z, gz, *inputs
        )
        return found
    x, y, weight, linear_weight, bias = inputs
    slots = (x, y, weight, linear_weight, bias)
    return call.backward(o, gz, slots, statistics, linear_out, z, wanted)


class CliffordForward(torch.autograd.Function):
    """z of the inputs."""

    @staticmethod
    def forward(ctx: Any, o: Operation, *inputs: Any) -> Any:
        """Compute z and keep what the backward pass can use."""
        z, statistics, linear_out = call.forward(
            o, inputs, call.kept_bits(o.kind, o.normalizes, inputs[0])
        )
        ctx.operation = o
        kept = z if call.uses_result(o, inputs[0]) else None
        ctx.save_for_backward(*inputs, statistics, linear_out, kept)
        return z

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Compute the gradients that are wanted."""
        *inputs, statistics, linear_out, z = ctx.saved_tensors
        wanted = mask_of(ctx.needs_input_grad[1:])
        return None, *gradients(
            ctx.operation, wanted, statistics, linear_out, z, cotangents[0], *inputs
        )


class CliffordBackward(torch.autograd.Function):
    """Gradients of the inputs, differentiable by the inputs and the gradient of z."""

    @staticmethod
    def forward(
        ctx: Any,
        o: Operation,
        wanted: int,
        statistics: Any,
        linear_out: Any,
        z: Any,
        gz: Tensor,
        *inputs: Any,
    ) -> Any:
        """Compute the gradients that are wanted."""
        ctx.operation = o
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(gz, *inputs)
        return call.backward(o, gz, inputs, statistics, linear_out, z, wanted)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Compute second derivatives."""
        gz, *inputs = ctx.saved_tensors
        if all(c is None for c in cotangents):
            return (None,) * 11
        wanted = mask_of(ctx.needs_input_grad[5:])
        o = ctx.operation
        if any(c is not None and _is_batched(c) for c in cotangents) or has_tangents(
            (gz, *inputs, *cotangents)
        ):
            name = f"clifford_{o.kind}_double_backward"
            found = _by_operator(name, wanted, (gz, *inputs, *cotangents, o.spec))
        elif torch.is_grad_enabled():
            found = CliffordDoubleBackward.apply(o, wanted, gz, *inputs, *cotangents)
        else:
            found = call.double_backward(o, gz, tuple(inputs), cotangents, wanted)
        return (None,) * 5 + found


class CliffordDoubleBackward(torch.autograd.Function):
    """Second derivatives; a third is refused."""

    @staticmethod
    def forward(ctx: FunctionCtx, o: Operation, wanted: int, gz: Tensor, *rest: Any) -> Any:
        """Compute second derivatives."""
        return call.double_backward(o, gz, rest[:5], rest[5:], wanted)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Refuse."""
        raise NotImplementedError(THIRD)


def _wants_gradient(inputs: call.Slots) -> bool:
    # A plain loop: a generator would cost a microsecond.
    for t in inputs:  # noqa: SIM110
        if t is not None and t.requires_grad:
            return True
    return False


def run(o: Operation, inputs: call.Slots) -> Tensor:
    """Compute z of plain tensors, differentiable where a gradient is wanted."""
    if torch.is_grad_enabled() and _wants_gradient(inputs):
        return CliffordForward.apply(o, *inputs)
    return call.forward(o, inputs, 0)[0]
