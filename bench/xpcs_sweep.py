#!/usr/bin/env python3
"""Truth of xpcs over many draws: wrong minima, how often intervals hold, calibrated posteriors.

Usage:
    xpcs_sweep.py minima [--count 300] [--seed 0] [--law physical|log|uniform] [--starts 64]
    xpcs_sweep.py coverage [--count 500] [--seed 0] [--case NAME ...]
    xpcs_sweep.py joint [--count 300] [--seed 0]
    xpcs_sweep.py rates [--count 40] [--seed 0]
    xpcs_sweep.py sbc [--count 500] [--seed 0] [--frames 24] [--surrogate auto|off|on]

minima: default fits of random geometries (2 to 24 angles, 30 to 300 frames, random truth) against
the best of many full starts; a fit counts as wrong if its chi2 is higher by more than 1. The law
says how true parameters are drawn: rates that leave a signal, amplitudes log-uniform within the
bounds, or everything uniform there (most such data have no signal at all).

coverage: how many of the 95 % intervals of each parameter hold its true value; the speckle cases
(`xpcs_speckle.py`) with noise independent and with noise frames.

joint: the same of joint fits of four q, D0 a power of q, in errors of the covariance; and how often
the test of sharing says that what is right is wrong.

rates: the same of rates of any shape, by the share of a curve within its band, and Bayes factors
against the power law (`xpcs_rates.py`).

sbc: simulation-based calibration of the sampler, static, laminar and of two components
(`xpcs_calibration.py`).
"""

import argparse
import logging
import os
import sys
import warnings
from multiprocessing import Pool

import numpy as np
import xpcs_calibration
import xpcs_rates
import xpcs_speckle

from tessera import xpcs

NAMES = ("D0", "alpha", "D_offset", "gamma_dot_t0", "beta", "gamma_dot_t_offset", "phi0")
LOWER = np.array([100, -2, -1e5, 1e-6, -2, -0.1, -10])
UPPER = np.array([1e5, 2, 1e5, 0.5, 2, 0.1, 10])
SETUP = {"gap": 2e6}
DT = 0.1
SIX = (-60, -30, -5, 10, 40, 85)
USUAL = (48000, -1.1, 1600, 0.0033, -0.25, -0.0004, 2.5)

# Angles, frames after the first, true parameters, options of the fit.
CASES = {
    "six-angles": (SIX, 60, USUAL, {}),
    "three-angles": ((-12, 3.5, 87), 36, USUAL, {}),
    "weak-shear": (SIX, 60, (48000, -1.1, 1600, 0.0003, -0.25, 0.00001, 2.5), {}),
    "at-bound": (
        SIX,
        60,
        (48000, -1.1, 1600, 0.0033, -0.25, 0.0, 2.5),
        {"bounds": {"gamma_dot_t_offset": (0.0, 0.1)}},
    ),
}


def draw_truth(draws, law, n_frame):
    """Seven parameters within their bounds."""
    part = draws.uniform(size=7)
    truth = LOWER + part * (UPPER - LOWER)
    if law == "uniform":
        return truth
    for k in (0, 3):
        truth[k] = LOWER[k] * (UPPER[k] / LOWER[k]) ** part[k]
    if law == "physical":
        middle = DT * np.sqrt(n_frame)
        truth[1], truth[4] = -1.8 + 2.3 * part[1], -1 + 1.5 * part[4]
        truth[3] = 1e-4 * 500 ** part[3]
        truth[2] = (part[2] - 0.4) * truth[0] * middle ** truth[1]
        truth[5] = (part[5] - 0.4) * truth[3] * middle ** truth[4]
    return truth


def draw_angles(draws, n):
    """Anywhere, evenly, or in bunches along and across the flow."""
    kind = draws.integers(3)
    if kind == 0:
        return draws.uniform(-180, 180, n)
    if kind == 1:
        return np.linspace(-180, 180, n, endpoint=False) + draws.uniform(-5, 5)
    return draws.uniform(-30, 30, n) + 90 * draws.integers(0, 3, n)


def compare_minima(task):
    """How much higher chi2 of the default fit is than that of the best start."""
    seed, law, n_start = task
    draws = np.random.default_rng(seed)
    n_angle, n_frame = int(draws.integers(2, 25)), int(draws.integers(30, 301))
    phi = draw_angles(draws, n_angle)
    truth = draw_truth(draws, law, n_frame)
    sigma = 10 ** draws.uniform(-3, -1.5)
    contrast = draws.uniform(0.05, 0.5) * (1 + 0.1 * draws.standard_normal(n_angle))
    data = xpcs.simulate(
        truth,
        phi=phi,
        contrast=np.clip(contrast, 0.01, 0.9),
        offset=np.clip(1 + 0.05 * draws.standard_normal(n_angle), 0.6, 1.4),
        n_frame=n_frame,
        dt=DT,
        sigma=sigma,
        seed=int(draws.integers(1 << 23)),
        dtype="f64",
        **SETUP,
    )
    found = xpcs.fit(data, threads=1, sigma=sigma, **SETUP)
    starts = {"n_start": n_start, "screen_keep": 1.0, "refine_top": 5, "seed": seed}
    best = xpcs.fit(data, threads=1, sigma=sigma, **starts, **SETUP)
    return seed, found.chi2 - best.chi2, found.quality_flag, found.execution_time


