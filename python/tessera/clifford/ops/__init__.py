"""Operations of flash-clifford, under the names they have there."""

from __future__ import annotations

from tessera.clifford._compat import (
    P2M0_NUM_GRADES,
    P2M0_NUM_PRODUCT_WEIGHTS,
    P3M0_NUM_GRADES,
    P3M0_NUM_PRODUCT_WEIGHTS,
    fused_gelu_fcgp_norm_2d,
    fused_gelu_fcgp_norm_3d,
    fused_gelu_sgp_norm_2d,
    fused_gelu_sgp_norm_3d,
    gp_4d,
    gp_pga,
)

__all__ = [
    "P2M0_NUM_GRADES",
    "P2M0_NUM_PRODUCT_WEIGHTS",
    "P3M0_NUM_GRADES",
    "P3M0_NUM_PRODUCT_WEIGHTS",
    "fused_gelu_fcgp_norm_2d",
    "fused_gelu_fcgp_norm_3d",
    "fused_gelu_sgp_norm_2d",
    "fused_gelu_sgp_norm_3d",
    "gp_4d",
    "gp_pga",
]
