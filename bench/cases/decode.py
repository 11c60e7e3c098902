"""decode against its original, non_local_detector on JAX: likelihoods, state space, whole predicts.

Both sides are called the way users call them: a fitted model of the original's classes, then
compute_log_likelihood() or predict(). Both stay in float32, their default. The original's speed
depends on its block size; it is searched where that is cheap and named in the row.
"""

import functools
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from cases import _decode_data as simulate
from cases._case import Case
from cases._decode_peer import NAME, import_peer, is_installed

BENCH = Path(__file__).resolve().parents[1]
BLOCKS = (100, 500, 10_000)  # the original's default in functions, one between, and in classes
SAMPLE = 0.01  # of the rows with spikes, for the error against exact mode


def packages():
    """The two libraries by the same module names."""
    found = {"ours": "tessera.decode"}
    if is_installed():
        found["peer"] = import_peer()
    return found


def model_of(package, name, data, environment=None, **settings):
    """A ready-made model, fitted. The original's rates divide by duration times frequency; with
    half a sample more than there are it divides by the number of samples, as we do."""
    models = importlib.import_module(f"{package}.models")
    if not hasattr(models, name):
        models = importlib.import_module(f"{package}.models.base")
    if environment is None:
        module = importlib.import_module(f"{package}.environment")
        environment = module.Environment(place_bin_size=data.bin_size)
    n = len(data.position_time)
    model = getattr(models, name)(
        environments=environment,
        sampling_frequency=(n + 0.5) / np.ptp(data.position_time),
        **settings)
    return model.fit(data.position_time, data.position, data.encoding_times, data.encoding_marks)


class Prepared:
    """Fitted models of both sides, and calls of one method of them."""

    def __init__(self, data, name, method, position_std=6.0, blocks=BLOCKS, **settings):
        self.data, self.method, self.settings = data, method, settings
        self.name, self.algorithm = name, {"position_std": position_std, "waveform_std": 24.0}
        self.models = {}
        self.block, self.peer_first_s = None, None
        if "peer" in packages():
            self.peer_model = self.best_block(blocks)

    def fit(self, side, block=None, **more):
        algorithm = dict(self.algorithm)
        if side == "peer":
            algorithm.update(block_size=block, disable_progress_bar=True)
        settings = self.settings.get(side, {})
        return model_of(packages()[side], self.name, self.data,
                        clusterless_algorithm_params=algorithm, **settings, **more)

    def call(self, model):
        d = self.data
        if self.method == "predict":
            return model.predict(d.decoding_times, d.decoding_marks, d.time)
        return model.compute_log_likelihood(d.time, d.time, d.decoding_position, d.decoding_times,
                                            d.decoding_marks)

    def values(self, result):
        if self.method == "predict":
            return np.asarray(result["acausal_posterior"])
        return np.asarray(result)

    def best_block(self, blocks):
        """Fit the peer with every block size; keep the fastest second call."""
        best = None
        for block in blocks:
            start = time.perf_counter()
            model = self.fit("peer", block)
            self.values(self.call(model))
            first = took = time.perf_counter() - start
            if len(blocks) > 1:
                start = time.perf_counter()
                self.values(self.call(model))
                took = time.perf_counter() - start
            if best is None or took < best[0]:
                best = took, model, block
            self.peer_first_s = first if self.peer_first_s is None else self.peer_first_s
        self.block = best[2]
        return best[1]

    def ours(self, threads):
        if threads not in self.models:
            self.models[threads] = self.fit("ours", threads=threads)
        return self.values(self.call(self.models[threads]))

    def peer(self):
        return self.values(self.call(self.peer_model))

    def pairs(self):
        """Decoding times encoding spikes."""
        d = self.data
        return float(sum(len(a) * len(b) for a, b in zip(d.encoding_times, d.decoding_times)))

    def error_to_exact(self):
        """Largest difference of a likelihood to exact mode, on a sample of rows with spikes."""
        d = self.data
        rng = np.random.default_rng(0)
        some = [np.sort(rng.choice(len(t), max(1, int(SAMPLE * len(t))), replace=False))
                for t in d.decoding_times]
        given = ([t[k] for t, k in zip(d.decoding_times, some)],
                 [m[k] for m, k in zip(d.decoding_marks, some)])
        found = [self.fit("ours", mode=mode).compute_log_likelihood(
            d.time, d.time, d.decoding_position, *given) for mode in ("fast", "exact")]
        return float(np.max(np.abs(np.asarray(found[0], float) - np.asarray(found[1], float))))


def likelihood_error(ours, theirs):
    """1 is the agreement asked of implementations: 1e-5 + 1e-4 |theirs|."""
    ours = ours.reshape(theirs.shape).astype(float)
    return float(np.max(np.abs(ours - theirs) / (1e-5 + 1e-4 * np.abs(theirs.astype(float)))))


