# %% [markdown]
# # Replay: continuous, fragmented, or none
#
# While an animal rests its hippocampus at times represents places where it is not. A classifier
# with two states tells a trajectory that moves smoothly from one that jumps.

# %%
import matplotlib.pyplot as plt
import numpy as np

from tessera.decode import ContFragClusterlessClassifier
from tessera.decode.simulate.clusterless_simulation import (
    make_fragmented_continuous_fragmented_replay,
    make_simulated_run_data,
    multiunits_to_spikes,
)
from tessera.decode.visualization.figures import plot_posterior, plot_state_probabilities

np.random.seed(0)
time, position, sampling_frequency, multiunits, _ = make_simulated_run_data(
    n_runs=5, sampling_frequency=500
)
spike_times, features = multiunits_to_spikes(time, multiunits)

# %%
model = ContFragClusterlessClassifier(
    clusterless_algorithm_params={
        "waveform_std": 6.0,
        "position_std": 6.0,
        "floor": "relative:16",
    },
    sampling_frequency=sampling_frequency,
)
model.fit(time, position, spike_times, features)

# %% [markdown]
# Ten pieces of replay that jump, then one that runs along the track, then again jumps. The
# posterior follows; the probabilities of the two states say which is which.

# %%
replay_time, replay = make_fragmented_continuous_fragmented_replay(sampling_frequency)
results = model.predict(*multiunits_to_spikes(replay_time, replay), replay_time)

figure, axes = plt.subplots(
    2, 1, sharex=True, figsize=(10, 5), height_ratios=(2, 1), layout="constrained"
)
plot_posterior(model, results, ax=axes[0])
plot_state_probabilities(model, results, ax=axes[1])
plt.show()

# %%
continuous = np.asarray(results.acausal_state_probabilities.sel(states="Continuous"))
print(f"{np.mean(continuous > 0.5):.0%} of the time continuous")
