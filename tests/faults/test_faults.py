"""The k-th call of every kind fails, for every k: each outcome is clean and can be repaired."""

import subprocess

import numpy as np
import pytest
from fault_support import (
    FULL,
    INJECTOR,
    assert_one_message,
    checkpoints,
    digest,
    leftovers,
    remove,
    sanitizer,
)

CHECKPOINTED = ["--checkpoint", "work", "--checkpoint-every", "0", "--tile-epochs", "1"]
OLD = b"what was here before\n"

IO_CODES = {65, 66, 73, 74}
MEMORY_CODES = {71}
# How many k of a sweep the default run takes; the full sweep takes all.
SAMPLES = 24


@pytest.fixture
def epochs(folder):
    """Small files of the same numbers in every format."""
    x = np.random.default_rng(1).standard_normal((6, 3, 40)).astype(np.float32)
    np.save(folder / "in.npy", x)
    np.savez_compressed(folder / "in.npz", x=x)
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "in.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(2, 3, 40), compression="gzip")
    return x


@pytest.fixture
def injector(tessera):
    if not INJECTOR.exists():
        pytest.fail(f"{INJECTOR} is missing: build the target tess_fault_inject")
    if sanitizer() == "thread":
        pytest.skip("ThreadSanitizer does not work behind a preloaded library")
    return tessera.with_fault


