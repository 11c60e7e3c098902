"""Parts of autoreject by themselves, as the plan for a GPU version lists them, and whole studies.

Interpolation is every channel predicted from the others, the search is the thresholds of all
channels without it: medians of validation parts, and the errors of all candidates. Both are
functions of the original. What of our fit are which parts is in the further columns. With --device
cuda there are rows, too, of medians of what is on the GPU and of the way there and back.
"""

import functools
import importlib
import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time

import numpy as np

from cases._case import Case

SPANS = ("intake", "augment", "curve", "repair", "local")


def device_of_rows():
    """What ours runs on, as a further column; nothing for the CPU."""
    device = os.environ.get("TESSERA_DEVICE", "cpu")
    return {} if device == "cpu" else {"device": device}


def peer_time(run, seconds_of):
    """Seconds of the original; None where it is not installed."""
    return seconds_of(run, least=1) if importlib.util.find_spec("autoreject") else None


def interpolated(name, data):
    utils = importlib.import_module(f"{name}.utils")
    return utils.clean_by_interp(data.epochs, verbose=False).get_data(copy=False)


def difference(ours, theirs):
    return float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))


def interpolation_case(shape, prepared, seconds_of):
    return Case(
        name="interpolation-{}x{}x{}".format(*shape),
        sizes=dict(zip(("n_epoch", "n_chan", "n_time"), shape)),
        peer_name="autoreject",
        tolerance=1e-8,
        make=functools.partial(prepared, shape),
        ours=lambda data, threads: interpolated("tessera.autoreject", data),
        peer=functools.partial(interpolated, "autoreject"),
        error=difference,
        times=lambda data, threads: (
            seconds_of(functools.partial(interpolated, "tessera.autoreject", data)),
            peer_time(functools.partial(interpolated, "autoreject", data), seconds_of)),
        all_threads_only=True,
        more=lambda data, threads, seconds: device_of_rows(),
        what="every channel predicted from the others",
    )


def thresholds(name, data, jobs, **more):
    found = importlib.import_module(name).compute_thresholds(
        data.epochs, random_state=42, augment=False, verbose=False, n_jobs=jobs, **more)
    return np.array([found[channel] for channel in data.epochs.ch_names])


def spans_of_fit(data, threads):
    """Seconds of the parts of one fit."""
    model = importlib.import_module("tessera.autoreject").AutoReject(
        random_state=42, n_jobs=threads, verbose=False, search="exact", profile=True)
    lines = str(model.fit(data.epochs).profile_).splitlines()
    rows = [line.split() for line in lines if line.startswith("autoreject.")]
    found = {row[0].partition(".")[2]: float(row[2]) for row in rows}
    parts = {f"{name} of a fit, s": found[name] for name in SPANS if name in found}
    return parts | device_of_rows()


def search_case(shape, prepared, seconds_of):
    """Compat mode: the original's candidates, and all but a few of its thresholds."""
    return Case(
        name="search-{}x{}x{}".format(*shape),
        sizes=dict(zip(("n_epoch", "n_chan", "n_time"), shape)),
        peer_name="autoreject",
        tolerance=0.05,
        make=functools.partial(prepared, shape),
        ours=lambda data, threads: thresholds("tessera.autoreject", data, threads),
        peer=lambda data: thresholds("autoreject", data, 1),
        error=lambda ours, theirs: float(np.mean(np.abs(ours - theirs) > 1e-9 * theirs)),
        times=lambda data, threads: (
            seconds_of(lambda: thresholds("tessera.autoreject", data, threads)),
            peer_time(lambda: thresholds("autoreject", data, 1), seconds_of)),
        all_threads_only=True,
        more=lambda data, threads, seconds: spans_of_fit(data, threads),
        what="medians and thresholds, no augmentation; the original with one job",
    )


def resident_median_case(shape, prepared, seconds_of):
    """The medians over epochs that folds take, of values that are on the GPU already."""
    backends = importlib.import_module("tessera.autoreject.backends")

    def make():
        return backends.to_device(prepared(shape).epochs.get_data(copy=False), "cuda")

    def median(there):
        return backends.Backend("cuda").median(there, axis=0)

    return Case(
        name="median-{}x{}x{}".format(*shape),
        sizes=dict(zip(("n_epoch", "n_chan", "n_time"), shape)),
        peer_name="numpy",
        tolerance=0,
        make=make,
        ours=lambda there, threads: median(there),
        peer=lambda there: np.median(prepared(shape).epochs.get_data(copy=False), axis=0),
        error=difference,
        all_threads_only=True,
        more=lambda there, threads, seconds: device_of_rows(),
        what="over epochs, resident; NumPy on the CPU",
    )


