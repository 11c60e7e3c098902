"""Local, no-spike and non-local states of a short run, written to a file."""

import numpy as np
from non_local_detector import Environment, NonLocalClusterlessDetector


def simulate(seed):
    rng = np.random.default_rng(seed)
    time = np.arange(0, 20, 0.005)
    position = 40 * (1 - np.cos(2 * np.pi * time / 5))
    spikes = [np.sort(rng.uniform(0, 20, 300)) for _ in range(2)]
    features = [np.interp(s, time, position)[:, None] + rng.normal(0, 8, (300, 1)) for s in spikes]
    return time, position, spikes, features


def main():
    time, position, spikes, features = simulate(5)
    detector = NonLocalClusterlessDetector(
        environments=Environment(place_bin_size=5.0),
        clusterless_algorithm_params={
            "position_std": 6.0,
            "waveform_std": 10.0,
            "block_size": 1000,
        },
        sampling_frequency=200,
    )
    detector.fit(time, position, spikes, features)
    part = time[400:1200]
    results = detector.predict(
        spikes, features, time=part, position=position, position_time=time
    )
    states = results.acausal_state_probabilities.to_numpy()
    names = [str(name) for name in results.states.values]
    np.savez("states.npz", states=states)
    for name, share in zip(names, states.mean(axis=0), strict=True):
        print(f"{name}: {share:.4f}")


if __name__ == "__main__":
    main()
