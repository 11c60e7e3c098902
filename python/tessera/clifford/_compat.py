"""Functions and constants of flash-clifford, with its names and argument order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tessera.clifford import _functional

if TYPE_CHECKING:
    from tessera.clifford._types import ArrayT, Weight

P2M0_NUM_PRODUCT_WEIGHTS = 10
P3M0_NUM_PRODUCT_WEIGHTS = 20
P2M0_NUM_GRADES = 3
P3M0_NUM_GRADES = 4


def fused_gelu_sgp_norm_2d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate x and y, multiply in Cl(2,0) with weight (N, 10), normalise."""
    return _functional.sgp(x, y, weight, "++", normalize=normalize)


def fused_gelu_sgp_norm_3d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate x and y, multiply in Cl(3,0) with weight (N, 20), normalise."""
    return _functional.sgp(x, y, weight, "+++", normalize=normalize)


def fused_gelu_fcgp_norm_2d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate x and y, multiply in Cl(2,0) with weight (10, N, N), normalise."""
    return _functional.fcgp(x, y, weight, "++", normalize=normalize)


def fused_gelu_fcgp_norm_3d(x: ArrayT, y: ArrayT, weight: Weight, normalize: bool = True) -> ArrayT:
    """Gate x and y, multiply in Cl(3,0) with weight (20, N, N), normalise."""
    return _functional.fcgp(x, y, weight, "+++", normalize=normalize)


def gp_pga(x: ArrayT, y: ArrayT) -> ArrayT:
    """Geometric product of Cl(3,0,1), without weights; (16, row, feature)."""
    return _functional.sgp(x, y, None, "0+++", activation="none", normalize=False)


gp_4d = gp_pga
