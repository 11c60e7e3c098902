"""Arrays of any library but torch: NumPy's on the host, others by DLPack."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np

from tessera import _core

_CUDA_DEVICES = (2, 13)  # DLPack: device memory, managed memory


def is_torch(x: object) -> bool:
    """Say whether x is a tensor of torch, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def refuse_sparse(x: Any, name: str) -> None:
    """Complain about a tensor whose numbers are not one after the other."""
    if is_torch(x) and x.layout is not sys.modules["torch"].strided:
        raise _core.DTypeError(
            f"{name}: is {str(x.layout).removeprefix('torch.')}; dense tensors are taken, "
            ".to_dense() makes one"
        )


def device_of(x: Any) -> str:
    """Return where x lives, as contexts name it."""
    if isinstance(x, np.ndarray):
        return "cpu"
    ask = getattr(x, "__dlpack_device__", None)
    if ask is None:
        return "cpu"
    kind, index = ask()
    return f"cuda:{index}" if kind in _CUDA_DEVICES else "cpu"


def as_array(x: Any, name: str) -> Any:
    """Return x, or the NumPy array of a list or number."""
    if x is None or hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__"):
        return x
    found = np.asarray(x)
    if found.dtype == object:
        raise _core.DTypeError(f"{name}: expected an array of numbers, got {type(x).__name__}")
    return found


def native(x: Any) -> Any:
    """Return x as the library reads it: NumPy has no buffer of bfloat16, but of its bits."""
    if isinstance(x, np.ndarray) and x.dtype.name == "bfloat16":
        return _core.clifford_bfloat16(x.view(np.uint16))
    return x


def empty(x: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    """Make room for a result with the library that owns x, on x's device."""
    dtype = x.dtype if dtype is None else dtype
    if isinstance(x, np.ndarray):
        return np.empty(shape, dtype)
    if device_of(x) == "cpu":
        # Arrays of some libraries (JAX) cannot be written to: the result is NumPy's.
        return np.empty(shape, np.dtype(str(dtype)))
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().empty(shape, dtype=dtype, device=x.device)
    library = importlib.import_module(type(x).__module__.partition(".")[0])  # cupy
    with x.device:
        return library.empty(shape, dtype=dtype)


def empty_like(x: Any) -> Any:
    """Make room for an array like x, in the order of x's axes where that is NumPy's."""
    if isinstance(x, np.ndarray):
        return np.empty_like(x, subok=False)  # not another mask or map of a file
    return empty(x, tuple(x.shape))
