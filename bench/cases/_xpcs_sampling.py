"""Rows of sampling: NUTS against NumPyro's, and the posterior of a whole measurement.

Seconds are those that a thousand effective draws of the worst parameter take, warm-up and, of the
peer, compilation included. `more` says how many effective draws a gradient brought: that is the
sampler alone, whatever the machine. Ours is timed with the surrogate, as it comes; its draws per
gradient are those of paths without.
"""

import functools
import importlib
import time

import numpy as np

from cases import _xpcs_numpyro
from cases._case import Case

TRUTH = (68481.0, -1.327, 1708.0, 1.991e-3, -0.212, -6.07e-4, 2.0)
SETUP = {"q": 0.0054, "dt": 0.1, "gap": 2e6}
N_WARMUP, N_DRAW = 500, 1500


class Posteriors:
    """A fit, and draws of both sides, each made once."""

    def __init__(self, n_angle, n_frame, sigma):
        xpcs = importlib.import_module("tessera.xpcs")
        self.data = xpcs.simulate(TRUTH, mode="laminar_flow", n_angle=n_angle,
                                  n_frame=n_frame + 1, sigma=sigma, dtype="f64", **SETUP)
        self.fit = xpcs.fit(self.data, mode="laminar_flow", gap=SETUP["gap"])

    def sample(self, threads, surrogate):
        xpcs = importlib.import_module("tessera.xpcs")
        begin = time.perf_counter(), time.process_time()
        found = xpcs.sample(self.fit, n_warmup=N_WARMUP, n_draw=N_DRAW, threads=threads,
                            surrogate=surrogate, prior=_xpcs_numpyro.SCALING)
        names = [*found.physical_names, "noise"]
        return {
            "posterior": found,
            "draws": {name: found[name] for name in names},
            "steps": int(found.n_step.sum()),
            "all_steps": found.facts["n_evaluation"],
            "seconds": time.perf_counter() - begin[0],
            "cpu": time.process_time() - begin[1],
        }

    @functools.cached_property
    def paths(self):
        return self.sample(None, "off")

    @functools.cached_property
    def theirs(self):
        return _xpcs_numpyro.sample(self.data, SETUP, self.paths["posterior"], N_WARMUP, N_DRAW)


posteriors = functools.cache(Posteriors)


def sizes(found):
    """Effective draws of every parameter, counted alike for both."""
    xpcs = importlib.import_module("tessera.xpcs._chains")
    return {name: xpcs.ess_bulk(np.asarray(values)) for name, values in found["draws"].items()}


def least(found):
    return min(sizes(found).values())


def disagreement(ours, theirs):
    """The largest difference of means in Monte Carlo errors."""
    own, other = sizes(ours), sizes(theirs)
    worst = 0.0
    for name, x in ours["draws"].items():
        y = theirs["draws"][name]
        error = np.sqrt(x.var() / own[name] + y.var() / other[name])
        worst = max(worst, abs(x.mean() - y.mean()) / error)
    return float(worst)


def nuts_case(n_angle, n_frame):
    def times(data, threads):
        ours = data.sample(threads, "auto")
        theirs = data.theirs
        return 1e3 * ours["seconds"] / least(ours), 1e3 * theirs["seconds"] / least(theirs)

    def more(data, threads, seconds):
        ours, theirs = data.paths, data.theirs
        per_step = least(ours) / ours["steps"], least(theirs) / theirs["steps"]
        return {
            "draws per gradient": per_step[0],
            "peer's": per_step[1],
            "ratio": per_step[0] / per_step[1],
            "gradients with warm-up": ours["all_steps"],
            "peer's, too": theirs["steps"] + theirs["warmup_steps"],
            "cpu s of paths": ours["cpu"],
            "peer's cpu s": theirs["cpu"],
        }

    return Case(
        name=f"sample-laminar-{n_angle}x{n_frame}",
        sizes={"n_angle": n_angle, "n_frame": n_frame, "draws": 4 * N_DRAW},
        peer_name="numpyro",
        tolerance=4.5,  # of eight means, in Monte Carlo errors
        make=functools.partial(posteriors, n_angle, n_frame, 0.003),
        ours=lambda data, threads: data.paths,
        peer=lambda data: data.theirs,
        error=disagreement,
        times=times,
        more=more,
        all_threads_only=True,
        is_long=True,
        what="time of 1000 effective draws",
    )


def whole_case(n_angle, n_frame):
    """Four chains of 500 + 1500 draws, as they come."""

    def times(data, threads):
        data.last = data.sample(threads, "auto")
        return data.last["seconds"], None

    def more(data, threads, seconds):
        return {"effective draws": least(data.last), "cpu s": data.last["cpu"],
                "evaluations": data.last["all_steps"]}

    return Case(
        name=f"posterior-laminar-{n_angle}x{n_frame}",
        sizes={"n_angle": n_angle, "n_frame": n_frame, "draws": 4 * N_DRAW},
        peer_name=None,
        tolerance=0.0,
        make=functools.partial(posteriors, n_angle, n_frame, 0.02),
        ours=lambda data, threads: None,
        peer=lambda data: None,
        error=lambda ours, theirs: 0.0,
        times=times,
        more=more,
        all_threads_only=True,
        is_long=True,
        what="4 chains of 500 + 1500 draws",
    )
