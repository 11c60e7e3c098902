# %% [markdown]
# # Multivectors, products and rotations
#
# An element of the algebra of space is a scalar, a vector, a plane and a volume in one array of
# eight numbers. Products of vectors make planes and rotations; this is all the geometry that the
# layers of a network are made of. Only NumPy is needed.

# %%
import matplotlib.pyplot as plt
import numpy as np

from tessera import clifford

space = clifford.Algebra("+++")
print(space)
print("components:", space.blades)

# %% [markdown]
# Arrays have the component first, then whatever else: here one vector each.

# %%
def vector(x, y, z):
    out = np.zeros((8, 1, 1))
    out[1:4, 0, 0] = x, y, z
    return out


e1, e2 = vector(1, 0, 0), vector(0, 1, 0)
print("e1 e2 =", space.geometric_product(e1, e2).ravel(), "a plane")
print("e1 e1 =", space.geometric_product(e1, e1).ravel(), "a number")

# %% [markdown]
# A rotor is a product of two unit vectors; R v ~R turns v by twice the angle between them. Forty
# small turns about a slanted axis draw a circle.

# %%
half = np.pi / 40
axis = np.array([1.0, 1.0, 2.0]) / np.sqrt(6)
rotor = np.zeros((8, 1, 1))
rotor[0] = np.cos(half)
volume = np.eye(8)[7].reshape(8, 1, 1)
plane = space.geometric_product(vector(*axis), volume)  # the plane across the axis
rotor -= np.sin(half) * plane
path = [vector(1, 0, 0)]
for _ in range(40):
    turned = space.geometric_product(space.geometric_product(rotor, path[-1]), space.reverse(rotor))
    path.append(turned)
points = np.array([p[1:4, 0, 0] for p in path])
print("back where it began:", np.allclose(points[0], points[-1]))
print("length kept:", np.allclose(np.linalg.norm(points, axis=1), 1))

# %%
ax = plt.figure(figsize=(5, 5)).add_subplot(projection="3d")
ax.plot(*points.T, ".-")
ax.quiver(0, 0, 0, *axis, color="tab:red", label="axis")
ax.set_box_aspect((1, 1, 1))
ax.legend()
plt.show()
