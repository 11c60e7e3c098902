"""Position on a linear track from unsorted spikes, as users of non_local_detector write it."""

import numpy as np
from non_local_detector import ClusterlessDecoder, Environment, RandomWalk

rng = np.random.default_rng(11)
sampling_frequency = 100
time = np.arange(0, 40, 1 / sampling_frequency)
position = 60 * (1 - np.cos(2 * np.pi * time / 10))

spike_times, features = [], []
for tetrode in range(3):
    centers = np.array([15.0, 60.0, 105.0]) + 12 * tetrode
    for_all = [np.sort(rng.uniform(0, 40, 250))]
    where = np.interp(for_all[0], time, position)
    mark = centers[np.abs(where[:, None] - centers).argmin(axis=1)]
    spike_times.append(for_all[0])
    features.append(mark[:, None] + rng.normal(0, 6, (250, 2)))

decoder = ClusterlessDecoder(
    environments=[Environment(place_bin_size=4.0)],
    continuous_transition_types=[[RandomWalk(movement_var=6.0)]],
    sampling_frequency=sampling_frequency,
    clusterless_algorithm="clusterless_kde",
    clusterless_algorithm_params={
        "position_std": 6.0,
        "waveform_std": 8.0,
        "block_size": 1000,
    },
)
decoder.fit(time, position, spike_times, features)
results = decoder.predict(spike_times, features, time=time, position=position, position_time=time)
posterior = results.acausal_posterior.to_numpy()
bins = decoder.environments[0].place_bin_centers_[:, 0]
estimate = bins[np.nanargmax(np.nan_to_num(posterior, nan=-1), axis=1)]
error = float(np.median(np.abs(estimate - position)))
print(f"median error {error:.3f} cm")
