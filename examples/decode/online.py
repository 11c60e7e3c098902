# %% [markdown]
# # Decoding while it happens
#
# `OnlineDecoder` is a causal filter that is fed spike by spike and closes a bin as soon as it is
# due: for experiments in which the animal gets feedback. Everything is allocated at the start. Fed
# with the spikes of a recording it gives what the causal posterior of `predict` gives.

# %%
import time as clock

import matplotlib.pyplot as plt
import numpy as np

from tessera.decode import ClusterlessDecoder, Environment, OnlineDecoder
from tessera.decode.simulate.clusterless_simulation import (
    make_simulated_run_data,
    multiunits_to_spikes,
)

np.random.seed(4)
time, position, sampling_frequency, multiunits, _ = make_simulated_run_data(
    n_runs=4, sampling_frequency=500
)
spike_times, features = multiunits_to_spikes(time, multiunits)
is_training = time < time[-1] / 2
model = ClusterlessDecoder(
    environments=Environment(place_bin_size=2.0),
    clusterless_algorithm_params={"position_std": 4.0, "waveform_std": 4.0, "floor": "relative:16"},
    sampling_frequency=sampling_frequency,
)
model.fit(time, position, spike_times, features, is_training=is_training)

# %% [markdown]
# Spikes of all electrodes in the order of time, as an acquisition system hands them over.

# %%
bin_s, n_bin = 0.002, 5000
decoded = time[~is_training][:n_bin]
begin = decoded[0] - bin_s / 2
electrode = np.concatenate([np.full(len(t), e) for e, t in enumerate(spike_times)])
times, marks = np.concatenate(spike_times), np.concatenate(features)
order = np.argsort(times, kind="stable")
order = order[(times[order] >= begin) & (times[order] < begin + n_bin * bin_s)]

decoder = OnlineDecoder(model, begin, bin_width=bin_s)
places = model.environments[0].place_bin_centers_.ravel()
estimate, latency = np.zeros(n_bin), np.zeros(n_bin)
upcoming = iter(order)
spike = next(upcoming, None)
for k in range(n_bin):
    edge = begin + (k + 1) * bin_s
    while spike is not None and times[spike] < edge:
        decoder.push_spike(times[spike], int(electrode[spike]), marks[spike])
        spike = next(upcoming, None)
    start = clock.perf_counter()
    decoder.advance(edge + 1e-9)
    latency[k] = clock.perf_counter() - start
    estimate[k] = places[np.argmax(decoder.get(k)["posterior"])]
print(f"a bin takes {1e6 * np.median(latency):.0f} us, the slowest {1e6 * latency.max():.0f} us")

# %%
plt.figure(figsize=(10, 3), layout="constrained")
plt.plot(decoded, position[~is_training][:n_bin], label="animal")
plt.plot(decoded, estimate, ".", markersize=2, label="online estimate")
plt.xlabel("time [s]")
plt.ylabel("position [cm]")
plt.legend()
plt.show()
