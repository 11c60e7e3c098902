"""Whether tensors without data fit an operation: what the library checks of those with data.

Compilers ask this of every operator that they trace; a mismatch that they let pass would fail, or
give a result of another shape, only when the compiled program runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tessera import _core
from tessera.clifford._spec import SLOTS, Operation
from tessera.clifford._torch_call import (
    Slots,
    is_connected,
    is_layer,
    is_nothing,
    statistics_dtype,
)

_TYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
}
_ACTIVATION = "component, row, feature"
_X, _Y, _WEIGHT, _LINEAR_WEIGHT, _BIAS = range(5)


def _name(dtype: torch.dtype) -> str:
    return _TYPES.get(dtype, str(dtype).removeprefix("torch."))


def _text(shape: Any) -> str:
    return "(" + ",".join(str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


class _Call:
    """The sizes and types that x and the matrices of a call ask of the rest."""

    def __init__(self, o: Operation, inputs: Slots, is_forward: bool = False) -> None:
        self.o = o
        self.is_forward = is_forward
        x: Tensor = inputs[0]
        self.x = x
        if x.dtype not in _TYPES:
            raise self._error(
                _core.DTypeError, "x", f"is {_name(x.dtype)}; supported are f64, f32, bf16 and f16"
            )
        if x.dim() != 3 or x.shape[0] != o.n_component or x.shape[2] < 1:
            wanted = f"({o.n_component},row,feature) = ({_ACTIVATION}), at least one feature"
            raise self._error(_core.ShapeError, "x", f"expected {wanted}, got {_text(x.shape)}")
        self.n_row, self.n_in = x.shape[1], x.shape[2]
        self.n_out = self.n_in
        mixing = inputs[_WEIGHT] if is_connected(o.kind) else None
        mixing = inputs[_LINEAR_WEIGHT] if o.kind == "linear" else mixing
        if mixing is not None and mixing.dim() == 3:
            self.n_out = mixing.shape[2]
        given = [t.dtype for t in inputs[_WEIGHT:] if t is not None]
        self.weight_dtype = given[0] if given else x.dtype
        self._check_presence(inputs)
        for i, t in enumerate(inputs):
            if t is not None:
                self.member(SLOTS[i], i, t)
        if self.n_out < 1:
            raise _core.ShapeError(f"clifford.{o.kind}: the weights leave no feature")
        is_half = x.itemsize == 2
        if self.weight_dtype != x.dtype and not (is_half and self.weight_dtype == torch.float32):
            name = next(SLOTS[i] for i in (_WEIGHT, _LINEAR_WEIGHT, _BIAS) if inputs[i] is not None)
            raise self._error(
                _core.DTypeError,
                name,
                f"is {_name(self.weight_dtype)} beside x of {_name(x.dtype)}; expected "
                + _name(x.dtype)
                + (" or f32" if is_half else ""),
            )

    def _error(self, kind: Any, name: str, text: str) -> Exception:
        return kind(f"clifford.{self.o.kind}: {name}: {text}")

    def _has(self, member: int) -> bool:
        kind = self.o.kind
        is_product = kind in ("sgp", "fcgp")
        has_linear = kind == "linear" or is_layer(kind)
        # The passes backward of a layer may be given what its linear map gave.
        has_y = is_product or (is_layer(kind) and not self.is_forward)
        return (True, has_y, is_product or is_layer(kind), has_linear, has_linear)[member]

    def _check_presence(self, inputs: Slots) -> None:
        for i in (_Y, _WEIGHT, _LINEAR_WEIGHT, _BIAS):
            is_needed = self._has(i) and (
                (i == _Y and not is_layer(self.o.kind))
                or (i == _WEIGHT and is_connected(self.o.kind))
                or i == _LINEAR_WEIGHT
            )
            if inputs[i] is None and is_needed:
                raise self._error(_core.ArgumentError, SLOTS[i], "is missing (None)")
            if inputs[i] is not None and not self._has(i):
                raise self._error(
                    _core.ArgumentError, SLOTS[i], "this operation has none; pass None"
                )

    def member(self, name: str, member: int, t: Tensor) -> None:
        """Check an input, or what belongs to one: its gradient, a cotangent."""
        o = self.o
        if not self._has(member):
            raise self._error(_core.ArgumentError, name, "this operation has none; pass None")
        dtype = self.x.dtype if member <= _Y else self.weight_dtype
        n_linear = self.n_out if o.kind == "linear" else self.n_in
        if member <= _Y:
            self.fits(name, t, (o.n_component, self.n_row, self.n_in), _ACTIVATION, dtype)
        elif member == _WEIGHT and is_connected(o.kind):
            shape = (o.n_path, self.n_in, self.n_out)
            self.fits(name, t, shape, "path, feature in, feature out", dtype)
        elif member == _WEIGHT:
            self.fits(name, t, (self.n_in, o.n_path), "feature, path", dtype)
        elif member == _LINEAR_WEIGHT:
            shape = (o.n_grade, self.n_in, n_linear)
            self.fits(name, t, shape, "grade, feature in, feature out", dtype)
        else:
            shape = (1,) * max(t.dim() - 1, 0) + (n_linear,)  # also (1, 1, feature)
            self.fits(name, t, shape, "feature out", dtype)

    def result(self, name: str, t: Tensor) -> None:
        """Check z or its gradient."""
        shape = (self.o.n_component, self.n_row, self.n_out)
        self.fits(name, t, shape, _ACTIVATION, self.x.dtype)

    def fits(
        self, name: str, t: Tensor, shape: tuple[Any, ...], axes: str, dtype: torch.dtype
    ) -> None:
        """Check a shape and a type."""
        if t.dim() != len(shape) or any(a != b for a, b in zip(t.shape, shape, strict=True)):
            raise self._error(
                _core.ShapeError, name, f"expected {_text(shape)} = ({axes}), got {_text(t.shape)}"
            )
        if t.dtype != dtype:
            raise self._error(
                _core.DTypeError, name, f"is {_name(t.dtype)}, expected {_name(dtype)}"
            )


def check_forward(o: Operation, inputs: Slots) -> None:
    """Check the inputs of a pass forward."""
    _Call(o, inputs, is_forward=True)


def check_backward(
    o: Operation, gz: Tensor, inputs: Slots, statistics: Tensor, linear_out: Tensor, z: Tensor
) -> None:
    """Check the inputs of a pass backward; a tensor without items stands for what was not kept."""
    x, y, *weights = inputs
    if not is_nothing(linear_out):
        y = linear_out
    call = _Call(o, (x, y, *weights))
    call.result("gz", gz)
    if not is_nothing(statistics):
        if not o.normalizes:
            raise _core.ArgumentError(f"clifford.{o.kind}: statistics: there are none, no norm")
        shape = (o.n_grade, call.n_row)
        call.fits("statistics", statistics, shape, "grade, row", statistics_dtype(x))
    if o.normalizes and not is_nothing(z):  # elsewhere nobody looks at it
        call.result("z", z)


def check_double(o: Operation, gz: Tensor, inputs: Slots, cotangents: tuple[Any, ...]) -> None:
    """Check the inputs of second derivatives."""
    call = _Call(o, inputs)
    call.result("gz", gz)
    for i, c in enumerate(cotangents):
        if c is None:
            continue
        if (inputs[i] is None and i >= _WEIGHT) or (i == _Y and is_layer(o.kind)):
            raise _core.ArgumentError(
                f"clifford.{o.kind}: cotangent of {SLOTS[i]}: the call has none; pass None"
            )
        call.member(f"cotangent of {SLOTS[i]}", i, c)
