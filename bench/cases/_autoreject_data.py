"""Simulated EEG for the benchmark and the comparison with the original.

Smooth 1/f sources seen by electrodes on the upper part of a sphere, an evoked response, sensor
noise, artifacts in single rows (more of them in some channels) and a few epochs that are bad
everywhere.
"""

import numpy as np

SAMPLING_HZ = 250.0


def electrodes(n_chan):
    """Evenly spread directions down to 30 degrees below the equator, radius 9 cm."""
    z = 1 - 1.5 * (np.arange(n_chan) + 0.5) / n_chan
    r = np.sqrt(1 - z**2)
    angle = np.pi * (3 - np.sqrt(5)) * np.arange(n_chan)
    return 0.09 * np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def pink(rng, shape):
    """1/f noise over the last axis, unit variance."""
    n = shape[-1]
    spectrum = np.fft.rfft(rng.standard_normal(shape), axis=-1)
    frequency = np.arange(spectrum.shape[-1], dtype=float)
    frequency[0] = 1
    x = np.fft.irfft(spectrum / np.sqrt(frequency), n=n, axis=-1)
    return x / x.std(axis=-1, keepdims=True)


def artifact(rng, n_time):
    """A jump, a muscle burst, a drift or a pop of 50 to 250 uV."""
    t = np.arange(n_time) / n_time
    size = rng.uniform(50e-6, 250e-6) * rng.choice([-1, 1])
    at = rng.uniform(0.1, 0.9)
    shapes = [
        lambda: (t > at).astype(float),
        lambda: rng.standard_normal(n_time) * np.exp(-((t - at) / 0.1) ** 2),
        lambda: t,
        lambda: np.exp(-np.abs(t - at) / 0.02),
    ]
    return size * shapes[rng.integers(len(shapes))]()


def epochs(n_epoch, n_chan, n_time, seed, n_source=40):
    """Data in volts [n_epoch][n_chan][n_time] and positions in metres [n_chan][3]."""
    rng = np.random.default_rng(seed)
    position = electrodes(n_chan)
    unit = position / np.linalg.norm(position, axis=1, keepdims=True)
    source = rng.standard_normal((n_source, 3))
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    mixing = np.exp(3 * (unit @ source.T - 1))  # smooth on the sphere
    evoked = np.zeros((n_chan, n_time))
    wave = np.exp(-(((np.arange(n_time) / n_time) - 0.45) / 0.06) ** 2)
    evoked += 6e-6 * mixing[:, :1] * wave
    x = np.empty((n_epoch, n_chan, n_time))
    for e in range(n_epoch):
        x[e] = 6e-6 * mixing @ pink(rng, (n_source, n_time)) + evoked
        x[e] += 2e-6 * rng.standard_normal((n_chan, n_time))
    share = rng.choice([0.0, 0.02, 0.1, 0.4], n_chan, p=[0.3, 0.4, 0.2, 0.1])
    for e, c in zip(*np.nonzero(rng.random((n_epoch, n_chan)) < share)):
        x[e, c] += artifact(rng, n_time)
    for e in np.nonzero(rng.random(n_epoch) < 0.05)[0]:
        x[e] *= 4
    return x, position