def transfer_case(shape, prepared, seconds_of):
    """Samples to the GPU; back comes a table, so that the way up is what counts."""
    backends = importlib.import_module("tessera.autoreject.backends")

    def up(data):
        there = backends.to_device(data.epochs.get_data(copy=False), "cuda")
        return backends.Backend("cuda").ptp(there)

    n_bytes = 8 * int(np.prod(shape))
    return Case(
        name="transfer-{}x{}x{}".format(*shape),
        sizes=dict(zip(("n_epoch", "n_chan", "n_time"), shape)),
        peer_name=None,
        tolerance=0,
        make=functools.partial(prepared, shape),
        ours=lambda data, threads: up(data),
        peer=lambda data: None,
        error=lambda ours, theirs: 0.0,
        times=lambda data, threads: (seconds_of(functools.partial(up, data)), None),
        all_threads_only=True,
        more=lambda data, threads, seconds: {"GB/s": n_bytes / seconds / 1e9} | device_of_rows(),
        what="pageable memory to the GPU, peak-to-peaks back",
    )


def run_command(*words):
    command = os.environ["TESSERA_COMMAND"]
    begin = time.perf_counter()
    done = subprocess.run([command, "autoreject", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"tessera autoreject {shlex.join(words)}: exit code {done.returncode}\n"
                         + done.stderr[-2000:])
    return time.perf_counter() - begin


def big_case(shape=(6000, 128, 1000)):
    """A recording of the painful size from a file; the original would take hours."""
    folder = pathlib.Path(tempfile.gettempdir()) / "tessera-bench-autoreject"
    file, places = folder / "big.npy", folder / "big.csv"

    def make():
        folder.mkdir(exist_ok=True)
        if not file.exists():
            run_command("simulate", "-o", str(file), "--positions", str(places), "--epochs",
                        str(shape[0]), "--channels", str(shape[1]), "--samples", str(shape[2]),
                        "--device", "cpu")
        return ["fit", str(file), "--montage", str(places), "--memory-limit", "4G"]

    return Case(
        name="fit-{}x{}x{}".format(*shape),
        sizes=dict(zip(("n_epoch", "n_chan", "n_time"), shape)),
        peer_name=None,
        tolerance=0,
        make=make,
        ours=lambda words, threads: None,
        peer=lambda words: None,
        error=lambda ours, theirs: 0.0,
        times=lambda words, threads: (run_command(*words, "--threads", str(threads)), None),
        all_threads_only=True,
        more=lambda words, threads, seconds: device_of_rows(),
        what="from a file, the command",
        is_long=True,
    )


def write_study(root, n_subject, simulate, shape):
    """A BIDS tree of BrainVision files, continuous, cut into windows by the study."""
    n_epoch, n_chan, n_time = shape
    for subject in range(1, n_subject + 1):
        x, place = simulate.epochs(*shape, seed=subject)
        names = [f"E{i + 1:03d}" for i in range(n_chan)]
        stem = f"sub-{subject:03d}_task-sim"
        folder = root / f"sub-{subject:03d}" / "eeg"
        folder.mkdir(parents=True)
        head = ["Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]",
                f"DataFile={stem}_eeg.eeg", "DataFormat=BINARY", "DataOrientation=MULTIPLEXED",
                f"NumberOfChannels={n_chan}", f"SamplingInterval={1e6 / simulate.SAMPLING_HZ:g}",
                "[Binary Infos]", "BinaryFormat=INT_16", "[Channel Infos]",
                *(f"Ch{i + 1}={name},,0.1,uV" for i, name in enumerate(names))]
        (folder / f"{stem}_eeg.vhdr").write_text("\n".join(head) + "\n")
        rows = x.transpose(0, 2, 1).reshape(n_epoch * n_time, n_chan)
        np.clip(np.round(rows / 1e-7), -32768, 32767).astype("<i2").tofile(
            folder / f"{stem}_eeg.eeg")
        table = "".join("\t".join([name, *(f"{v:.6f}" for v in p)]) + "\n"
                        for name, p in zip(names, place))
        (folder / f"{stem.partition('_')[0]}_space-CapTrak_electrodes.tsv").write_text(
            "name\tx\ty\tz\n" + table)


def study_case(simulate, prepared, peer_fit, n_subject=200, shape=(300, 64, 500)):
    """All subjects of a study; the original fits one of them, times their number."""
    window = shape[2] / simulate.SAMPLING_HZ

    def times(root, threads):
        out = root.parent / "out"
        shutil.rmtree(out, ignore_errors=True)
        ours = run_command("study", str(root), "-o", str(out), "--window", f"{window:g}",
                           "--memory-limit", "400M", "--threads", str(threads))
        data = prepared(shape)
        if importlib.util.find_spec("autoreject") is None:
            return ours, None
        data.peer("fit", peer_fit)
        return ours, n_subject * data.peer_seconds("fit")

    def make():
        root = pathlib.Path(tempfile.mkdtemp(prefix="tessera-bench-")) / "bids"
        write_study(root, n_subject, simulate, shape)
        return root

    return Case(
        name=f"study-{n_subject}-subjects",
        sizes={"n_subject": n_subject, **dict(zip(("n_epoch", "n_chan", "n_time"), shape))},
        peer_name="autoreject",
        tolerance=0,
        make=make,
        ours=lambda root, threads: None,
        peer=lambda root: None,
        error=lambda ours, theirs: 0.0,
        times=times,
        all_threads_only=True,
        more=lambda root, threads, seconds: device_of_rows(),
        what="the command with pages, epochs and tables; the original: the fit of one, times all",
        is_long=True,
    )
