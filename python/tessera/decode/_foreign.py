"""Arrays of other libraries (torch, JAX, CuPy, Numba) as NumPy's; none of them is imported.

DLPack first: memory of the CPU is read in place, and an array elsewhere is asked to come down by
its own library. What has only the CUDA array interface, or an old DLPack, comes by the method its
library has for it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera.decode.exceptions import TypeValidationError

_CPU = (1, 0)
_ON_HOST = (1, 3)  # DLPack's memory of the CPU, and such memory that CUDA knows of
_DOWNLOADS = ("get", "copy_to_host", "cpu")  # CuPy and PyCUDA, Numba, torch


class _Lowered:
    """An array of another device as one of the CPU, by its own library."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU

    def __dlpack__(self, **options: Any) -> Any:
        return self._value.__dlpack__(dl_device=_CPU, **options)


def is_foreign(value: Any) -> bool:
    """Whether value is an array that is not NumPy's."""
    if isinstance(value, np.ndarray | np.generic | list | tuple):
        return False
    kind = type(value)
    return hasattr(kind, "__dlpack_device__") or hasattr(kind, "__cuda_array_interface__")


def _lent(value: Any) -> npt.NDArray[Any]:
    """Look at memory of the CPU that DLPack lends."""
    view = _core.Array(value)
    array = np.asarray(view)
    if view.dtype == "bfloat16":  # the upper half of a float32, which NumPy has no name for
        bits = array.view(np.uint16).astype(np.uint32) << 16
        array = bits.view(np.float32)
    return array


def _by_dlpack(value: Any) -> npt.NDArray[Any]:
    is_here = value.__dlpack_device__()[0] in _ON_HOST
    return _lent(value if is_here else _Lowered(value))


def _by_method(value: Any) -> npt.NDArray[Any]:
    name = next(name for name in _DOWNLOADS if callable(getattr(value, name, None)))
    found = getattr(value, name)()
    return found if isinstance(found, np.ndarray) else _lent(found)


def to_numpy(value: Any, name: str) -> npt.NDArray[Any]:
    """Return a foreign array as one of NumPy's: the same memory where the CPU can read it."""
    why: Exception | None = None
    for way in (_by_dlpack, _by_method, np.asarray):
        try:
            array = way(value)
        except Exception as error:  # of any library
            why = why or error
        else:
            if array.dtype != object:
                return array
    raise TypeValidationError(
        f"{name}: the {type(value).__name__} is not lent to the CPU: {why}"
    ) from why


def traced_by(*values: Any) -> Any:
    """Return ``jax.numpy`` where a value is traced (``jit``, ``vmap``, ``grad``), else None."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not any(isinstance(value, jax.core.Tracer) for value in values):
        return None
    return sys.modules["jax.numpy"]
