# %% [markdown]
# # Error bars that hold
#
# Where parameters trade against each other a symmetric error is a fiction: chi2 rises slowly on
# one side and fast on the other. Fits give intervals that follow chi2 where that matters
# (`interval_kinds` says where), and the profile of any parameter can be drawn.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera.xpcs as xpcs

truth = {
    "D0": 3e4, "alpha": -1.0, "D_offset": 1000.0,
    "gamma_dot_t0": 1.5e-3, "beta": -0.3, "gamma_dot_t_offset": 1e-4, "phi0": 2.0,
}
data = xpcs.simulate(truth, n_angle=4, n_frame=80, dt=0.1, gap=2e6, sigma=0.01, seed=3)
result = xpcs.fit(data, sigma_mode="estimate")
for name, kind in result.interval_kinds.items():
    low, high = result.intervals[name]
    value, sd = result[name], result.physical_uncertainties[name]
    straight = f"{value - 1.96 * sd:.4g} to {value + 1.96 * sd:.4g}"
    print(f"{name:20s} {kind:12s} {low:.4g} to {high:.4g}; straight: {straight}")

# %% [markdown]
# The profile by hand: fix the shear rate at a grid of values, fit all else, look at chi2. Its
# crossing of 3.84 above the best is the 95 % interval.

# %%
name = "gamma_dot_t0"
low, high = result.intervals[name]
start = {k: v for k, v in result.physical.items() if k != name}
grid = np.linspace(low - 0.3 * (high - low), high + 0.3 * (high - low), 15)
chi2 = [
    xpcs.fit(
        data, sigma_mode="estimate", fixed={name: value}, start=start, n_start=1,
        uncertainty="covariance",
    ).chi_squared
    for value in grid
]
rise = np.array(chi2) - result.chi_squared
plt.figure(figsize=(7, 4), layout="constrained")
plt.plot(grid, rise, ".-", label="all else fitted")
sd = result.physical_uncertainties[name]
plt.plot(grid, ((grid - result[name]) / sd) ** 2, ":", label="straight error")
plt.axhline(3.84, color="grey")
plt.axvspan(low, high, alpha=0.2, label="95 % interval of the result")
plt.axvline(truth[name], color="tab:red", label="truth")
plt.ylim(-0.5, 12)
plt.xlabel(f"{name} [1/s]")
plt.ylabel("rise of chi2")
plt.legend()
plt.show()
