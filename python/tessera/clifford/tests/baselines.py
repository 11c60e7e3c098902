"""The operations as plain torch formulas, one term after the other: what a fused one is held to.

Names are those of flash-clifford's ``tests.baselines``. The four with ``_torch`` at the end are
compiled by torch.compile where their tensors are on a GPU, as the peer in a measurement there is;
on a CPU they are not, since that would want a C++ compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from tessera.clifford._spec import algebra_of

__all__ = [
    "fcgp_2d",
    "fcgp_3d",
    "gelu_fcgp_norm_2d_torch",
    "gelu_fcgp_norm_3d_torch",
    "gelu_sgp_norm_2d_torch",
    "gelu_sgp_norm_3d_torch",
    "gp_4d",
    "gp_4d_torch",
    "mv_gelu",
    "mv_rmsnorm_2d",
    "mv_rmsnorm_3d",
    "sgp_2d",
    "sgp_3d",
]

_PLANE, _SPACE, _PROJECTIVE = "++", "+++", "0+++"


def mv_gelu(x: Tensor) -> Tensor:
    """Multiply every component by the share of the normal distribution below the scalar.

    Parameters
    ----------
    x : torch.Tensor, shape (component, row, feature)
        Multivectors.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return x * (0.5 * (1 + torch.erf(x[:1] * math.sqrt(0.5))))


