"""decode against its original, non_local_detector on JAX: likelihoods, state space, whole predicts.

Both sides are called the way users call them: a fitted model of the original's classes, then
compute_log_likelihood() or predict(). Both stay in float32, their default. The original's speed
depends on its block size; it is searched where that is cheap and named in the row. Where its
package does not import, its formulas on JAX take its place, and the row says so.
"""

import copy
import dataclasses
import functools
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from cases import _decode_data as simulate
from cases import _decode_events as events
from cases import _decode_formulas as formulas
from cases import _decode_online, _decode_streamed
from cases._case import Case
from cases._decode_peer import NAME, device, kind

BENCH = Path(__file__).resolve().parents[1]
BLOCKS = (100, 500, 10_000)  # the original's default in functions, one between, and in classes
SAMPLE = 0.01  # of the rows with spikes, for the error against exact mode


def packages():
    """The two libraries by the same module names."""
    return {"ours": "tessera.decode", **({"peer": NAME} if kind() == "package" else {})}


def peer_of(case):
    """The case with the peer that this machine has. The formulas know no fit and no Local."""
    if case.peer_name is None or kind() == "package":
        return case
    if kind() == "formulas" and not case.name.startswith(("first-call", "encode", "local")):
        return dataclasses.replace(case, peer_name="jax", peer_label=formulas.LABEL)
    return dataclasses.replace(case, peer_name=None)


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

    def __init__(self, data, name, method, position_std=6.0, waveform_std=24.0, blocks=BLOCKS,
                 **settings):
        self.data, self.method, self.settings = data, method, settings
        self.name = name
        self.algorithm = {"position_std": position_std, "waveform_std": waveform_std}
        self.models = {}
        self.block, self.peer_first_s = None, None
        if kind() == "package" or kind() and name != "ClusterlessDetector":
            self.peer_model = self.best_block(blocks)

    def as_method(self, method):
        """The same models, called otherwise."""
        other = copy.copy(self)
        other.method = method
        return other

    def fit(self, side, block=None, **more):
        algorithm = dict(self.algorithm)
        if side == "peer" and kind() == "formulas":
            return formulas.Formulas(self.fit("ours"), self.data, **algorithm, block=block)
        if side == "peer":
            algorithm.update(block_size=block, disable_progress_bar=True)
        settings = self.settings.get(side, {})
        return model_of(packages()[side], self.name, self.data,
                        clusterless_algorithm_params=algorithm, **settings, **more)

    def call(self, model):
        d = self.data
        if isinstance(model, formulas.Formulas):
            return model.posterior() if self.method == "predict" else model.columns()
        if self.method == "predict":
            return model.predict(d.decoding_times, d.decoding_marks, d.time)
        if self.method == "encode":
            return model.fit(d.position_time, d.position, d.encoding_times, d.encoding_marks)
        return model.compute_log_likelihood(d.time, d.time, d.decoding_position, d.decoding_times,
                                            d.decoding_marks)

    def values(self, result):
        if isinstance(result, dict) or hasattr(result, "data_vars"):
            return np.asarray(result["acausal_posterior"])
        if self.method == "encode":
            (found,) = result.encoding_model_.values()
            return np.concatenate([np.asarray(found[name]).ravel() for name in
                                   ("occupancy", "summed_ground_process_intensity")])
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


def posterior_tolerance():
    """JAX multiplies in TF32 on a GPU unless told otherwise, and the original does not tell it."""
    return 2e-5 if device() == "cpu" else 1e-3


def posterior_error(ours, theirs):
    return float(np.nanmax(np.abs(ours - theirs.reshape(ours.shape))))


def facts():
    """Where ours runs, and why there is no peer."""
    found = {} if device() == "cpu" else {"device": device()}
    return found if kind() else {**found, "no peer": "no JAX that reaches the device"}


def likelihood_more(prepared, threads, ours_s):
    found = {"error to exact": prepared.error_to_exact(), **facts()}
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


def features_case(n_feature):
    """Marks of more features than a tetrode has, in units of their bandwidth: densities per uV^8
    are below the original's least number, 1e-15."""
    sizes = {"n_electrode": 1, "n_encoding": 18_304, "n_decoding": 4000, "n_time": 20_000,
             "n_feature": n_feature}

    def make():
        data = simulate.line(200, sizes["n_encoding"], sizes["n_decoding"], sizes["n_time"],
                             n_electrode=1, n_feature=n_feature)
        return dataclasses.replace(data, encoding_marks=[m / 24 for m in data.encoding_marks],
                                   decoding_marks=[m / 24 for m in data.decoding_marks])

    return likelihood_case(f"200-d{n_feature}", make, 200, sizes, waveform_std=1.0)


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
        name="hmm-1448", sizes=sizes, peer_name=NAME, tolerance=posterior_tolerance(), make=make,
        ours=Prepared.ours, peer=Prepared.peer, error=posterior_error,
        more=lambda prepared, threads, ours_s: {"us per row": ours_s / sizes["n_time"] * 1e6}
        if ours_s else {}, all_threads_only=True)


