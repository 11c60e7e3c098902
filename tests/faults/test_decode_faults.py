"""Decode killed before a system call, on a full disk, asked for a checkpoint: nothing is lost."""

import re
import signal

import pytest
from fault_support import (
    BINARY,
    FULL,
    INJECTOR,
    assert_asked_for_checkpoints,
    assert_one_message,
    checkpoints,
    digest,
    leftovers,
    remove,
    sanitizer,
)

PLUGINS = BINARY.parents[1] / "plugins"
HAS_HDF5 = (PLUGINS / "tessera-hdf5").exists()
KEPT = ["--checkpoint", "work", "--checkpoint-every", 0, "--resume"]
MODEL = ["--model-file", "model.npz"]


def simulate(tessera, bins, electrodes, encoding, decoding):
    tessera.environment["TESSERA_PLUGIN_PATH"] = str(PLUGINS)
    counts = ["--time-bins", bins, "--electrodes", electrodes]
    counts += ["--encoding-spikes", encoding, "--decoding-spikes", decoding]
    result = tessera("decode", "simulate", "day-1d", "-o", "rec.npz", *counts, "-q")
    assert result.returncode == 0, result.stderr
    result = tessera("decode", "fit", "rec.npz", "-o", "model.npz", "-q")
    assert result.returncode == 0, result.stderr
    return tessera


@pytest.fixture
def tiny(tessera):
    """A recording of 60 bins and its model: thousands of runs take a minute."""
    return simulate(tessera, 60, 2, 200, 60)


@pytest.fixture
def long(tessera):
    """More rows than the filter takes at once."""
    if sanitizer():
        pytest.skip("a sanitizer has its own allocator")
    return simulate(tessera, 20000, 4, 2000, 5000)


class Job:
    """A command line and what it writes."""

    def __init__(self, tessera, name):
        self.tessera, self.folder = tessera, tessera.directory
        self.out = self.folder / {"predict": "out", "hdf5": "out.h5", "em": "out.npz"}[name]
        own = {
            "em": ["em", "rec.npz", "--max-iterations", 3, "--tolerance", 0],
        }.get(name, ["predict", "rec.npz", "--chunks", 3])
        self.line = ["decode", *own, *MODEL, "-o", self.out.name, "--threads", 1, "-q"]
        result = tessera(*self.line)
        assert result.returncode == 0, result.stderr
        self.right = self.bytes()
        self.reset()

    def bytes(self):
        """Digest of the result, without what differs from run to run (beside it)."""
        if self.out.is_dir():
            return {item.name: digest(item) for item in sorted(self.out.iterdir())}
        return digest(self.out)

    def reset(self):
        remove(self.out, f"{self.out}.json", self.folder / "work")

    def check_finished(self, result, label):
        assert result.returncode == 0, f"{label}: exit {result.returncode}: {result.stderr}"
        assert self.bytes() == self.right, label
        assert leftovers(self.folder) == [], label
        assert not (self.folder / "work").exists(), label

    def check_untouched_or_whole(self, label):
        assert not self.out.exists() or self.bytes() == self.right, label


@pytest.fixture(params=["predict", "hdf5", "em"])
def job(request, tiny):
    if not INJECTOR.exists() or sanitizer() == "thread":
        pytest.skip("needs the fault injector, which does not work behind ThreadSanitizer")
    if request.param == "hdf5" and not HAS_HDF5:
        pytest.skip("built without HDF5")
    return Job(tiny, request.param)


