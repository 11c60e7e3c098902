"""Row of a joint fit: ten q at once, D0 a power of q."""

import functools
import importlib
import time

import numpy as np

from cases._xpcs_overhead import MODE, SETUP, TRUTH, case_of

N_Q, EXPONENT, Q_REF = 10, 0.2, 0.006


class Joint:
    def __init__(self, n_angle, n_frame):
        xpcs = importlib.import_module("tessera.xpcs")
        rest = {name: SETUP[name] for name in ("dt", "gap")}
        self.data = [
            xpcs.simulate((TRUTH[0] * (q / Q_REF) ** EXPONENT, *TRUTH[1:]), mode=MODE, q=q, seed=k,
                          n_angle=n_angle, n_frame=n_frame + 1, sigma=0.02, dtype="f64", **rest)
            for k, q in enumerate(np.geomspace(0.003, 0.012, N_Q))
        ]
        self.found = None

    def fit(self, threads):
        xpcs = importlib.import_module("tessera.xpcs")
        self.found = xpcs.fit_joint(self.data, mode=MODE, gap=SETUP["gap"], sigma=0.02,
                                    power="D0", q_ref=Q_REF, threads=threads)


def times(data, threads):
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        data.fit(threads)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds)), None


def more(data, threads, seconds):
    value, sd = data.found.exponents["D0"]
    return {"evaluations": data.found.n_evaluation, "exponent": value, "its error": sd}


def cases(n_angle=23, n_frame=500):
    return [case_of("joint", n_angle, n_frame, functools.cache(Joint),
                    f"a joint fit of {N_Q} q, D0 a power of q", times, more)]
