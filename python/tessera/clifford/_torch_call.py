"""Passes over torch tensors: room for the results, the workspace, the context, the call.

Nothing here is differentiable or traced; tensors are real ones on a CPU or a CUDA device.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, TypeAlias

import torch
import torch.utils.dlpack
from torch import Tensor

from tessera import _core
from tessera._session import _Defaults, _Log, _stores
from tessera.clifford._spec import Operation

MaybeTensor: TypeAlias = Tensor | None
Slots: TypeAlias = tuple[Tensor, MaybeTensor, MaybeTensor, MaybeTensor, MaybeTensor]
Gradients: TypeAlias = tuple[MaybeTensor, MaybeTensor, MaybeTensor, MaybeTensor, MaybeTensor]

# Contexts at rest by device and threads; a call takes one out, so no two calls meet in one and a
# child of fork() never finds one that was busy.
_idle: dict[tuple[int, int], list[_core.Context]] = {}
_stores.append(_idle)
_MAX_IDLE = 8
_MAX_THREADS = 1024  # of a context; OMP_NUM_THREADS may have told torch any number


def _threads() -> int:
    return _Defaults.threads or min(torch.get_num_threads(), _MAX_THREADS)


class _Context:
    """The context of one call, as a lease of microseconds."""

    __slots__ = ("_key", "context")

    def __init__(self, x: Tensor) -> None:
        device = x.get_device()
        self._key = (device, _threads() if device < 0 else 0)
        try:
            self.context = _idle[self._key].pop()
        except LookupError:
            self.context = _create(*self._key)

    def give_back(self) -> None:
        if self._key not in _idle and self._key[0] < 0:
            # Contexts of another number of threads would keep them.
            for key in [key for key in _idle if key[0] < 0]:
                _idle.pop(key, None)
            if self._key[1] != _threads():
                return
        waiting = _idle.setdefault(self._key, [])
        if len(waiting) < _MAX_IDLE:
            waiting.append(self.context)


def _create(device: int, threads: int) -> _core.Context:
    return _core.Context(
        threads=threads or None,
        device="cpu" if device < 0 else f"cuda:{device}",
        log=_Log(),
        log_level=_Defaults.log_level,
        device_memory_limit=_Defaults.device_memory_limit,
    )


_DTYPES = {
    torch.float32: "float32",
    torch.float64: "float64",
    torch.bfloat16: "bfloat16",
    torch.float16: "float16",
}
# From this size on the C library may give memory back to the system with every tensor that dies.
_POOLED_BYTES = 8 << 20


@cache
def _idle_limit() -> int:
    """Return how many bytes may wait to be used again: an eighth of what contexts may take."""
    return _core.Context(threads=1, device="cpu").info["memory_limit"] // 8


def _room(t: Tensor, shape: tuple[Any, ...] | None = None) -> Tensor:
    """Return an empty tensor like t, or of another shape."""
    if t.nbytes >= _POOLED_BYTES and t.is_cpu and t.dtype in _DTYPES:
        if shape is None and t.is_contiguous():
            shape = t.shape
        if shape is not None and 0 not in shape:
            capsule = _core.pooled_tensor(shape, _DTYPES[t.dtype], _idle_limit())
            return torch.utils.dlpack.from_dlpack(capsule)
    return torch.empty_like(t) if shape is None else t.new_empty(shape)


def _detached(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(t.detach() if isinstance(t, Tensor) else t for t in tensors)


# Versions of torch before 2.10 lend tensors by __dlpack__ alone, which wants no gradients.
_lent = tuple if hasattr(Tensor, "__dlpack_c_exchange_api__") else _detached


@cache
def _device_workspace(device: torch.device) -> Any:
    """Return what takes workspace from torch's allocator, which is what CUDA graphs replay."""
    return partial(torch.empty, dtype=torch.uint8, device=device)


def _workspace_of(x: Tensor) -> Any:
    return _device_workspace(x.device) if x.is_cuda else None


def _fast_matmul() -> bool:
    return torch.get_float32_matmul_precision() != "highest"


def is_nothing(t: Tensor) -> bool:
    """Say whether a tensor stands for none: operators of torch take and return tensors only."""
    return t.dim() == 1 and t.shape[0] == 0


