"""decode by its formulas in NumPy, float64, one step after another: what the tests compare with.

Nothing here is fast and nothing is shared with the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

EPS = 1e-15
LOG_EPS = float(np.log(EPS))


def log_kernel(at: Floats, samples: Floats, std: Floats | float) -> Floats:
    """Logarithm of the product of normal densities, (n_at, n_samples)."""
    scale = np.broadcast_to(np.asarray(std, float), (at.shape[1],))
    total = np.zeros((len(at), len(samples)))
    for k, s in enumerate(scale):
        total -= 0.5 * ((at[:, k, None] - samples[None, :, k]) / s) ** 2
    return total - float(np.sum(np.log(scale * np.sqrt(2 * np.pi))))


def density(at: Floats, samples: Floats, std: Floats | float) -> Floats:
    if len(samples) == 0:
        return np.zeros(len(at))
    rows = [
        np.exp(log_kernel(block, samples, std)).mean(axis=1)
        for block in np.array_split(at, max(1, len(at) * len(samples) // 4_000_000))
    ]
    return np.concatenate(rows)


def interpolate(time: Floats, values: Floats, query: Floats) -> Floats:
    """Piecewise linear, with the slope of the last segment beyond the ends."""
    left = np.clip(np.searchsorted(time, query, side="right") - 1, 0, len(time) - 2)
    share = (query - time[left]) / (time[left + 1] - time[left])
    found: Floats = values[left] + share[:, None] * (values[left + 1] - values[left])
    return found


def time_bins(time: Floats, spikes: Floats) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Which spikes lie in [time[0], time[-1]], and the row of those."""
    inside = (spikes >= time[0]) & (spikes <= time[-1])
    return inside, np.searchsorted(time[1:-1], spikes[inside], side="right").astype(np.int64)


class Encoding:
    """A clusterless KDE on positions that are bin coordinates already."""

    def __init__(
        self,
        position_time: Floats,
        place: Floats,
        times: list[Floats],
        marks: list[Floats],
        centers: Floats,
        position_std: float,
        waveform_std: float,
    ) -> None:
        self.centers, self.position_std, self.waveform_std = centers, position_std, waveform_std
        self.position_time, self.samples = position_time, place
        self.occupancy = density(centers, place, position_std)
        self.places, self.marks, self.rates, self.ground = [], [], [], []
        total = np.zeros(len(centers))
        for t, m in zip(times, marks, strict=True):
            keep = (t >= position_time[0]) & (t <= position_time[-1])
            self.places.append(interpolate(position_time, place, t[keep]))
            self.marks.append(np.asarray(m[keep], float))
            self.rates.append(keep.sum() / len(place))
            self.ground.append(density(centers, self.places[-1], position_std))
            ratio = np.where(self.occupancy > 0, self._over(self.ground[-1]), EPS)
            total += np.maximum(self.rates[-1] * ratio, EPS)
        self.summed_ground = total

    def _over(self, values: Floats) -> Floats:
        return np.divide(
            values, self.occupancy, out=np.zeros_like(values), where=self.occupancy > 0
        )

    def log_joint(self, e: int, marks: Floats, floor: str = "absolute") -> Floats:
        """Log intensity of each mark at every bin, from sums of exponentials."""
        n_bin = len(self.centers)
        if len(self.marks[e]) == 0:
            return np.full((len(marks), n_bin), LOG_EPS)
        place = log_kernel(self.centers, self.places[e], self.position_std)
        found = np.empty((len(marks), n_bin))
        for k, row in enumerate(log_kernel(marks, self.marks[e], self.waveform_std)):
            with np.errstate(divide="ignore"):
                peak = row.max()
                joint = peak + np.log(np.exp(place + (row - peak)).mean(axis=1))
            found[k] = joint
        with np.errstate(divide="ignore"):
            found += np.log(self.rates[e]) - np.log(self.occupancy)
        found[:, self.occupancy <= 0] = -np.inf
        return np.maximum(found, LOG_EPS) if floor == "absolute" else found

    def log_likelihood(
        self, time: Floats, times: list[Floats], marks: list[Floats], floor: str = "absolute"
    ) -> Floats:
        found = np.tile(-self.summed_ground, (len(time), 1))
        for e, (t, m) in enumerate(zip(times, marks, strict=True)):
            inside, row = time_bins(time, t)
            np.add.at(found, row, self.log_joint(e, np.asarray(m[inside], float), floor))
        return found

    def local(self, time: Floats, place: Any, times: list[Floats], marks: list[Floats]) -> Floats:
        """At the animal's own position; place(t) gives its bin coordinates."""
        here = place(time)
        occupancy = density(here, self.samples, self.position_std)
        found = np.zeros(len(time))
        for e, (t, m) in enumerate(zip(times, marks, strict=True)):
            inside, row = time_bins(time, t)
            at = place(t[inside])
            over = density(at, self.samples, self.position_std)
            with np.errstate(divide="ignore", invalid="ignore"):
                kernel = np.exp(
                    log_kernel(at, self.places[e], self.position_std)
                    + log_kernel(np.asarray(m[inside], float), self.marks[e], self.waveform_std)
                )
                joint = kernel.sum(axis=1) / max(len(self.places[e]), 1)
                value = np.log(self.rates[e] * np.where(over > 0, joint / over, 0.0))
                ground = density(here, self.places[e], self.position_std) / occupancy
            np.add.at(found, row, np.maximum(value, LOG_EPS))
            found -= self.rates[e] * np.where(occupancy > 0, ground, 0.0)
        return found


