"""The operations as operators of torch: ``torch.ops.tessera.clifford_sgp`` and so on.

For each kind there are four, the pass forward, ``_jvp``, ``_backward`` and ``_double_backward``,
chained by autograd. All take the same five inputs, None where a kind has none, and the operation as
text.

Forward mode needs no pass of its own. With J the derivative of z by the inputs, backward is J' gz,
which is linear in gz: what its own backward gives for gz is J applied to the cotangents, that is to
tangents of the inputs. And the second derivative of gz z is symmetric, so that what it gives for
the inputs is how J' gz changes along them.

``torch.library.register_autograd`` makes derivatives that torch.func refuses. Those made here serve
one level of its transformations, the way torch's own operators do, and the dispatcher goes from
level to level: so grad, jacrev and vmap nest around the operators, in compilers too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from tessera.clifford import _torch_call as call
from tessera.clifford import _torch_shapes as shapes
from tessera.clifford import _torch_vmap as vmap
from tessera.clifford._spec import KINDS, mask_of, operation
from tessera.clifford._torch_eager import THIRD, TWICE, has_tangents
from tessera.clifford._torch_flops import register as register_flops

_INPUTS = "Tensor x, Tensor? y, Tensor? weight, Tensor? linear_weight, Tensor? bias"
_FORWARD = f"({_INPUTS}, str spec, int keep) -> (Tensor, Tensor, Tensor)"
_BACKWARD = (
    f"(Tensor gz, {_INPUTS}, Tensor statistics, Tensor linear_out, Tensor z, str spec,"
    " int wanted)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
_TANGENTS = "Tensor? tx, Tensor? ty, Tensor? tweight, Tensor? tlinear_weight, Tensor? tbias"
_JVP = f"({_INPUTS}, {_TANGENTS}, str spec) -> Tensor"
_DOUBLE = (
    f"(Tensor gz, {_INPUTS}, Tensor? cx, Tensor? cy, Tensor? cweight, Tensor? clinear_weight,"
    " Tensor? cbias, str spec, int wanted)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
)

_library = torch.library.Library("tessera", "FRAGMENT")


# Operators return tensors only: one without items stands for what was not wanted.
def _nothing(x: Tensor) -> Tensor:
    return x.new_empty((0,))


def _or_none(x: Tensor) -> Tensor | None:
    return None if call.is_nothing(x) else x


def _filled(x: Tensor, found: tuple[Tensor | None, ...]) -> tuple[Tensor, ...]:
    return tuple(_nothing(x) if t is None else t for t in found)


def _dropped(found: tuple[Tensor, ...], wanted: int) -> tuple[Tensor | None, ...]:
    return tuple(t if wanted >> i & 1 else None for i, t in enumerate(found))


def _define_forward(kind: str) -> None:
    name = f"clifford_{kind}"

    def kernel(*args: Any) -> tuple[Tensor, ...]:
        *inputs, spec, keep = args
        return _filled(inputs[0], call.forward(operation(kind, spec), tuple(inputs), keep))

    def fake(*args: Any) -> tuple[Tensor, ...]:
        *inputs, spec, keep = args
        o = operation(kind, spec)
        shapes.check_forward(o, tuple(inputs))
        x = inputs[0]
        shape = call.out_shape(o, tuple(inputs))
        z = torch.empty_like(x) if shape is None else x.new_empty(shape)
        statistics = linear_out = None
        if keep & call.STATISTICS:
            statistics = x.new_empty((o.n_grade, x.shape[1]), dtype=call.statistics_dtype(x))
        if keep & call.LINEAR_OUT:
            linear_out = torch.empty_like(x)
        return _filled(x, (z, statistics, linear_out))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *tensors, ctx.spec, _ = inputs
        o = operation(kind, ctx.spec)
        z = output[0] if call.uses_result(o, tensors[0]) else _nothing(output[0])
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*tensors, output[1], output[2], z)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        if gradients[0] is None:
            return (None,) * 8
        wanted = mask_of(ctx.needs_input_grad[1:6])
        found = getattr(torch.ops.tessera, f"{name}_backward").default(
            gradients[0], *ctx.saved_tensors, ctx.spec, wanted
        )
        return (None, *_dropped(found, wanted), None, None)

    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor | None, ...]:
        op = getattr(torch.ops.tessera, f"{name}_jvp").default
        return op(*ctx.saved_tensors, *tangents[1:6], ctx.spec), None, None

    rules = (setup_context, backward, jvp)
    _register(name, _FORWARD, kernel, fake, rules, vmap.forward_rule)
    _register_autocast(name)


def _define_jvp(kind: str) -> None:
    name = f"clifford_{kind}_jvp"

    def kernel(*args: Any) -> Tensor:
        *tensors, spec = args
        o = operation(kind, spec)
        inputs, tangents = tuple(tensors[:5]), tuple(tensors[5:])
        x = inputs[0]
        shape = call.out_shape(o, inputs)
        gz = torch.zeros_like(x) if shape is None else x.new_zeros(shape)
        found = call.double_backward(o, gz, inputs, tangents, 1)[0]
        assert found is not None
        return found

    def fake(*args: Any) -> Tensor:
        *tensors, spec = args
        o = operation(kind, spec)
        shapes.check_forward(o, tuple(tensors[:5]))
        x = tensors[0]
        shape = call.out_shape(o, tuple(tensors[:5]))
        return torch.empty_like(x) if shape is None else x.new_empty(shape)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.spec = inputs
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        gz = gradients[0]
        if gz is None:
            return (None,) * 12
        inputs, tangents = ctx.saved_tensors[:5], ctx.saved_tensors[5:]
        by_input, by_tangent = (
            mask_of(ctx.needs_input_grad[first : first + 5]) for first in (1, 6)
        )
        own = _second(kind, gz, inputs, tangents, ctx.spec, by_input)
        along = _first(kind, gz, inputs, ctx.spec, by_tangent)
        return (None, *own, *along, None)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotImplementedError(TWICE)

    _register(name, _JVP, kernel, fake, (setup_context, backward, jvp), vmap.jvp_rule)


def _first(kind: str, gz: Tensor, inputs: Any, spec: str, wanted: int) -> tuple[Any, ...]:
    """Return the gradients of the inputs whose bits are set, from nothing kept."""
    if not wanted:
        return (None,) * 5
    nothing = _nothing(gz)
    op = getattr(torch.ops.tessera, f"clifford_{kind}_backward").default
    return _dropped(op(gz, *inputs, nothing, nothing, nothing, spec, wanted), wanted)


def _second(
    kind: str, gz: Tensor, inputs: Any, along: Any, spec: str, wanted: int
) -> tuple[Any, ...]:
    """Return how the gradients whose bits are set change along tangents of the inputs."""
    if not wanted or all(t is None for t in along):
        return (None,) * 5
    op = getattr(torch.ops.tessera, f"clifford_{kind}_double_backward").default
    return _dropped(op(gz, *inputs, *along, spec, wanted << 1)[1:], wanted)


def _define_backward(kind: str) -> None:
    name = f"clifford_{kind}_backward"

    def kernel(*args: Any) -> tuple[Tensor, ...]:
        gz, *inputs, statistics, linear_out, z, spec, wanted = args
        found = call.backward(
            operation(kind, spec),
            gz,
            tuple(inputs),
            _or_none(statistics),
            _or_none(linear_out),
            _or_none(z),
            wanted,
        )
        return _filled(inputs[0], found)

    def fake(*args: Any) -> tuple[Tensor, ...]:
        gz, *inputs, statistics, linear_out, z, spec, wanted = args
        o = operation(kind, spec)
        shapes.check_backward(o, gz, tuple(inputs), statistics, linear_out, z)
        return _empty_where(inputs, wanted)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        *tensors, _, _, _, ctx.spec, ctx.wanted = inputs
        ctx.mark_non_differentiable(*(t for t in output if call.is_nothing(t)))
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, *cotangents: Any) -> tuple[Tensor | None, ...]:
        wanted = mask_of(ctx.needs_input_grad[1:7])
        cotangents = _dropped(cotangents, ctx.wanted)
        if all(c is None for c in cotangents):
            return (None,) * 12
        op = getattr(torch.ops.tessera, f"clifford_{kind}_double_backward").default
        found = op(*ctx.saved_tensors, *cotangents, ctx.spec, wanted)
        return (None, *_dropped(found, wanted), None, None, None, None, None)

    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor | None, ...]:
        gz, *inputs = ctx.saved_tensors
        along_gz, along = tangents[1], tangents[2:7]
        parts = [_second(kind, gz, inputs, along, ctx.spec, ctx.wanted)]
        if along_gz is not None:
            parts.append(_first(kind, along_gz, inputs, ctx.spec, ctx.wanted))
        return tuple(_sum_of(each) for each in zip(*parts, strict=True))

    rules = (setup_context, backward, jvp)
    _register(name, _BACKWARD, kernel, fake, rules, vmap.backward_rule)


def _sum_of(parts: tuple[Tensor | None, ...]) -> Tensor | None:
    there = [t for t in parts if t is not None]
    return sum(there[1:], start=there[0]) if there else None


def _define_double(kind: str) -> None:
    def kernel(*args: Any) -> tuple[Tensor, ...]:
        gz, *tensors, spec, wanted = args
        found = call.double_backward(
            operation(kind, spec), gz, tuple(tensors[:5]), tuple(tensors[5:]), wanted
        )
        return _filled(gz, found)

    def fake(*args: Any) -> tuple[Tensor, ...]:
        gz, *tensors, spec, wanted = args
        shapes.check_double(operation(kind, spec), gz, tuple(tensors[:5]), tuple(tensors[5:]))
        return _empty_where(args[:6], wanted)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        pass

    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        raise NotImplementedError(THIRD)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotImplementedError(THIRD)

    name = f"clifford_{kind}_double_backward"
    _register(name, _DOUBLE, kernel, fake, (setup_context, backward, jvp), vmap.double_rule)


def _empty_where(tensors: Any, wanted: int) -> tuple[Tensor, ...]:
    return tuple(
        torch.empty_like(t) if t is not None and wanted >> i & 1 else _nothing(tensors[0])
        for i, t in enumerate(tensors)
    )


def _register(
    name: str,
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    rules: tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]],
    vmap_rule: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    setup_context, backward, jvp = rules
    _library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        _library.impl(name, kernel, key)
    torch.library.register_fake(f"tessera::{name}", fake, lib=_library)
    op = getattr(torch.ops.tessera, name).default

    def forward(ctx: Any, keyset: Any, *args: Any) -> Any:
        with torch.enable_grad():  # the levels below differentiate, too
            found = below(keyset, *args)
        setup_context(ctx, args, found)
        return found

    def below(keyset: Any, *args: Any) -> Any:
        # Torch turns forward mode off for this level's rules; those below have not had their turn.
        with torch._C._AutoDispatchBelowAutograd(), forward_ad._set_fwd_grad_enabled(True):
            return op.redispatch(keyset & torch._C._after_autograd_keyset, *args)

    derivative: Any = type(
        f"Derivative_{name}",
        (_SingleLevelFunction,),
        {
            "forward": staticmethod(forward),
            "backward": staticmethod(backward),
            "jvp": staticmethod(jvp),
        },
    )

    def autograd(keyset: Any, *args: Any) -> Any:
        wants_gradient = torch.is_grad_enabled() and any(
            isinstance(t, Tensor) and t.requires_grad for t in args
        )
        if not wants_gradient and not has_tangents(args):
            return below(keyset, *args)
        with enable_single_level_autograd_function():
            return derivative.apply(keyset, *args)

    _library.impl(name, autograd, "Autograd", with_keyset=True)
    torch.library.register_vmap(f"tessera::{name}", vmap_rule(op), lib=_library)


def autocast(t: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Cast an activation as torch's own operators do: every floating type but float64."""
    if t is None or not t.is_floating_point() or t.dtype == torch.float64:
        return t
    return t.to(dtype)


def _register_autocast(name: str) -> None:
    """Give activations the type of autocast; weights may stay float32."""
    op = getattr(torch.ops.tessera, name).default

    def kernel_for(device: str, key: Any) -> Callable[..., Any]:
        off = torch._C.DispatchKeySet(key)

        def kernel(x: Tensor, y: Tensor | None, *rest: Any) -> Any:
            with torch._C._ExcludeDispatchKeyGuard(off):
                dtype = torch.get_autocast_dtype(device)
                return op(autocast(x, dtype), autocast(y, dtype), *rest)

        return kernel

    keys = torch._C.DispatchKey
    _library.impl(name, kernel_for("cpu", keys.AutocastCPU), "AutocastCPU")
    _library.impl(name, kernel_for("cuda", keys.AutocastCUDA), "AutocastCUDA")


for _kind in KINDS:
    _define_forward(_kind)
    _define_jvp(_kind)
    _define_backward(_kind)
    _define_double(_kind)
    register_flops(_kind)
