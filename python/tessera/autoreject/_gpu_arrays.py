"""Arrays that other libraries (torch, CuPy, JAX) keep on a GPU: what they differ in."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tessera import _core
from tessera.autoreject._device import cuda_index

_NO_LIBRARY = (
    "Tessera has no arrays of its own on a GPU: install torch or cupy for CUDA, or use an array of "
    "one of them or of JAX that is there already"
)


def library_of(x: Any) -> str:
    """Return 'torch', 'cupy' or 'jax' for an array of one of them."""
    name = type(x).__module__.split(".")[0]
    return "jax" if name in ("jax", "jaxlib") else name


def _torch_array(x: Any, index: int) -> Any:
    torch = importlib.import_module("torch")
    return torch.from_numpy(x).to(f"cuda:{index}") if torch.cuda.is_available() else None


def _cupy_array(x: Any, index: int) -> Any:
    cupy = importlib.import_module("cupy")
    with cupy.cuda.Device(index):
        return cupy.asarray(x)


def to_gpu(x: Any, index: int) -> Any:
    """Return a copy of NumPy's array on a GPU, of the first library that has one."""
    values = np.ascontiguousarray(x)
    for make in (_torch_array, _cupy_array):
        try:
            found = make(values, index)
        except ImportError:
            continue
        if found is not None:
            return found
    raise _core.DeviceError(f"to_device: {_NO_LIBRARY}")


def to_numpy(x: Any) -> Any:
    """Return NumPy's array of one that may be on a GPU."""
    if cuda_index(x) is None:
        return np.asarray(x)
    library = library_of(x)
    if library == "torch":
        return x.detach().cpu().numpy()
    if library == "cupy":
        return x.get()
    return np.asarray(x)


def with_rows(x: Any) -> Any:
    """Return X on a GPU with the samples of a channel one after another: a copy if they are not."""
    if x.ndim != 3:
        raise _core.ShapeError(
            f"X: expected (n_epochs, n_channels, n_times), got shape {tuple(x.shape)}"
        )
    if library_of(x) == "torch":
        if x.layout is not importlib.import_module("torch").strided:
            raise _core.ArgumentError(f"X: a tensor of {x.layout}; pass X.to_dense()")
        return x if x.shape[-1] < 2 or x.stride(-1) == 1 else x.contiguous()
    if library_of(x) == "cupy" and x.shape[-1] > 1 and x.strides[-1] != x.itemsize:
        with x.device:
            return importlib.import_module("cupy").ascontiguousarray(x)
    return x  # arrays of JAX are contiguous


def take_epochs(x: Any, kept: Any) -> Any:
    """Return a copy of the epochs kept[i] in double precision, contiguous, where x is."""
    if library_of(x) == "torch":
        torch = importlib.import_module("torch")
        mask = torch.from_numpy(np.ascontiguousarray(kept)).to(x.device)
        return x[mask].to(torch.float64).contiguous()
    if library_of(x) == "cupy":
        cupy = importlib.import_module("cupy")
        with x.device:
            return cupy.ascontiguousarray(x[cupy.asarray(kept)], dtype=np.float64)
    raise _core.ArgumentError(
        f"X: an array of {library_of(x)} cannot be repaired where it is, because the library does "
        f"not let others write to it; pass one of torch or CuPy, or numpy.asarray(X)"
    )


def as_kind_of(x: Any, like: Any) -> Any:
    """Return x in the element type of an array of the same library, if that is a floating one."""
    name = str(like.dtype).rsplit(".", maxsplit=1)[-1]
    if name not in ("float16", "float32"):
        return x
    if library_of(x) == "torch":
        return x.to(like.dtype)
    return x.astype(like.dtype)


def in_single(x: Any) -> Any:
    """Return x in single precision where it is."""
    if library_of(x) == "torch":
        return x.to(importlib.import_module("torch").float32)
    return x.astype(np.float32)


def rows_of(x: Any, axis: int) -> Any:
    """Return x in single or double precision with an axis moved to the end, contiguous."""
    if "complex" in str(x.dtype):
        raise _core.DTypeError(f"data: expected real values, got {x.dtype}; take .real or abs()")
    if library_of(x) == "torch":
        torch = importlib.import_module("torch")
        kept = x.dtype in (torch.float32, torch.float64)
        return (x if kept else x.to(torch.float64)).movedim(axis, -1).contiguous()
    values = x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)
    if library_of(x) == "jax":  # contiguous always
        return importlib.import_module("jax.numpy").moveaxis(values, axis, -1)
    numpy = importlib.import_module("cupy" if library_of(x) == "cupy" else "numpy")
    return numpy.ascontiguousarray(numpy.moveaxis(values, axis, -1))


def _torch_median(x: Any, axis: int | None) -> Any:
    torch = importlib.import_module("torch")
    flat = x.reshape(-1) if axis is None else x.movedim(axis, -1)
    flat = flat if flat.dtype.is_floating_point else flat.to(torch.float64)
    ordered = torch.sort(flat, dim=-1).values  # NaN comes last
    n = ordered.shape[-1]
    middle = ordered[..., n // 2]
    if n % 2 == 0:
        middle = (ordered[..., n // 2 - 1] + middle) / 2
    last = ordered[..., -1]
    return torch.where(torch.isnan(last), last, middle)


def median(x: Any, axis: int | None) -> Any:
    """Return the median as NumPy's, of the library and on the GPU of x."""
    library = library_of(x)
    if library == "torch":
        return _torch_median(x, axis)
    numpy = importlib.import_module("cupy" if library == "cupy" else "jax.numpy")
    return numpy.median(x, axis=axis)
