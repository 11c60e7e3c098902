#!/usr/bin/env python3
"""Truth of decode's events over many draws: false positives and power of every shuffle.

Usage:
    decode_sweep.py events [--count 200] [--null 1000] [--shuffles 59] [--seed 0] [--case NAME ...]

Planted: a track of 150 cm in bins of 3 cm, 8 electrodes of 5 units, 9 spikes in each bin of 20 ms,
10 to 19 bins. Power: the share of sweeps at 3 m/s with p <= 0.05. Random: the same of events with a
place of its own in each bin, for which only shuffle `time` is exact. Null: sweeps shuffled once by
each kind and then tested with that kind, which is exact by exchangeability: shuffle 0 of an event
takes the place of the event among its other shuffles. KS: Kolmogorov's p of those p being uniform.
"""

import argparse
import math

import numpy as np

import tessera.decode as td

LENGTH, BIN, WIDTH = 150.0, 3.0, 0.02
N_ELECTRODE, N_UNIT, N_SPIKE = 8, 5, 9
SPEED = 300.0
# Names, decoder, sorted.
CASES = {
    "clusterless": ("memoryless", False),
    "clusterless-states": ("states", False),
    "sorted": ("memoryless", True),
}
SMALL_IS_GOOD = ("distance", "max_jump")


class Population:
    """Units with a field each, five to an electrode; marks tell some of them apart."""

    def __init__(self, draws):
        n = N_ELECTRODE * N_UNIT
        self.draws = draws
        self.electrode = np.repeat(np.arange(N_ELECTRODE), N_UNIT)
        self.centre = draws.permutation(np.linspace(0, LENGTH, n))
        self.mark = draws.uniform(60, 240, (n, 4))

    def rates(self, x):
        """Of every unit at a place, in arbitrary units."""
        return 0.01 + np.exp(-0.5 * ((x - self.centre) / 8.0) ** 2)

    def spikes_at(self, x, n):
        """Return units and marks of n spikes."""
        rate = self.rates(x)
        unit = self.draws.choice(len(rate), n, p=rate / rate.sum())
        return unit, self.mark[unit] + self.draws.normal(0, 15, (n, 4))


def make_run(population, seconds=300.0, step=WIDTH):
    """Back and forth along the track; the rate of all spikes is the same everywhere."""
    time = np.arange(0, seconds, step)
    x = LENGTH * 0.5 * (1 - np.cos(time * 2 * np.pi / 20))
    when, unit, mark = [], [], []
    for t, at in zip(time, x, strict=True):
        n = population.draws.poisson(2)
        units, marks = population.spikes_at(at, n)
        when.append(t + np.sort(population.draws.random(n)) * step)
        unit.append(units)
        mark.append(marks)
    return time, x, np.concatenate(when), np.concatenate(unit), np.concatenate(mark)


def make_events(population, count, begin, sweeps):
    """Events a second apart: sweeps at 3 m/s, or a random place in every bin."""
    draws = population.draws
    intervals, when, unit, mark = [], [], [], []
    for i in range(count):
        n_bin = int(draws.integers(10, 20))
        reach = SPEED * WIDTH * (n_bin - 1)
        first = draws.uniform(0, LENGTH - reach)
        x = first + SPEED * WIDTH * np.arange(n_bin)
        x = x if draws.random() < 0.5 else x[::-1]
        x = x if sweeps else draws.uniform(0, LENGTH, n_bin)
        start = begin + i
        intervals.append((start, start + n_bin * WIDTH))
        for k, at in enumerate(x):
            units, marks = population.spikes_at(at, N_SPIKE)
            when.append(start + (k + 0.05 + 0.9 * np.sort(draws.random(N_SPIKE))) * WIDTH)
            unit.append(units)
            mark.append(marks)
    return np.array(intervals), np.concatenate(when), np.concatenate(unit), np.concatenate(mark)


def by_owner(owner, n, *columns):
    """Columns of spikes, split by electrode or unit, each in order of time."""
    order = np.argsort(columns[0], kind="stable")
    return [[column[order][owner[order] == k] for k in range(n)] for column in columns]


