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
    return _embed("scalars", scalars, 0, 1)


def embed_vector(vectors: Tensor) -> Tensor:
    """Return vectors as multivectors.

    Parameters
    ----------
    vectors : torch.Tensor, shape (..., 4)
        (t, x, y, z).

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    return _embed("vectors", vectors, 1, 4)


def embed_bivector(bivectors: Tensor) -> Tensor:
    """Return bivectors as multivectors.

    Parameters
    ----------
    bivectors : torch.Tensor, shape (..., 6)
        (tx, ty, tz, xy, xz, yz).

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    return _embed("bivectors", bivectors, 5, 6)


def embed_axialvector(axialvectors: Tensor) -> Tensor:
    """Return axial vectors as multivectors.

    Parameters
    ----------
    axialvectors : torch.Tensor, shape (..., 4)
        (t, x, y, z).

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    return _embed("axialvectors", axialvectors.flip(-1), 11, 4)


def embed_pseudoscalar(pseudoscalars: Tensor) -> Tensor:
    """Return pseudoscalars as multivectors.

    Parameters
    ----------
    pseudoscalars : torch.Tensor, shape (..., 1)
        Pseudoscalars.

    Returns
    -------
    torch.Tensor, shape (..., 16)
        Multivectors.
    """
    return _embed("pseudoscalars", pseudoscalars, 15, 1)


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
    return _extract(multivectors, 0, 1)


def extract_vector(multivectors: Tensor) -> Tensor:
    """Return the vectors of multivectors.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 4)
        (t, x, y, z).
    """
    return _extract(multivectors, 1, 4)


def extract_bivector(multivectors: Tensor) -> Tensor:
    """Return the bivectors of multivectors.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 6)
        (tx, ty, tz, xy, xz, yz).
    """
    return _extract(multivectors, 5, 6)


def extract_axialvector(multivectors: Tensor) -> Tensor:
    """Return the axial vectors of multivectors.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 4)
        (t, x, y, z).
    """
    return _extract(multivectors, 11, 4).flip(-1)


def extract_pseudoscalar(multivectors: Tensor) -> Tensor:
    """Return the pseudoscalars of multivectors.

    Parameters
    ----------
    multivectors : torch.Tensor, shape (..., 16)
        Multivectors.

    Returns
    -------
    torch.Tensor, shape (..., 1)
        Pseudoscalars.
    """
    return _extract(multivectors, 15, 1)
