"""Continuous and fragmented states from sorted spikes, with the parts of the package by name."""

import non_local_detector as nld
import numpy as np
from non_local_detector.model_checking.highest_posterior_density import (
    get_highest_posterior_threshold,
)

rng = np.random.default_rng(2)
time = np.arange(0, 30, 0.01)
position = 50 * (1 - np.cos(2 * np.pi * time / 6))
spike_times = []
for center in np.linspace(5, 95, 8):
    rate = 0.2 * np.exp(-0.5 * ((position - center) / 8) ** 2)
    spike_times.append(time[rng.random(time.size) < rate])

classifier = nld.ContFragSortedSpikesClassifier(
    environments=nld.Environment(place_bin_size=5.0),
    sorted_spikes_algorithm="sorted_spikes_kde",
    sorted_spikes_algorithm_params={"position_std": 5.0, "block_size": 1000},
    sampling_frequency=100,
)
classifier.fit(time, position, spike_times)
results = classifier.predict(spike_times, time=time)
state_probabilities = results.acausal_state_probabilities.to_numpy()
summed = results.acausal_posterior.unstack("state_bins").sum("state").to_numpy()
threshold = get_highest_posterior_threshold(np.nan_to_num(summed), 0.95)
print("continuous", state_probabilities.mean(axis=0).round(3))
