"""The operations under transformations of torch.func (grad, jacrev, vmap and what they nest to).

Registered operators know vmap but not the others, which ask for functions of this form: everything
a backward pass needs is an input or an output.
"""

from __future__ import annotations

from typing import Any

import torch

from tessera.clifford._spec import mask_of, normalizes
from tessera.clifford._torch_call import kept_bits
from tessera.clifford._torch_eager import THIRD

_ops = torch.ops.tessera


def _or_none(found: tuple[Any, ...], wanted: int) -> tuple[Any, ...]:
    return tuple(t if wanted >> i & 1 else None for i, t in enumerate(found))


class FuncForward(torch.autograd.Function):
    """z, statistics and linear map of the inputs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(kind: str, spec: str, *inputs: Any) -> Any:
        """Compute them."""
        return getattr(_ops, f"clifford_{kind}").default(
            *inputs, spec, kept_bits(kind, normalizes(kind, spec), inputs[0])
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep what the backward pass can use."""
        ctx.kind, ctx.spec, *tensors = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*tensors, *output[1:])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Compute the gradients that are wanted."""
        wanted = mask_of(ctx.needs_input_grad[2:])
        *inputs, statistics, linear_out = ctx.saved_tensors
        found = FuncBackward.apply(
            ctx.kind, ctx.spec, wanted, statistics, linear_out, gradients[0], *inputs
        )
        return None, None, *_or_none(found, wanted)


class FuncBackward(torch.autograd.Function):
    """Gradients of the inputs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        kind: str, spec: str, wanted: int, statistics: Any, linear_out: Any, gz: Any, *inputs: Any
    ) -> Any:
        """Compute them."""
        nothing = statistics.new_empty((0,))
        return getattr(_ops, f"clifford_{kind}_backward").default(
            gz, *inputs, statistics, linear_out, nothing, spec, wanted
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep the inputs."""
        ctx.kind, ctx.spec, ctx.wanted, _, _, *tensors = inputs
        unwanted = [t for i, t in enumerate(output) if not ctx.wanted >> i & 1]
        ctx.mark_non_differentiable(*unwanted)
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        """Compute second derivatives."""
        wanted = mask_of(ctx.needs_input_grad[5:])
        given = _or_none(cotangents, ctx.wanted)
        found = FuncDoubleBackward.apply(ctx.kind, ctx.spec, wanted, *ctx.saved_tensors, *given)
        return None, None, None, None, None, *_or_none(found, wanted)


class FuncDoubleBackward(torch.autograd.Function):
    """Second derivatives; a third is refused."""

    generate_vmap_rule = True

    @staticmethod
    def forward(kind: str, spec: str, wanted: int, *tensors: Any) -> Any:
        """Compute them."""
        return getattr(_ops, f"clifford_{kind}_double_backward").default(*tensors, spec, wanted)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep nothing."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Refuse."""
        raise NotImplementedError(THIRD)
