"""Runs the original of autoreject on small random data: writes references, or compares with it.

    python tools/autoreject_reference.py check [--seed N] [--rounds N] [--case NAME]
    python tools/autoreject_reference.py write FOLDER [--seed N] [--case NAME]

`./dev reference autoreject` does the first in .venv-bench, which holds the original (autoreject and
MNE) and our package; the core never needs either. One script serves both libraries: a case is a
function that is given the package to use, because ours has the original's names.

Decisions (labels, bad epochs, consensus, n_interpolate, bad channels) must be equal. Thresholds of
the default search depend on the rounding of the original's linear algebra in a few channels in a
hundred: all rounds together must have 97 in 100 equal. Where a threshold of a data set differs,
what follows from it is not compared and the row says so.
"""

import argparse
import importlib
import importlib.metadata
import os
import platform
import sys
import warnings
from pathlib import Path

# NumPy's vectorised sorts order equal values differently from processor to processor, and with
# them the original's repairs; the plain one is the same everywhere.
if platform.machine() in ("x86_64", "AMD64"):
    os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4 X86_V3 AVX512_ICL AVX512_SPR")

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from cases import _autoreject_data as simulate  # noqa: E402

HELMET = ROOT / "tests/golden/autoreject/ar06_meg.npz"

# Largest difference relative to the largest magnitude; decisions must be equal.
TOLERANCES = {"exact": 0.0, "threshold": 1e-9, "loss": 1e-10, "data": 1e-9, "corr": 1e-9,
              "mapped": 1e-8}
EQUAL_THRESHOLDS = 0.97


def eeg_epochs(x, position, bads=()):
    import mne

    names = [f"E{i + 1:02d}" for i in range(x.shape[1])]
    info = mne.create_info(names, simulate.SAMPLING_HZ, "eeg", verbose=False)
    montage = mne.channels.make_dig_montage(dict(zip(names, position)), coord_frame="head")
    info.set_montage(montage, verbose=False)
    info["bads"] = list(bads)
    return mne.EpochsArray(x, info, verbose=False)


def meg_epochs(seed, n_epoch=24, n_time=24):
    """A small helmet of gradiometers and magnetometers over a few dipole-like fields."""
    import mne

    rng = np.random.default_rng(seed)
    with np.load(HELMET) as file:
        loc, coil, types = file["a_loc"], file["a_coil_type"], file["a_type"]
        transform = file["dev_head_t"]
    types = [t.decode() for t in types]
    names = [f"M{i:03d}" for i in range(len(loc))]
    info = mne.create_info(names, 200.0, types, verbose=False)
    for channel, where, kind in zip(info["chs"], loc, coil):
        channel["loc"] = np.array(where, float)
        channel["coil_type"] = int(kind)
    with info._unlock():
        info["dev_head_t"] = mne.transforms.Transform("meg", "head", transform)
    scale = np.where(np.array(types) == "grad", 1e-12, 1e-13)[:, None]
    field = np.exp(4 * (loc[:, :3] / 0.1 @ rng.standard_normal((3, 6)) / 2 - 1))
    x = np.stack([scale * (5 * field @ simulate.pink(rng, (6, n_time))
                           + 0.3 * rng.standard_normal((len(loc), n_time)))
                  for _ in range(n_epoch)])
    for e, c in zip(*np.nonzero(rng.random(x.shape[:2]) < 0.04)):
        x[e, c] += scale[c] * 40 * rng.standard_normal(n_time)
    x[rng.integers(n_epoch)] *= 5
    return mne.EpochsArray(x, info, verbose=False)


def plan_data(_seed):
    """30 x 32 x 256 by NumPy's legacy generator: the data of the retrocompatibility tests."""
    rng = np.random.RandomState(42)
    angle = np.arange(32) * 2 * np.pi / 32
    polar = np.linspace(np.pi / 4, 3 * np.pi / 4, 32)
    position = 0.09 * np.stack([np.sin(polar) * np.cos(angle), np.sin(polar) * np.sin(angle),
                                np.cos(polar)], axis=1)
    x = rng.randn(30, 32, 256) * 20e-6 + rng.randn(30, 1, 256) * 5e-6
    x[[5, 12, 22]] *= 3
    for (e, c), size in {(3, 10): 100e-6, (8, 5): 80e-6, (15, 20): 90e-6, (18, 15): 120e-6}.items():
        x[e, c] += rng.randn(256) * size
    return eeg_epochs(x, position)


def eeg(n_epoch, n_chan, n_time):
    def make(seed):
        return eeg_epochs(*simulate.epochs(n_epoch, n_chan, n_time, seed))
    return make


def with_bads(seed):
    x, position = simulate.epochs(37, 22, 45, seed)
    return eeg_epochs(x, position, bads=["E05", "E17"])


