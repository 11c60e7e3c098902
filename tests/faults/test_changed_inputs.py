"""An input that changes while it is read is an error that names it; nothing quiet, no signal.

The injector changes the file before the k-th read, for k over the whole run: what was read before
is right, what is read after must not be believed.
"""

import json
import os
import shutil

import numpy as np
import pytest
from fault_support import (
    FULL,
    INJECTOR,
    ROOT,
    Command,
    assert_one_message,
    digest,
    leftovers,
    remove,
    sanitizer,
)
from test_xpcs_resume import numbers_of

GOLDEN = ROOT / "tests/golden"
FORMATS = GOLDEN / "autoreject/formats"
CHANGED = 74
CHANGES = {"cut": "was cut from", "grow": "grew from", "write": "was written to"}
SAMPLES = 40 if FULL else 3

pytestmark = pytest.mark.skipif(
    sanitizer() == "thread", reason="ThreadSanitizer does not work behind a preloaded library"
)


class Case:
    """A command that reads an input, and what a whole run gives."""

    def __init__(self, name, make, words, changed=None, outputs=("out.npy", "out.npy.json")):
        self.name, self.make, self.words, self.outputs = name, make, words, outputs
        self.changed = changed or next(w for w in words if "." in str(w))

    def result(self, run, folder):
        """Everything that a run gives but times and provenance."""
        if "out.npy" in self.outputs:
            return digest(folder / "out.npy")
        if "out" in self.outputs:
            return numbers_of(folder / "out")
        if "model.npz" in self.outputs:
            with np.load(folder / "model.npz") as model:
                return {k: model[k].tobytes() for k in model.files if "provenance" not in k}
        found = json.loads(run.stdout)
        return {k: v for k, v in found.items() if "time" not in k and k != "seconds"}


def ramp(shape=(12, 3, 400)):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def npy(folder):
    np.save(folder / "in.npy", ramp())


def large_epochs(folder):
    """Epochs of which a piece for every thread does not fit the limit."""
    np.save(folder / "in.npy", ramp((12, 8, 60000)))


def swapped(folder):
    np.save(folder / "in.npy", ramp().astype(">f4"))


def fortran(folder):
    np.save(folder / "in.npy", np.asfortranarray(ramp()))


def stored(folder):
    np.savez(folder / "in.npz", x=ramp())


def deflated(folder):
    np.savez_compressed(folder / "in.npz", x=ramp())


def hdf5(**storage):
    def make(folder):
        h5py = pytest.importorskip("h5py")
        with h5py.File(folder / "in.h5", "w") as file:
            file.create_dataset("x", data=ramp(), **storage)

    return make


def golden(*names):
    def make(folder):
        for name in names:
            shutil.copy(FORMATS / name, folder)

    return make


def correlations(layout, *words):
    def make(folder):
        sizes = ["--n-angle", 2, "--n-frame", 150, "--sigma", 0.02, "--dt", 0.1, "-q"]
        result = Command(folder)("xpcs", "simulate", "-o", layout, *sizes, *words)
        assert result.returncode == 0, result.stderr

    return make


def recording(name):
    def make(folder):
        result = Command(folder)("decode", "simulate", "tiny", "-o", name, "-q")
        assert result.returncode == 0, result.stderr

    return make


def montage(folder):
    npy(folder)
    names = ["Fp1", "Cz", "Oz"]
    rows = [f"{name},{k / 20},{k / 30},0.1" for k, name in enumerate(names)]
    (folder / "m.csv").write_text("name,x,y,z\n" + "\n".join(rows) + "\n")


def configured(folder):
    npy(folder)
    (folder / "c.json").write_text(json.dumps({"run": {"threads": 2}}))


def ptp(name, *words):
    return ["autoreject", "ptp", name, "-o", "out.npy", "-q", *words]


def global_of(name, *words):
    return ["autoreject", "global", name, "--json", "-q", "--n-fold", 2, *words]


