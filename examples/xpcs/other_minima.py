# %% [markdown]
# # Other minima are part of the answer
#
# Chi2 can have several minima. Seen along the flow and across it only, a flow and its mirror image
# look the same. A fit searches on part of the data, settles the candidates on all of them, and
# lists what else it found: an honest analysis quotes both, or measures another angle.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera.xpcs as xpcs

truth = {
    "D0": 1e4, "alpha": -0.3, "D_offset": 300.0,
    "gamma_dot_t0": 5e-3, "beta": -0.2, "gamma_dot_t_offset": 1e-4, "phi0": 4.0,
}

# %% [markdown]
# Two angles leave a mirror image; a third decides.

# %%
cases = {
    "along and across": [0.0, 90.0],
    "and one between": [0.0, 40.0, 90.0],
}
results = {}
for name, phi in cases.items():
    data = xpcs.simulate(truth, phi=phi, n_frame=100, dt=0.1, gap=2e6, sigma=0.02, seed=5)
    results[name] = xpcs.fit(data, sigma_mode="estimate")
    print(name)
    for basin in results[name].basins:
        theta = basin["theta"]
        print(f"   chi2 + {basin['excess']:7.2f}: phi0 {theta[6]:6.2f}, rate {theta[3]:.4g}")
    for warning in results[name].warnings:
        if "minim" in warning:
            print("   ", warning)

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True, layout="constrained")
for ax, (name, result) in zip(axes, results.items(), strict=True):
    phi0 = np.array([basin["theta"][6] for basin in result.basins])
    excess = np.array([basin["excess"] for basin in result.basins])
    ax.stem(phi0, excess + 0.5, basefmt=" ")
    ax.axvline(truth["phi0"], color="tab:red", label="truth")
    ax.set(title=name, xlabel="phi0 [degrees]", xlim=(-10.5, 10.5), yscale="log")
axes[0].set_ylabel("chi2 above the best + 0.5")
axes[0].legend()
plt.show()
