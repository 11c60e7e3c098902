"""The compiled node of torch: how it is loaded, and operations as it knows them."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from typing import Any

from torch import Tensor

from tessera import _core
from tessera._session import _Defaults, _stores
from tessera.clifford import _torch_call as call
from tessera.clifford import _torch_eager
from tessera.clifford._spec import Operation, operation
from tessera.clifford.native._find import find

__all__ = ["forward", "load", "operation_of"]

_NAME = "tessera_clifford_node"


class _Contexts(dict[Any, Any]):
    """The contexts at rest that passes of the node use, as a store of the session."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._module = module

    def clear(self) -> None:
        """Let go of them, and heed the number of threads from here on."""
        _core.clifford_native_forget()
        self._module.set_threads(_Defaults.threads or 0)


def load(path: str) -> Any:
    """Load a compiled node and give it what it needs."""
    loader = importlib.machinery.ExtensionFileLoader(_NAME, path)
    spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    module.connect(
        _core.clifford_native_calls(call._create),
        getattr(Tensor, "__dlpack_c_exchange_api__", None),
        _torch_eager.gradients,
    )
    contexts = _Contexts(module)
    contexts.clear()
    _stores.append(contexts)
    return module


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
