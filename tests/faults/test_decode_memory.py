"""A prediction larger than its memory limit, seen from outside."""

import re
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
