"""Correlations larger than the memory limit, and checkpoints on a disk that is full."""

import re
import subprocess

import pytest
from fault_support import BINARY, Command, sanitizer
from test_decode_memory import watched
from test_resume import is_mounted
from test_xpcs_resume import line, numbers_of, tiles  # noqa: F401

has_sanitizer = BINARY.exists() and bool(sanitizer())


@pytest.fixture(scope="module")
def matrices(tmp_path_factory):
    """An HDF5 file of 256 MB, whose tiles take 130 MB; on disk: pages of files count."""
    tessera = Command(tmp_path_factory.mktemp("xpcs-memory"))
    words = ["-o", "x.hdf", "--n-angle", 16, "--n-frame", 2001, "--sigma", 0.02, "--dt", 0.1]
    result = tessera("xpcs", "simulate", *words, "--filter", "none", "-q")
    assert result.returncode == 0, result.stderr
    yield tessera
    (tessera.directory / "x.hdf").unlink()


def fit(out, limit, *words):
    own = ["xpcs", "fit", "x.hdf", "--gap", 2e6, "-o", out, "-q", "--no-cache", "--no-surfaces"]
    return [*own, "--memory-limit", limit, *words]


@pytest.mark.skipif(has_sanitizer, reason="a sanitizer's own memory counts, too")
def test_a_file_larger_than_the_limit(matrices):
    """Through a scratch file, whose pages are given back; the same bits as in memory, and no more
    memory with more threads than there are cores."""
    code, stderr, peak = watched(matrices, *fit("small", "96M", "--threads", 16))
    assert code == 0, stderr
    assert peak < 96 << 20
    code, stderr, peak = watched(matrices, *fit("large", "1G"))
    assert code == 0, stderr
    assert peak > 128 << 20
    assert numbers_of(matrices.directory / "small") == numbers_of(matrices.directory / "large")


def test_a_limit_that_is_too_small_names_one_that_works(tiles):  # noqa: F811
    result = tiles(*line("out", "--memory-limit", "1M"))
    assert result.returncode == 71
    needed = int(re.search(r"at least (\d+) are needed", result.stderr)[1])
    result = tiles(*line("out", "--memory-limit", needed - 1))
    assert result.returncode == 71
    result = tiles(*line("out", "--memory-limit", needed))
    assert result.returncode == 0, result.stderr
    assert tiles(*line("right")).returncode == 0
    assert numbers_of(tiles.directory / "out") == numbers_of(tiles.directory / "right")


def test_a_full_disk_costs_a_checkpoint_only(tiles):  # noqa: F811
    folder = tiles.directory
    disk = folder / "disk"
    words = ["--checkpoint", "disk/work", "--checkpoint-every", 0, "--resume"]
    command = [word for word in line("out", *words) if word != "-q"]
    probe = [*command, "--threads", 1, "--checkpoint", "probe"]
    tiles.faulty({"kind": "rename", "mode": "kill", "at": 2, "after": "lock"}, *probe)
    size = max(path.stat().st_size for path in (folder / "probe").glob("*.ckpt"))
    # Room for one checkpoint, and for half of the next.
    if not is_mounted(disk, f"{(3 * size // 2 >> 12) + 2 << 12}"):
        pytest.skip("cannot mount a small file system here")
    try:
        # Killed when it takes a second one away for which there was no room; the first unlink of
        # all is that of files in the way.
        fault = {"kind": "unlink", "mode": "kill", "at": 3, "after": "lock"}
        result, _, n_killed = tiles.faulty(fault, *command)
        assert n_killed == 1
        assert "checkpoint not written" in result.stderr
        assert "the fit goes on" in result.stderr
        assert list((disk / "work").glob("*.ckpt"))
        result = tiles(*command)
        assert result.returncode == 0, result.stderr
        assert "checkpoint not written" in result.stderr
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert tiles(*line("right")).returncode == 0
    assert numbers_of(folder / "out") == numbers_of(folder / "right")
