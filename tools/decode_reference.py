"""Runs the original of decode on small random data: writes reference files, or compares with it.

    python tools/decode_reference.py check [--seed N] [--rounds N] [--case NAME]
    python tools/decode_reference.py write FOLDER [--seed N] [--case NAME]

`./dev reference decode` does the first in .venv-bench, which holds the original (non_local_detector
on JAX) and our package; the core never needs either. One script serves both libraries: a case is a
function that is given the package to use, because ours has the original's names. The original runs
in double precision where it allows it; the exceptions stand beside the tolerances below.

What the version on PyPI does differently from the rules we follow, and how the cases step around:
rates divide by int(duration * sampling_frequency) instead of the number of samples, so
sampling_frequency is chosen to make the two equal; its sorted-spikes classes leave samples that are
not for training in the occupancy, so their cases train on all; missing rows are 1 instead of 0,
which moves the evidence by 1 each; the local likelihood has no floor, so ours is told to have none
there; defaults of discrete transitions changed since, so all are given. Its filter lifts every
probability to 1e-15, which leaks through states and bins that are all but impossible and which EM
then enlarges (up to 0.005 after three iterations); later versions add 1e-15 to the denominator, and
so is the original told to do here (`later`).
"""

import argparse
import dataclasses
import importlib
import importlib.metadata
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from cases import _decode_data as simulate  # noqa: E402
from cases._decode_peer import import_peer  # noqa: E402

POSITION_STD = 6.0
WAVEFORM_STD = 24.0
KNOT_SPACING = 7.0

# Largest absolute difference, or relative to a magnitude above 1, of each kind of output.
TOLERANCES = {
    "ll": 5e-7,  # our functions return float32
    "field": 1e-10,
    "glm": 2e-3,  # two optimisers that stop at a gradient of 1e-5
    "posterior": 1e-4,  # the classes keep likelihoods of some -300 nats and the start in float32
    "evidence": 2e-4,
    "transition": 2e-5,
    "index": 0,
}


class Library:
    """The original or ours, module by module, and the options only ours has."""

    def __init__(self, package, **options):
        self.package = package
        self.options = options

    def __getattr__(self, module):
        return importlib.import_module(f"{self.package}.{module}")

    def likelihood(self, module):
        return importlib.import_module(f"{self.package}.likelihoods.{module}")


def later(u, axis=0, eps=1e-15):
    """Normalise as the original does since commit 5b9e258, whose rules we follow."""
    total = u.sum(axis=axis)
    return u / (total + eps), total


def original():
    """The original in double precision."""
    name = import_peer(double=True)
    importlib.import_module(f"{name}.core")._normalize = later
    return Library(name)


def frequency(position_time, n_sample=None):
    """A sampling frequency at which the original divides by the number of samples."""
    n = len(position_time) if n_sample is None else n_sample
    return (n + 0.5) / (position_time[-1] - position_time[0])


def track(lib):
    """A W of 6 nodes with gaps on the line; the position below follows it."""
    builder = (importlib.import_module("track_linearization")
               if lib.package == "non_local_detector" else lib.environment)
    nodes = [(0, 60), (0, 0), (40, 0), (40, 60), (80, 0), (80, 60)]
    graph = builder.make_track_graph(nodes, [(0, 1), (1, 2), (2, 3), (2, 4), (4, 5)])
    return {
        "track_graph": graph,
        "edge_order": [(0, 1), (1, 2), (3, 2), (2, 4), (4, 5)],
        "edge_spacing": [10, 0, 15, 0],
    }


def run_on_track(n, rng):
    corners = np.array([(0, 60), (0, 0), (40, 0), (40, 60), (40, 0), (80, 0), (80, 60), (80, 0),
                        (40, 0), (40, 60), (40, 0), (0, 0), (0, 60)], float)
    along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.linspace(0, 2 * along[-1], n) % along[-1]
    path = np.stack([np.interp(at, along, corners[:, i]) for i in (0, 1)], axis=1)
    return path + rng.normal(0, 0.7, path.shape)


