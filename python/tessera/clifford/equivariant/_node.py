"""Parts of blocks by the compiled node of torch, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tessera.clifford import _torch_native
from tessera.clifford.equivariant import _native as passes
from tessera.clifford.equivariant._maps import Geometry
from tessera.clifford.native._find import find

__all__ = ["rows"]

Gradients = Callable[..., tuple[Any, ...]]


_geometries: dict[Geometry, Any] = {}


def _make(module: Any, geometry: Geometry, gradients: Gradients) -> Any:
    ops = (
        _torch_native.operation_of(module, o.kind, o.spec)
        for o in (
            passes._norm_op(geometry),
            passes._gate_op(geometry),
            passes._product_op(geometry),
        )
    )
    made = _geometries[geometry] = module.geometry(*ops, partial(gradients, geometry))
    return made


def rows(
    geometry: Geometry, gradients: Gradients, sizes: tuple[int, ...], *tensors: Tensor
) -> Tensor | None:
    """Return the norm of rows, or the feed-forward part of rows and three matrices.

    Parameters
    ----------
    geometry : Geometry
        The algebra.
    gradients : callable
        Returns gradients that can be differentiated again.
    sizes : tuple of int
        Channels and scalars of rows, of products, and the most bytes of an array of hidden rows.
    *tensors : torch.Tensor
        Packed rows, and matrices.

    Returns
    -------
    torch.Tensor or None
        None where this is no call for the node.
    """
    if torch.compiler.is_compiling():
        return None
    module = find(tensors[0].is_cuda)
    if module is None:
        return None
    found: Tensor | None = module.rows(
        _geometries.get(geometry) or _make(module, geometry, gradients), sizes, *tensors
    )
    return found
