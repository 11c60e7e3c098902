"""Rows of what safety costs a fit: checks and telemetry, checkpoints, and one save.

The same fit in turns: bare (`fast`), as it comes, and with checkpoints as they come. Each figure is
the least processor time of several turns, since others on the machine only add to it, on one
thread.
"""

import functools
import importlib
import tempfile
import time

import tessera
from cases._case import Case

MODE = "laminar_flow"
TRUTH = (68481.0, -1.327, 1708.0, 1.991e-3, -0.212, -6.07e-4, 2.0)
START = {"D0": 4e4, "alpha": -1.2, "D_offset": 1000.0, "gamma_dot_t0": 2e-3, "beta": -0.1,
         "gamma_dot_t_offset": -3e-4, "phi0": 1.0}
SETUP = {"q": 0.0054, "dt": 0.1, "gap": 2e6}
N_TURN = 9


class Fits:
    def __init__(self, n_angle, n_frame):
        xpcs = importlib.import_module("tessera.xpcs")
        self.data = xpcs.simulate(TRUTH, mode=MODE, n_angle=n_angle, n_frame=n_frame + 1,
                                  sigma=0.02, dtype="f64", **SETUP)
        self.context = tessera.Context(threads=1)

    def cpu(self, **options):
        xpcs = importlib.import_module("tessera.xpcs")
        begin = time.process_time()
        found = xpcs.fit(self.data, mode=MODE, gap=SETUP["gap"], sigma=0.02, n_start=1,
                         start=START, context=self.context, **options)
        return time.process_time() - begin, found

    @functools.cached_property
    def least(self):
        """Processor seconds of each way, and the last fit of it."""
        best = {}
        with tempfile.TemporaryDirectory() as folder:
            ways = {
                "bare": {"fast": True},
                "as it comes": {},
                "with checkpoints": {"checkpoint": folder, "resume": False},
                "saved always": {"checkpoint": folder, "resume": False, "checkpoint_every": 0.0},
            }
            for _ in range(N_TURN):
                for name, options in ways.items():
                    seconds, found = self.cpu(**options)
                    best[name] = min(best.get(name, (seconds, found)), (seconds, found),
                                     key=lambda pair: pair[0])
        return best


fits = functools.cache(Fits)


def overhead_case(n_angle, n_frame, name, way, before, what):
    def times(data, threads):
        return data.least[way][0], None

    def more(data, threads, seconds):
        less = data.least[before][0]
        return {"cpu s": seconds, f"{before} cpu s": less, "overhead %": 100 * (seconds / less - 1),
                "passes": data.least[way][1].passes}

    return case(n_angle, n_frame, name, what, times, more)


def save_case(n_angle, n_frame):
    """One checkpoint, written, synchronised and renamed, by the clock."""

    def times(data, threads):
        found = data.least["saved always"][1]._info
        return found["seconds"]["checkpoint"] / found["n_checkpoint"], None

    def more(data, threads, seconds):
        return {"saves": data.least["saved always"][1]._info["n_checkpoint"]}

    return case(n_angle, n_frame, "checkpoint-save", "one checkpoint of a fit", times, more)


def case(n_angle, n_frame, name, what, times, more):
    return Case(
        name=name,
        sizes={"n_angle": n_angle, "n_frame": n_frame, "dtype": "f64"},
        peer_name=None,
        tolerance=0.0,
        make=functools.partial(fits, n_angle, n_frame),
        ours=lambda data, threads: None,
        peer=lambda data: None,
        error=lambda ours, theirs: 0.0,
        times=times,
        more=more,
        all_threads_only=True,
        is_long=True,
        what=what,
    )


def cases(n_angle=23, n_frame=400):
    return [
        overhead_case(n_angle, n_frame, "overhead-checks", "as it comes", "bare",
                      "a fit as it comes, against --fast"),
        overhead_case(n_angle, n_frame, "overhead-checkpoints", "with checkpoints", "as it comes",
                      "a fit with checkpoints, against one without"),
        save_case(n_angle, n_frame),
    ]