def small(position, seed, bin_size, n_electrode=3):
    """A recording that takes the original well under a second."""
    return simulate.recording(seed, position, n_electrode, 400, 60, 160, 4, bin_size)


def on_line(seed):
    rng = np.random.default_rng(seed)
    return small(simulate.run_on_line(4000, rng.uniform(80, 160), rng), seed, 2.5)


def on_gap(seed):
    """A line with a stretch in its middle where the animal is never seen."""
    rng = np.random.default_rng(seed)
    length = rng.uniform(80, 160)
    at = simulate.run_on_line(4000, length, rng)
    half = np.where(at < length / 2, 0.0, length)
    return small(half + 0.8 * (at - half), seed, 2.5)


def on_islands(seed):
    """Two boxes in the plane that do not touch."""
    rng = np.random.default_rng(seed)
    t = np.arange(4000) / 100
    box = (t // 2) % 2
    at = np.stack([box * 34 + 8 * (1 + np.sin(2.3 * t)), box * 6 + 7 * (1 + np.cos(1.7 * t))],
                  axis=1)
    return small(at + rng.normal(0, 0.3, at.shape), seed, 4.0)


def on_plane(seed):
    rng = np.random.default_rng(seed)
    return small(simulate.run_in_w(4000, 60.0, 40.0, rng), seed, 4.0)


def on_track(seed):
    rng = np.random.default_rng(seed)
    return small(run_on_track(4000, rng), seed, 3.0)


def fitted_environment(lib, data, **track_settings):
    environment = lib.environment.Environment(place_bin_size=data.bin_size, **track_settings)
    return environment.fit_place_grid(data.position)


def clusterless(lib, data, **track_settings):
    """Likelihood functions of the clusterless KDE."""
    module = lib.likelihood("clusterless_kde")
    environment = fitted_environment(lib, data, **track_settings)

    def fit(**options):
        return module.fit_clusterless_kde_encoding_model(
            data.position_time, data.position, data.encoding_times, data.encoding_marks,
            environment, sampling_frequency=frequency(data.position_time),
            position_std=POSITION_STD, waveform_std=WAVEFORM_STD, block_size=100,
            disable_progress_bar=True, **options)

    model = fit(**lib.options)
    found = {"field/occupancy": model["occupancy"],
             "field/ground": model["summed_ground_process_intensity"]}
    for name, is_local in (("ll/non_local", False), ("ll/local", True)):
        if is_local and "floor" in lib.options:
            model = fit(**{**lib.options, "floor": "none"})
        found[name] = module.predict_clusterless_kde_log_likelihood(
            data.time, data.time, data.decoding_position, data.decoding_times,
            data.decoding_marks, is_local=is_local, **model)
    found["ll/no_spike"] = lib.likelihood("no_spike").predict_no_spike_log_likelihood(
        data.time, data.decoding_times, 0.05)
    return found


def sorted_kde(lib, data, **track_settings):
    """Likelihood functions of sorted spikes, electrodes taken for units."""
    module = lib.likelihood("sorted_spikes_kde")
    model = module.fit_sorted_spikes_kde_encoding_model(
        data.position_time, data.position, data.encoding_times,
        fitted_environment(lib, data, **track_settings),
        sampling_frequency=frequency(data.position_time), position_std=POSITION_STD,
        block_size=100, disable_progress_bar=True)
    found = {"field/fields": model["place_fields"]}
    for name, is_local in (("ll/non_local", False), ("ll/local", True)):
        found[name] = module.predict_sorted_spikes_kde_log_likelihood(
            data.time, data.time, data.decoding_position, data.decoding_times,
            is_local=is_local, **model)
    return found


def sorted_glm(lib, data):
    """The same with Poisson regression; the original's local likelihood of it does not run."""
    module = lib.likelihood("sorted_spikes_glm")
    environment = fitted_environment(lib, data)
    n = len(data.position_time)
    # As many bins as samples, each starting at a sample: spikes are counted as we count them.
    per_second = (n - 1) / np.ptp(data.position_time) * (1 + 1e-10)
    model = module.fit_sorted_spikes_glm_encoding_model(
        data.position_time, data.position, data.encoding_times, environment,
        environment.place_bin_edges_, environment.edges_, environment.is_track_interior_,
        environment.is_track_boundary_, emission_knot_spacing=KNOT_SPACING,
        sampling_frequency=per_second, disable_progress_bar=True)
    ll = module.predict_sorted_spikes_glm_log_likelihood(
        data.time, data.time, data.decoding_position, data.decoding_times,
        **{"environment": environment, **model})
    return {"glm/fields": model["place_fields"], "glm/non_local": ll}


# Discrete transitions and start of the ready-made models, as of the rules we follow.
NON_LOCAL = [[0.99, 0.005, 0.0025, 0.0025], [0.02 / 3, 0.98, 0.02 / 3, 0.02 / 3],
             [0.0175, 0.005, 0.96, 0.0175], [0.0175, 0.005, 0.0175, 0.96]]
NO_SPIKE = [[0.99, 0.005, 0.005], [1e-5, 0.9, 0.09999], [1e-5, 0.01999, 0.98]]
CLASSES = {
    "Decoder": ("{}Decoder", [[1.0]], [1.0], [0.0]),
    "ContFrag": ("ContFrag{}Classifier", [[0.98, 0.02], [0.02, 0.98]], [0.5, 0.5], [0.0, 0.0]),
    "NoSpikeContFrag": ("NoSpikeContFrag{}Classifier", NO_SPIKE, [1 / 3] * 3, [1e5, 30.0, 200.0]),
    "NonLocal": ("NonLocal{}Detector", NON_LOCAL, [1.0, 0.0, 0.0, 0.0], [1e5, 1e5, 300.0, 300.0]),
    "MultiEnvironment": ("MultiEnvironment{}Classifier", [[0.999, 0.001], [0.02, 0.98]],
                         [1.0, 0.0], [200.0, 30.0]),
}


def make_model(lib, name, data, spikes, environments, sampling_frequency, **settings):
    pattern, transition, initial, stickiness = CLASSES[name]
    algorithm = {"position_std": POSITION_STD, "block_size": 100, "disable_progress_bar": True}
    if spikes == "Clusterless":
        algorithm.update(waveform_std=WAVEFORM_STD, **lib.options)
    key = "clusterless" if spikes == "Clusterless" else "sorted_spikes"
    return getattr(lib.models, pattern.format(spikes))(
        discrete_initial_conditions=np.array(initial),
        discrete_transition_type=lib.discrete_state_transitions.DiscreteStationaryCustom(
            values=np.array(transition)),
        discrete_transition_stickiness=np.array(stickiness),
        discrete_transition_concentration=1.1,
        environments=environments,
        sampling_frequency=sampling_frequency,
        **{f"{key}_algorithm_params": algorithm}, **settings)


def outputs(result, n_missing_as_one=0):
    return {
        "posterior/acausal": np.asarray(result["acausal_posterior"]),
        "posterior/states": np.asarray(result["acausal_state_probabilities"]),
        "evidence/log": np.asarray(result.attrs["marginal_log_likelihoods"]) - n_missing_as_one,
    }


def whole(lib, name, data, spikes="Clusterless", path=False, missing=False, gaps=False,
          **track_settings):
    """fit and predict of a ready-made model."""
    n = len(data.position_time)
    is_training = np.ones(n, bool)
    if gaps:
        is_training[n // 3: n // 3 + 40] = False
        is_training[-100:] = False
    kept = data.position_time[is_training]
    environment = lib.environment.Environment(place_bin_size=data.bin_size, **track_settings)
    model = make_model(lib, name, data, spikes, environment, frequency(kept))
    marked = spikes == "Clusterless"
    encoding = (data.encoding_times, data.encoding_marks)[: 1 + marked]
    decoding = (data.decoding_times, data.decoding_marks)[: 1 + marked]
    model.fit(data.position_time, data.position, *encoding, is_training=is_training)
    is_missing = np.arange(len(data.time)) % 17 == 5 if missing else None
    result = model.predict(*decoding, data.time, data.decoding_position, data.time,
                           is_missing=is_missing)
    as_one = 0
    if missing and lib.package == "non_local_detector":
        as_one = int(is_missing.sum())
    found = outputs(result, as_one)
    if path:
        sequence = model.most_likely_sequence(data.time, data.decoding_position, *decoding,
                                              data.time)
        found["index/state"] = np.asarray(sequence["state"]).astype(str)
    return found


def two_environments(lib, data):
    """Half of the samples on one line, half on a longer one; both names are labels."""
    n = len(data.position_time)
    half = n // 2
    position = np.concatenate([data.position[:half], 1.3 * data.position[half:]])
    labels = np.repeat(["env1", "env2"], [half, n - half])
    environments = [lib.environment.Environment(environment_name=name,
                                                place_bin_size=data.bin_size)
                    for name in ("env1", "env2")]
    model = make_model(lib, "MultiEnvironment", data, "Clusterless", environments,
                       frequency(data.position_time[:half]))
    model.fit(data.position_time, position, data.encoding_times, data.encoding_marks,
              environment_labels=labels)
    return outputs(model.predict(data.decoding_times, data.decoding_marks, data.time))


def two_groups(lib, data):
    """Two encoding groups (say, two directions) in one environment."""
    n = len(data.position_time)
    half = n // 2
    observation = lib.observation_models.ObservationModel
    model = make_model(
        lib, "ContFrag", data, "Clusterless",
        lib.environment.Environment(place_bin_size=data.bin_size),
        frequency(data.position_time[:half]),
        observation_models=[observation(encoding_group="out"), observation(encoding_group="in")],
        state_names=["Outbound", "Inbound"])
    model.fit(data.position_time, data.position, data.encoding_times, data.encoding_marks,
              encoding_group_labels=np.repeat(["out", "in"], [half, n - half]))
    return outputs(model.predict(data.decoding_times, data.decoding_marks, data.time))


def em(lib, name, data, spikes="Clusterless", missing=False, gaps=False, **track_settings):
    """Three iterations of EM."""
    ours = lib.package != "non_local_detector"
    place = {"place_bin_size": data.bin_size, **track_settings}
    time = np.concatenate([data.position_time, data.time])
    position = np.concatenate([data.position, data.decoding_position])
    n = len(data.position_time) if spikes == "Clusterless" else len(time)
    is_training = np.arange(len(time)) < n
    if gaps:
        is_training[n // 3: n // 3 + 40] = False
    labels = {}
    environments = lib.environment.Environment(**place)
    kept = time[is_training]
    if name == "MultiEnvironment":
        names = np.array(["env1", "env2"])
        environments = [lib.environment.Environment(environment_name=each, **place)
                        for each in names]
        half = len(kept) // 2
        labels["environment_labels"] = names[(np.arange(len(time)) >= half).astype(int)]
        kept = kept[:half]
    model = make_model(lib, name, data, spikes, environments, frequency(kept),
                       **({"frozen_discrete_transition_rows": ()} if ours and name == "NonLocal"
                          else {}))
    times = [np.concatenate(pair) for pair in zip(data.encoding_times, data.decoding_times)]
    marks = [np.concatenate(pair) for pair in zip(data.encoding_marks, data.decoding_marks)]
    given = (times, marks)[: 1 + (spikes == "Clusterless")]
    is_missing = np.arange(len(data.time)) % 17 == 5 if missing else None
    result = model.estimate_parameters(
        time, position, *given, data.time, is_missing=is_missing, is_training=is_training,
        max_iter=3, tolerance=0.0, **labels,
        **({"estimate_encoding_model": False} if ours else {}))
    as_one = 0 if ours or not missing else int(is_missing.sum())
    found = outputs(result, as_one)
    found["posterior/acausal"] = found["posterior/acausal"][::8]  # files stay small
    return {**found, "transition/discrete": model.discrete_state_transitions_,
            "transition/initial": model.initial_conditions_}


# Name: where the data come from, and what is made of them by either library.
CASES = {
    "clusterless-line": (on_line, clusterless),
    "clusterless-plane": (on_plane, clusterless),
    "clusterless-track": (on_track, lambda lib, data: clusterless(lib, data, **track(lib))),
    "sorted-kde-line": (on_line, sorted_kde),
    "sorted-kde-plane": (on_plane, sorted_kde),
    "sorted-kde-track": (on_track, lambda lib, data: sorted_kde(lib, data, **track(lib))),
    "sorted-glm-line": (on_line, sorted_glm),
    "sorted-glm-plane": (on_plane, sorted_glm),
    "decoder": (on_line, lambda lib, data: whole(lib, "Decoder", data, path=True)),
    "decoder-plane": (on_plane, lambda lib, data: whole(lib, "Decoder", data, path=True)),
    "decoder-sorted": (on_line, lambda lib, data: whole(lib, "Decoder", data, "SortedSpikes")),
    "cont-frag": (on_line, lambda lib, data: whole(lib, "ContFrag", data, path=True,
                                                   missing=True)),
    "cont-frag-plane": (on_plane, lambda lib, data: whole(lib, "ContFrag", data, gaps=True)),
    "cont-frag-track": (on_track, lambda lib, data: whole(lib, "ContFrag", data, path=True,
                                                          **track(lib))),
    "cont-frag-sorted": (on_line, lambda lib, data: whole(lib, "ContFrag", data, "SortedSpikes",
                                                          missing=True)),
    "no-spike": (on_line, lambda lib, data: whole(lib, "NoSpikeContFrag", data, path=True)),
    "no-spike-sorted": (on_line, lambda lib, data: whole(lib, "NoSpikeContFrag", data,
                                                         "SortedSpikes")),
    "non-local": (on_line, lambda lib, data: whole(lib, "NonLocal", data, path=True)),
    "non-local-plane": (on_plane, lambda lib, data: whole(lib, "NonLocal", data)),
    "non-local-track": (on_track, lambda lib, data: whole(lib, "NonLocal", data, **track(lib))),
    "non-local-sorted": (on_line, lambda lib, data: whole(lib, "NonLocal", data,
                                                          "SortedSpikes")),
    "multi-environment": (on_line, two_environments),
    "encoding-groups": (on_line, two_groups),
    "em-cont-frag": (on_line, lambda lib, data: em(lib, "ContFrag", data)),
    "em-non-local": (on_line, lambda lib, data: em(lib, "NonLocal", data)),
    "em-sorted": (on_line, lambda lib, data: em(lib, "ContFrag", data, "SortedSpikes")),
    "em-gap": (on_gap, lambda lib, data: em(lib, "ContFrag", data, missing=True, gaps=True)),
    "em-plane": (on_plane, lambda lib, data: em(lib, "NoSpikeContFrag", data, missing=True)),
    "em-non-local-plane": (on_plane, lambda lib, data: em(lib, "NonLocal", data)),
    "em-islands": (on_islands, lambda lib, data: em(lib, "ContFrag", data)),
    "em-track": (on_track, lambda lib, data: em(lib, "NonLocal", data, missing=True, gaps=True,
                                                **track(lib))),
    "em-decoder-track": (on_track, lambda lib, data: em(lib, "Decoder", data, **track(lib))),
    "em-environments": (on_gap, lambda lib, data: em(lib, "MultiEnvironment", data)),
    "em-sorted-plane": (on_plane, lambda lib, data: em(lib, "NonLocal", data, "SortedSpikes")),
    "em-sorted-track": (on_track, lambda lib, data: em(lib, "NoSpikeContFrag", data,
                                                       "SortedSpikes", missing=True, **track(lib))),
}
# write() makes these unless told otherwise.
STORED = ("sorted-kde-line", "sorted-glm-line", "cont-frag", "non-local", "em-gap", "em-plane",
          "em-track", "em-environments", "em-sorted-plane")


def run(lib, name, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {key: np.squeeze(np.asarray(value))
                for key, value in CASES[name][1](lib, data).items()}


def packed(data):
    """A recording as plain arrays."""
    found = {}
    for name, value in dataclasses.asdict(data).items():
        if isinstance(value, list):
            found.update({f"in/{name}/{e}": array for e, array in enumerate(value)})
        else:
            found[f"in/{name}"] = value
    return found


def unpacked(file):
    """The recording of a file that write() made."""
    values = {}
    for key in file:
        if key.startswith("in/"):
            name, *electrode = key[3:].split("/")
            if electrode:
                values.setdefault(name, []).append(file[key])
            else:
                values[name] = file[key][()]
    return simulate.Recording(**values)


def difference(ours, theirs):
    """Largest difference, relative where the magnitude is above 1; NaN must meet NaN."""
    if ours.shape != theirs.shape:
        return np.inf
    if ours.dtype.kind not in "fiub":
        return float(np.mean(ours != theirs))
    hidden = np.isnan(theirs)
    if not np.array_equal(hidden, np.isnan(ours)):
        return np.inf
    if hidden.all():
        return 0.0
    ours, theirs = ours[~hidden], theirs[~hidden]
    return float(np.max(np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))))


def compare(name, seed, ours, theirs):
    """Print one line per output; return how many are too far away."""
    bad = 0
    for key, want in theirs.items():
        tolerance = TOLERANCES[key.split("/")[0]]
        found = difference(ours[key], want)
        ok = found <= tolerance
        bad += not ok
        print(f"{name:<20} {seed:>6} {key:<20} {found:>9.2g} {tolerance:>9.2g}"
              f"  {'ok' if ok else 'DIFFERS'}", flush=True)
    return bad


def versions():
    names = ("non_local_detector", "jax", "numpy")
    return np.array([f"{name} {importlib.metadata.version(name)}" for name in names])


def names_of(args):
    if args.case and args.case not in CASES:
        sys.exit(f"no case {args.case}; there are: {', '.join(CASES)}")
    return [args.case] if args.case else None


def check(args):
    theirs = original()
    ours = Library("tessera.decode", mode="exact", floor="absolute")
    print(f"{'case':<20} {'seed':>6} {'output':<20} {'error':>9} {'allowed':>9}")
    bad = 0
    for seed in range(args.seed, args.seed + args.rounds):
        for name in names_of(args) or CASES:
            data = CASES[name][0](seed)
            try:
                found = run(ours, name, data)
            except Exception as error:  # a bug of ours is a row of the table
                print(f"{name:<20} {seed:>6} {type(error).__name__}: {error}")
                bad += 1
                continue
            bad += compare(name, seed, found, run(theirs, name, data))
    print(f"{bad} outputs differ; {', '.join(versions())}")
    return bad > 0


def write(args):
    theirs = original()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in names_of(args) or STORED:
        path = args.folder / f"original_{name.replace('-', '_')}.npz"
        data = CASES[name][0](args.seed)
        outputs = {f"out/{key}": value for key, value in run(theirs, name, data).items()}
        np.savez_compressed(path, versions=versions(), **packed(data), **outputs)
        print(path)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, act in (("check", check), ("write", write)):
        sub = verbs.add_parser(verb, help=f"{verb} the outputs of the original")
        sub.set_defaults(act=act)
        sub.add_argument("--seed", type=int, default=1)
        sub.add_argument("--case", help="one case instead of all")
    verbs.choices["check"].add_argument("--rounds", type=int, default=1, help="seeds to try")
    verbs.choices["write"].add_argument("folder", type=Path)
    args = parser.parse_args()
    return args.act(args)


if __name__ == "__main__":
    sys.exit(main())
