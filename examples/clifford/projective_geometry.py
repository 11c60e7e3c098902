# %% [markdown]
# # Points, lines and planes: projective geometric algebra
#
# With one more symbol, which squares to zero, translations become products like rotations, and
# points, lines and planes are elements of one algebra: the language of GATr. Joining two points is
# a line, and three points a plane.

# %%
import matplotlib.pyplot as plt
import numpy as np

from tessera import clifford

pga = clifford.Algebra("pga")
names = list(pga.blades)
print(names)
rng = np.random.default_rng(2)


# %% [markdown]
# A point is a trivector: its weight is the component without the null symbol, its coordinates are
# the others. Joins are compared with the textbook's cross products.

# %%
def join(*points):
    out = points[0]
    for point in points[1:]:
        out = pga.regressive(out, point)
    return out


def dual_point(place):
    """The point as the complement of a vector, which saves remembering signs."""
    vector = np.zeros((16, 1, 1))
    vector[1:5, 0, 0] = 1.0, *place
    return pga.right_complement(vector)


a, b, c = rng.normal(size=(3, 3))
plane = join(dual_point(a), dual_point(b), dual_point(c))
coefficients = pga.left_complement(pga.right_complement(plane))[1:5, 0, 0]
normal = np.cross(b - a, c - a)
found = coefficients[1:] / np.linalg.norm(coefficients[1:])
print("normal of the plane:", np.round(found, 4))
print("by the cross product:", np.round(normal / np.linalg.norm(normal), 4), "(up to sign)")

# %% [markdown]
# The distance of a fourth point from the plane is the size of their join, over the plane's weight.

# %%
def distance(plane, point):
    volume = np.linalg.norm(join(plane, dual_point(point)).ravel())
    return volume / np.linalg.norm(coefficients[1:])


points = rng.normal(size=(200, 3))
ours = np.array([distance(plane, p) for p in points])
textbook = np.abs((points - a) @ normal) / np.linalg.norm(normal)
print("largest difference:", f"{np.abs(ours - textbook).max():.1e}")

# %%
plt.figure(figsize=(4.5, 4), layout="constrained")
plt.plot(textbook, ours, ".")
plt.xlabel("distance by the cross product")
plt.ylabel("distance by the join")
plt.show()