def is_layer(kind: str) -> bool:
    """Say whether an operation makes its right input itself, by a linear map."""
    return kind in ("layer", "fc_layer")


def is_connected(kind: str) -> bool:
    """Say whether the weights of a product mix features."""
    return kind in ("fcgp", "fc_layer")


def out_shape(o: Operation, inputs: Slots) -> tuple[Any, ...] | None:
    """Return the shape of z where it is not that of x."""
    if o.kind not in ("fcgp", "linear", "fc_layer"):
        return None
    mixing = inputs[3] if o.kind == "linear" else inputs[2]
    if mixing is None or mixing.dim() == 0:
        return None
    return (*inputs[0].shape[:-1], mixing.shape[-1])


def uses_result(o: Operation, x: Tensor) -> bool:
    """Say whether the backward pass saves work where it has z.

    Not z of 16 bits: the norm's gradient is a difference that magnifies its rounding, and the sign
    of a square of the metric near zero is lost with it. f32 makes the product again.
    """
    return x.itemsize > 2 and o.normalizes and is_connected(o.kind)


STATISTICS, LINEAR_OUT = 1, 2  # bits of what a pass forward keeps


def kept_bits(kind: str, normalizes: bool, x: Tensor) -> int:
    """Return what is kept for the backward pass.

    On the CPU the pass backward of a product has the statistics for nothing, and more exactly; and
    16-bit types are computed in float32, in which the linear map is better made again. Compilers
    trace through this: shapes of an operator's results may not depend on the device.
    """
    on_cpu = x.device.type == "cpu"
    bits = 0
    if normalizes and (not on_cpu or is_connected(kind)):
        bits |= STATISTICS
    if is_layer(kind) and not (on_cpu and x.itemsize == 2):
        bits |= LINEAR_OUT
    return bits


def statistics_dtype(x: Tensor) -> torch.dtype:
    """Return the type of row statistics beside activations like x."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def forward(o: Operation, inputs: Slots, keep: int) -> tuple[Tensor, MaybeTensor, MaybeTensor]:
    """Return z and, for the backward pass, statistics and a layer's linear map."""
    x = inputs[0]
    shape = out_shape(o, inputs)
    z = _room(x, shape)
    statistics = None
    linear_out = None
    if keep & STATISTICS:
        n_row = x.shape[1] if x.dim() > 1 else 0
        statistics = torch.empty((o.n_grade, n_row), dtype=statistics_dtype(x), device=x.device)
    if keep & LINEAR_OUT:
        linear_out = _room(x)
    lease = _Context(x)
    try:
        o.native(_fast_matmul()).forward(
            lease.context, _workspace_of(x), *_lent(inputs), z, statistics, linear_out
        )
    finally:
        lease.give_back()
    return z, statistics, linear_out


def backward(
    o: Operation,
    gz: Tensor,
    inputs: Slots,
    statistics: MaybeTensor,
    linear_out: MaybeTensor,
    z: MaybeTensor,
    wanted: int,
) -> Gradients:
    """Return the gradients whose bits are set, None for the others."""
    x, y = inputs[:2]
    gradients: Any = tuple(
        _room(t) if t is not None and wanted >> i & 1 else None for i, t in enumerate(inputs)
    )
    lease = _Context(x)
    try:
        o.native(_fast_matmul()).backward(
            lease.context,
            _workspace_of(x),
            *_lent((x, y if linear_out is None else linear_out, *inputs[2:], gz)),
            None if statistics is None else statistics.contiguous(),
            z,
            *gradients,
        )
    finally:
        lease.give_back()
    return gradients


def double_backward(
    o: Operation, gz: Tensor, inputs: Slots, cotangents: Gradients, wanted: int
) -> tuple[MaybeTensor, ...]:
    """Return the gradients by gz (bit 0) and by the inputs (bits 1 to 5) that are wanted."""
    x = inputs[0]
    results: Any = tuple(
        _room(t) if t is not None and wanted >> i & 1 else None for i, t in enumerate((gz, *inputs))
    )
    lease = _Context(x)
    try:
        o.native(_fast_matmul()).double_backward(
            lease.context, _workspace_of(x), *_lent((*inputs, gz, *cotangents)), *results
        )
    finally:
        lease.give_back()
    return results
