"""Norms of multivectors whose squares are too large or too small for their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera.clifford import _arrays

if TYPE_CHECKING:
    from tessera.clifford._algebra import Algebra

# By how far exponents reach: what is above the first number is multiplied by the second, what is
# below the third by the fourth. Powers of two, so that no bit of the mantissas changes, and 32
# squares of what comes out stay within the type with all their digits.
_NARROW = (2.0**50, 2.0**-70, 2.0**-40, 2.0**100)
_WIDE = (2.0**450, 2.0**-550, 2.0**-400, 2.0**900)


def norm(algebra: Algebra, x: Any) -> Any:
    """Return the root of the size of the quadratic form over all grades."""
    is_torch = _arrays.is_torch(x)
    if not is_torch:
        x = _arrays.as_array(x, "x")
    algebra._check_components(x)
    if "float" not in str(x.dtype):
        return algebra.quadratic(x)  # says what is expected
    if str(x.dtype).endswith("float16") and "bfloat" not in str(x.dtype):
        return _half(algebra, x, is_torch)
    x = _counted(algebra, x, is_torch)
    scale = _scale(algebra, x, is_torch)
    size = abs(algebra.quadratic(x * scale).sum(algebra.axis))
    if not is_torch:
        return (size**0.5).astype(x.dtype) / _without(scale, algebra.axis)
    import torch

    is_zero = size == 0
    root = torch.where(is_zero, torch.ones_like(size), size).sqrt()
    root = torch.where(is_zero, torch.zeros_like(size), root)
    return root / _without(scale, algebra.axis)


def _half(algebra: Algebra, x: Any, is_torch: bool) -> Any:
    """Compute in float32: the squares of half of the numbers there are do not fit float16."""
    if is_torch:
        return norm(algebra, x.float()).to(x.dtype)
    return norm(algebra, x.astype("float32")).astype(x.dtype)


def _counted(algebra: Algebra, x: Any, is_torch: bool) -> Any:
    """Return x with zeros for what squares to 0, which may be of any size."""
    counts = tuple(abs(eta) for eta in algebra._found["eta"])
    if all(counts):
        return x
    if is_torch:
        from tessera.clifford import _torch_signs

        return _torch_signs.keep(x, counts, algebra.axis)
    library = x.__array_namespace__() if hasattr(x, "__array_namespace__") else np
    which = np.array(counts, bool)
    which = which[:, *(None,) * (x.ndim - 1)] if algebra.axis == 0 else which
    return library.where(library.asarray(which), x, x.dtype.type(0))


def _scale(algebra: Algebra, x: Any, is_torch: bool) -> Any:
    """Return a power of two per row and feature."""
    size = abs(x.detach() if is_torch else x)
    largest = size.amax(algebra.axis) if is_torch else size.max(algebra.axis)
    largest = largest[None] if algebra.axis == 0 else largest[..., None]
    above, shrink, below, grow = _WIDE if str(x.dtype).endswith("float64") else _NARROW
    is_large, is_small = largest > above, largest < below
    is_neither = ~(is_large | is_small)
    if is_torch:
        kind = x.dtype
        return is_large.to(kind) * shrink + is_small.to(kind) * grow + is_neither.to(kind)
    one = x.dtype.type
    return (
        is_large.astype(x.dtype) * one(shrink)
        + is_small.astype(x.dtype) * one(grow)
        + is_neither.astype(x.dtype)
    )


def _without(scale: Any, axis: int) -> Any:
    return scale[0] if axis == 0 else scale[..., 0]