def try_case(task):
    """Which intervals hold the truth."""
    name, seed = task
    phi, n_frame, truth, options = CASES[name]
    a = np.arange(len(phi))
    data = xpcs.simulate(
        truth,
        phi=phi,
        contrast=0.25 + 0.02 * np.sin(1.3 * a),
        offset=1.04 + 0.01 * np.cos(2 * a),
        n_frame=n_frame + 1,
        dt=DT,
        sigma=0.01,
        seed=seed,
        dtype="f64",
        **SETUP,
    )
    found = xpcs.fit(data, threads=1, sigma=0.01, **SETUP, **options)
    ends = found.intervals
    return [ends[name][0] <= true <= ends[name][1] for name, true in zip(NAMES, truth, strict=True)]


def try_joint(seed):
    """Deviations of four unknowns in errors, and p of what is shared."""
    truth = {"D0": 1e4, "alpha": -0.5, "D_offset": 300.0, "exponent": 0.4}
    members = [
        xpcs.simulate(
            (truth["D0"] * (q / 0.006) ** truth["exponent"], truth["alpha"], truth["D_offset"]),
            q=q,
            n_angle=3,
            n_frame=80,
            dt=DT,
            sigma=0.01,
            seed=1000 * seed + k,
        )
        for k, q in enumerate(np.geomspace(0.003, 0.012, 4))
    ]
    found = xpcs.fit_joint(
        members, mode="static_anisotropic", power="D0", q_ref=0.006, sigma=0.01, threads=1
    )
    told = found.values | {"exponent": found.exponents["D0"]}
    return [(told[name][0] - truth[name]) / told[name][1] for name in truth] + [found.excess_p]


def run_joint(pool, options):
    seeds = range(options.seed, options.seed + options.count)
    rows = np.array(pool.map(try_joint, seeds, chunksize=4))
    held = 100 * np.mean(np.abs(rows[:, :4]) < 1.96, axis=0)
    names = ("D0", "alpha", "D_offset", "exponent")
    print("within 1.96 errors: " + ", ".join(f"{k} {x:.1f} %" for k, x in zip(names, held)))
    print(f"sharing refused at 0.05: {100 * np.mean(rows[:, 4] < 0.05):.1f} %")


def run_minima(pool, options):
    tasks = [(options.seed + k, options.law, options.starts) for k in range(options.count)]
    rows = list(pool.imap(compare_minima, tasks))
    wrong = [row for row in rows if row[1] > 1]
    better = sum(row[1] < -1 for row in rows)
    for seed, excess, quality, _ in wrong:
        print(f"seed {seed}: chi2 higher by {excess:.3g}, {quality}")
    seconds = np.median([row[3] for row in rows])
    print(
        f"{options.law}: {len(wrong)} of {len(rows)} worse than the best of {options.starts} "
        f"starts by more than 1 in chi2, {better} better; median {seconds:.2f} s"
    )


def run_coverage(pool, options):
    for name in options.case or (*CASES, *xpcs_speckle.CASES):
        if name in xpcs_speckle.CASES:
            xpcs_speckle.run(pool, name, options)
            continue
        tasks = [(name, options.seed + k) for k in range(options.count)]
        held = 100 * np.mean(pool.map(try_case, tasks, chunksize=4), axis=0)
        print(f"{name}: " + ", ".join(f"{k} {x:.1f} %" for k, x in zip(NAMES, held, strict=True)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("minima", "coverage", "joint", "rates", "sbc"))
    parser.add_argument("--count", type=int, help="draws; 300, of sbc 500, of rates 40")
    parser.add_argument("--seed", type=int, default=0, help="of the first draw")
    parser.add_argument("--law", choices=("physical", "log", "uniform"), default="physical")
    parser.add_argument("--starts", type=int, default=64, help="full starts to compare with")
    cases = (*CASES, *xpcs_speckle.CASES)
    parser.add_argument("--case", action="append", choices=cases, help="of coverage")
    modes = [*xpcs_calibration.PRIORS]
    parser.add_argument("--mode", action="append", choices=modes, dest="modes", help="of sbc")
    parser.add_argument("--frames", type=int, default=24, help="of sbc")
    parser.add_argument("--surrogate", choices=("auto", "off", "on"), default="auto", help="of sbc")
    options = parser.parse_args()
    options.count = options.count or {"sbc": 500, "rates": 40}.get(options.what, 300)
    warnings.simplefilter("ignore")
    logging.getLogger("tessera").setLevel(logging.ERROR)
    with Pool(len(os.sched_getaffinity(0))) as pool:
        if options.what == "sbc":
            return 0 if xpcs_calibration.run(pool, options) else 1
        runs = {"minima": run_minima, "coverage": run_coverage, "joint": run_joint,
                "rates": xpcs_rates.run}
        runs[options.what](pool, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
