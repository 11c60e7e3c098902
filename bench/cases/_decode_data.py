"""Data of the decode benchmarks: spikes with place fields and marks that tell units apart.

Amplitudes, fields and hash follow the simulator of the command; what the kernel sums cost does not
depend on them, but a flat mark kernel would hide rounding and underflow.
"""

from dataclasses import dataclass

import numpy as np

FIELD_STD = 8.0  # cm
HASH_FRACTION = 0.5


@dataclass(frozen=True)
class Recording:
    """Position for encoding, one list of spikes per electrode for each period, decoding edges."""

    position_time: np.ndarray
    position: np.ndarray  # (N, d)
    encoding_times: list
    encoding_marks: list
    decoding_times: list
    decoding_marks: list
    time: np.ndarray
    decoding_position: np.ndarray  # (T, d), at time
    bin_size: float


def run_on_line(n, length, rng):
    """Back and forth with a new speed for every run."""
    knots = np.cumsum(rng.uniform(0.8, 1.2, 64))
    phase = np.interp(np.linspace(0, 40, n), np.arange(knots.size), knots)
    return length / 2 * (1 - np.cos(np.pi * phase))[:, None]


def run_in_w(n, width, height, rng, corridor=5.2, well=10.0):
    """Up and down three arms joined at the bottom; the middle one ends in a square well."""
    arms = (0.0, width / 2, width)
    corners = []
    for visit in range(41):
        x = arms[(1, 0, 1, 2)[visit % 4]]
        corners += [(x, 0.0), (x, height), (x, 0.0)]
    corners = np.array(corners)
    along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.linspace(0, along[-1], n)
    path = np.stack([np.interp(at, along, corners[:, i]) for i in (0, 1)], axis=1)
    wide = np.where((np.abs(path - (arms[1], height)) < well / 2).all(axis=1), well, corridor)
    return path + (rng.uniform(-0.5, 0.5, path.shape) * wide[:, None]).clip(
        -path - corridor / 2, (width, height) - path + corridor / 2)


def electrode(rng, n_feature, box):
    """Units of one electrode: mean mark, field centre, weight."""
    n_unit = 6 + rng.poisson(8)
    direction = rng.dirichlet(np.full(n_feature, 2.0), n_unit)
    direction /= direction.max(axis=1, keepdims=True)
    amplitude = 120.0 * np.exp(0.35 * rng.standard_normal(n_unit))
    return amplitude[:, None] * direction, rng.uniform(*box, (n_unit, len(box[0]))), \
        8.0 * np.exp(0.5 * rng.standard_normal(n_unit))


def spikes(rng, units, n_spike, position, begin, step):
    """n_spike spikes of a period, sorted: units where their field is, hash anywhere."""
    means, centres, rates = units
    n_feature = means.shape[1]
    n_hash = int(HASH_FRACTION * n_spike)
    share = np.bincount(rng.choice(rates.size, n_spike - n_hash, p=rates / rates.sum()),
                        minlength=rates.size)
    samples, marks = [rng.integers(0, len(position), n_hash)], []
    hash_direction = rng.dirichlet(np.full(n_feature, 2.0), n_hash)
    marks.append((50.0 + rng.exponential(20.0, (n_hash, 1))) * hash_direction)
    for mean, centre, n in zip(means, centres, share):
        field = np.exp(-0.5 * np.sum(((position - centre) / FIELD_STD) ** 2, axis=1)) + 0.02
        samples.append(rng.choice(len(position), n, p=field / field.sum()))
        marks.append(mean * (1 + 0.08 * rng.standard_normal((n, 1))))
    marks = np.concatenate(marks)
    marks += 10.0 * rng.standard_normal(marks.shape)
    times = begin + (np.concatenate(samples) + rng.uniform(0.0, 1.0, n_spike)) * step
    order = np.argsort(times, kind="stable")
    return times[order], marks[order]


def recording(seed, position, n_electrode, n_encoding, n_decoding, n_time, n_feature, bin_size,
              step=0.002):
    """Encoding on all of position, decoding on n_time edges that follow it."""
    rng = np.random.default_rng(seed)
    n = len(position)
    box = position.min(axis=0), position.max(axis=0)
    decoded = position[np.linspace(0, n // 4, n_time).astype(int)]
    begin = n * step
    lists = [[] for _ in range(4)]
    for _ in range(n_electrode):
        units = electrode(rng, n_feature, box)
        encoding = spikes(rng, units, n_encoding, position[:-1], 0.0, step)
        decoding = spikes(rng, units, n_decoding, decoded[:-1], begin, step)
        for into, values in zip(lists, (*encoding, *decoding)):
            into.append(values)
    return Recording(np.arange(n) * step, position, *lists,
                     begin + np.arange(n_time) * step, decoded, bin_size)


def line(n_bin, n_encoding, n_decoding, n_time, n_electrode=2, n_sample=100_000, seed=1,
         n_feature=4):
    """A linear track of 175 cm, as in day-1d."""
    position = run_on_line(n_sample, 175.0, np.random.default_rng(seed))
    return recording(seed, position, n_electrode, n_encoding, n_decoding, n_time, n_feature,
                     np.ptp(position) / n_bin * (1 + 1e-9))


def w_maze(n_encoding, n_decoding, n_time, n_electrode=1, n_sample=100_000, seed=1):
    """A W-maze on a grid of 60 x 57, as in day-2d."""
    position = run_in_w(n_sample, 110.6, 104.6, np.random.default_rng(seed), well=12.08)
    return recording(seed, position, n_electrode, n_encoding, n_decoding, n_time, 4, 2.0)


PROFILING = {
    # samples, times, electrodes, encoding spikes, decoding spikes, bins
    "tiny": (100, 50, 4, 20, 10, 100),
    "small": (500, 100, 8, 50, 30, 200),
    "medium": (2000, 500, 16, 200, 100, 500),
    "large": (5000, 1000, 32, 500, 300, 1000),
    "realistic": (10000, 2000, 64, 1000, 400, 2000),
}


def profiling(name):
    """The data the original profiles itself with, draw by draw; marks are flat at 24 uV."""
    n_sample, n_time, n_electrode, n_encoding, n_decoding, n_bin = PROFILING[name]
    rng = np.random.default_rng(42)
    lists = []
    for mean, duration in ((n_encoding, 100.0), (n_decoding, 20.0)):
        times, marks = [], []
        for _ in range(n_electrode):
            n = rng.poisson(mean)
            times.append(np.sort(rng.uniform(0, duration, n)))
            marks.append(rng.standard_normal((n, 2)))
        lists += [times, marks]
    return Recording(np.linspace(0, 100, n_sample), np.linspace(0, 100, n_sample)[:, None], *lists,
                     np.linspace(0, 20, n_time), np.linspace(0, 100, n_time)[:, None],
                     100.0 / n_bin)