def posterior_error(ours, theirs):
    return float(np.nanmax(np.abs(ours - theirs.reshape(ours.shape))))


def likelihood_more(prepared, threads, ours_s):
    found = {"error to exact": prepared.error_to_exact()}
    if ours_s:
        found["pairs/s"] = prepared.pairs() / ours_s
    if prepared.block:
        found["peer block"] = prepared.block
        found["peer's first fit and call s"] = prepared.peer_first_s
    return found


def likelihood_case(name, make, n_bin, sizes, **settings):
    return Case(
        name=f"likelihood-{name}",
        sizes={**sizes, "n_bin": n_bin},
        peer_name=NAME,
        tolerance=1.0,
        make=lambda: Prepared(make(), "ClusterlessDecoder", "likelihood", **settings),
        ours=Prepared.ours,
        peer=Prepared.peer,
        error=likelihood_error,
        flop=2.0 * n_bin * sizes["n_encoding"] * sizes["n_decoding"] * sizes["n_electrode"],
        more=likelihood_more,
        all_threads_only=True,
    )


def local_model(package):
    """Settings of a detector whose only state is Local."""
    transitions = importlib.import_module(f"{package}.continuous_state_transitions")
    discrete = importlib.import_module(f"{package}.discrete_state_transitions")
    initial = importlib.import_module(f"{package}.initial_conditions")
    observation = importlib.import_module(f"{package}.observation_models")
    return {
        "discrete_initial_conditions": np.ones(1),
        "continuous_initial_conditions_types": [initial.UniformInitialConditions()],
        "discrete_transition_type": discrete.DiscreteStationaryDiagonal(np.ones(1)),
        "discrete_transition_concentration": 1.0,
        "discrete_transition_stickiness": np.zeros(1),
        "discrete_transition_regularization": 1e-10,
        "continuous_transition_types": [[transitions.Discrete()]],
        "observation_models": [observation.ObservationModel(is_local=True)],
        "state_names": ["Local"],
    }


def local_case():
    sizes = {"n_electrode": 2, "n_encoding": 4000, "n_decoding": 1000, "n_time": 20_000}

    def make():
        data = simulate.line(200, sizes["n_encoding"], sizes["n_decoding"], sizes["n_time"],
                             n_sample=40_000)
        return Prepared(data, "ClusterlessDetector", "likelihood", blocks=(100, 1000),
                        **{side: local_model(package) for side, package in packages().items()})

    return Case(
        name="local", sizes=sizes, peer_name=NAME, tolerance=1.0, make=make, ours=Prepared.ours,
        peer=Prepared.peer, error=likelihood_error, more=likelihood_more, all_threads_only=True)


def hmm_case():
    """Few spikes, many rows: the filter and the smoother are what takes time."""
    sizes = {"n_state_bin": 1448, "n_time": 1000}

    def make():
        data = simulate.w_maze(400, 200, sizes["n_time"])
        return Prepared(data, "ContFragClusterlessClassifier", "predict", blocks=(10_000,))

    return Case(
        name="hmm-1448", sizes=sizes, peer_name=NAME, tolerance=2e-5, make=make,
        ours=Prepared.ours, peer=Prepared.peer, error=posterior_error,
        more=lambda prepared, threads, ours_s: {"us per row": ours_s / sizes["n_time"] * 1e6}
        if ours_s else {}, all_threads_only=True)


# ---- Whole predicts of the original's own profiling sizes


def profiling_sizes(size):
    names = ("n_sample", "n_time", "n_electrode", "n_encoding", "n_decoding", "n_bin")
    return dict(zip(names, simulate.PROFILING[size]))


@functools.cache
def profiling_prepared(size):
    return Prepared(simulate.profiling(size), "ContFragClusterlessClassifier", "predict",
                    position_std=12.5**0.5, blocks=(10_000,))


def whole_case(size):
    """Warm predict of a fitted model. Every electrode's shape is compiled anew by the original, so
    a search over blocks would take minutes; 10 000 is its default and as fast as 500."""
    return Case(
        name=size, sizes=profiling_sizes(size), peer_name=NAME, tolerance=2e-5,
        make=lambda: profiling_prepared(size), ours=Prepared.ours,
        peer=Prepared.peer, error=posterior_error, more=likelihood_more, all_threads_only=True)


FIRST_CALL = """
import json, sys, time
sys.path.insert(0, {bench!r})
from cases import decode
side, size, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = decode.simulate.profiling(size)
import pandas, xarray  # what both keep results in; neither is charged for it
begin = time.perf_counter()
package = decode.packages()[side] if side == "peer" else "tessera.decode"
more = {{}} if side == "peer" else {{"threads": threads}}
algorithm = {{"position_std": 12.5**0.5, "waveform_std": 24.0}}
if side == "peer":
    algorithm.update(block_size=10_000, disable_progress_bar=True)
model = decode.model_of(package, "ContFragClusterlessClassifier", data,
                        clusterless_algorithm_params=algorithm, **more)
result = model.predict(data.decoding_times, data.decoding_marks, data.time)
result["acausal_posterior"]
print(json.dumps(time.perf_counter() - begin))
"""


