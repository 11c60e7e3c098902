"""Fully connected product of Cl(3,0), under the names it has in flash-clifford."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera.clifford._compat import (
    P3M0_NUM_GRADES,
    P3M0_NUM_PRODUCT_WEIGHTS,
    fused_gelu_fcgp_norm_3d,
)

if TYPE_CHECKING:
    from tessera.clifford._autograd_names import (
        FullyConnectedGeluGeometricProductNorm3D,
    )

__all__ = [
    "EPS",
    "MV_DIM",
    "NUM_GRADES",
    "NUM_PRODUCT_WEIGHTS",
    "FullyConnectedGeluGeometricProductNorm3D",
    "fused_gelu_fcgp_norm_3d",
]

EPS = 1e-6  # of the normalisation
MV_DIM = 8  # components of a multivector
NUM_GRADES = P3M0_NUM_GRADES
NUM_PRODUCT_WEIGHTS = P3M0_NUM_PRODUCT_WEIGHTS


def __getattr__(name: str) -> Any:
    if name != "FullyConnectedGeluGeometricProductNorm3D":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tessera.clifford import _autograd_names  # imports torch, which the functions do without

    return _autograd_names.FullyConnectedGeluGeometricProductNorm3D
