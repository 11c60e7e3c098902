"""A prediction larger than its memory limit, seen from outside."""

import re
import resource
import subprocess

import pytest
from fault_support import BINARY, Command, sanitizer
from test_memory import WATCH

pytestmark = pytest.mark.skipif(
    BINARY.exists() and bool(sanitizer()), reason="a sanitizer's own memory counts, too"
)

ROWS = 150000  # of 400 state bins: a result of 240 MB


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """On disk, not in memory: pages of files count."""
    tessera = Command(tmp_path_factory.mktemp("decode-memory"))
    counts = ["--electrodes", 4, "--encoding-spikes", 4000, "--decoding-spikes", 40000]
    words = ["day-1d", "-o", "rec.npz", "--time-bins", ROWS, *counts, "-q"]
    assert tessera("decode", "simulate", *words).returncode == 0
    assert tessera("decode", "fit", "rec.npz", "-o", "model.npz", "-q").returncode == 0
    yield tessera
    for path in tessera.directory.rglob("*.npy"):
        path.unlink()


def watched(tessera, *words):
    """Return code, messages and peak of the resident bytes."""
    line = ["python3", "-c", WATCH, str(BINARY), *map(str, words)]
    result = subprocess.run(
        line,
        cwd=tessera.directory,
        env=tessera.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stderr, int(re.search(r"peak (\d+)", result.stdout)[1])


def predict(out, limit):
    words = ["decode", "predict", "rec.npz", "--model-file", "model.npz", "-q", "--overwrite"]
    return [*words, "-o", out, "--memory-limit", limit]


@pytest.mark.parametrize("limit", ["96M", "160M"])
def test_peak_is_below_the_limit(recording, limit):
    code, stderr, peak = watched(recording, *predict("out", limit))
    assert code == 0, stderr
    assert peak < int(limit[:-1]) << 20


def test_a_limit_that_is_too_small_names_one_that_works(recording):
    code, stderr, _ = watched(recording, *predict("small", "16M"))
    assert code == 71
    smallest = re.search(r"smallest limit that works is (\d+) MiB", stderr)[1]
    code, stderr, peak = watched(recording, *predict("small", f"{smallest}M"))
    assert code == 0, stderr
    assert peak < int(smallest) << 20


WATCHER = 16 << 20  # before it becomes the command, the child is the Python that watches
VERBS = {
    "fit": ["fit", "rec.npz", "-o", "again.npz"],
    "run": ["run", "rec.npz", "-o", "run"],
    "predict": ["predict", "rec.npz", "--model-file", "model.npz", "-o", "predicted"],
    "em": ["em", "rec.npz", "-o", "em.npz", "--max-iterations", 1],
    "report": ["report", "decoded", "--recording", "rec.npz", "-o", "page.html"],
}


def seconds_of_children():
    """Of processors, so that a busy machine makes no difference."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def decoded(recording):
    assert recording("decode", *predict("decoded", "1G")[1:]).returncode == 0
    return recording


@pytest.mark.parametrize("verb", VERBS)
def test_what_cannot_fit_is_refused_before_it_is_read(decoded, verb):
    words = ["decode", *VERBS[verb], "-q", "--overwrite", "--memory-limit"]
    begin = seconds_of_children()
    code, stderr, peak = watched(decoded, *words, "4M")
    assert code == 71, stderr
    assert seconds_of_children() - begin < 1
    assert peak < WATCHER
    limit = int(re.search(r"a limit of (\d+) MiB will do", stderr)[1])
    code, stderr, peak = watched(decoded, *words, f"{limit}M")
    assert code == 0, stderr
    assert peak < limit << 20


def test_a_simulation_that_cannot_fit_is_refused(decoded):
    words = ["decode", "simulate", "small", "-o", "small.npz", "-q", "--memory-limit"]
    code, stderr, _ = watched(decoded, *words, 1)
    assert code == 71
    limit = int(re.search(r"a limit of (\d+) MiB will do", stderr)[1])
    code, stderr, peak = watched(decoded, *words, f"{limit}M")
    assert code == 0, stderr
    assert peak < max(limit << 20, WATCHER)