def fit(case, population, run):
    """A model of the run."""
    _, is_sorted = CASES[case]
    time, x, when, unit, mark = run
    settings = {"environments": td.Environment(place_bin_size=BIN), "sampling_frequency": 1 / WIDTH}
    if is_sorted:
        model = td.ContFragSortedSpikesClassifier(**settings)
        (spikes,) = by_owner(unit, N_ELECTRODE * N_UNIT, when)
        return model.fit(time, x[:, None], spikes)
    model = td.ContFragClusterlessClassifier(
        clusterless_algorithm_params={"position_std": 6.0, "waveform_std": 20.0}, **settings
    )
    spikes, marks = by_owner(population.electrode[unit], N_ELECTRODE, when, mark)
    return model.fit(time, x[:, None], spikes, marks)


def try_events(case, model, population, events, shuffles, seed):
    """The table of the events, with the scores of every shuffle."""
    decoder, is_sorted = CASES[case]
    intervals, when, unit, mark = events
    if is_sorted:
        data = by_owner(unit, N_ELECTRODE * N_UNIT, when)
    else:
        data = by_owner(population.electrode[unit], N_ELECTRODE, when, mark)
    around = np.array([intervals[0, 0] - 1, intervals[-1, 1] + 1])  # the animal stays where it is
    frame, _ = td.events.shuffle_test(
        model,
        intervals,
        *data,
        position_time=around,
        position=np.zeros((2, 1)),
        decoder=decoder,
        shuffles=shuffles,
        shuffle_seed=seed,
        keep_statistics=True,
    )
    return frame


def statistic(values, score):
    """Larger is more like replay."""
    if score == "weighted_correlation":
        return np.abs(values)
    return -values if score in SMALL_IS_GOOD else values


def null_p(frame, kind, score):
    """p of shuffle 0 of each event among its other shuffles."""
    at = frame.attrs["kinds"].index(kind), td.events.SCORES.index(score)
    values = statistic(frame.attrs["statistics"][at[0], :, :, at[1]], score)
    own, others = values[:, :1], values[:, 1:]
    reached = (others >= own - 1e-9 * np.maximum(1, np.abs(own))).sum(axis=1)
    return ((1 + reached) / (1 + others.shape[1]))[~np.isnan(own[:, 0])]


def kolmogorov(p, n_value):
    """Probability of a p this far from uniform on the values 1/n .. 1."""
    grid = np.arange(1, n_value + 1) / n_value
    distance = np.abs(np.searchsorted(np.sort(p), grid + 1e-12) / len(p) - grid).max()
    x = math.sqrt(len(p)) * distance
    if x < 0.2:
        return 1.0
    return min(1.0, 2 * sum((-1) ** (j - 1) * math.exp(-2 * j * j * x * x) for j in range(1, 101)))


def study(case, count, null, shuffles, seed):
    """Rows of kind, score, power, random, null share, Kolmogorov's p."""
    population = Population(np.random.default_rng(seed))
    run = make_run(population)
    begin = 1 + math.ceil(run[0][-1])
    model = fit(case, population, run)
    many = make_events(population, max(count, null), begin, sweeps=True)
    places = make_events(population, count, begin, sweeps=False)
    planted = try_events(case, model, population, many, shuffles + 1, seed)
    random = try_events(case, model, population, places, shuffles, seed + 1)
    rows = []
    for kind in planted.attrs["kinds"]:
        for score in td.events.SCORES:
            name = f"p_{kind}_{score}"
            if name not in planted.columns:
                continue
            own = null_p(planted.iloc[:null], kind, score)
            rows.append(
                (
                    kind,
                    score,
                    (planted[name][:count] <= 0.05).mean(),
                    (random[name] <= 0.05).mean(),
                    (own <= 0.05).mean(),
                    kolmogorov(own, shuffles + 1),
                )
            )
    return rows


def run_events(options):
    for case in options.case or CASES:
        rows = study(case, options.count, options.null, options.shuffles, options.seed)
        counts = f"{options.count} sweeps, {options.null} for the null"
        print(f"\n{case}: {counts}, {options.shuffles} shuffles\n")
        print("| shuffle | score | power | random places | null | KS |")
        print("|---|---|---:|---:|---:|---:|")
        for kind, score, power, random, share, ks in rows:
            print(f"| {kind} | {score} | {power:.2f} | {random:.2f} | {share:.3f} | {ks:.2g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("events",))
    parser.add_argument("--count", type=int, default=200, help="sweeps, and random events")
    parser.add_argument("--null", type=int, default=1000, help="sweeps that are shuffled once")
    parser.add_argument("--shuffles", type=int, default=59)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", action="append", choices=tuple(CASES))
    run_events(parser.parse_args())


if __name__ == "__main__":
    main()
