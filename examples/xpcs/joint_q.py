# %% [markdown]
# # Several q at once
#
# A rate that holds at every q is known better from all of them, and how another one goes with q is
# part of the fit: D0 is a power of q here, alpha and D_offset are the same for all. Contrasts and
# offsets stay free for every q and angle.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tessera.xpcs as xpcs

q_ref, exponent = 0.006, 0.4
members = [
    xpcs.simulate(
        {"D0": 1e4 * (q / q_ref) ** exponent, "alpha": -0.5, "D_offset": 300.0},
        q=q, n_angle=3, n_frame=80, dt=0.1, sigma=0.01, seed=k,
    )
    for k, q in enumerate(np.geomspace(0.003, 0.012, 6))
]

# %% [markdown]
# What sharing costs is told: chi2 above that of the members' own fits, and what freeing each
# parameter would gain. Sharing D0 as well is found to be wrong, and D0 is named.

# %%
options = {"mode": "static_anisotropic", "sigma_mode": "estimate", "q_ref": q_ref}
joint = xpcs.fit_joint(members, power="D0", **options)
wrong = xpcs.fit_joint(members, **options)
for name, found in (("D0 a power of q", joint), ("all shared", wrong)):
    print(f"{name}: chi2 + {found.excess:.1f} for {found.excess_dof} values fewer, "
          f"p = {found.excess_p:.2g}")
    for parameter, tie in found.ties.items():
        print(f"   {parameter} free by q: chi2 - {tie['gain']:.1f}, p = {tie['p']:.2g}")
    print("  ", *found.warnings)
value, error = joint.exponents["D0"]
print(f"exponent {value:.3f} +- {error:.3f}, truth {exponent}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for k, ax in enumerate(axes):
    ax.errorbar(joint.q, joint.theta_alone[:, k], joint.sd_alone[:, k], fmt="o", label="alone")
    ax.errorbar(joint.q, joint.theta[:, k], joint.sd[:, k], fmt="-", label="joint")
    ax.set(title=joint.names[k], xlabel="q [1/Å]", xscale="log")
axes[0].set_yscale("log")
axes[0].legend()
plt.show()
