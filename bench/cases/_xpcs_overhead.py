"""Rows of what safety costs a fit: checks and telemetry, checkpoints, and one save.

Two ways of the same fit in pairs, on one thread, the first of a pair being the second of the next:
what changes on the machine comes to both. The overhead is the median over the pairs of the ratio
of processor times, with the interval between order statistics that holds it in 95 % of cases
whatever the distribution (sign test).
"""

import functools
import importlib
import tempfile
import time

import numpy as np

import tessera
from cases._case import Case

MODE = "laminar_flow"
TRUTH = (68481.0, -1.327, 1708.0, 1.991e-3, -0.212, -6.07e-4, 2.0)
START = {"D0": 4e4, "alpha": -1.2, "D_offset": 1000.0, "gamma_dot_t0": 2e-3, "beta": -0.1,
         "gamma_dot_t_offset": -3e-4, "phi0": 1.0}
SETUP = {"q": 0.0054, "dt": 0.1, "gap": 2e6}
N_PAIR = 241
RANKS = 104, 136  # of them, from 0


class Fits:
    def __init__(self, n_angle, n_frame):
        xpcs = importlib.import_module("tessera.xpcs")
        self.data = xpcs.simulate(TRUTH, mode=MODE, n_angle=n_angle, n_frame=n_frame + 1,
                                  sigma=0.02, dtype="f64", **SETUP)
        self.context = tessera.Context(threads=1)
        self.made = {}

    def cpu(self, **options):
        xpcs = importlib.import_module("tessera.xpcs")
        begin = time.process_time()
        found = xpcs.fit(self.data, mode=MODE, gap=SETUP["gap"], sigma=0.02, n_start=1,
                         start=START, context=self.context, **options)
        return time.process_time() - begin, found

    def pairs(self, way, before):
        """Processor seconds of both in pairs, and the last fit; made once."""
        if (way, before) not in self.made:
            self.made[way, before] = self.make_pairs(way, before)
        return self.made[way, before]

    def make_pairs(self, way, before):
        seconds = []
        with tempfile.TemporaryDirectory() as folder:
            ways = {
                "bare": {"fast": True},
                "as it comes": {},
                "with checkpoints": {"checkpoint": folder, "resume": False},
            }
            for k in range(N_PAIR):
                pair = {}
                for name in (way, before) if k % 2 else (before, way):
                    pair[name], found = self.cpu(**ways[name])
                seconds.append((pair[way], pair[before]))
        return np.array(seconds), found

    @functools.cached_property
    def saved(self):
        with tempfile.TemporaryDirectory() as folder:
            return self.cpu(checkpoint=folder, resume=False, checkpoint_every=0.0)[1]


fits = functools.cache(Fits)


def overhead_case(n_angle, n_frame, name, way, before, what):
    def times(data, threads):
        return float(np.median(data.pairs(way, before)[0][:, 0])), None

    def more(data, threads, seconds):
        both, found = data.pairs(way, before)
        ratios = 100 * (np.sort(both[:, 0] / both[:, 1]) - 1)
        return {"overhead %": float(np.median(ratios)), "at least %": ratios[RANKS[0]],
                "at most %": ratios[RANKS[1]], "pairs": N_PAIR, "passes": found.passes,
                f"{before} cpu s": float(np.median(both[:, 1]))}

    return case(n_angle, n_frame, name, what, times, more)


def save_case(n_angle, n_frame):
    """One checkpoint, written, synchronised and renamed, by the clock."""

    def times(data, threads):
        found = data.saved._info
        return found["seconds"]["checkpoint"] / found["n_checkpoint"], None

    def more(data, threads, seconds):
        return {"saves": data.saved._info["n_checkpoint"]}

    return case(n_angle, n_frame, "checkpoint-save", "one checkpoint of a fit", times, more)


def case_of(name, n_angle, n_frame, make, what, times, more, is_long=True):
    """Return a row that times itself and has no peer."""
    return Case(
        name=name,
        sizes={"n_angle": n_angle, "n_frame": n_frame, "dtype": "f64"},
        peer_name=None,
        tolerance=0.0,
        make=functools.partial(make, n_angle, n_frame),
        ours=lambda data, threads: None,
        peer=lambda data: None,
        error=lambda ours, theirs: 0.0,
        times=times,
        more=more,
        all_threads_only=True,
        is_long=is_long,
        what=what,
    )


def case(n_angle, n_frame, name, what, times, more):
    return case_of(name, n_angle, n_frame, fits, what, times, more)


def cases(n_angle=23, n_frame=400):
    return [
        overhead_case(n_angle, n_frame, "overhead-checks", "as it comes", "bare",
                      "a fit as it comes, against --fast"),
        overhead_case(n_angle, n_frame, "overhead-checkpoints", "with checkpoints", "as it comes",
                      "a fit with checkpoints, against one without"),
        save_case(n_angle, n_frame),
    ]
