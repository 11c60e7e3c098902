# %% [markdown]
# # Hot spots and dead frames
#
# A detector that hiccups leaves values that have nothing to do with the sample. Frames known to be
# bad are left out by number; what is not known is made harmless by a robust loss, which lets far
# points pull less.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera.xpcs as xpcs

truth = {"D0": 2e4, "alpha": -0.4, "D_offset": 500.0}
clean = xpcs.simulate(
    truth, mode="static_anisotropic", n_angle=3, n_frame=120, dt=0.1, sigma=0.01, seed=2
)
c2 = np.array(clean.c2)
rng = np.random.default_rng(0)
for angle in range(len(c2)):
    for _ in range(150):
        i, j = rng.integers(1, c2.shape[1], size=2)
        c2[angle, i, j] = c2[angle, j, i] = c2[angle, i, j] + rng.uniform(0.1, 0.5)
c2[:, 60, :] += 0.2  # the 61st frame was too bright
c2[:, :, 60] += 0.2

# %%
phi = clean.to_dict()["phi_angles_list"]
dirty = xpcs.Data.from_arrays(c2, phi, 0.0054, dt=0.1, without_t0=True)
careful = xpcs.Data.from_arrays(c2, phi, 0.0054, dt=0.1, without_t0=True, bad_frames=[61])
fits = {
    "clean data": xpcs.fit(clean, mode="static_anisotropic"),
    "as it is": xpcs.fit(dirty, mode="static_anisotropic"),
    "robust": xpcs.fit(dirty, mode="static_anisotropic", loss="soft_l1"),
    "both": xpcs.fit(careful, mode="static_anisotropic", loss="soft_l1"),
}
for name, result in fits.items():
    shown = ", ".join(f"{k} {v:.4g}" for k, v in result.physical.items())
    print(f"{name:12s} {shown}; chi2/dof {result.reduced_chi_squared:.2f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for ax, name in zip(axes, truth, strict=True):
    values = [result[name] for result in fits.values()]
    errors = [1.96 * result.physical_uncertainties[name] for result in fits.values()]
    ax.errorbar(range(len(fits)), values, errors, fmt="o")
    ax.axhline(truth[name], color="tab:red")
    ax.set(title=name, xticks=range(len(fits)), xticklabels=list(fits))
plt.show()
