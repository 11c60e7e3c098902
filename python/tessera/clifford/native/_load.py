"""How a compiled node of torch is loaded, and what it is given."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from typing import Any

from torch import Tensor

from tessera import _core
from tessera._session import _Defaults, _stores
from tessera.clifford import _torch_call, _torch_eager

__all__ = ["load"]

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
        _core.clifford_native_calls(_torch_call._create),
        getattr(Tensor, "__dlpack_c_exchange_api__", None),
        _torch_eager.gradients,
    )
    contexts = _Contexts(module)
    contexts.clear()
    _stores.append(contexts)
    return module
