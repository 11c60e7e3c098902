"""Operations on torch tensors: which way a call goes."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

from tessera import _core
from tessera.clifford import _arrays, _torch_eager, _torch_native, _torch_ops
from tessera.clifford._spec import SLOTS, normalizes, operation
from tessera.clifford._torch_call import kept_bits

__all__ = ["apply"]

_ops = torch.ops.tessera
_plain_types = {torch.Tensor, torch.nn.Parameter}
_strided = torch.strided

# Where a version of torch lacks one of these, every call goes through the registered operators.
_mode_depth: Any = getattr(torch._C, "_len_torch_dispatch_stack", None)
_transform: Any = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)
_function_mode_depth: Any = getattr(torch._C, "_len_torch_function_stack", None)
_tracer: Any = getattr(torch._C, "_get_tracing_state", None)
_can_go_around = None not in (_mode_depth, _transform, _function_mode_depth, _tracer)


def nobody_watches() -> bool:
    """Say whether no mode, transformation or tracer sees what is done to tensors."""
    return (
        _can_go_around
        and _mode_depth() == 0
        and _function_mode_depth() == 0
        and _transform() is None
        and _tracer() is None
    )


def _is_plain(inputs: tuple[Any, ...]) -> bool:
    """Say whether nobody but autograd watches these tensors."""
    return (
        nobody_watches()
        and (inputs[0].is_cpu or inputs[0].is_cuda)
        and all(map(_is_plain_tensor, inputs))
    )


def _is_plain_tensor(t: Tensor | None) -> bool:
    """Say whether memory alone tells the numbers: no subclass, no sign kept elsewhere."""
    return t is None or (
        type(t) in _plain_types and t.layout is _strided and not t.is_neg() and not t.is_meta
    )


def _check_tensors(kind: str, inputs: tuple[Any, ...]) -> None:
    """Complain about what torch's operators would print whole, or answer in its own words."""
    x = inputs[0]
    if "torch.distributed.tensor" in sys.modules:  # who uses it has imported it
        from tessera.clifford import _torch_sharding

        _torch_sharding.register()
    if torch.onnx.is_in_onnx_export() or _is_exporting_onnx():
        raise _core.ArgumentError(
            f"clifford.{kind}: ONNX has no operator for it; torch.export.export() keeps it for "
            "torch, and tessera.clifford.tests.baselines has formulas of torch's own operators"
        )
    for name, t in zip(SLOTS, inputs, strict=True):
        if t is not None and not isinstance(t, Tensor):
            raise _core.DTypeError(
                f"clifford.{kind}: {name}: expected a tensor as x is, got {type(t).__name__}; "
                "torch.as_tensor() makes one"
            )
        _arrays.refuse_sparse(t, f"clifford.{kind}: {name}")
        if t is not None and t.device != x.device:
            raise _core.ArgumentError(
                f"clifford.{kind}: {name}: is on {t.device}, but x is on {x.device}; "
                f"move it with .to({str(x.device)!r})"
            )


def _is_exporting_onnx() -> bool:
    """Say whether ONNX is exported; compilers take torch's own function to be always false."""
    flags = sys.modules.get("torch.onnx._internal.exporter._flags")
    return bool(getattr(flags, "_is_onnx_exporting", False))


def _is_exporting() -> bool:
    """Say whether torch.export traces.

    torch.compiler.is_exporting() does, too, but torch.compile of 2.11 takes it to be always true.
    """
    return bool(getattr(torch.compiler, "_is_exporting_flag", False))


def _will_differentiate(inputs: tuple[Any, ...]) -> bool:
    """Say whether a pass backward may follow that gains by what the pass forward keeps.

    An exported program is for inference; one that is trained after all computes it again.
    """
    if not torch.is_grad_enabled() or _is_exporting():
        return False
    # Under transformations of torch.func a tensor does not tell compilers that it wants gradients.
    if torch._C._are_functorch_transforms_active():
        return True
    return any(t is not None and t.requires_grad for t in inputs)


def apply(
    kind: str,
    spec: str,
    x: Tensor,
    y: Tensor | None = None,
    weight: Tensor | None = None,
    linear_weight: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Compute z of (component, row, feature) tensors."""
    is_compiling = torch.compiler.is_compiling()
    if not is_compiling:
        z = _torch_native.forward(kind, spec, x, y, weight, linear_weight, bias)
        if z is not None:
            return z
    device = x.device.type
    if device in ("cpu", "cuda") and torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        x = _torch_ops.autocast(x, dtype)
        y = _torch_ops.autocast(y, dtype)
    inputs = (x, y, weight, linear_weight, bias)
    if not is_compiling and _is_plain(inputs) and not _torch_eager.has_tangents(inputs):
        return _torch_eager.run(operation(kind, spec), inputs)
    _check_tensors(kind, inputs)
    keep = kept_bits(kind, normalizes(kind, spec), x) if _will_differentiate(inputs) else 0
    found = getattr(_ops, f"clifford_{kind}").default(*inputs, spec, keep)
    return found[0]
