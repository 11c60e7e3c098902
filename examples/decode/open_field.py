# %% [markdown]
# # An open field, and two models of movement
#
# The same classes decode in two dimensions: bins that the animal never visited are left out, and
# the movement model spreads in the plane. A random walk is compared with a model that may jump
# anywhere at any time.

# %%
import matplotlib.pyplot as plt
import numpy as np

from tessera.decode import ClusterlessDecoder, Environment, RandomWalk, Uniform
from tessera.decode.visualization.figures import decoding_error, plot_grid

rng = np.random.default_rng(0)

# %% [markdown]
# An animal that wanders through a box of 60 x 60 cm for four minutes, and eight electrodes that
# hear six place cells each, told apart by the amplitudes of their spikes on four wires.

# %%
dt = 0.004
time = np.arange(0, 240, dt)
turns = np.cumsum(rng.normal(scale=0.1, size=len(time)))
steps = 20 * dt * np.column_stack((np.cos(turns), np.sin(turns)))
position = np.abs((np.cumsum(steps, axis=0) + 30) % 120 - 60)  # walls reflect

spike_times, features = [], []
for _ in range(8):
    times, marks = [], []
    for place in rng.uniform(0, 60, size=(6, 2)):
        rate = 20 * np.exp(-0.5 * np.sum((position - place) ** 2, axis=1) / 6**2)
        spikes = time[rng.random(len(time)) < rate * dt]
        times.append(spikes)
        marks.append(rng.normal(rng.uniform(40, 200, size=4), 15, size=(len(spikes), 4)))
    order = np.argsort(np.concatenate(times), kind="stable")
    spike_times.append(np.concatenate(times)[order])
    features.append(np.concatenate(marks)[order])

# %%
is_training = time < 220
errors = {}
for name, movement in (("random walk", RandomWalk(movement_var=2.0)), ("anywhere", Uniform())):
    model = ClusterlessDecoder(
        environments=Environment(place_bin_size=3.0),
        continuous_transition_types=[[movement]],
        clusterless_algorithm_params={
            "position_std": 4.0,
            "waveform_std": 20.0,
            "floor": "relative:16",
        },
        sampling_frequency=1 / dt,
    )
    model.fit(time, position, spike_times, features, is_training=is_training)
    results = model.predict(spike_times, features, time[~is_training])
    errors[name] = decoding_error(model, results, time, position)
    print(f"{name}: median error {np.median(errors[name]):.1f} cm")

# %% [markdown]
# The bins of the field, and how far off the two are.

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plot_grid(model.environments[0], ax=axes[0])
for name, error in errors.items():
    axes[1].hist(error, bins=np.linspace(0, 60, 61), histtype="step", density=True, label=name)
axes[1].set(xlabel="distance from the animal [cm]", ylabel="density")
axes[1].legend()
plt.show()
