"""The product of projective geometry, and the package under its own name."""

import flash_clifford
import torch
from ops.p3m0n1 import gp_4d

generator = torch.Generator().manual_seed(2)
a = torch.randn(16, 4, 8, generator=generator)
b = torch.randn(16, 4, 8, generator=generator)
c = gp_4d(a, b)
scalar = float(c[0].sum())
grades = flash_clifford.P3M0_NUM_GRADES
print(f"{scalar:.5f}", grades)
