"""Signs and zeros of components on tensors: what they are multiplied by is made on their device.

A tensor made of a Python list is copied from the host, which waits for the device and which a CUDA
graph cannot record. These are made of the bits of an integer, an argument of a kernel, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from tessera.clifford._spec import mask_of
from tessera.clifford._torch import nobody_watches

_kept: dict[tuple[Any, ...], Tensor] = {}


def _make(mask: int, n: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    bits = torch.bitwise_right_shift(mask, torch.arange(n, device=device)) & 1
    return bits.bool() if dtype == torch.bool else (1 - 2 * bits).to(dtype)


def _factors(mask: int, n: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return truth values, or -1 for those that are true and 1 for others, of the bits of mask."""
    if torch.compiler.is_compiling() or not nobody_watches():
        return _make(mask, n, dtype, device)  # belongs to who watches
    key = (mask, n, dtype, device)
    found = _kept.get(key)
    if found is not None:
        return found
    with torch.inference_mode(False):
        found = _make(mask, n, dtype, device)
    if device.type == "cuda":
        if torch.cuda.is_current_stream_capturing():
            return found  # belongs to the graph
        torch.cuda.current_stream(device).synchronize()  # others may read it on their streams
    _kept[key] = found
    return found


def _along(factors: Tensor, x: Tensor, axis: int) -> Tensor:
    shape = [1] * x.dim()
    shape[axis] = -1
    return factors.view(shape)


def multiply(x: Tensor, signs: Iterable[int], axis: int) -> Tensor:
    """Change the sign of components along an axis where signs has -1."""
    mask = mask_of(sign < 0 for sign in signs)
    return x * _along(_factors(mask, x.shape[axis], x.dtype, x.device), x, axis)


def keep(x: Tensor, flags: Iterable[int], axis: int) -> Tensor:
    """Return x with zeros, whatever was there, in components whose flag is 0."""
    mask = mask_of(not flag for flag in flags)
    if not mask:
        return x
    return x.masked_fill(_along(_factors(mask, x.shape[axis], torch.bool, x.device), x, axis), 0)
