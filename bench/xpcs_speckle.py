"""Coverage of 95 % intervals on photon counts of speckle, by noise model."""

import numpy as np

from tessera import xpcs

SETUP = {"gap": 2e6, "dt": 0.1}
STATIC = {"D0": 3e4, "alpha": -0.3, "D_offset": 0.0}
SLOW = {"D0": 1e4, "alpha": -0.3, "D_offset": 0.0}
BRIGHT = {"D0": 2e4, "alpha": -0.3, "D_offset": 0.0}
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
    "speckle-flow": (FLOW, {"n_angle": 4, "n_frame": 61, "photons": 0.5, "n_pixel": 2000}),
}


def try_case(task):
    """Which intervals hold the truth, for noise independent and frames."""
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
    held = []
    for noise in ("independent", "frames"):
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
        ends = found.intervals
        held.append([ends[k][0] <= x <= ends[k][1] for k, x in truth.items() if k not in known])
    return held


def run(pool, name, options):
    """Print the coverage of one case."""
    truth, _ = CASES[name]
    names = [k for k in truth if not k.endswith("offset")]
    tasks = [(name, options.seed + k) for k in range(options.count)]
    held = 100 * np.mean(pool.map(try_case, tasks, chunksize=4), axis=0)
    for noise, row in zip(("independent", "frames"), held, strict=True):
        shares = ", ".join(f"{k} {x:.1f} %" for k, x in zip(names, row, strict=True))
        print(f"{name}, noise {noise}: {shares}", flush=True)
