# %% [markdown]
# # A layer that commutes with rotations
#
# Turn the input and the output turns with it: this is what makes networks of Clifford layers learn
# geometry from few examples. It is checked here by hand, then for several algebras by the library.

# %%
import torch

from tessera import clifford

torch.manual_seed(0)
layer = clifford.Layer(32, 3).double()  # 32 features, the algebra of space
x = torch.randn(8, 100, 32, dtype=torch.float64)  # (component, row, feature)

# %% [markdown]
# A rotation acts on vectors as a matrix, on planes as the same matrix on their normals, and leaves
# scalars and volumes alone.

# %%
q, _ = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64))
rotation = q * torch.linalg.det(q)


def rotate(x):
    planes = torch.stack((x[6], -x[5], x[4]))  # e12, e13, e23 as normals: e23, -e13, e12
    turned = torch.einsum("ij,j...->i...", rotation, planes)
    vectors = torch.einsum("ij,j...->i...", rotation, x[1:4])
    return torch.cat((x[:1], vectors, turned[2:3], -turned[1:2], turned[:1], x[7:]))


with torch.no_grad():
    apart = (layer(rotate(x)) - rotate(layer(x))).norm() / layer(x).norm()
print(f"f(Rx) and R f(x) differ by {apart:.1e}")

# %% [markdown]
# The library does the same for reflections, boosts and motions in any algebra, together with
# gradients against finite differences: `tessera clifford check` on the command line.

# %%
lines = clifford.check("++")
held = sum(line["passed"] for line in lines)
print(f"{held} of {len(lines)} checks hold in the plane, for example")
for line in lines[:3]:
    print("   ", line)
