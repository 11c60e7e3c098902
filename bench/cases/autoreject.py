"""autoreject against its original: whole fits, RANSAC, the global threshold; and peak-to-peak.

Both sides are called the way users call them, on the same MNE epochs with the same seed. The
original is run with one job and with as many as there are cores, and the faster one counts; its
fits of minutes are timed once, ours are medians of warm runs.
"""

import functools
import importlib
import math
import os
import statistics
import time
import warnings

import numpy as np

import tessera
from cases import _autoreject_components as components
from cases import _autoreject_data as simulate
from cases._case import Case

NAME = "autoreject"
SIZES = [(100, 32, 250), (300, 64, 500), (300, 128, 1000)]
SEED = 42
# The original's proposals depend on the rounding of its linear algebra: over many data sets 97 of
# 100 thresholds are equal, in a single one of 64 channels two or three may differ.
EQUAL_THRESHOLDS = 0.95


def make_array(shape, dtype):
    return np.random.default_rng(1).standard_normal(shape).astype(dtype) * 1e-5


def ptp_cases():
    return [
        Case(
            name=f"ptp-{n_epoch}x{n_chan}x{n_time}-{name}",
            sizes={"n_epoch": n_epoch, "n_chan": n_chan, "n_time": n_time, "dtype": name},
            peer_name="numpy",
            bytes_read=math.prod(shape) * np.dtype(name).itemsize,
            tolerance=0.0,  # minimum, maximum and one subtraction: nothing to round differently
            make=functools.partial(make_array, shape, name),
            ours=lambda x, threads: tessera.autoreject.ptp(x, threads=threads),
            peer=lambda x: np.ptp(x, axis=-1),
            error=lambda ours, theirs: float(np.max(np.abs(ours - theirs))),
        )
        for shape in SIZES
        for n_epoch, n_chan, n_time in [shape]
        for name in ("float64", "float32")
    ]


def median_time(run, least=5, seconds=1.0):
    times = []
    while len(times) < least or sum(times) < seconds:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
        if sum(times) > 10 and len(times) >= 3:
            break
    return statistics.median(times)


class Prepared:
    """Epochs of one size, and what the original made of them, in how many seconds."""

    def __init__(self, shape):
        import mne

        mne.set_log_level("ERROR")
        x, position = simulate.epochs(*shape, seed=1)
        names = [f"E{i + 1:03d}" for i in range(shape[1])]
        info = mne.create_info(names, simulate.SAMPLING_HZ, "eeg")
        info.set_montage(mne.channels.make_dig_montage(dict(zip(names, position)),
                                                       coord_frame="head"))
        self.epochs = mne.EpochsArray(x, info)
        self.found = {}
        self.seconds = {}

    def peer(self, what, run):
        """The faster of one job and all cores; short runs are repeated."""
        if what not in self.found:
            for jobs in (1, len(os.sched_getaffinity(0))):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    begin = time.perf_counter()
                    self.found[what] = run(self.epochs, jobs)
                    seconds = time.perf_counter() - begin
                    if seconds < 5:
                        seconds = median_time(functools.partial(run, self.epochs, jobs), least=3)
                if what not in self.seconds or seconds < self.seconds[what][0]:
                    self.seconds[what] = (seconds, jobs)
        return self.found[what]

    def peer_seconds(self, what):
        """How long the original took; None where it is not installed."""
        return self.seconds[what][0] if what in self.seconds else None

    def more(self, what):
        jobs = {"peer's jobs": self.seconds[what][1]} if what in self.seconds else {}
        return jobs | components.device_of_rows()


prepared = functools.cache(Prepared)


def peer_fit(epochs, jobs):
    original = importlib.import_module(NAME)
    return original.AutoReject(random_state=SEED, n_jobs=jobs, verbose=False).fit(epochs)


def our_fit(data, threads, search):
    ours = importlib.import_module("tessera.autoreject")
    model = ours.AutoReject(random_state=SEED, n_jobs=threads, verbose=False, search=search)
    return data, model.fit(data.epochs)


def thresholds_of(model):
    return np.array([model.threshes_[name] for name in sorted(model.threshes_)])


def compat_error(ours, theirs):
    """Share of channels with another threshold; infinite if a decision differs, or where all
    thresholds are equal a label or a loss."""
    data, model = ours
    mine, want = thresholds_of(model), thresholds_of(theirs)
    unequal = float(np.mean(np.abs(mine - want) > 1e-9 * want))
    logs = [side.get_reject_log(data.epochs) for side in (model, theirs)]
    same = (model.consensus_ == theirs.consensus_
            and model.n_interpolate_ == theirs.n_interpolate_
            and np.array_equal(logs[0].bad_epochs, logs[1].bad_epochs))
    if unequal == 0:
        same = (same and np.array_equal(logs[0].labels, logs[1].labels, equal_nan=True)
                and np.allclose(model.loss_["eeg"], theirs.loss_["eeg"], rtol=1e-10, atol=0))
    return unequal if same else math.inf


