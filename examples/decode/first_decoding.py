# %% [markdown]
# # Where was the animal?
#
# A clusterless decoder learns, from spikes and positions of a run, which waveforms are heard
# where. It then says, for every 2 ms of new spikes, where the animal probably was. The recording
# is simulated, so the truth is known: a track of 180 cm, run up and down at 15 cm/s.

# %%
import matplotlib.pyplot as plt
import numpy as np

from tessera.decode import ClusterlessDecoder, Environment
from tessera.decode.simulate.clusterless_simulation import (
    make_simulated_run_data,
    multiunits_to_spikes,
)
from tessera.decode.visualization.figures import decoding_error, plot_posterior

np.random.seed(1)
time, position, sampling_frequency, multiunits, _ = make_simulated_run_data(
    n_runs=6, sampling_frequency=500
)
spike_times, features = multiunits_to_spikes(time, multiunits)
print(f"{time[-1]:.0f} s, {len(spike_times)} electrodes,", sum(map(len, spike_times)), "spikes")

# %% [markdown]
# The first half is for learning, the second to be decoded. With your own data `spike_times` is a
# list of arrays in seconds, one for every electrode, and `features` one of arrays (spike, feature):
# amplitudes, or whatever tells waveforms apart.

# %%
is_training = time < time[-1] / 2
model = ClusterlessDecoder(
    environments=Environment(place_bin_size=2.0),
    clusterless_algorithm_params={"position_std": 4.0, "waveform_std": 4.0, "floor": "relative:16"},
    sampling_frequency=sampling_frequency,
)
model.fit(time, position, spike_times, features, is_training=is_training)
results = model.predict(spike_times, features, time[~is_training])
print(results)

# %% [markdown]
# The posterior, dark where the animal probably is, and where it really was.

# %%
plot_posterior(model, results.isel(time=slice(0, 10_000)), time, position)
plt.show()

# %%
error = decoding_error(model, results, time, position)
print(f"median error {np.median(error):.1f} cm, a tenth is above {np.quantile(error, 0.9):.1f} cm")
