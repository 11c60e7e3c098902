"""The fused operations of flash-clifford by name."""

import torch
from ops import (
    P2M0_NUM_PRODUCT_WEIGHTS,
    P3M0_NUM_PRODUCT_WEIGHTS,
    fused_gelu_fcgp_norm_2d,
    fused_gelu_sgp_norm_3d,
)

generator = torch.Generator().manual_seed(1)
x = torch.randn(8, 16, 8, generator=generator)
y = torch.randn(8, 16, 8, generator=generator)
weight = torch.randn(8, P3M0_NUM_PRODUCT_WEIGHTS, generator=generator)
product = fused_gelu_sgp_norm_3d(x, y, weight)
connected = fused_gelu_fcgp_norm_2d(
    x[:4].contiguous(),
    y[:4].contiguous(),
    torch.randn(P2M0_NUM_PRODUCT_WEIGHTS, 8, 8, generator=generator),
    normalize=False,
)
print(product.shape, connected.shape)
