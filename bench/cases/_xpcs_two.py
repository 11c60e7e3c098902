"""Rows of two components: a fit with its search and errors, and a pass."""

import functools
import importlib
import statistics
import time

import numpy as np

from cases._xpcs_overhead import case_of

MODE = "two_component"
TRUTH = (700.0, -0.6, 60.0, 1300.0, 0.7, -90.0, 330.0, 0.9, 40.0, 0.6, -0.4, 0.0, 0.2, -2.5)
SIGMA = 0.003
ORIGINAL_S, ORIGINAL_CALLS = 147.5, 315  # heterodyne's fit of three angles of 200 frames


class Two:
    def __init__(self, n_angle, n_frame):
        xpcs = importlib.import_module("tessera.xpcs")
        self.data = xpcs.simulate(TRUTH, mode=MODE, phi=np.linspace(-30, 40, n_angle), q=0.0237,
                                  n_frame=n_frame + 1, dt=20 / n_frame, sigma=SIGMA, dtype="f64")
        self.found = None

    def fit(self, threads):
        xpcs = importlib.import_module("tessera.xpcs")
        self.found = xpcs.fit(self.data, mode=MODE, sigma=SIGMA, threads=threads)

    def sums(self, threads):
        xpcs = importlib.import_module("tessera.xpcs")
        return xpcs.accumulate(self.data, TRUTH, mode=MODE, sigma=SIGMA, level=2, threads=threads)


made = functools.cache(Two)


def median_of(run, count):
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def fit_times(data, threads):
    return median_of(lambda: data.fit(threads), 3), None


def fit_more(data, threads, seconds):
    found = data.found
    is_free = found.theta_uncertainties > 0
    off = np.abs(found.theta - TRUTH)[is_free] / found.theta_uncertainties[is_free]
    return {"evaluations": found.nfev, "passes": found.passes, "farthest from truth, errors":
            float(off.max()), "original s": ORIGINAL_S, "its evaluations": ORIGINAL_CALLS}


def pass_times(data, threads):
    data.sums(threads)
    return median_of(lambda: data.sums(threads), 9), None


def pass_more(data, threads, seconds):
    return {"points/s": data.data.n_used / seconds if seconds else None}


def cases():
    return [
        case_of("fit-two", 3, 200, made, "a fit of two components, with search and errors",
                fit_times, fit_more, is_long=False),
        case_of("pass-two", 23, 500, made, "a pass of two components with Hessian",
                pass_times, pass_more, is_long=False),
    ]
