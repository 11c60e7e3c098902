"""Fully connected product of Cl(3,0), under the names it has in flash-clifford."""

from __future__ import annotations

from tessera.clifford._compat import (
    P3M0_NUM_GRADES,
    P3M0_NUM_PRODUCT_WEIGHTS,
    fused_gelu_fcgp_norm_3d,
)

__all__ = ["NUM_GRADES", "NUM_PRODUCT_WEIGHTS", "fused_gelu_fcgp_norm_3d"]

NUM_GRADES = P3M0_NUM_GRADES
NUM_PRODUCT_WEIGHTS = P3M0_NUM_PRODUCT_WEIGHTS