def first_call_seconds(side, size, threads):
    """Import, fit and predict in a process that has done nothing before."""
    script = FIRST_CALL.format(bench=str(BENCH))
    command = [sys.executable, "-W", "ignore", "-c", script, side, size, str(threads)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.strip().splitlines()[-1])


def first_call_case(size, fresh):
    """The first fit and predict of a process. The original takes minutes to compile `realistic`:
    its time is then what the warm case above saw at first, without the import (fresh false)."""
    def times(data, threads):
        peer = None
        if is_installed():
            peer = (first_call_seconds("peer", size, threads) if fresh
                    else profiling_prepared(size).peer_first_s)
        return first_call_seconds("ours", size, threads), peer

    return Case(
        name=f"first-call-{size}", sizes=profiling_sizes(size), peer_name=NAME, tolerance=0.0,
        make=lambda: None, ours=lambda data, threads: None, peer=lambda data: None,
        error=lambda ours, theirs: 0.0, times=times, all_threads_only=True)


# ---- Online

BUSY = "import time\nend = time.time() + 60\nwhile time.time() < end:\n    sum(range(10000))\n"


def wait_until(moment):
    while time.perf_counter() < moment:
        pass


def online_case():
    """Latency at the end of a 6 ms bin of 40 spikes that came at their times, in real time, alone
    and with another process as busy on one of the cores."""
    sizes = {"n_electrode": 64, "n_encoding": 50_000, "n_bin": 200, "n_feature": 4,
             "spikes_per_bin": 40, "bins": 400}

    def make():
        data = simulate.line(200, sizes["n_encoding"], sizes["bins"], 2, n_sample=100_000,
                             n_electrode=sizes["n_electrode"])
        return model_of("tessera.decode", "ClusterlessDecoder", data), data

    def latencies(prepared, load):
        from tessera.decode import online

        model, data = prepared
        rng = np.random.default_rng(3)
        width = 0.006
        decoder = online.OnlineDecoder(model, bin_width=width, start=0.0)
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(load)]
        try:
            found = []
            begin = time.perf_counter()
            for k in range(sizes["bins"]):
                chosen = rng.choice(sizes["n_electrode"], sizes["spikes_per_bin"], replace=False)
                moments = (k + np.sort(rng.uniform(0, 1, len(chosen)))) * width
                for at, electrode in zip(moments, chosen):
                    wait_until(begin + at)
                    decoder.push_spike(at, int(electrode), data.decoding_marks[electrode][k])
                wait_until(begin + (k + 1) * width)
                start = time.perf_counter()
                decoder.advance((k + 1) * width)
                found.append(time.perf_counter() - start)
        finally:
            for other in others:
                other.kill()
                other.wait()
        return np.array(found[5:])

    def more(prepared, threads, ours_s):
        found = {}
        for word, load in (("idle", 0), ("loaded", 1)):
            ms = latencies(prepared, load) * 1e3
            for name, share in (("p50", 50), ("p99", 99), ("max", 100)):
                found[f"{word} {name} ms"] = float(np.percentile(ms, share))
        return found

    return Case(
        name="online", sizes=sizes, peer_name=None, tolerance=0.0, make=make,
        ours=lambda prepared, threads: None, peer=lambda prepared: None,
        error=lambda ours, theirs: 0.0,
        times=lambda prepared, threads: (float(np.median(latencies(prepared, 0))), None),
        more=more, all_threads_only=True)


def cases():
    day = {"n_electrode": 1, "n_encoding": 18_304, "n_decoding": 4000, "n_time": 20_000}
    wide = {**day, "n_decoding": 1500, "n_time": 4000}
    maze = {**day, "n_encoding": 20_000, "n_decoding": 2000, "n_time": 8000}

    def line(n_bin, sizes):
        return lambda: simulate.line(n_bin, sizes["n_encoding"], sizes["n_decoding"],
                                     sizes["n_time"], sizes["n_electrode"])

    return [
        likelihood_case("200", line(200, day), 200, day),
        likelihood_case("724", lambda: simulate.w_maze(maze["n_encoding"], maze["n_decoding"],
                                                       maze["n_time"]), 724, maze),
        likelihood_case("2000", line(2000, wide), 2000, wide),
        local_case(),
        hmm_case(),
        whole_case("medium"),
        whole_case("realistic"),
        first_call_case("medium", fresh=True),
        first_call_case("realistic", fresh=False),
        online_case(),
    ]
