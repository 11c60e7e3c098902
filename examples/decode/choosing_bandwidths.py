# %% [markdown]
# # Choosing the widths of the kernels
#
# Two numbers decide how well a clusterless decoder works: how far the position of a spike is
# smeared, and how different two waveforms may be and still count as the same cell. `tune` holds
# out parts of the run in turn and takes the widths under which the held-out spikes are likeliest.

# %%
import matplotlib.pyplot as plt

from tessera.decode import ClusterlessDecoder, simulate_recording, tune

recording = simulate_recording("medium", seed=2)
tuning = tune(recording)
print(f"position {tuning.position_std:.2f} cm, waveform {tuning.waveform_std:.2f} uV")
print(f"{tuning.score - tuning.start_score:+.3f} nats a spike against where it started")

# %% [markdown]
# The curves say how much the choice matters: a broad hill forgives, a steep one does not. A best
# value at the end of its range is not a best value; `position_at_end` says so.

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True, layout="constrained")
for ax, name, unit in zip(axes, ("position_std", "waveform_std"), ("cm", "uV"), strict=True):
    width, score, error = tuning.curve(name)
    ax.errorbar(width, score, error, marker="o")
    ax.axvline(getattr(tuning, name), color="tab:red", linestyle=":")
    ax.set(xscale="log", xlabel=f"{name} [{unit}]")
axes[0].set_ylabel("nats per held-out spike")
plt.show()

# %% [markdown]
# The choice goes into a model as it is. On the command line the same is
# `tessera decode tune recording.npz --report tune.html`.

# %%
model = ClusterlessDecoder(
    environments=recording.environment(), clusterless_algorithm_params=tuning.algorithm_params()
)
print(model.clusterless_algorithm_params)