def fit(name, *words):
    return ["xpcs", "fit", name, "--gap", 2e6, "-o", "out", "-q", "--no-surfaces", *words]


STREAMED = ["--strategy", "streaming", "--chunk-tiles", 16]
WINDOW = ["--window", 0.04]
CASES = [
    Case("npy", npy, ptp("in.npy")),
    Case("npy-limited", large_epochs, ptp("in.npy", "--memory-limit", "24M", "--threads", 8)),
    Case("npy-swapped", swapped, ptp("in.npy")),
    Case("npy-fortran", fortran, ptp("in.npy")),
    Case("npz-stored", stored, ptp("in.npz")),
    Case("npz-deflated", deflated, ptp("in.npz")),
    Case("hdf5-whole", hdf5(), ptp("in.h5")),
    Case("hdf5-chunks", hdf5(chunks=(2, 3, 400), compression="gzip"), ptp("in.h5")),
    Case("config", configured, ptp("in.npy", "--config", "c.json"), "c.json"),
    Case("epochs-npy", npy, global_of("in.npy", "--sampling-hz", 100), outputs=()),
    Case("fif", golden("epochs-epo.fif"), global_of("epochs-epo.fif"), outputs=()),
    Case(
        "fif-gz",
        golden("epochs_double-epo.fif.gz"),
        global_of("epochs_double-epo.fif.gz"),
        outputs=(),
    ),
    Case(
        "fif-raw",
        golden("cont_short_raw.fif"),
        global_of("cont_short_raw.fif", *WINDOW),
        outputs=(),
    ),
    Case("edf", golden("plain.edf"), global_of("plain.edf", *WINDOW), outputs=()),
    Case("bdf", golden("bio.bdf"), global_of("bio.bdf", *WINDOW), outputs=()),
    *(
        Case(
            f"brainvision-{kind}",
            golden("int16.vhdr", "int16.eeg", "int16.vmrk"),
            global_of("int16.vhdr", *WINDOW),
            f"int16.{kind}",
            outputs=(),
        )
        for kind in ("vhdr", "eeg", "vmrk")
    ),
    Case("eeglab", golden("tiny_cont.set"), global_of("tiny_cont.set", *WINDOW), outputs=()),
    Case(
        "eeglab-fdt",
        golden("tiny_epochs.set", "tiny_epochs.fdt"),
        global_of("tiny_epochs.set"),
        "tiny_epochs.fdt",
        outputs=(),
    ),
    Case(
        "montage",
        montage,
        global_of("in.npy", "--sampling-hz", 100, "--montage", "m.csv"),
        "m.csv",
        outputs=(),
    ),
    Case("txc2", correlations("in.txc2"), fit("in.txc2"), outputs=("out",)),
    Case("txc2-streamed", correlations("in.txc2"), fit("in.txc2", *STREAMED), outputs=("out",)),
    Case(
        "txc2-limited",
        correlations("in.txc2"),
        fit("in.txc2", "--memory-limit", "4M", "--strategy", "chunked"),
        outputs=("out",),
    ),
    Case("xpcs-hdf5", correlations("in.hdf"), fit("in.hdf", "--no-cache"), outputs=("out",)),
    *(
        Case(
            f"decode-{name}",
            recording(f"in.{name}"),
            ["decode", "fit", f"in.{name}", "-o", "model.npz", "-q"],
            outputs=("model.npz",),
        )
        for name in ("npz", "h5")
    ),
]


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request, tessera):
    """The input made, and the result of a run that nobody disturbs."""
    if not INJECTOR.exists():
        pytest.fail(f"{INJECTOR} is missing: build the target tess_fault_inject")
    case, folder = request.param, tessera.directory
    case.make(folder)
    case.kept = folder / "kept"
    shutil.copy(folder / case.changed, case.kept)
    case.tessera = tessera
    restore(case)
    run = tessera(*case.words)
    assert run.returncode == 0, run.stderr
    case.right = case.result(run, folder)
    return case