class Sweep:
    """One command line, run with a fault at each k, checked and repaired each time."""

    def __init__(self, tessera, run, name, output, existing):
        self.tessera, self.run = tessera, run
        self.folder = tessera.directory
        self.output = self.folder / output
        self.sidecar = self.folder / f"{output}.json"
        self.words = [name, "-o", output, *CHECKPOINTED, *(["--overwrite"] if existing else [])]
        self.existing = existing
        self.reset()
        result = tessera.ptp(*self.words)
        assert result.returncode == 0, result.stderr
        self.right = self.values()
        self.reset()

    def reset(self):
        remove(self.output, self.sidecar, self.folder / "work")
        if self.existing:
            self.output.write_bytes(OLD)
            self.sidecar.write_bytes(OLD)

    def values(self):
        """What the output holds, apart from provenance."""
        if self.output.suffix == ".npy":
            return digest(self.output)
        if self.output.suffix == ".npz":
            with np.load(self.output) as file:
                return file["data"].tobytes()
        import h5py

        with h5py.File(self.output) as file:
            return file["data"][...].tobytes()

    def output_is_old(self):
        if not self.existing:
            return not self.output.exists() and not self.sidecar.exists()
        return self.output.read_bytes() == OLD and self.sidecar.read_bytes() == OLD

    def count(self, kind):
        result, calls, _ = self.run({"kind": kind, "at": 0}, *self.words)
        assert result.returncode == 0, result.stderr
        self.reset()
        return calls

    def check_failure(self, result, codes, label):
        assert result.returncode in codes, f"{label}: exit {result.returncode}: {result.stderr}"
        assert_one_message(result, label)
        assert leftovers(self.folder) == [], label
        if not self.output_is_old():
            assert self.output.exists(), f"{label}: a sidecar without its output"
            assert self.values() == self.right, f"{label}: the output is neither old nor whole"

    def check_repair(self, label):
        """The same line again, with what its message would have the user add, succeeds."""
        words = list(self.words)
        if checkpoints(self.folder / "work"):
            words.append("--resume")
        if self.output.exists() and not self.existing:
            words.append("--overwrite")
        result = self.tessera.ptp(*words)
        assert result.returncode == 0, f"{label}: not repaired: {result.stderr}"
        assert self.values() == self.right, f"{label}: repaired to other bytes"
        assert leftovers(self.folder) == [], label
        assert not (self.folder / "work").exists(), label

    def one(self, fault, codes):
        label = " ".join(f"{key}={value}" for key, value in fault.items())
        try:
            result, _, faults = self.run(fault, *self.words)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{label}: hangs")
        assert result.returncode != 70, f"{label}: internal error: {result.stderr}"
        if result.returncode == 0:
            assert self.values() == self.right, f"{label}: wrong bytes"
            assert leftovers(self.folder) == [], label
        else:
            assert faults > 0, f"{label}: failed unprovoked: {result.stderr}"
            self.check_failure(result, codes, label)
            self.check_repair(label)
        self.reset()
        return result.returncode, faults

    def all(self, kind, error, mode, codes, samples=SAMPLES):
        """Every k (or a sample of them) up to the first that is never reached."""
        n_call = self.count(kind)
        step = 1 if FULL else max(1, n_call // samples)
        outcomes = {}
        for k in range(1, 10 * n_call + 2, step):
            code, faults = self.one({"kind": kind, "at": k, "error": error, "mode": mode}, codes)
            if faults == 0:
                assert code == 0
                break
            outcomes[code] = outcomes.get(code, 0) + 1
        else:
            pytest.fail(f"{kind}: still hit at call {k} of about {n_call}")
        print(f"{kind} {error} {mode}: {n_call} calls, exit codes {outcomes}")
        return outcomes


@pytest.fixture(params=[False, True], ids=["new", "overwrite"])
def sweep(request, tessera, injector, epochs):
    return Sweep(tessera, injector, "in.npy", "out.npy", request.param)


IO_FAULTS = [
    ("open", "EIO"),
    ("open", "EMFILE"),
    ("read", "EIO"),
    ("write", "EIO"),
    ("write", "ENOSPC"),
    ("write", "EDQUOT"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("fdatasync", "ENOSPC"),
    ("rename", "EIO"),
    ("rename", "ENOSPC"),
    ("link", "EIO"),
    ("ftruncate", "EIO"),
    ("ftruncate", "ENOSPC"),
    ("mmap", "ENOMEM"),
    ("madvise", "EIO"),
    ("close", "EIO"),
    ("close", "EDQUOT"),
    ("mkdir", "ENOSPC"),
    ("opendir", "EMFILE"),
]


@pytest.mark.parametrize("mode", ["once", "from"])
@pytest.mark.parametrize(("kind", "error"), IO_FAULTS)
def test_io_faults(sweep, kind, error, mode):
    codes = IO_CODES | (MEMORY_CODES if error == "ENOMEM" else set())
    outcomes = sweep.all(kind, error, mode, codes)
    # Some calls may fail without harm (a hint, a close of a file that was only read), but a
    # sweep in which nothing ever fails has not looked.
    if mode == "from" and kind not in {"link", "madvise", "close", "rename"}:
        assert set(outcomes) != {0}


@pytest.mark.parametrize(
    "kind", ["open", "read", "write", "fsync", "fdatasync", "ftruncate", "madvise", "close"]
)
def test_interrupted_calls_go_on(sweep, kind):
    outcomes = sweep.all(kind, "EINTR", "once", set(), samples=24)
    assert set(outcomes) == {0}


@pytest.mark.parametrize("kind", ["read", "write"])
def test_short_transfers_go_on(sweep, kind):
    outcomes = sweep.all(kind, "EIO", "short", set(), samples=24)
    assert set(outcomes) == {0}


@pytest.mark.parametrize("mode", ["once", "from"])
def test_allocation_faults(sweep, mode):
    if sanitizer():
        pytest.skip("a sanitizer has its own allocator; alloc_sweep covers this")
    outcomes = sweep.all("malloc", "ENOMEM", mode, MEMORY_CODES, samples=60)
    assert 71 in outcomes


@pytest.mark.parametrize(
    "names", [("in.npz", "out.npz"), ("in.h5", "out.h5"), ("in.npz", "out.npy")], ids=" ".join
)
@pytest.mark.parametrize(
    "fault",
    [
        ("open", "EMFILE", "once"),
        ("read", "EIO", "once"),
        ("write", "ENOSPC", "from"),
        ("mmap", "ENOMEM", "once"),
        ("read", "EIO", "short"),
        ("write", "EIO", "short"),
        ("malloc", "ENOMEM", "once"),
        ("malloc", "ENOMEM", "from"),
    ],
    ids="-".join,
)
def test_other_formats(tessera, injector, epochs, names, fault):
    name, output = names
    kind, error, mode = fault
    if kind == "malloc" and sanitizer():
        pytest.skip("a sanitizer has its own allocator; alloc_sweep covers this")
    sweep = Sweep(tessera, injector, name, output, existing=False)
    codes = MEMORY_CODES if kind == "malloc" else IO_CODES | MEMORY_CODES
    if name == "in.h5":
        codes = codes | {69}  # the helper cannot be started
    outcomes = sweep.all(kind, error, mode, codes, samples=8)
    if mode == "short":
        assert set(outcomes) <= {0}


def test_threads_that_do_not_start(tessera, injector):
    """Fewer threads than wished for: slower, never wrong."""
    tessera.simulate("in.npy", 64, 16, 1000)
    sweep = Sweep(tessera, injector, "in.npy", "out.npy", existing=False)
    sweep.words += ["--threads", "4"]
    sweep.words[sweep.words.index("--tile-epochs") + 1] = "32"  # two blocks of work per tile
    for mode in ("once", "from"):
        assert set(sweep.all("pthread_create", "EAGAIN", mode, set())) == {0}
