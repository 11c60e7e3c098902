"""Coverage of rates of any shape: part of `xpcs_sweep.py`.

Truths of every kind: how much of each curve lies within its band of 95 %, and the ln Bayes factor
of free form against the power law.
"""

import numpy as np

from tessera import xpcs

DT, Q, GAP, PHI0 = 0.1, 0.0054, 2e6, 2.0
N_FRAME, SIGMA = 100, 0.01
TRANSPORT = {
    "power law": lambda t, x: 9000 * t**-0.6 + 800,
    "ageing": lambda t, x: 400 + 9000 * np.exp(-6 * x),
    "step": lambda t, x: 1500 + 5000 / (1 + np.exp((x - 0.5) / 0.06)),
}
SHEAR = {
    "power law": lambda t, x: 4e-3 * t**-0.3 + 1e-3,
    "oscillating": lambda t, x: 4e-3 * np.cos(3 * np.pi * x) + 1.5e-3,
}
CASES = (
    ("power law", None),
    ("ageing", None),
    ("step", None),
    ("power law", "power law"),
    ("ageing", "oscillating"),
)


def integral(rate):
    sums = np.concatenate([[0], np.cumsum((rate[1:] + rate[:-1]) / 2)])
    return np.abs(sums[:, None] - sums)


def matrices(transport, shear, phi, draws):
    """Correlations of any rates, upstream's kernel, by plain NumPy."""
    decay = np.exp(-(Q**2) * DT * integral(transport))
    found = []
    for angle in phi:
        factor = 1.0
        if shear is not None:
            by = Q * GAP * DT * np.cos(np.radians(PHI0 - angle)) / (2 * np.pi)
            factor = np.sinc(by * integral(shear) / np.pi) ** 4
        noise = np.triu(draws.normal(0, SIGMA, decay.shape))
        found.append(1 + 0.2 * decay * factor + noise + np.triu(noise, 1).T)
    return np.array(found)


def try_seed(task):
    """Shares of transport and shear within their bands, and the ln Bayes factor."""
    (transport, shear), seed = task
    t = DT * np.arange(1, N_FRAME + 1)
    truth = [TRANSPORT[transport](t, t / t[-1]), shear and SHEAR[shear](t, t / t[-1])]
    phi = np.array([0.0, 45.0]) if shear is None else -60 + 30.0 * np.arange(6)
    c2 = matrices(*truth, phi, np.random.default_rng(seed))
    data = xpcs.Data.from_arrays(c2, phi, Q, dt=DT, gap=GAP, without_t0=True)
    mode = "static_anisotropic" if shear is None else "laminar_flow"
    rates = xpcs.fit_rates(data, mode=mode, threads=1)
    held = [
        np.nan if curve is None else np.mean((curve.low <= right) & (right <= curve.high))
        for curve, right in zip((rates.transport, rates.shear), truth, strict=True)
    ]
    return *held, rates.log_bayes_factor


def run(pool, options):
    for case in CASES:
        tasks = [(case, options.seed + k) for k in range(options.count)]
        found = np.array(pool.map(try_seed, tasks, chunksize=1))
        transport, shear = 100 * found[:, 0].mean(), 100 * found[:, 1].mean()
        least, most = found[:, 2].min(), found[:, 2].max()
        print(f"transport {case[0]:10} shear {case[1] or 'none':12} {options.count} seeds: "
              f"within bands {transport:5.1f} % {shear:5.1f} %, "
              f"ln Bayes factor {least:.2f} to {most:.2f}", flush=True)