def no_spike(time: Floats, times: list[Floats], rate: float) -> Floats:
    rho = rate * float(np.median(np.diff(time)))
    found = np.zeros(len(time))
    for t in times:
        _, row = time_bins(time, t)
        found += np.bincount(row, minlength=len(time)) * np.log(rho) - rho
    return found


def random_walk(centers: Floats, variance: float) -> Floats:
    square = ((centers[:, None] - centers[None]) ** 2).sum(axis=2)
    matrix = np.exp(-0.5 * square / variance)
    found: Floats = matrix / matrix.sum(axis=1, keepdims=True)
    return found


def filter_rows(initial: Floats, matrix: Floats, ll: Floats) -> tuple[Floats, Floats, float]:
    """Filtered and predicted rows, and the log evidence; matrix of all rows, or of each."""
    steps = np.broadcast_to(matrix, (len(ll), *matrix.shape[-2:]))
    filtered, predicted = np.empty_like(ll), np.empty_like(ll)
    evidence, now = 0.0, initial
    for t, row in enumerate(ll):
        predicted[t] = now
        peak = row.max()
        peak = peak if np.isfinite(peak) else 0.0
        u = now * np.exp(row - peak)
        filtered[t] = u / (u.sum() + EPS)
        with np.errstate(divide="ignore"):
            evidence += float(np.log(u.sum())) + peak
        now = filtered[t] @ steps[t]
    return filtered, predicted, evidence


def smooth_rows(matrix: Floats, filtered: Floats, predicted: Floats) -> Floats:
    found = filtered.copy()
    steps = np.broadcast_to(matrix, (len(filtered), *matrix.shape[-2:]))
    for t in range(len(filtered) - 2, -1, -1):
        ratio = np.divide(
            found[t + 1], predicted[t + 1], out=np.zeros_like(found[t]), where=predicted[t + 1] != 0
        )
        row = filtered[t] * (steps[t] @ ratio)
        found[t] = row / (row.sum() + EPS)
    return found


def best_path(initial: Floats, matrix: Floats, ll: Floats) -> Ints:
    """Most likely sequence, forwards; among equals the lowest index."""
    with np.errstate(divide="ignore"):
        step, score = np.log(matrix), np.log(initial) + ll[0]
    back = np.zeros(ll.shape, np.int64)
    for t in range(1, len(ll)):
        every = score[:, None] + step
        back[t] = every.argmax(axis=0)
        score = every.max(axis=0) + ll[t]
    path = np.zeros(len(ll), np.int64)
    path[-1] = score.argmax()
    for t in range(len(ll) - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path
