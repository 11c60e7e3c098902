"""Rows of sampling: NUTS against NumPyro's, and the posterior of a whole measurement.

Both sides draw 2 chains of 200 + 300 from one density, which NumPyro ends in minutes at these sizes
and not at larger ones. Seconds are processor time, so that others on the machine do not count: what
a thousand effective draws of the worst parameter take, warm-up and, of the peer, compilation
included. `more` says how many effective draws a gradient brought: that is the sampler alone,
whatever the machine, and the ratio without the peer's compilation. Ours is timed with the
surrogate, as it comes; its draws per gradient are those of paths without.
"""

import functools
import importlib
import time

import numpy as np

from cases import _xpcs_numpyro
from cases._case import Case

TRUTH = {
    "laminar_flow": (68481.0, -1.327, 1708.0, 1.991e-3, -0.212, -6.07e-4, 2.0),
    "static_anisotropic": (16918.0, -1.572, 3.05),
}
NAMES = {"laminar_flow": "laminar", "static_anisotropic": "static"}
SETUP = {"q": 0.0054, "dt": 0.1, "gap": 2e6}
# With priors so wide that the data decide NumPyro's chains do not mix in laminar flow (4 effective
# draws in 904,000 gradients), so that row has priors that say about as much as its data.
INFORMED = {
    "D0": (3000, 300), "alpha": (-0.3, 0.1), "D_offset": (100, 50), "gamma_dot_t0": (4e-3, 4e-4),
    "beta": (-0.1, 0.05), "gamma_dot_t_offset": (1e-4, 1e-4), "phi0": (2, 2),
}
INFORMED_SETUP = {"q": 0.02, "dt": 0.1, "gap": 2e5}
INFORMED_PHI = (-30.0, 20.0, 70.0)
SHORT = {"n_chain": 2, "n_warmup": 200, "n_draw": 300}
WHOLE = {"n_chain": 4, "n_warmup": 500, "n_draw": 1500}


class Posteriors:
    """A fit, and draws of both sides, each made once."""

    def __init__(self, mode, n_angle, n_frame, sigma, counts, is_informed=False):
        xpcs = importlib.import_module("tessera.xpcs")
        self.counts = dict(counts)
        self.setup = INFORMED_SETUP if is_informed else SETUP
        self.prior = _xpcs_numpyro.SCALING | (INFORMED if is_informed else {})
        truth = [mean for mean, _ in INFORMED.values()] if is_informed else TRUTH[mode]
        angles = {"phi": INFORMED_PHI} if is_informed else {"n_angle": n_angle}
        self.data = xpcs.simulate(truth, mode=mode, n_frame=n_frame + 1, sigma=sigma, dtype="f64",
                                  **angles, **self.setup)
        self.fit = xpcs.fit(self.data, mode=mode, gap=self.setup["gap"])

    def sample(self, threads, surrogate):
        xpcs = importlib.import_module("tessera.xpcs")
        begin = time.perf_counter(), time.process_time()
        found = xpcs.sample(self.fit, threads=threads, surrogate=surrogate,
                            prior=self.prior, **self.counts)
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
        return _xpcs_numpyro.sample(self.data, self.setup, self.paths["posterior"], **self.counts)


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


def nuts_case(mode, n_angle, n_frame, sigma, is_informed=False):
    def times(data, threads):
        ours = data.sample(threads, "auto")
        theirs = data.theirs
        return 1e3 * ours["cpu"] / least(ours), 1e3 * theirs["cpu"] / least(theirs)

    def more(data, threads, seconds):
        ours, theirs = data.paths, data.theirs
        per_step = least(ours) / ours["steps"], least(theirs) / theirs["steps"]
        return {
            "draws per gradient": per_step[0],
            "peer's": per_step[1],
            "ratio per gradient": per_step[0] / per_step[1],
            "gradients with warm-up": ours["all_steps"],
            "peer's, too": theirs["steps"] + theirs["warmup_steps"],
            "cpu s of paths": ours["cpu"],
            "peer's cpu s": theirs["cpu"],
            "of them to compile": theirs["compile"],
            "ratio without": (theirs["cpu"] - theirs["compile"]) / least(theirs)
            / (1e-3 * seconds) if seconds else None,
        }

    return Case(
        name=f"sample-{NAMES[mode]}-{n_angle}x{n_frame}",
        sizes={"n_angle": n_angle, "n_frame": n_frame, "sigma": sigma, **SHORT},
        peer_name="numpyro",
        tolerance=4.5,  # of up to eight means, in Monte Carlo errors
        make=functools.partial(posteriors, mode, n_angle, n_frame, sigma, tuple(SHORT.items()),
                               is_informed),
        ours=lambda data, threads: data.paths,
        peer=lambda data: data.theirs,
        error=disagreement,
        times=times,
        more=more,
        all_threads_only=True,
        is_long=True,
        what="processor time of 1000 effective draws",
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
        sizes={"n_angle": n_angle, "n_frame": n_frame, **WHOLE},
        peer_name=None,
        tolerance=0.0,
        make=functools.partial(posteriors, "laminar_flow", n_angle, n_frame, 0.02,
                               tuple(WHOLE.items())),
        ours=lambda data, threads: None,
        peer=lambda data: None,
        error=lambda ours, theirs: 0.0,
        times=times,
        more=more,
        all_threads_only=True,
        is_long=True,
        what="4 chains of 500 + 1500 draws",
    )
