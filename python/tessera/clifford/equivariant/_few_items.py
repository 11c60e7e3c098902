"""Attention among few items by torch's products of matrices, where that takes less time.

Fused kernels of f32 take twice as long on an H200. Where products may be of TF32, logits of all
pairs lie in memory instead: among few items they are no larger than queries, keys and values.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from tessera.clifford.equivariant._differentiable import differentiable
from tessera.clifford.native._find import find

__all__ = ["attend_to_few"]

_LEAST_BYTES = 48 << 20  # of queries, keys and values; the host is slower than the GPU with fewer
_LEAST_SETS = 32  # of items; a product has that many small matrices
_LEAST_ITEMS = 32  # below that matrices are smaller than what is multiplied at a time
_KNOWN = {"attn_mask", "dropout_p", "is_causal", "scale"}


def _plain(z: Tensor) -> Tensor:
    """Return the same by operations that have derivatives of any order."""
    q, k, v = (t.transpose(-3, -2) for t in z.unbind(-3))
    logits = (q @ k.transpose(-2, -1)) / math.sqrt(z.shape[-1])
    return (logits.softmax(-1) @ v).transpose(-3, -2)


def _gradients(z: Tensor, grad: Tensor) -> tuple[Any, ...]:
    """Return gradients that can be differentiated again, as the compiled node asks for them."""
    return tuple(differentiable(_plain, (z,), (True,), grad))


def _is_worth_it(z: Tensor) -> bool:
    n_set, n_item, _, _, width = z.shape
    return (
        z.is_cuda
        and z.dtype == torch.float32
        and torch.get_float32_matmul_precision() != "highest"
        and n_set >= _LEAST_SETS
        and _LEAST_ITEMS <= n_item <= 3 * width
        and z.nbytes >= _LEAST_BYTES
    )


def attend_to_few(z: Tensor, options: dict[str, Any]) -> Tensor | None:
    """Attend on packed rows where items are few.

    Parameters
    ----------
    z : torch.Tensor, shape (..., item, 3, head, feature)
        Queries, keys and values.
    options : dict
        Of ``torch.nn.functional.scaled_dot_product_attention``.

    Returns
    -------
    torch.Tensor, shape (..., item, head, feature), or None
        None where fused kernels are to be asked.
    """
    is_asked = any(options.get(name) is not None for name in ("attn_mask", "scale")) or any(
        options.get(name) for name in ("dropout_p", "is_causal")
    )
    if torch.compiler.is_compiling() or is_asked or not options.keys() <= _KNOWN:
        return None
    sets = z if z.dim() == 5 else z.view(math.prod(z.shape[:-4]), *z.shape[-4:])
    module = find(True) if _is_worth_it(sets) else None
    if module is None:
        return None
    found: Tensor | None = module.attention(_gradients, sets)
    return found if found is None or sets is z else found.view(*z.shape[:-3], *z.shape[-2:])