def flat_parts(seed):
    """Clipped, quantised and partly flat channels: ties everywhere."""
    x, position = simulate.epochs(36, 16, 50, seed)
    x = np.round(x / 5e-6) * 5e-6
    x[::3, 4] = 0
    np.clip(x[:, 7], -20e-6, 20e-6, out=x[:, 7])
    return eeg_epochs(x, position)


def thresholds(lib, epochs):
    found = {}
    for augment in (True, False):
        for method in ("bayesian_optimization", "random_search"):
            values = lib.compute_thresholds(epochs, method=method, random_state=42,
                                            augment=augment, verbose=False)
            kind = "exact" if method == "random_search" and not augment else "threshold"
            key = f"{kind}/{method}{'' if augment else '_noaug'}"
            found[key] = np.array([values[name] for name in sorted(values)])
    return found


def fit(lib, epochs, **settings):
    model = lib.AutoReject(random_state=42, verbose=False, **settings).fit(epochs)
    log = model.get_reject_log(epochs)
    clean = model.transform(epochs)
    found = {"threshold/tau": np.array([model.threshes_[n] for n in sorted(model.threshes_)])}
    for kind in sorted(model.loss_):
        loss = np.asarray(model.loss_[kind])
        found[f"exact/{kind}_inf"] = np.isinf(loss)
        found[f"loss/{kind}"] = np.where(np.isinf(loss), 0, loss)
        found[f"exact/{kind}_choice"] = np.array([model.consensus_[kind],
                                                  model.n_interpolate_[kind]])
    found["exact/labels"] = log.labels
    found["exact/bad_epochs"] = log.bad_epochs
    key = "mapped/clean" if "mag" in model.loss_ else "data/clean"
    found[key] = clean.get_data(copy=False)[:8]
    return found


def fit_defaults(lib, epochs):
    return fit(lib, epochs)


def fit_small_grid(lib, epochs):
    return fit(lib, epochs, n_interpolate=[1, 4], consensus=[0.2, 0.5, 0.8], cv=3)


def fit_unsorted(lib, epochs):
    return fit(lib, epochs, n_interpolate=[3, 1, 8])


def fit_meg(lib, epochs):
    return fit(lib, epochs, n_interpolate=[1, 4, 12], cv=5)


def fit_random(lib, epochs):
    return fit(lib, epochs, thresh_method="random_search", cv=4)


def fit_shuffled(lib, epochs):
    from sklearn.model_selection import KFold

    return fit(lib, epochs, cv=KFold(5, shuffle=True, random_state=3), consensus=[0.3, 0.6, 1.0],
               n_interpolate=[2, 5])


def overall(lib, epochs):
    found = lib.get_rejection_threshold(epochs, random_state=42, verbose=False)
    values = np.linspace(60e-6, 400e-6, 7)
    train, test = lib.validation_curve(epochs, param_range=values, cv=4)
    return {"threshold/eeg": np.array([found["eeg"]]), "loss/train": -np.asarray(train),
            "loss/test": -np.asarray(test)}


def ransac(lib, epochs, **settings):
    model = lib.Ransac(verbose=False, **settings).fit(epochs)
    return {"corr/corr": model.corr_, "exact/bad_log": np.asarray(model.bad_log),
            "exact/bad": np.isin(epochs.ch_names, model.bad_chs_)}


def ransac_defaults(lib, epochs):
    return ransac(lib, epochs)


def ransac_odd(lib, epochs):
    return ransac(lib, epochs, n_resample=25, random_state=42, min_channels=0.4, min_corr=0.8)


def ransac_plan(lib, epochs):
    return ransac(lib, epochs, n_resample=25, random_state=42)


def ransac_mag(lib, epochs):
    return ransac(lib, epochs.copy().pick("mag"), n_resample=10)


def interpolation(lib, epochs):
    """The repair of single epochs: four worst channels, half of the channels tolerated."""
    model = lib.AutoReject(n_interpolate=[4], consensus=[0.5], cv=3, random_state=42,
                           thresh_method="random_search", verbose=False).fit(epochs)
    clean, log = model.transform(epochs, return_log=True)
    return {"exact/labels": log.labels, "exact/bad_epochs": log.bad_epochs,
            "exact/counts": np.nansum(log.labels > 0, axis=1),
            "data/first": clean.get_data(copy=False)[:5, :10]}


# name: data of a seed, what is computed from them
CASES = {
    "thresholds": (eeg(40, 16, 60), thresholds),
    "fit": (eeg(60, 24, 80), fit_defaults),
    "fit-wide": (eeg(40, 48, 60), fit_defaults),
    "fit-bads": (with_bads, fit_unsorted),
    "fit-ties": (flat_parts, fit_random),
    "fit-shuffled": (eeg(45, 20, 50), fit_shuffled),
    "fit-meg": (meg_epochs, fit_meg),
    "overall": (eeg(50, 12, 40), overall),
    "ransac": (eeg(20, 32, 60), ransac_defaults),
    "ransac-odd": (eeg(15, 20, 50), ransac_odd),
    "ransac-mag": (meg_epochs, ransac_mag),
    "plan-thresholds": (plan_data, thresholds),
    "plan-fit": (plan_data, fit_small_grid),
    "plan-ransac": (plan_data, ransac_plan),
    "plan-interpolation": (plan_data, interpolation),
}
STORED = ("plan-thresholds", "plan-fit", "plan-ransac", "plan-interpolation", "fit-bads",
          "fit-shuffled")


