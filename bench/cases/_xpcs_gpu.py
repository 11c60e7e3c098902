"""Rows of a GPU that holds the data: a fit, and the posterior of a whole measurement.

One context for all: the samples go up once, before what is timed.
"""

import functools
import importlib
import time

import numpy as np

import tessera
from cases import _xpcs_sampling
from cases._xpcs_overhead import case_of

MODE, GAP, SIGMA = "laminar_flow", 2e6, 0.02


class Resident:
    def __init__(self, n_angle, n_frame):
        xpcs = importlib.import_module("tessera.xpcs")
        self.data = xpcs.simulate(_xpcs_sampling.TRUTH[MODE], mode=MODE, n_angle=n_angle,
                                  n_frame=n_frame + 1, sigma=SIGMA, dtype="f64",
                                  **_xpcs_sampling.SETUP)
        self.context = tessera.Context(device="cuda")
        self.last = self.fit()

    def fit(self):
        xpcs = importlib.import_module("tessera.xpcs")
        return xpcs.fit(self.data, mode=MODE, gap=GAP, sigma=SIGMA, context=self.context)

    def sample(self):
        xpcs = importlib.import_module("tessera.xpcs")
        return xpcs.sample(self.last, context=self.context, **_xpcs_sampling.WHOLE)


resident = functools.cache(Resident)


def timed(run):
    begin = time.perf_counter()
    found = run()
    return time.perf_counter() - begin, found


def fit_times(data, threads):
    return float(np.median([timed(data.fit)[0] for _ in range(20)])), None


def fit_more(data, threads, seconds):
    return {"passes": data.last.passes, "chi2/dof": data.last.reduced_chi2}


def sample_times(data, threads):
    seconds, data.drawn = timed(data.sample)
    return seconds, None


def sample_more(data, threads, seconds):
    found, said = data.drawn, data.drawn.diagnostics
    return {"effective draws": said["min_ess_bulk"], "in the tails": said["min_ess_tail"],
            "evaluations": found.facts["n_evaluation"], "passes": found.facts["n_pass"],
            "divergences": said["n_divergent"]}


def case(name, n_angle, n_frame, what, times, more):
    return case_of(name, n_angle, n_frame, resident, what, times, more, is_long=False)


def cases(n_angle=23, n_frame=1000):
    return [
        case("fit-resident-cuda", n_angle, n_frame, "a fit of data that are on the GPU",
             fit_times, fit_more),
        case("posterior-laminar-cuda", n_angle, n_frame, "4 chains of 500 + 1500 draws",
             sample_times, sample_more),
    ]
