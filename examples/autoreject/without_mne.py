# %% [markdown]
# # Arrays without MNE
#
# Nothing but NumPy is needed: an array (epoch, channel, sample) in volts, and where the electrodes
# are, in metres.

# %%
import matplotlib.pyplot as plt
import numpy as np

from tessera.autoreject import AutoReject

rng = np.random.default_rng(3)
k = np.arange(32)
height = 1 - 1.2 * (k + 0.5) / 32  # a spiral from the top of the head downwards
ring = np.sqrt(1 - height**2)
angle = 2.4 * k
positions = 0.09 * np.stack((ring * np.cos(angle), ring * np.sin(angle), height), axis=1)

sources = rng.normal(size=(30, 3))
sources *= 0.06 / np.linalg.norm(sources, axis=1, keepdims=True)
spread = 1 / (0.03 + np.linalg.norm(positions[:, None] - sources, axis=2)) ** 2
x = np.einsum("cs,est->ect", spread, rng.normal(size=(80, 30, 200)).cumsum(axis=2))
x *= 10e-6 / x.std()
for epoch, channel in zip(rng.integers(0, 80, 60), rng.integers(0, 32, 60), strict=True):
    x[epoch, channel] += 150e-6 * rng.normal() * (np.arange(200) > rng.integers(20, 180))
x[[7, 50]] += rng.normal(scale=80e-6, size=(2, 32, 200))

# %% [markdown]
# `search="exact"` takes the best of all candidate thresholds instead of the few that the original
# tries; `thresholds` then say how sure they are.

# %%
ar = AutoReject(random_state=0, search="exact", verbose=False).fit_array(x, positions)
clean, log = ar.transform_array(x, return_log=True)
print(x.shape, "->", clean.shape)
print("consensus", ar.consensus_, "n_interpolate", ar.n_interpolate_)

# %%
peak = 1e6 * np.ptp(x, axis=2)
limits = 1e6 * np.array(list(ar.threshes_.values()))
plt.figure(figsize=(9, 3.5), layout="constrained")
plt.boxplot(peak, positions=k, widths=0.6, flierprops={"markersize": 2})
plt.plot(k, limits, "_", color="tab:red", markersize=10, label="threshold")
plt.xticks(k[::4], [f"{i}" for i in k[::4]])
plt.yscale("log")
plt.xlabel("channel")
plt.ylabel("peak to peak [uV]")
plt.legend()
plt.show()