def restore(case):
    """The input as it was, last changed long ago: file systems count time in ticks."""
    folder = case.tessera.directory
    remove(*(folder / name for name in case.outputs))
    shutil.copy(case.kept, folder / case.changed)
    os.utime(folder / case.changed, (1e9, 1e9))


def run_changed(case, change, at):
    restore(case)
    path = case.tessera.directory / case.changed
    fault = {"kind": "read", "at": at, "mode": change, "file": path, "after": path.name}
    return case.tessera.faulty(fault, *case.words)


def numbers_over(n_read):
    """The first reads and the last, and some between."""
    steps = np.linspace(1, n_read, SAMPLES).astype(int)
    return sorted({1, *map(int, steps), n_read})


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_an_error_that_names_the_file(case, change):
    folder = case.tessera.directory
    run, n_read, _ = run_changed(case, change, 0)
    assert run.returncode == 0, run.stderr
    assert n_read > 0
    codes = []
    for at in numbers_over(n_read):
        run, _, n_fault = run_changed(case, change, at)
        label = f"{change} before read {at} of {n_read}"
        if n_fault == 0:  # a thread that reads ahead read less this time
            assert run.returncode == 0, f"{label}: {run.stderr}"
            continue
        codes.append(run.returncode)
        if run.returncode == 0:
            assert case.result(run, folder) == case.right, f"{label}: quietly wrong"
            continue
        assert run.returncode == CHANGED, f"{label}: exit {run.returncode}: {run.stderr}"
        assert_one_message(run, label)
        assert case.changed in run.stderr, label
        assert CHANGES[change] in run.stderr, f"{label}: {run.stderr}"
        assert not run.stdout, label
        if (folder / "out/nlsq/parameters.json").exists():
            # A fit of the data as they were; its report looks at them once more.
            assert case.result(run, folder) == case.right, f"{label}: quietly wrong"
        else:
            assert not any((folder / name).exists() for name in case.outputs), label
        assert leftovers(folder) == [], label
    assert codes[0] == CHANGED  # while it is read; afterwards it may change as it likes
    assert codes == sorted(codes, reverse=True)


def others(case):
    """Inputs of the same kind, other numbers in them; None where there is no easy way."""
    folder = case.tessera.directory
    path = folder / case.changed
    if case.make is npy:
        np.save(path, 2 * ramp())
    elif case.name == "npz-deflated":
        np.savez_compressed(path, x=2 * ramp())
    elif case.name == "xpcs-hdf5":
        correlations("in.hdf", "--seed", 7, "--overwrite")(folder)
    elif case.name == "decode-npz":
        case.tessera("decode", "simulate", "tiny", "-o", path, "--seed", 7, "--overwrite", "-q")
    else:
        return None
    other = path.rename(folder / "other")
    shutil.copy(other, path)
    remove(*(folder / name for name in case.outputs))
    run = case.tessera(*case.words)
    assert run.returncode == 0, run.stderr
    return other, case.result(run, folder)


def test_a_file_put_in_its_place_is_never_mixed_in(case):
    """Who has the old one open goes on with it; what is opened anew, by name, is refused."""
    folder = case.tessera.directory
    other, wanted = others(case) or (case.kept, case.right)
    new = folder / f"{case.changed}.new"
    _, n_read, _ = run_changed(case, "replace", 0)
    for at in numbers_over(n_read):
        shutil.copy(other, new)
        run, _, _ = run_changed(case, "replace", at)
        label = f"replaced before read {at} of {n_read}"
        if run.returncode == 0:
            assert case.result(run, folder) in (case.right, wanted), f"{label}: a mixture"
        else:
            assert run.returncode == CHANGED, f"{label}: exit {run.returncode}: {run.stderr}"
            assert "was replaced" in run.stderr, label
            assert case.changed in run.stderr, label
