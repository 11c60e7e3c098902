"""Inverses and the action of versors: reflections, rotations and the like on multivectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core
from tessera.clifford import _arrays

if TYPE_CHECKING:
    from tessera.clifford._algebra import Algebra

__all__ = ["inverse", "sandwich"]


def _last(algebra: Algebra, x: Any) -> Any:
    """View x with its components last."""
    if algebra.axis == -1:
        return x
    return x.movedim(0, -1) if _arrays.is_torch(x) else np.moveaxis(x, 0, -1)


def _first(algebra: Algebra, x: Any) -> Any:
    if algebra.axis == -1:
        return x
    return x.movedim(-1, 0) if _arrays.is_torch(x) else np.moveaxis(x, -1, 0)


def _checked(algebra: Algebra, x: Any, name: str) -> Any:
    if not _arrays.is_torch(x):
        x = np.asarray(x)
        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(float)
    if x.ndim == 0 or x.shape[algebra.axis] != algebra.n_component:
        raise _core.ShapeError(
            f"{name}: expected {algebra.n_component} components on axis {algebra.axis} in "
            f"{algebra!r}, got shape {tuple(x.shape)}"
        )
    return x


def inverse(algebra: Algebra, x: Any) -> Any:
    """Solve x y = 1 for y."""
    x = _checked(algebra, x, "x")
    n = algebra.n_component
    rows = np.zeros((n, n, n))  # (k, j, i): x_i to the matrix that multiplies y_j to component k
    for k, i, j, sign, _ in algebra.table:
        rows[k, j, i] = sign
    last = _last(algebra, x)
    if _arrays.is_torch(x):
        import torch

        wide = last.float() if last.dtype in (torch.float16, torch.bfloat16) else last
        table = torch.from_numpy(rows).to(wide.device, wide.dtype)
        matrix = torch.einsum("kji,...i->...kj", table, wide)
        one = torch.zeros(n, dtype=wide.dtype, device=wide.device)
        one[0] = 1
        y, info = torch.linalg.solve_ex(matrix, one.expand(wide.shape).unsqueeze(-1))
        if bool((info != 0).any()):
            _refuse(int((info != 0).sum()))
        return _first(algebra, y[..., 0].to(x.dtype))
    matrix = np.einsum("kji,...i->...kj", rows, last.astype(np.float64))
    try:
        y = np.linalg.solve(matrix, np.broadcast_to(np.eye(n)[0], last.shape)[..., None])
    except np.linalg.LinAlgError:
        _refuse(int((np.abs(np.linalg.det(matrix)) == 0).sum()))
    return _first(algebra, y[..., 0].astype(x.dtype))


def _refuse(n: int) -> None:
    raise _core.ArgumentError(
        f"x: {n} of the multivectors have no inverse, as null vectors and ideal elements have none"
    )


def sandwich(algebra: Algebra, versor: Any, x: Any) -> Any:
    """Return u x u^-1 for even versors, u involution(x) u^-1 for odd ones."""
    u, x = _checked(algebra, versor, "versor"), _checked(algebra, x, "x")
    if _arrays.is_torch(u) != _arrays.is_torch(x):
        raise _core.ArgumentError("versor: expected a tensor as x is one, or an array as x is one")
    back = inverse(algebra, u)
    if _arrays.is_torch(x):
        import torch

        u, back, x = torch.broadcast_tensors(*(_last(algebra, t) for t in (u, back, x)))
    else:
        u, back, x = np.broadcast_arrays(*(_last(algebra, t) for t in (u, back, x)))
    u, back, x = (_first(algebra, t) for t in (u, back, x))
    even = range(0, algebra.n_grade, 2)
    odd = range(1, algebra.n_grade, 2)
    turned = algebra.geometric_product(algebra.grade(u, *even), x)
    turned = turned + algebra.geometric_product(algebra.grade(u, *odd), algebra.involution(x))
    return algebra.geometric_product(turned, back)
