# %% [markdown]
# # Data larger than memory
#
# A fit needs only sums over the points, so that data of any size can stream through a fixed amount
# of memory: the result is the same bits, whatever the limit. A fit with a checkpoint goes on where
# it was stopped or killed.

# %%
import tempfile
from pathlib import Path

import numpy as np

import tessera.xpcs as xpcs

folder = Path(tempfile.mkdtemp())
truth = {
    "D0": 2e4, "alpha": -0.4, "D_offset": 500.0,
    "gamma_dot_t0": 4e-3, "beta": -0.3, "gamma_dot_t_offset": 2e-4, "phi0": 3.0,
}
data = xpcs.simulate(truth, n_angle=6, n_frame=800, dt=0.1, gap=2e6, sigma=0.02, seed=7)
data.save(folder / "run.txc2")
print(f"{(folder / 'run.txc2').stat().st_size / 2**20:.1f} MiB on disk")

# %% [markdown]
# `plan` says what a fit would do: how many bytes, which strategy, how long a pass takes.

# %%
streamed = xpcs.load(folder / "run.txc2", memory_limit="12M")
for limit in ("12M", "1G"):
    plan = xpcs.plan(streamed, memory_limit=limit)
    print(limit, {key: plan[key] for key in list(plan)[:6]})

# %%
whole = xpcs.fit(data, sigma_mode="estimate", sigma=0.02)
tight = xpcs.fit(
    streamed, sigma_mode="estimate", sigma=0.02, memory_limit="12M", checkpoint=folder / "work"
)
print(tight.summary())
print("the same bits:", np.array_equal(whole.parameters, tight.parameters))
