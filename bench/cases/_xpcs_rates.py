"""Row of rates of any shape: splines, their smoothness, and the power law weighed against them."""

import functools
import importlib
import time

import numpy as np

from cases._xpcs_overhead import MODE, SETUP, TRUTH, case_of


class Rates:
    def __init__(self, n_angle, n_frame):
        xpcs = importlib.import_module("tessera.xpcs")
        self.data = xpcs.simulate(TRUTH, mode=MODE, n_angle=n_angle, n_frame=n_frame + 1,
                                  sigma=0.02, dtype="f64", **SETUP)
        self.found = None

    def fit(self, threads):
        xpcs = importlib.import_module("tessera.xpcs")
        self.found = xpcs.fit_rates(self.data, mode=MODE, gap=SETUP["gap"], threads=threads)


def times(data, threads):
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        data.fit(threads)
        seconds.append(time.perf_counter() - begin)
    return float(np.median(seconds)), None


def more(data, threads, seconds):
    return {"passes": data.found.n_pass, "ln Bayes factor": data.found.log_bayes_factor}


def cases(n_angle=23, n_frame=200):
    return [case_of("rates", n_angle, n_frame, functools.cache(Rates),
                    "D(t) and shear rate of any shape against the power law", times, more)]
