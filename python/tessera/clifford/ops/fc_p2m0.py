"""Fully connected product of Cl(2,0), under the names it has in flash-clifford."""

from __future__ import annotations

from tessera.clifford._compat import (
    P2M0_NUM_GRADES,
    P2M0_NUM_PRODUCT_WEIGHTS,
    fused_gelu_fcgp_norm_2d,
)

__all__ = ["NUM_GRADES", "NUM_PRODUCT_WEIGHTS", "fused_gelu_fcgp_norm_2d"]

NUM_GRADES = P2M0_NUM_GRADES
NUM_PRODUCT_WEIGHTS = P2M0_NUM_PRODUCT_WEIGHTS
