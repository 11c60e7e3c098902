# %% [markdown]
# # Diffusion and shear from two-time correlations
#
# A sample under shear, seen at eight angles: how fast do its particles diffuse, how fast is it
# sheared, and in which direction? The correlations are simulated, so the truth is known.

# %%
import matplotlib.pyplot as plt

import tessera.xpcs as xpcs

truth = {
    "D0": 2e4, "alpha": -0.4, "D_offset": 500.0,
    "gamma_dot_t0": 4e-3, "beta": -0.3, "gamma_dot_t_offset": 2e-4, "phi0": 3.0,
}
data = xpcs.simulate(
    truth, n_angle=8, n_frame=200, q=0.0054, dt=0.1, gap=2e6, sigma=0.01, seed=1
)

# %% [markdown]
# With your own file this is `xpcs.load("run42.hdf", q=0.0054, dt=0.1, gap=2e6)`. The noise is
# estimated from the data (`sigma_mode="estimate"`), so that chi2 means something.

# %%
result = xpcs.fit(data, mode="laminar_flow", sigma_mode="estimate")
print(result.summary())

# %% [markdown]
# Seven intervals of 95 %: one in twenty misses the truth, and shall.

# %%
for name, (low, high) in result.intervals.items():
    held = "holds" if low <= truth[name] <= high else "MISSES"
    print(f"{name:20s} [{low:.4g}, {high:.4g}] {held} {truth[name]:.4g}")

# %% [markdown]
# Measured and fitted maps of the first angle with their difference in units of the noise, and the
# correlation over the lag.

# %%
result.plot(0)
plt.show()

# %%
result.plot_g2(0)
plt.show()
