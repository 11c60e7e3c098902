"""Points, planes, lines and motions as multivectors of Cl(3,0,1), and back.

Planes are vectors, lines bivectors, points trivectors; motions are products of planes.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tessera import _core

__all__ = [
    "embed_direction",
    "embed_line",
    "embed_plane",
    "embed_point",
    "embed_reflection",
    "embed_rotation",
    "embed_scalar",
    "embed_translation",
    "extract_direction",
    "extract_line",
    "extract_plane",
    "extract_point",
    "extract_scalar",
]

_N = 16


def _check(name: str, x: Tensor, n: int) -> None:
    if x.dim() == 0 or x.shape[-1] != n:
        raise _core.ShapeError(f"{name}: expected (..., {n}), got shape {tuple(x.shape)}")


def _place(parts: dict[int, Tensor]) -> Tensor:
    """Return multivectors with parts, (..., n), from the given components on."""
    shape = torch.broadcast_shapes(*(p.shape[:-1] for p in parts.values()))
    joined = []
    at = 0
    some = next(iter(parts.values()))
    for first, part in sorted(parts.items()):
        if first > at:
            joined.append(some.new_zeros(*shape, first - at))
        joined.append(part.expand(*shape, part.shape[-1]))
        at = first + part.shape[-1]
    if at < _N:
        joined.append(some.new_zeros(*shape, _N - at))
    return torch.cat(joined, -1)


def _trivector(coordinates: Tensor) -> Tensor:
    """Return (z, y, x) with the signs of e012, e013, e023 in a point."""
    x, y, z = coordinates.unbind(-1)
    return torch.stack([-z, y, -x], -1)


def embed_scalar(scalars: Tensor) -> Tensor:
    """Return scalars as multivectors.

    Parameters
    ----------
    scalars : torch.Tensor, shape (..., 1)
        Scalars.

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    _check("scalars", scalars, 1)
    return functional.pad(scalars, (0, _N - 1))


def embed_point(points: Tensor) -> Tensor:
    """Return points as multivectors.

    Parameters
    ----------
    points : torch.Tensor, shape (..., 3)
        (x, y, z).

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors: trivectors of weight 1.
    """
    _check("points", points, 3)
    return _place({11: _trivector(points), 14: torch.ones_like(points[..., :1])})


def embed_direction(directions: Tensor) -> Tensor:
    """Return directions, points at infinity, as multivectors.

    Parameters
    ----------
    directions : torch.Tensor, shape (..., 3)
        (x, y, z).

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors: trivectors of weight 0.
    """
    _check("directions", directions, 3)
    return _place({11: _trivector(directions)})


def embed_plane(normals: Tensor, points: Tensor) -> Tensor:
    """Return planes as multivectors.

    Parameters
    ----------
    normals : torch.Tensor, shape (..., 3)
        Normals.
    points : torch.Tensor, shape (..., 3)
        A point of each plane.

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    _check("normals", normals, 3)
    _check("points", points, 3)
    return _place({1: -(normals * points).sum(-1, keepdim=True), 2: normals})


def embed_line(points: Tensor, directions: Tensor) -> Tensor:
    """Return lines as multivectors: the joins of points with directions.

    Parameters
    ----------
    points : torch.Tensor, shape (..., 3)
        A point of each line.
    directions : torch.Tensor, shape (..., 3)
        Directions; longer ones make larger multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    _check("points", points, 3)
    _check("directions", directions, 3)
    points, directions = torch.broadcast_tensors(points, directions)
    moment = torch.linalg.cross(points, directions)
    x, y, z = directions.unbind(-1)
    return _place({5: moment, 8: torch.stack([z, -y, x], -1)})


def embed_reflection(normals: Tensor, points: Tensor) -> Tensor:
    """Return the reflections in planes as multivectors: those planes.

    Parameters
    ----------
    normals : torch.Tensor, shape (..., 3)
        Normals, of length 1.
    points : torch.Tensor, shape (..., 3)
        A point of each plane.

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    return embed_plane(normals, points)


def embed_translation(translations: Tensor) -> Tensor:
    """Return translations as multivectors.

    Parameters
    ----------
    translations : torch.Tensor, shape (..., 3)
        (x, y, z).

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors that move by them.
    """
    _check("translations", translations, 3)
    return _place({0: torch.ones_like(translations[..., :1]), 5: -translations / 2})


def embed_rotation(quaternions: Tensor) -> Tensor:
    """Return rotations about the origin as multivectors.

    Parameters
    ----------
    quaternions : torch.Tensor, shape (..., 4)
        (x, y, z, w), of length 1.

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors that turn as the quaternions do.
    """
    _check("quaternions", quaternions, 4)
    x, y, z, w = quaternions.unbind(-1)
    return _place({0: w.unsqueeze(-1), 8: torch.stack([-z, y, -x], -1)})


def _component(multivectors: Tensor, first: int, n: int) -> Tensor:
    _check("multivectors", multivectors, _N)
    return multivectors[..., first : first + n]


def extract_scalar(multivectors: Tensor) -> Tensor:
    """Return the scalars of multivectors.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 1)
        Scalars.
    """
    return _component(multivectors, 0, 1)


def extract_direction(multivectors: Tensor) -> Tensor:
    """Return the directions of multivectors, not divided by their weight.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 3)
        (x, y, z) of the trivectors.
    """
    z, y, x = _component(multivectors, 11, 3).unbind(-1)
    return torch.stack([-x, y, -z], -1)


def extract_point(multivectors: Tensor, least: float = 1e-3) -> Tensor:
    """Return the points, (..., 3), of multivectors, (..., 16).

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.
    least : float
        Least weight that is divided by, of either sign: points further out come nearer.

    Returns
    -------
    torch.Tensor, shape (..., 3)
        (x, y, z).
    """
    weight = _component(multivectors, 14, 1)
    sign = torch.where(weight < 0, -1.0, 1.0).to(weight.dtype)
    return extract_direction(multivectors) / (sign * weight.abs().clamp_min(least))


def extract_plane(multivectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the planes of multivectors.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    normals : torch.Tensor, shape (..., 3)
        Normals.
    distances : torch.Tensor, shape (..., 1)
        Distances from the origin along the normals, times their lengths.
    """
    return _component(multivectors, 2, 3), -_component(multivectors, 1, 1)


def extract_line(multivectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the lines of multivectors.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    directions : torch.Tensor, shape (..., 3)
        Directions.
    moments : torch.Tensor, shape (..., 3)
        Moments: point x direction.
    """
    z, y, x = _component(multivectors, 8, 3).unbind(-1)
    return torch.stack([x, -y, z], -1), _component(multivectors, 5, 3)