def instants(n_call, named_at=None):
    """All calls in a full run; else some, and all about the one that names the result."""
    step = 1 if FULL else max(1, n_call // 20)
    named_at = n_call if named_at is None else named_at
    near = range(max(1, named_at - 30), min(n_call, named_at + 20) + 1)
    return sorted({*range(1, n_call + 1, step), *near})


def find_naming(job, line, prepare):
    """How many calls there are, and the first that comes after the result has its name."""
    prepare()
    _, n_call, _ = job.tessera.faulty({"kind": "any", "at": 0, "after": "lock"}, *line)
    low, high = 1, n_call
    while low < high:
        middle = (low + high) // 2
        prepare()
        fault = {"kind": "any", "at": middle, "mode": "kill", "after": "lock"}
        job.tessera.faulty(fault, *line)
        if job.out.exists() and job.bytes() == job.right:
            high = middle
        else:
            low = middle + 1
    return n_call, low


def test_killed_before_every_call(job):
    n_call, named_at = find_naming(job, [*job.line, *KEPT], job.reset)
    n_named = 0
    for k in instants(n_call, named_at):
        label = f"killed before call {k} of {n_call}"
        job.reset()
        fault = {"kind": "any", "at": k, "mode": "kill", "after": "lock"}
        result, _, n_kill = job.tessera.faulty(fault, *job.line, *KEPT)
        assert result.returncode == (-signal.SIGKILL if n_kill else 0), f"{label}: {result.stderr}"
        job.check_untouched_or_whole(label)
        n_named += job.out.exists()
        job.check_finished(job.tessera(*job.line, *KEPT), label)
    assert n_named > 3, "no run was killed after it had named its result"


def test_overwritten_and_killed_before_every_call(job):
    """The old result or the whole new one, and nothing left of either."""
    line = [*job.line, *KEPT, "--overwrite"]

    def put_old():
        job.reset()
        if job.out.suffix:
            job.out.write_bytes(b"what was here before")
        else:
            job.out.mkdir()
            (job.out / "old.npy").write_bytes(b"what was here before")
            (job.out / "provenance.json").write_text("{}")

    n_call, named_at = find_naming(job, line, put_old)
    for k in range(max(1, named_at - 15), min(n_call, named_at + 25) + 1):
        put_old()
        job.tessera.faulty({"kind": "any", "at": k, "mode": "kill", "after": "lock"}, *line)
        job.check_finished(job.tessera(*line), f"killed before call {k} of {n_call}")


@pytest.mark.parametrize(
    ("kind", "error"), [("write", "ENOSPC"), ("fdatasync", "EIO"), ("rename", "EIO")]
)
def test_full_disk_at_every_write(job, kind, error):
    """Exit 74 and a message, and later the work goes on; never a wrong result."""
    _, n_call, _ = job.tessera.faulty({"kind": kind, "at": 0, "after": "lock"}, *job.line, *KEPT)
    step = 1 if FULL else max(1, n_call // 12)
    codes = set()
    for k in sorted({*range(1, n_call + 1, step), *range(max(1, n_call - 6), n_call + 1)}):
        label = f"{kind} fails from call {k} of {n_call} on"
        job.reset()
        fault = {"kind": kind, "at": k, "mode": "from", "error": error, "after": "lock"}
        result, _, _ = job.tessera.faulty(fault, *job.line, *KEPT)
        codes.add(result.returncode)
        if result.returncode != 0:
            assert result.returncode in (73, 74), f"{label}: {result.stderr}"
            assert_one_message(result, label)
            job.check_untouched_or_whole(label)
        job.check_finished(job.tessera(*job.line, *KEPT), label)
    assert 74 in codes or kind == "rename"


def test_work_is_kept_where_the_output_fails(job):
    """All is computed when the result cannot get its name: it is not done again."""
    fault = {"kind": "fdatasync", "at": 0, "after": "lock"}
    _, n_call, _ = job.tessera.faulty(fault, *job.line, *KEPT)
    job.reset()
    fault |= {"at": n_call, "mode": "once", "error": "ENOSPC"}
    result, _, n_fault = job.tessera.faulty(fault, *job.line, *KEPT)
    assert n_fault > 0
    assert result.returncode == 74, result.stderr
    assert not job.out.exists()
    assert checkpoints(job.folder / "work")
    result = job.tessera(*[word for word in job.line if word != "-q"], *KEPT)
    share = int(re.search(r"resumed from (\d+) %", result.stderr)[1])
    assert share == 100 if "em" not in job.line else share > 60
    job.check_finished(result, "resumed")


def test_a_fit_killed_before_every_call(tiny):
    if not INJECTOR.exists() or sanitizer() == "thread":
        pytest.skip("needs the fault injector, which does not work behind ThreadSanitizer")
    line = ["decode", "fit", "rec.npz", "-o", "fit.npz", "--threads", 1, "-q"]
    folder = tiny.directory
    _, n_call, _ = tiny.faulty({"kind": "any", "at": 0}, *line)
    right = digest(folder / "fit.npz")
    for k in instants(n_call):
        remove(folder / "fit.npz")
        tiny.faulty({"kind": "any", "at": k, "mode": "kill"}, *line)
        assert not (folder / "fit.npz").exists() or digest(folder / "fit.npz") == right
        result = tiny(*line, "--overwrite")
        assert result.returncode == 0, f"killed before call {k}: {result.stderr}"
        assert digest(folder / "fit.npz") == right, k
        assert leftovers(folder) == [], k


def test_a_link_in_the_folder_is_not_followed(tiny):
    folder = tiny.directory
    (folder / "mine.txt").write_text("mine")
    for name in ("partial", "partial.h5", "filtered.rows", "lock"):
        remove(folder / "work")
        (folder / "work").mkdir()
        (folder / "work" / name).symlink_to(folder / "mine.txt")
        result = tiny("decode", "predict", "rec.npz", *MODEL, "-o", "out", "-q", *KEPT)
        assert result.returncode == 73, result.stderr
        assert name in result.stderr
        assert (folder / "mine.txt").read_text() == "mine"
        assert not (folder / "out").exists()


LINES = {
    "run": ["decode", "predict", "rec.npz", *MODEL, "-o", "out", "--chunks", 40],
    "em": [
        *("decode", "em", "rec.npz", *MODEL, "-o", "out.npz"),
        *("--max-iterations", 6, "--tolerance", 0),
    ],
}


@pytest.mark.parametrize("name", LINES)
def test_sigusr1_writes_a_checkpoint_and_goes_on(long, name):
    assert long(*LINES[name], "-q").returncode == 0  # what is replaced
    assert_asked_for_checkpoints(long, *LINES[name], "-q", "--overwrite")


def test_sigusr1_without_a_folder_is_told(long):
    fault = {"kind": "malloc", "signal": signal.SIGUSR1}
    _, n_call, _ = long.faulty(fault | {"at": 0}, *LINES["em"])
    result, _, n_sent = long.faulty(fault | {"at": n_call // 2}, *LINES["em"], "--overwrite")
    assert result.returncode == 0, result.stderr
    assert n_sent == 1
    assert "no checkpoint was written: this estimate keeps none" in result.stderr


@pytest.mark.parametrize("name", LINES)
def test_stopped_within_a_chunk_goes_on_to_the_same_bytes(long, name):
    """A signal between two blocks of a chunk: what carries on is that of the chunk's start."""
    folder = long.directory
    line = [{40: 4, 6: 3}.get(word, word) for word in LINES[name]]
    out = folder / line[line.index("-o") + 1]
    kept = [*line, "--checkpoint", "work", "--resume"]
    result, n_call, _ = long.faulty({"kind": "malloc", "at": 0, "after": "lock"}, *kept, "-q")
    assert result.returncode == 0, result.stderr

    def content():
        paths = sorted(out.iterdir()) if out.is_dir() else [out]
        return [digest(path) for path in paths]

    right = content()
    n_resumed = 0
    for part in (1, 2, 4, 6, 10, 16):  # most allocations of a prediction follow its last chunk
        remove(out, f"{out}.json")
        at = n_call * part // 24
        fault = {"kind": "malloc", "signal": signal.SIGINT, "at": at, "after": "lock"}
        stopped, _, n_sent = long.faulty(fault, *kept)
        assert n_sent == 1, at
        if not out.exists():
            assert stopped.returncode == 130, stopped.stderr
            assert f"to continue, run: {BINARY}" in stopped.stderr
            result = long(*kept)
            assert result.returncode == 0, result.stderr
            n_resumed += "resumed from" in result.stderr
        assert content() == right
    assert n_resumed > 1