def run(lib, name, epochs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {key: np.asarray(value) for key, value in CASES[name][1](lib, epochs).items()}


def difference(ours, theirs, kind):
    """Largest difference, relative to the largest magnitude; NaN must meet NaN."""
    if ours.shape != theirs.shape:
        return np.inf
    if kind == "exact":
        equal = (ours == theirs) | (np.isnan(ours.astype(float)) & np.isnan(theirs.astype(float)))
        return float(np.mean(~equal))
    hidden = ~np.isfinite(theirs)
    if not np.array_equal(hidden, ~np.isfinite(ours)):
        return np.inf
    ours, theirs = ours[~hidden], theirs[~hidden]
    if not theirs.size:
        return 0.0
    if kind == "threshold":
        return float(np.mean(np.abs(ours - theirs) > TOLERANCES[kind] * np.abs(theirs)))
    return float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1e-300))


class Tally:
    """What was compared so far."""

    def __init__(self):
        self.bad = 0
        self.thresholds = 0
        self.unequal = 0

    def compare(self, name, seed, ours, theirs):
        differs = False
        for key, want in theirs.items():
            kind = key.split("/")[0]
            found = difference(ours[key], want, kind)
            if kind == "threshold":
                self.thresholds += want.size
                self.unequal += round(found * want.size)
                verdict = "ok" if found == 0 else f"{round(found * want.size)} of {want.size}"
                differs = differs or found > 0
            elif differs:
                verdict = "not compared: a threshold differs"
            else:
                ok = found <= TOLERANCES[kind]
                self.bad += not ok
                verdict = "ok" if ok else "DIFFERS"
            print(f"{name:<16} {seed:>6} {key:<34} {found:>9.2g} {TOLERANCES[kind]:>8.1g}"
                  f"  {verdict}", flush=True)

    def ok(self):
        return not self.bad and self.unequal <= (1 - EQUAL_THRESHOLDS) * self.thresholds


def versions():
    names = ("autoreject", "mne", "scikit-learn", "numpy", "scipy")
    return np.array([f"{name} {importlib.metadata.version(name)}" for name in names])


def names_of(args):
    if args.case and args.case not in CASES:
        sys.exit(f"no case {args.case}; there are: {', '.join(CASES)}")
    return [args.case] if args.case else None


def check(args):
    theirs = importlib.import_module("autoreject")
    ours = importlib.import_module("tessera.autoreject")
    print(f"{'case':<16} {'seed':>6} {'output':<34} {'error':>9} {'allowed':>8}")
    tally = Tally()
    for seed in range(args.seed, args.seed + args.rounds):
        for name in names_of(args) or CASES:
            try:
                found = run(ours, name, CASES[name][0](seed))
            except Exception as error:  # a bug of ours is a row of the table
                print(f"{name:<16} {seed:>6} {type(error).__name__}: {error}")
                tally.bad += 1
                continue
            tally.compare(name, seed, found, run(theirs, name, CASES[name][0](seed)))
    print(f"{tally.bad} outputs differ; {tally.thresholds - tally.unequal} of {tally.thresholds} "
          f"thresholds equal; {', '.join(versions())}")
    return not tally.ok()


def described(epochs):
    """Epochs as plain arrays."""
    return {"in/data": epochs.get_data(copy=False), "in/names": np.array(epochs.ch_names),
            "in/position": np.array([c["loc"][:3] for c in epochs.info["chs"]]),
            "in/bads": np.array(epochs.info["bads"], dtype=np.str_),
            "in/sfreq": np.array(epochs.info["sfreq"])}


def write(args):
    theirs = importlib.import_module("autoreject")
    args.folder.mkdir(parents=True, exist_ok=True)
    for name in names_of(args) or STORED:
        path = args.folder / f"original_{name.replace('-', '_')}.npz"
        epochs = CASES[name][0](args.seed)
        outputs = {f"out/{key}": value for key, value in run(theirs, name, epochs).items()}
        # The data of the plan's tests are made again by the test from NumPy's frozen generator.
        inputs = {} if name.startswith("plan-") else described(epochs)
        np.savez_compressed(path, versions=versions(), **inputs, **outputs)
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
    import mne

    mne.set_log_level("ERROR")
    return args.act(args)


if __name__ == "__main__":
    sys.exit(main())
