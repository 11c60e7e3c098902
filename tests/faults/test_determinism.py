"""The same bits for any number of threads, tile size, instruction set, memory limit and format."""

import itertools
import json
import os

import numpy as np
import pytest
from fault_support import FULL, poisoned, sanitizer

TILES = [0, 1, 3, 10, 1000]
THREADS = [1, 2, 3, 8]
LIMITS = ["0", "32M", "1G"]
INPUTS = [
    "plain.npy",
    "fortran.npy",
    "swapped.npy",
    "stored.npz",
    "deflated.npz",
    "chunked.h5",
    "swapped.h5",
]


def usable_sets(tessera):
    """Instruction sets this machine can run, from the command itself."""
    info = tessera("sysinfo", "--json")
    assert info.returncode == 0, info.stderr
    found = json.loads(info.stdout)
    return [row["name"] for row in found["isa"] if row["usable"]]


def write_all(folder, x):
    """The same numbers in every layout; f64 when x is f64."""
    swapped = x.astype(x.dtype.newbyteorder(">"))
    np.save(folder / "plain.npy", x)
    np.save(folder / "fortran.npy", np.asfortranarray(x))
    np.save(folder / "swapped.npy", swapped)
    np.savez(folder / "stored.npz", x=x)
    np.savez_compressed(folder / "deflated.npz", x=x)
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "chunked.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(4, 2, 50), compression="gzip", shuffle=True)
    with h5py.File(folder / "swapped.h5", "w") as file:
        file.create_dataset("x", data=swapped)


def expected(x):
    """NumPy's answer, with the one thing it leaves open settled: a NaN is the quiet, plain one."""
    with np.errstate(invalid="ignore", over="ignore"):
        return x.max(axis=2) - x.min(axis=2)


def bits(array):
    """Bit patterns; payload and sign of a NaN are nobody's promise."""
    quiet = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return quiet.view(np.uint32 if array.dtype == np.float32 else np.uint64)


def run(tessera, name, *words, isa=None):
    environment = {"TESSERA_ISA": isa} if isa else {}
    result = tessera.ptp(name, "-o", "out.npy", "--overwrite", *words, environment=environment)
    assert result.returncode == 0, f"{name} {words} {isa}: {result.stderr}"
    return (tessera.directory / "out.npy").read_bytes()


@pytest.fixture(params=[np.float32, np.float64], ids=["f32", "f64"])
def case(request, tessera, folder):
    x = poisoned(request.param)
    write_all(folder, x)
    reference = run(tessera, "plain.npy", "--threads", "1", isa="ref")
    found = np.load(folder / "out.npy")
    np.testing.assert_array_equal(bits(found), bits(expected(x)))
    assert np.isnan(found[2, 2])
    assert np.isinf(found[[3, 4, 8], [3, 4, 3]]).all()
    assert np.isnan(found[6, 1])
    assert 0 < found[7, 2] < np.finfo(request.param).tiny  # denormals are not flushed
    return reference


def usable_limits():
    return LIMITS[::2] if sanitizer() else LIMITS


def test_threads_tiles_sets_and_limits(tessera, case):
    sets = usable_sets(tessera)
    assert "ref" in sets
    every = list(itertools.product(THREADS, TILES, sets, usable_limits()))
    # The default run takes every seventh: seven divides no list's length, so every value occurs.
    for threads, tile, isa, limit in every if FULL else every[::7]:
        words = ["--threads", threads, "--tile-epochs", tile, "--memory-limit", limit]
        assert run(tessera, "plain.npy", *words, isa=isa) == case, (threads, tile, isa, limit)


def test_formats(tessera, case):
    sets = usable_sets(tessera)
    every = list(itertools.product(INPUTS, THREADS, TILES))
    for i, (name, threads, tile) in enumerate(every if FULL else every[::3]):
        isa = sets[i % len(sets)]
        words = ["--threads", threads, "--tile-epochs", tile]
        assert run(tessera, name, *words, isa=isa) == case, (name, threads, tile, isa)


def test_every_set_is_really_used(tessera, case):
    for isa in usable_sets(tessera):
        result = tessera("autoreject", "ptp", "plain.npy", "-v", environment={"TESSERA_ISA": isa})
        assert f"isa {isa}," in result.stderr
    result = tessera.ptp("plain.npy", environment={"TESSERA_ISA": "abacus"})
    assert result.returncode == 69
    assert "abacus" in result.stderr


def test_repeated_runs_with_many_blocks(tessera, folder):
    """Several blocks per tile and more threads than cores: the partition shows in no bit."""
    x = np.random.default_rng(9).standard_normal((64, 16, 2000)).astype(np.float32)
    np.save(folder / "large.npy", x)
    right = run(tessera, "large.npy", "--threads", "1", isa="ref")
    np.testing.assert_array_equal(np.load(folder / "out.npy"), expected(x))
    rounds = 30 if FULL else 4
    for i in range(rounds):
        for threads in (2, 3, 8, 16):
            words = ["--threads", threads, "--tile-epochs", (0, 5, 32)[i % 3]]
            assert run(tessera, "large.npy", *words) == right, (i, threads)


def test_environment_changes_nothing(tessera, case, folder):
    odd = {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Kathmandu", "TMPDIR": "/nonexistent"}
    result = tessera.ptp("plain.npy", "-o", "out.npy", "--overwrite", environment=odd)
    assert result.returncode == 0, result.stderr
    assert (folder / "out.npy").read_bytes() == case
    for closed in (0, 1, 2):
        result = tessera.ptp(
            *["plain.npy", "-o", "out.npy", "--overwrite"],
            preexec_fn=lambda fd=closed: os.close(fd),
        )
        # Without stdout the summary has nowhere to go, and that is said; the result stands.
        assert result.returncode == (74 if closed == 1 else 0), (closed, result.stderr)
        assert (folder / "out.npy").read_bytes() == case