def objective(rows, splits, threshold):
    """The cross-validated error of one channel at one threshold, by its definition."""
    delta = np.ptp(rows, axis=1)
    total = 0.0
    for train, test in splits:
        keep = train[delta[train] <= threshold]
        if not len(keep):
            keep = train[delta[train] == delta[train].min()]
        miss = np.median(rows[test], axis=0) - rows[keep].mean(axis=0)
        total += np.sqrt(np.mean(miss**2))
    return total / len(splits)


def exact_error(ours, theirs):
    """How much worse our objective is than the original's in the worst channel; 0: nowhere."""
    from sklearn.model_selection import StratifiedShuffleSplit

    data, model = ours
    utils = importlib.import_module("tessera.autoreject.utils")
    x = data.epochs.get_data(copy=False)
    augmented = utils.clean_by_interp(data.epochs, verbose=False).get_data(copy=False)
    label = np.repeat([0, 1], len(x))
    splits = list(StratifiedShuffleSplit(10, test_size=0.2, random_state=SEED)
                  .split(np.zeros(len(label)), label))
    worst = 0.0
    for c, name in enumerate(data.epochs.ch_names):
        rows = np.concatenate([x[:, c], augmented[:, c]])
        mine, want = (objective(rows, splits, side.threshes_[name] * (1 + 1e-12))
                      for side in (model, theirs))
        worst = max(worst, mine / want - 1)
    return worst


def fit_case(shape, search):
    n_epoch, n_chan, n_time = shape
    exact = search == "exact"

    def times(data, threads):
        return median_time(lambda: our_fit(data, threads, search)), data.peer_seconds("fit")

    return Case(
        name=f"fit-{search}-{n_epoch}x{n_chan}x{n_time}",
        sizes={"n_epoch": n_epoch, "n_chan": n_chan, "n_time": n_time},
        peer_name=NAME,
        tolerance=1e-12 if exact else 1 - EQUAL_THRESHOLDS,
        make=functools.partial(prepared, shape),
        ours=functools.partial(our_fit, search=search),
        peer=lambda data: data.peer("fit", peer_fit),
        error=exact_error if exact else compat_error,
        times=times,
        all_threads_only=True,
        more=lambda data, threads, seconds: data.more("fit"),
    )


def peer_ransac(epochs, jobs):
    return importlib.import_module(NAME).Ransac(n_jobs=jobs, verbose=False).fit(epochs)


def our_ransac(data, threads):
    ours = importlib.import_module("tessera.autoreject")
    return ours.Ransac(n_jobs=threads, verbose=False).fit(data.epochs)


def ransac_error(ours, theirs):
    same = ours.bad_chs_ == theirs.bad_chs_ and np.array_equal(ours.bad_log, theirs.bad_log)
    return float(np.max(np.abs(ours.corr_ - theirs.corr_))) if same else math.inf


def ransac_case(shape):
    n_epoch, n_chan, n_time = shape

    def times(data, threads):
        return median_time(lambda: our_ransac(data, threads)), data.peer_seconds("ransac")

    return Case(
        name="ransac" if shape == SIZES[1] else f"ransac-{n_epoch}x{n_chan}x{n_time}",
        sizes={"n_epoch": n_epoch, "n_chan": n_chan, "n_time": n_time},
        peer_name=NAME,
        tolerance=1e-9,
        make=functools.partial(prepared, shape),
        ours=our_ransac,
        peer=lambda data: data.peer("ransac", peer_ransac),
        error=ransac_error,
        times=times,
        all_threads_only=True,
        more=lambda data, threads, seconds: data.more("ransac"),
    )


def peer_overall(epochs, jobs):
    del jobs
    return importlib.import_module(NAME).get_rejection_threshold(epochs, random_state=SEED,
                                                                 verbose=False)


def our_overall(data, threads):
    ours = importlib.import_module("tessera.autoreject")
    return ours.get_rejection_threshold(data.epochs, random_state=SEED, verbose=False)


def overall_case(shape):
    n_epoch, n_chan, n_time = shape

    def times(data, threads):
        return median_time(lambda: our_overall(data, threads)), data.peer_seconds("overall")

    return Case(
        name=f"global-{n_epoch}x{n_chan}x{n_time}",
        sizes={"n_epoch": n_epoch, "n_chan": n_chan, "n_time": n_time},
        peer_name=NAME,
        tolerance=1e-9,
        make=functools.partial(prepared, shape),
        ours=our_overall,
        peer=lambda data: data.peer("overall", peer_overall),
        error=lambda ours, theirs: abs(ours["eeg"] / theirs["eeg"] - 1),
        times=times,
        all_threads_only=True,
        more=lambda data, threads, seconds: data.more("overall"),
    )


def cases():
    whole = [make(shape) for shape in SIZES for make in (
        functools.partial(fit_case, search="exact"),
        functools.partial(fit_case, search="compat"), ransac_case)]
    parts = [make(shape, prepared, median_time) for shape in SIZES[:2] for make in (
        components.interpolation_case, components.search_case)]
    if components.device_of_rows():
        parts += [make(SIZES[2], prepared, median_time) for make in (
            components.resident_median_case, components.transfer_case)]
    large = [components.big_case(), components.study_case(simulate, prepared, peer_fit)]
    return [*ptp_cases(), *whole, overall_case(SIZES[1]), *parts, *large]
