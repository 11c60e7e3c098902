"""Simulation-based calibration of the sampler: part of `xpcs_sweep.py`.

Parameters are drawn from the prior and data from them; the truth is then one draw of the posterior
more, and its rank among thinned draws is uniform. Every parameter gives one p value of chi2 over
the bins. What is required was settled before any run: each p above 0.01 divided by how many there
are (Bonferroni), so that a right sampler fails once in a hundred sweeps.
"""

import functools
import importlib
import time

import numpy as np

from tessera import xpcs

N_DRAW, THIN, N_BIN = 315, 5, 16
N_RANK = N_DRAW // THIN + 1  # 0 to 63
LEVEL = 0.01
MIDDLES = (32, 58, 60)  # ranks of the 64 that central intervals of 50, 90.6, 93.8 % have
NOISE = 0.01  # the noise is half normal of one and a half times this
# Wide enough to matter, narrow enough that the posterior has one hill.
CONTRAST, OFFSET = (0.3, 0.03), (1.0, 0.02)
PRIORS = {
    "static_anisotropic": {"D0": (3000, 300), "alpha": (-0.3, 0.1), "D_offset": (100, 50)},
    "laminar_flow": {
        "D0": (3000, 300),
        "alpha": (-0.3, 0.1),
        "D_offset": (100, 50),
        "gamma_dot_t0": (4e-3, 4e-4),
        "beta": (-0.1, 0.05),
        "gamma_dot_t_offset": (1e-4, 1e-4),
        "phi0": (2, 2),
    },
    # f2 is fixed, and a fraction that falls leaves no doubt which component is which.
    "two_component": {
        "D0_ref": (700, 70),
        "alpha_ref": (-0.6, 0.06),
        "D_offset_ref": (60, 30),
        "D0_sample": (1300, 130),
        "alpha_sample": (0.7, 0.07),
        "D_offset_sample": (50, 30),
        "v0": (330, 30),
        "v_beta": (0.9, 0.05),
        "v_offset": (40, 10),
        "f0": (0.5, 0.05),
        "f1": (-0.4, 0.05),
        "f3": (0.2, 0.03),
        "phi0_het": (-2.5, 1),
    },
}
FIXED = {"two_component": {"f2": 0.0}}
ANGLES = {
    "static_anisotropic": (0.0, 90.0),
    "laminar_flow": (-30.0, 20.0, 70.0),
    "two_component": (-25.0, 8.0, 40.0),
}
SETUP = {"q": 0.02, "dt": 0.1, "gap": 2e5}


def draw_truth(draws, mode):
    """What the priors say, within the bounds: theta, noise, contrasts, offsets."""
    table = {p["name"]: p for p in xpcs.parameters(mode)}
    theta = {}
    for name, (mean, sd) in PRIORS[mode].items():
        value = np.inf
        while not table[name]["lower"] < value < table[name]["upper"]:
            value = mean + sd * draws.standard_normal()
        theta[name] = value
    n = len(ANGLES[mode])
    noise = 1.5 * NOISE * abs(draws.standard_normal())
    return (
        theta,
        noise,
        CONTRAST[0] + CONTRAST[1] * draws.standard_normal(n),
        OFFSET[0] + OFFSET[1] * draws.standard_normal(n),
    )


def names_of(mode):
    n = range(len(ANGLES[mode]))
    ends = [f"contrast_{a}" for a in n] + [f"offset_{a}" for a in n]
    return [*PRIORS[mode], "noise", *ends]


def rank(task):
    """Ranks of a truth among the draws of its posterior, as `names_of` has them."""
    mode, n_frame, seed, surrogate = task
    draws = np.random.default_rng([seed, len(mode)])
    theta, noise, contrast, offset = draw_truth(draws, mode)
    data = xpcs.simulate(
        {**theta, **FIXED.get(mode, {})},
        mode=mode,
        phi=ANGLES[mode],
        contrast=contrast,
        offset=offset,
        n_frame=n_frame + 1,
        sigma=noise,
        seed=seed,
        dtype="f64",
        **SETUP,
    )
    start = {name: mean for name, (mean, _) in PRIORS[mode].items()}
    begin = time.perf_counter()
    found = xpcs.sample(
        data,
        mode=mode,
        gap=SETUP["gap"],
        fit={"n_start": 1, "start": start},
        prior={**PRIORS[mode], "contrast": CONTRAST, "offset": OFFSET},
        noise_scale=NOISE,
        n_chain=1,
        n_warmup=200,
        n_draw=N_DRAW,
        seed=seed,
        threads=1,
        surrogate=surrogate,
    )
    kept = slice(THIN - 1, None, THIN)
    of_theta = np.stack([found[name][0] for name in theta], axis=1)
    all_draws = np.concatenate(
        [of_theta, found.noise[0][:, None], found.contrast[0], found.offset[0]], axis=1
    )
    truth = np.concatenate([[*theta.values()], [noise], contrast, offset])
    return (all_draws[kept] < truth).sum(axis=0), time.perf_counter() - begin


def p_value(ranks):
    """How likely bins as uneven as these are."""
    special = importlib.import_module("scipy.special")
    counts = np.bincount(ranks * N_BIN // N_RANK, minlength=N_BIN)
    want = len(ranks) / N_BIN
    return special.chdtrc(N_BIN - 1, float(((counts - want) ** 2).sum() / want)), counts


def held(ranks, n):
    """How many of the central intervals of n ranks hold the truth, in percent."""
    low = (N_RANK - n) // 2
    return 100 * float(np.mean((ranks >= low) & (ranks < N_RANK - low)))


def run(pool, options):
    """Print every histogram; return whether all p values are large enough."""
    found = {}
    for mode in options.modes or PRIORS:
        tasks = [
            (mode, options.frames, options.seed + k, options.surrogate)
            for k in range(options.count)
        ]
        rows = list(pool.imap(rank, tasks, chunksize=4))
        ranks = np.array([row[0] for row in rows])
        seconds = np.median([row[1] for row in rows])
        print(f"{mode}: {len(rows)} problems, median {seconds:.2f} s")
        for k, name in enumerate(names_of(mode)):
            p, counts = p_value(ranks[:, k])
            found[mode, name] = p
            shares = ", ".join(
                f"{held(ranks[:, k], n):.1f} of {100 * n / N_RANK:.1f} %" for n in MIDDLES
            )
            print(f"  {name:20} p {p:.4f}; held: {shares}; {' '.join(map(str, counts))}")
    least = min(found, key=functools.partial(found.get))
    need = LEVEL / len(found)
    below = sum(p < LEVEL for p in found.values())
    print(
        f"{len(found)} p values; the smallest is {found[least]:.4f} ({' '.join(least)}), {below} "
        f"below {LEVEL}; required of each: {need:.5f}"
    )
    return found[least] > need