def best_seconds(call):
    """The best of several: what others take of the processor only adds."""
    found = []
    while len(found) < 3 or sum(found) < 5 and len(found) < 15:
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return min(found)


def step_case(name, what, make_data):
    """What a step of filter and smoother takes: many rows less few rows, of the same model."""
    few, many = 1000, 3000

    def make():
        data = [make_data(n) for n in (few, many)]
        return [Prepared(d, "ContFragClusterlessClassifier", "predict", blocks=(10_000,))
                for d in data]

    def times(prepared, threads):
        def step(call):
            short, long = (best_seconds(lambda p=p: call(p)) for p in prepared)
            return (long - short) / (many - few)

        return step(lambda p: p.ours(threads)), step(Prepared.peer) if kind() else None

    return Case(
        name=name, what=f"filter and smoother, two states of {what}; best of several",
        sizes={"n_state_bin": 1448}, peer_name=NAME, tolerance=posterior_tolerance(), make=make,
        ours=lambda prepared, threads: prepared[0].ours(threads),
        peer=lambda prepared: prepared[0].peer(), error=posterior_error, times=times,
        more=lambda prepared, threads, ours_s: {"us per step": ours_s * 1e6, **facts()}
        if ours_s else {})


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
        name=size, sizes=profiling_sizes(size), peer_name=NAME, tolerance=posterior_tolerance(),
        make=lambda: profiling_prepared(size), ours=Prepared.ours,
        peer=Prepared.peer, error=posterior_error, more=likelihood_more, all_threads_only=True)


def encoding_error(ours, theirs):
    """1 is 1e-4 of occupancy and intensities."""
    return float(np.max(np.abs(ours - theirs) / (1e-12 + 1e-4 * np.abs(theirs.astype(float)))))


def part_case(size, method):
    """Of the whole, fit() or the likelihood alone."""
    is_fit = method == "encode"
    return Case(
        name=f"{'encode' if is_fit else 'decode'}-{size}", sizes=profiling_sizes(size),
        peer_name=NAME, tolerance=1.0,
        make=lambda: profiling_prepared(size).as_method(method), ours=Prepared.ours,
        peer=Prepared.peer, error=encoding_error if is_fit else likelihood_error,
        more=lambda prepared, threads, ours_s: facts(), all_threads_only=True)


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
        if kind() == "package":
            peer = (first_call_seconds("peer", size, threads) if fresh
                    else profiling_prepared(size).peer_first_s)
        return first_call_seconds("ours", size, threads), peer

    return Case(
        name=f"first-call-{size}", sizes=profiling_sizes(size), peer_name=NAME, tolerance=0.0,
        make=lambda: None, ours=lambda data, threads: None, peer=lambda data: None,
        error=lambda ours, theirs: 0.0, times=times, all_threads_only=True)


def cases():
    day = {"n_electrode": 1, "n_encoding": 18_304, "n_decoding": 4000, "n_time": 20_000}
    wide = {**day, "n_decoding": 1500, "n_time": 4000}
    maze = {**day, "n_encoding": 20_000, "n_decoding": 2000, "n_time": 8000}

    def line(n_bin, sizes):
        return lambda: simulate.line(n_bin, sizes["n_encoding"], sizes["n_decoding"],
                                     sizes["n_time"], sizes["n_electrode"])

    found = [
        likelihood_case("200", line(200, day), 200, day),
        likelihood_case("724", lambda: simulate.w_maze(maze["n_encoding"], maze["n_decoding"],
                                                       maze["n_time"]), 724, maze),
        likelihood_case("2000", line(2000, wide), 2000, wide),
        features_case(8),
        features_case(10),
        local_case(),
        hmm_case(),
        step_case("step-1448", "724 places of a W-maze", lambda n: simulate.w_maze(400, 100, n)),
        step_case("step-1448-line", "724 places of a line, of which a step reaches 270",
                  lambda n: simulate.line(724, 400, 100, n, n_electrode=1)),
    ]
    for size in simulate.PROFILING:
        found += [part_case(size, "encode"), part_case(size, "likelihood"), whole_case(size)]
    found += [first_call_case("medium", fresh=True), first_call_case("realistic", fresh=False)]
    found += [*_decode_online.cases(), *_decode_streamed.cases()]
    return [*(peer_of(case) for case in found), events.case()]
