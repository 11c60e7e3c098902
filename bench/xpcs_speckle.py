"""Coverage of 95 % intervals on photon counts of speckle, by noise model."""

import numpy as np

import tessera
from tessera import xpcs

SETUP = {"gap": 2e6, "dt": 0.1}
STATIC = {"D0": 3e4, "alpha": -0.3, "D_offset": 0.0}
SLOW = {"D0": 1e4, "alpha": -0.3, "D_offset": 0.0}
BRIGHT = {"D0": 2e4, "alpha": -0.3, "D_offset": 0.0}
GAPS = {"D0": 1.2e4, "alpha": 0.2, "D_offset": 0.0}
FLOW = {
    "D0": 2e4,
    "alpha": -0.3,
    "D_offset": 0.0,
    "gamma_dot_t0": 2e-3,
    "beta": -0.2,
    "gamma_dot_t_offset": 0.0,
    "phi0": 2.0,
}

# Truth (offsets of rates are known to be 0), and the measurement.
CASES = {
    "speckle-static": (STATIC, {"n_angle": 3, "n_frame": 81, "photons": 0.5, "n_pixel": 2000}),
    "speckle-slow": (SLOW, {"n_angle": 3, "n_frame": 81, "photons": 1.0, "n_pixel": 2000}),
    "speckle-bright": (BRIGHT, {"n_angle": 3, "n_frame": 81, "photons": 5.0, "n_pixel": 1000}),
    "speckle-gaps": (
        GAPS,
        {"n_angle": 5, "n_frame": 46, "photons": 2.0, "n_pixel": 700, "bad_frames": [9, 10, 25]},
    ),
    "speckle-flow": (FLOW, {"n_angle": 4, "n_frame": 61, "photons": 0.5, "n_pixel": 2000}),
}


NOISES = ("independent", "frames")
MOST_K = 0.7  # of importance weights that can be trusted


def draw(found):
    """Return 95 % intervals of draws from the posterior of a fit."""
    try:
        drawn = xpcs.sample(found, method="laplace", n_chain=1, n_draw=1000, threads=1)
        is_sound = drawn.facts["pareto_k"] < MOST_K
    except tessera.NumericError:  # no top that a normal could stand for
        is_sound = False
    if not is_sound:
        drawn = xpcs.sample(found, n_chain=4, n_warmup=300, n_draw=250, threads=1)
    n_param = drawn.theta.shape[-1]
    ends = np.quantile(drawn.theta.reshape(-1, n_param), (0.025, 0.975), axis=0)
    return dict(zip(found.physical_names, ends.T, strict=True))


def try_case(task):
    """Which intervals hold the truth: of fits, noise independent and frames, and of draws."""
    name, seed = task
    truth, measured = CASES[name]
    mode = "static_anisotropic" if len(truth) == 3 else "laminar_flow"
    data = xpcs.simulate(
        truth,
        mode=mode,
        speckle=True,
        contrast=0.25 if len(truth) == 3 else 0.3,
        seed=seed,
        dtype="f64",
        threads=1,
        **measured,
        **SETUP,
    )
    known = {k: 0.0 for k in truth if k.endswith("offset")}
    intervals = []
    for noise in NOISES:
        found = xpcs.fit(
            data,
            mode=mode,
            noise=noise,
            sigma_mode="estimate",
            fixed=known,
            start=truth,
            n_start=1,
            threads=1,
            **SETUP,
        )
        intervals.append(found.intervals)
    intervals.append(draw(found))
    return [
        [ends[k][0] <= x <= ends[k][1] for k, x in truth.items() if k not in known]
        for ends in intervals
    ]


def run(pool, name, options):
    """Print the coverage of one case."""
    truth, _ = CASES[name]
    names = [k for k in truth if not k.endswith("offset")]
    tasks = [(name, options.seed + k) for k in range(options.count)]
    held = 100 * np.mean(pool.map(try_case, tasks, chunksize=4), axis=0)
    rows = [*(f"noise {noise}" for noise in NOISES), "noise frames, draws"]
    for row, shares in zip(rows, held, strict=True):
        told = ", ".join(f"{k} {x:.1f} %" for k, x in zip(names, shares, strict=True))
        print(f"{name}, {row}: {told}", flush=True)
