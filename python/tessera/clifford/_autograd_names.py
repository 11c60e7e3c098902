"""The autograd functions of flash-clifford by name; ``apply`` is what scripts call of them.

They give what the functions beside them give. Derivatives are those of our own operations, twice
backward and once forward, so that there is nothing to do for a class but to have its name.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tessera.clifford import _compat

__all__ = [
    "FullyConnectedGeluGeometricProductNorm2D",
    "FullyConnectedGeluGeometricProductNorm3D",
    "GeometricProduct",
    "WeightedGeluGeometricProductNorm2D",
    "WeightedGeluGeometricProductNorm3D",
]


class _ByName(torch.autograd.Function):
    """A name for a function that torch differentiates already."""

    _function: Any = None

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Tensor:
        """Call the function.

        Parameters
        ----------
        *args, **kwargs
            Of the function.

        Returns
        -------
        torch.Tensor
            Its result.
        """
        found: Tensor = cls._function(*args, **kwargs)
        return found


class WeightedGeluGeometricProductNorm2D(_ByName):
    """``apply(x, y, weight, normalize)`` is :func:`fused_gelu_sgp_norm_2d`.

    Parameters
    ----------
    *args, **kwargs
        Of no use: torch makes the instances of such classes.
    """

    _function = staticmethod(_compat.fused_gelu_sgp_norm_2d)


class WeightedGeluGeometricProductNorm3D(_ByName):
    """``apply(x, y, weight, normalize)`` is :func:`fused_gelu_sgp_norm_3d`.

    Parameters
    ----------
    *args, **kwargs
        Of no use: torch makes the instances of such classes.
    """

    _function = staticmethod(_compat.fused_gelu_sgp_norm_3d)


class FullyConnectedGeluGeometricProductNorm2D(_ByName):
    """``apply(x, y, weight, normalize)`` is :func:`fused_gelu_fcgp_norm_2d`.

    Parameters
    ----------
    *args, **kwargs
        Of no use: torch makes the instances of such classes.
    """

    _function = staticmethod(_compat.fused_gelu_fcgp_norm_2d)


class FullyConnectedGeluGeometricProductNorm3D(_ByName):
    """``apply(x, y, weight, normalize)`` is :func:`fused_gelu_fcgp_norm_3d`.

    Parameters
    ----------
    *args, **kwargs
        Of no use: torch makes the instances of such classes.
    """

    _function = staticmethod(_compat.fused_gelu_fcgp_norm_3d)


class GeometricProduct(_ByName):
    """``apply(x, y)`` is :func:`gp_pga`.

    Parameters
    ----------
    *args, **kwargs
        Of no use: torch makes the instances of such classes.
    """

    _function = staticmethod(_compat.gp_pga)
