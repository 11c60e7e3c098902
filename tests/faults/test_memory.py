"""Memory seen from outside stays under the limit; a limit that is too small says what would do."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fault_support import BINARY, Command, digest, sanitizer

pytestmark = pytest.mark.skipif(
    BINARY.exists() and bool(sanitizer()), reason="a sanitizer's own memory counts, too"
)

SHAPE = (2400, 64, 1000)  # f32: 614 MB, one epoch 256 KB
LIMITS = ["48M", "64M", "128M", "256M"]

# Runs a command and reports the peak of its resident memory, which only a parent can know.
WATCH = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """On disk, not in memory: pages of a file are what the limit is about."""
    folder = tmp_path_factory.mktemp("memory")
    out = np.lib.format.open_memmap(folder / "large.npy", "w+", np.float32, SHAPE)
    block = np.random.default_rng(4).standard_normal((100, *SHAPE[1:]), dtype=np.float32)
    for first in range(0, SHAPE[0], 100):
        out[first : first + 100] = block * np.float32(1 + first)
    out.flush()
    del out
    tessera = Command(folder)
    assert tessera.ptp("large.npy", "-o", "right.npy").returncode == 0
    yield tessera
    for path in folder.iterdir():
        path.unlink()


def peak_of(tessera, *words):
    """Exit code, peak resident bytes and stderr of a run, measured by its parent."""
    command = ["python3", "-c", WATCH, str(BINARY), "autoreject", "ptp", *map(str, words)]
    result = subprocess.run(
        command,
        cwd=tessera.directory,
        env=tessera.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    peak = re.search(r"^peak (\d+)$", result.stdout, re.MULTILINE)
    return result.returncode, int(peak[1]), result.stderr


def in_bytes(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(float(text[:-1]) * (1 << units[text[-1]]))


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("limit", LIMITS)
def test_peak_stays_under_the_limit(large, limit, threads):
    words = ["large.npy", "-o", "out.npy", "--overwrite", "--memory-limit", limit]
    code, peak, stderr = peak_of(large, *words, "--threads", threads)
    assert code == 0, stderr
    assert "CHUNKED" in stderr
    assert peak <= in_bytes(limit), f"{peak / 2**20:.1f} MiB of {limit}"
    assert peak >= 4 << 20  # the watcher has watched something
    folder = large.directory
    assert digest(folder / "out.npy") == digest(folder / "right.npy")


def test_peak_with_checkpoints(large):
    words = ["large.npy", "-o", "out.npy", "--overwrite", "--memory-limit", "64M"]
    words += ["--checkpoint", "work", "--checkpoint-every", "0.05"]
    code, peak, stderr = peak_of(large, *words)
    assert code == 0, stderr
    assert peak <= 64 << 20


def write_variant(folder, kind):
    """A 60 MB piece in a form that must be read through buffers."""
    x = np.load(folder / "large.npy", mmap_mode="r")[:240]
    if kind == "swapped.npy":
        np.save(folder / kind, x.astype(">f4"))
    elif kind == "deflated.npz":
        np.savez_compressed(folder / kind, x=np.round(x[:30]))
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File(folder / kind, "w") as file:
            file.create_dataset("x", data=x, chunks=(8, 64, 1000))


@pytest.mark.parametrize("kind", ["swapped.npy", "deflated.npz", "chunked.h5"])
def test_peak_of_buffered_formats(large, kind):
    write_variant(large.directory, kind)
    words = [kind, "-o", "out.npy", "--overwrite", "--memory-limit", "48M"]
    code, peak, stderr = peak_of(large, *words)
    Path(large.directory / kind).unlink()
    assert code == 0, stderr
    assert peak <= 48 << 20, f"{peak / 2**20:.1f} MiB of 48M"


@pytest.mark.parametrize("limit", ["1M", "4M", "8M"])
def test_too_small_a_limit_names_the_smallest(large, limit):
    words = ["large.npy", "-o", "small.npy", "--overwrite", "--memory-limit"]
    code, _, stderr = peak_of(large, *words, limit)
    assert code == 71, stderr
    lines = [line for line in stderr.splitlines() if line]
    assert len(lines) == 1
    assert not (large.directory / "small.npy").exists()
    smallest = re.search(r"the smallest limit that works is (\d+) MiB$", lines[0])[1] + "M"
    for _ in range(3):
        code, peak, stderr = peak_of(large, *words, smallest)
        assert code == 0, stderr
        assert peak <= in_bytes(smallest)
        (large.directory / "small.npy").unlink()
