"""Physical quantities as multivectors of spacetime, and back."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from tessera import _core

__all__ = [
    "embed_axialvector",
    "embed_bivector",
    "embed_pseudoscalar",
    "embed_scalar",
    "embed_vector",
    "extract_axialvector",
    "extract_bivector",
    "extract_pseudoscalar",
    "extract_scalar",
    "extract_vector",
]

_N = 16


def _embed(name: str, x: Tensor, first: int, n: int) -> Tensor:
    if x.dim() == 0 or x.shape[-1] != n:
        raise _core.ShapeError(f"{name}: expected (..., {n}), got shape {tuple(x.shape)}")
    return functional.pad(x, (first, _N - n - first))


def _extract(multivectors: Tensor, first: int, n: int) -> Tensor:
    if multivectors.dim() == 0 or multivectors.shape[-1] != _N:
        raise _core.ShapeError(
            f"multivectors: expected (..., {_N}), got shape {tuple(multivectors.shape)}"
        )
    return multivectors[..., first : first + n]


def embed_scalar(scalars: Tensor) -> Tensor:
    """Return scalars, (..., 1), as multivectors, (..., 16)."""
    return _embed("scalars", scalars, 0, 1)


def embed_vector(vectors: Tensor) -> Tensor:
    """Return vectors (t, x, y, z), (..., 4), as multivectors, (..., 16)."""
    return _embed("vectors", vectors, 1, 4)


def embed_bivector(bivectors: Tensor) -> Tensor:
    """Return bivectors (tx, ty, tz, xy, xz, yz), (..., 6), as multivectors, (..., 16)."""
    return _embed("bivectors", bivectors, 5, 6)


def embed_axialvector(axialvectors: Tensor) -> Tensor:
    """Return axial vectors (t, x, y, z), (..., 4), as multivectors, (..., 16)."""
    return _embed("axialvectors", axialvectors.flip(-1), 11, 4)


def embed_pseudoscalar(pseudoscalars: Tensor) -> Tensor:
    """Return pseudoscalars, (..., 1), as multivectors, (..., 16)."""
    return _embed("pseudoscalars", pseudoscalars, 15, 1)


def extract_scalar(multivectors: Tensor) -> Tensor:
    """Return the scalars, (..., 1), of multivectors, (..., 16)."""
    return _extract(multivectors, 0, 1)


def extract_vector(multivectors: Tensor) -> Tensor:
    """Return the vectors (t, x, y, z), (..., 4), of multivectors, (..., 16)."""
    return _extract(multivectors, 1, 4)


def extract_bivector(multivectors: Tensor) -> Tensor:
    """Return the bivectors (tx, ty, tz, xy, xz, yz), (..., 6), of multivectors, (..., 16)."""
    return _extract(multivectors, 5, 6)


def extract_axialvector(multivectors: Tensor) -> Tensor:
    """Return the axial vectors (t, x, y, z), (..., 4), of multivectors, (..., 16)."""
    return _extract(multivectors, 11, 4).flip(-1)


def extract_pseudoscalar(multivectors: Tensor) -> Tensor:
    """Return the pseudoscalars, (..., 1), of multivectors, (..., 16)."""
    return _extract(multivectors, 15, 1)
