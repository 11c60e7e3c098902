"""Operations as the compiled node of torch knows them."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from tessera.clifford import _torch_call as call
from tessera.clifford._spec import Operation, operation
from tessera.clifford.native._find import find

__all__ = ["forward", "operation_of"]

_operations: dict[tuple[str, str], Any] = {}


def _make(module: Any, kind: str, spec: str) -> Any:
    o: Operation = operation(kind, spec)
    made = module.operation(
        o,
        o.native(False).address(),
        o.native(True).address(),
        call.is_layer(kind),
        call.is_connected(kind),
        kind == "linear",
        o.normalizes,
        o.n_grade,
    )
    _operations[kind, spec] = made
    return made


def operation_of(module: Any, kind: str, spec: str) -> Any:
    """Return an operation as the node knows it, made once."""
    return _operations.get((kind, spec)) or _make(module, kind, spec)


def forward(kind: str, spec: str, x: Any, *others: Any) -> Tensor | None:
    """Return z, or None where this call is not one for the node."""
    module = find(x.is_cuda)
    if module is None:
        return None
    found: Tensor | None = module.forward(operation_of(module, kind, spec), x, *others)
    return found