def _rms_norm(metric: str, x: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each grade by the root of the mean over features of its squared length."""
    grades = algebra_of(metric)["grade"]
    parts = []
    for grade in range(max(grades) + 1):
        first = grades.index(grade)
        part = x[first : first + grades.count(grade)]
        square = part.pow(2).sum(dim=0, keepdim=True).mean(dim=-1, keepdim=True)
        parts.append(part / (square + eps).sqrt())
    return torch.cat(parts)


def _product(metric: str, x: Tensor, y: Tensor, weigh: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Add up the terms of each component, those of one path before they are weighed."""
    algebra = algebra_of(metric)
    sums: list[dict[int, Any]] = [{} for _ in range(algebra["n_component"])]
    for k, i, j, sign, path in algebra["terms"]:
        sums[k][path] = sums[k].get(path, 0) + sign * x[i] * y[j]
    rows = []
    for by_path in sums:
        weighed = [weigh(terms, path) for path, terms in by_path.items()]
        rows.append(torch.stack(weighed).sum(dim=0))
    return torch.stack(rows)


def _check_paths(metric: str, n_path: int, weight: Tensor) -> None:
    wanted = algebra_of(metric)["n_path"]
    if n_path != wanted:
        raise ValueError(
            f"weight: shape {tuple(weight.shape)} has {n_path} paths, this algebra has {wanted}"
        )


def _sgp(metric: str, x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    _check_paths(metric, weight.shape[-1], weight)
    return _product(metric, x, y, lambda terms, path: weight[:, path] * terms)


def _fcgp(metric: str, x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    _check_paths(metric, weight.shape[0], weight)
    return _product(metric, x, y, lambda terms, path: terms @ weight[path])


def _gp(metric: str, x: Tensor, y: Tensor) -> Tensor:
    return _product(metric, x, y, lambda terms, _: terms)


def mv_rmsnorm_2d(x: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each grade of Cl(2,0) by its root mean square.

    Parameters
    ----------
    x : torch.Tensor, shape (4, row, feature)
        Multivectors.
    eps : float, default 1e-6
        Added to mean squares.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _rms_norm(_PLANE, x, eps)


def mv_rmsnorm_3d(x: Tensor, eps: float = 1e-6) -> Tensor:
    """Divide each grade of Cl(3,0) by its root mean square.

    Parameters
    ----------
    x, eps
        As of :func:`mv_rmsnorm_2d`, with 8 components.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _rms_norm(_SPACE, x, eps)


def sgp_2d(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Multiply in Cl(2,0) with a weight per feature and path.

    Parameters
    ----------
    x, y : torch.Tensor, shape (4, row, feature)
        Multivectors.
    weight : torch.Tensor, shape (feature, 10)
        One per path.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _sgp(_PLANE, x, y, weight)


def sgp_3d(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Multiply in Cl(3,0) with a weight per feature and path.

    Parameters
    ----------
    x, y, weight
        As of :func:`sgp_2d`, with 8 components and 20 paths.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _sgp(_SPACE, x, y, weight)


def fcgp_2d(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Multiply in Cl(2,0) with weights that mix features.

    Parameters
    ----------
    x, y : torch.Tensor, shape (4, row, feature)
        Multivectors.
    weight : torch.Tensor, shape (10, feature, feature)
        One per path.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _fcgp(_PLANE, x, y, weight)


def fcgp_3d(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """Multiply in Cl(3,0) with weights that mix features.

    Parameters
    ----------
    x, y, weight
        As of :func:`fcgp_2d`, with 8 components and 20 paths.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _fcgp(_SPACE, x, y, weight)


def gp_4d(x: Tensor, y: Tensor) -> Tensor:
    """Multiply in Cl(3,0,1), without weights.

    Parameters
    ----------
    x, y : torch.Tensor, shape (16, row, feature)
        Multivectors.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _gp(_PROJECTIVE, x, y)


def _whole(
    product: Callable[..., Tensor],
    metric: str,
    x: Tensor,
    y: Tensor,
    weight: Tensor,
    normalize: bool = True,
) -> Tensor:
    """Gate both, multiply, normalise."""
    z = product(metric, mv_gelu(x), mv_gelu(y), weight)
    return _rms_norm(metric, z) if normalize else z


@cache
def _compiled(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    compiled: Callable[..., Tensor] = torch.compile(function)
    return compiled


def _peer(function: Callable[..., Tensor], x: Tensor, *rest: Any) -> Tensor:
    """Call a function, compiled where its first tensor is on a GPU."""
    return (_compiled(function) if x.is_cuda else function)(x, *rest)


# Made once: torch.compile keeps what it made by the function.
_PRODUCTS = {
    (name, metric): partial(_whole, product, metric)
    for name, product in (("sgp", _sgp), ("fcgp", _fcgp))
    for metric in (_PLANE, _SPACE)
}


def gelu_sgp_norm_2d_torch(x: Tensor, y: Tensor, weight: Tensor, normalize: bool = True) -> Tensor:
    """Gate, multiply and normalise in Cl(2,0): what :func:`fused_gelu_sgp_norm_2d` fuses.

    Parameters
    ----------
    x, y : torch.Tensor, shape (4, row, feature)
        Multivectors.
    weight : torch.Tensor, shape (feature, 10)
        One per path.
    normalize : bool, default True
        Divide by the root mean square of each grade.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _peer(_PRODUCTS["sgp", _PLANE], x, y, weight, normalize)


def gelu_sgp_norm_3d_torch(x: Tensor, y: Tensor, weight: Tensor, normalize: bool = True) -> Tensor:
    """Gate, multiply and normalise in Cl(3,0): what :func:`fused_gelu_sgp_norm_3d` fuses.

    Parameters
    ----------
    x, y, weight, normalize
        As of :func:`gelu_sgp_norm_2d_torch`, with 8 components and 20 paths.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _peer(_PRODUCTS["sgp", _SPACE], x, y, weight, normalize)


def gelu_fcgp_norm_2d_torch(x: Tensor, y: Tensor, weight: Tensor, normalize: bool = True) -> Tensor:
    """Gate, multiply and normalise in Cl(2,0): what :func:`fused_gelu_fcgp_norm_2d` fuses.

    Parameters
    ----------
    x, y, weight, normalize
        As of :func:`gelu_sgp_norm_2d_torch`, with a weight of shape (10, feature, feature).

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _peer(_PRODUCTS["fcgp", _PLANE], x, y, weight, normalize)


def gelu_fcgp_norm_3d_torch(x: Tensor, y: Tensor, weight: Tensor, normalize: bool = True) -> Tensor:
    """Gate, multiply and normalise in Cl(3,0): what :func:`fused_gelu_fcgp_norm_3d` fuses.

    Parameters
    ----------
    x, y, weight, normalize
        As of :func:`gelu_fcgp_norm_2d_torch`, with 8 components and 20 paths.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _peer(_PRODUCTS["fcgp", _SPACE], x, y, weight, normalize)


def gp_4d_torch(x: Tensor, y: Tensor) -> Tensor:
    """Multiply in Cl(3,0,1): what :func:`gp_pga` does in one pass.

    Parameters
    ----------
    x, y : torch.Tensor, shape (16, row, feature)
        Multivectors.

    Returns
    -------
    torch.Tensor
        Like x.
    """
    return _peer(gp_4d, x, y)
