# %% [markdown]
# # One fused pass against many
#
# Gate, weighted geometric product and norm are one pass over the data. Written with tensor
# operations the same takes dozens of passes. Both are shown to agree, with their gradients, then
# timed.

# %%
import time

import matplotlib.pyplot as plt
import torch

from tessera import clifford

torch.manual_seed(0)
print("components", clifford.Algebra("++").blades)


def plain(x, y, weight):
    """Gate, weighted product and norm in the plane, with one tensor operation a line."""
    x = x * torch.special.ndtr(x[:1])
    y = y * torch.special.ndtr(y[:1])
    w = weight.T
    z0 = w[0] * x[0] * y[0] + w[3] * (x[1] * y[1] + x[2] * y[2]) - w[7] * x[3] * y[3]
    z1 = w[1] * x[0] * y[1] + w[4] * x[1] * y[0] + w[5] * -x[2] * y[3] + w[8] * x[3] * y[2]
    z2 = w[1] * x[0] * y[2] + w[4] * x[2] * y[0] + w[5] * x[1] * y[3] - w[8] * x[3] * y[1]
    z3 = w[2] * x[0] * y[3] + w[6] * (x[1] * y[2] - x[2] * y[1]) + w[9] * x[3] * y[0]
    grades = (z0[None], torch.stack((z1, z2)), z3[None])
    sizes = [(g.square().sum(0).mean(-1, keepdim=True) + 1e-6).sqrt() for g in grades]
    return torch.cat([g / size for g, size in zip(grades, sizes, strict=True)])


# %%
def inputs(rows, features=64):
    x, y = torch.randn(2, 4, rows, features)
    return [t.requires_grad_() for t in (x, y, torch.randn(features, 10))]


def fused(x, y, w):
    return clifford.fused_gelu_sgp_norm_2d(x, y, w)


def step(function, arguments):
    out = function(*arguments)
    return out, torch.autograd.grad(out.square().sum() + out[1].sum(), arguments)


arguments = inputs(300)
(a, grad_a), (b, grad_b) = step(fused, arguments), step(plain, arguments)
print("values agree to", f"{(a - b).norm() / b.norm():.1e}")
for name, p, q in zip(("x", "y", "weight"), grad_a, grad_b, strict=True):
    print(f"gradient of {name} agrees to {(p - q).norm() / q.norm():.1e}")

# %%
rows = [128, 512, 2048]
seconds = {"fused": [], "tensor operations": []}
for n in rows:
    arguments = inputs(n)
    for name, function in (("fused", fused), ("tensor operations", plain)):
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            step(function, arguments)
            times.append(time.perf_counter() - begin)
        seconds[name].append(sorted(times)[2])
plt.figure(figsize=(7, 3.5), layout="constrained")
for name, values in seconds.items():
    plt.loglog(rows, values, ".-", label=name)
plt.xlabel("rows of 64 features")
plt.ylabel("forward and backward [s]")
plt.legend()
plt.show()
