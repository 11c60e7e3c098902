"""Ranks on hosts that are not alike: refused by name, or the same bytes, never mixed."""

import os
import platform
import subprocess
from pathlib import Path

import numpy as np
import pytest
from decode_recordings import track
from test_cli_mpi import BINARY, MPIRUN, environment, pytestmark  # noqa: F401
from test_cli_mpi_grid import epochs

FIT = ["xpcs", "fit", "s.txc2", "--mode", "static_anisotropic", "--sigma", "0.004"]
DECODE = ["decode", "run", "rec.npz"]
EVENTS = ["decode", "events", "ev.npz", "--shuffles", "3"]
LEARN = ["autoreject", "fit", "epochs.npz", "--n-interpolate", "1,3", "--consensus", "0.3,0.6",
         "--n-fold", "4"]
SIMULATED = {"s.txc2": ["xpcs", "simulate", *FIT[3:5], "--n-angle", "2", "--n-frame", "240",
                        *FIT[5:]],
             "ev.npz": ["decode", "simulate", "day-1d", "--time-bins", "2000", "--electrodes", "2",
                        "--encoding-spikes", "300", "--decoding-spikes", "400"]}


@pytest.fixture(scope="module")
def hosts(tessera_at, tmp_path_factory):
    """Folders 0 and 1, which the ranks see as theirs; 1 has other data of those shapes."""
    tessera = tessera_at(tmp_path_factory.mktemp("hosts"))
    for host in "01":
        folder = tessera.directory / host
        folder.mkdir()
        for name, words in SIMULATED.items():
            made = tessera(*words, "--seed", host, "-o", f"{host}/{name}", "-q")
            assert made.returncode == 0, made.stderr
        recording, cap = track(), epochs()
        if host == "1":
            recording["marks"] = recording["marks"][::-1]
            cap["data"][31, 3] *= 1.25  # of none of the epochs that a checkpoint knows them by
        np.savez(folder / "rec.npz", **recording)
        np.savez(folder / "epochs.npz", **cap)
    return tessera


def run(hosts, *words, second=(), folder="$OMPI_COMM_WORLD_RANK"):
    """Two ranks; second: environment of the second."""
    own = ["sh", "-c", f'cd {folder}; exec "$@"', "sh"]
    line = [MPIRUN, "-n", "1", *own, BINARY, *words, "--threads", "1", ":", "-n", "1", "env",
            *second, *own, BINARY, *words, "--threads", "1"]
    return subprocess.run(line, cwd=hosts.directory, text=True, check=False, timeout=300,
                          env=environment(hosts), capture_output=True, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize(("words", "says"), [
    ([*FIT, "-o", "x"], "rank 1 is not at the work of rank 0: belongs to other data"),
    ([*DECODE, "-o", "x.h5"], "rank 1 is not at the work of rank 0: the model differs"),
    ([*EVENTS, "-o", "x.csv"], "rank 1 is not at the work of rank 0: "),
    ([*LEARN, "-o", "x.json"], "the ranks have come apart: at the samples of all epochs rank 1"),
])
def test_other_data_of_the_same_name_is_refused(hosts, words, says):
    """As where a host has an older copy."""
    result = run(hosts, *words)
    assert result.returncode == 65, result.stderr
    assert says in result.stderr
    assert not (hosts.directory / "0" / words[-1]).exists()


def test_a_copy_of_another_date_is_the_same_data(hosts):
    """Of epochs date and size are part of what a checkpoint knows them by."""
    copy = hosts.directory / "copy.npz"
    copy.write_bytes((hosts.directory / "0" / "epochs.npz").read_bytes())
    os.utime(copy, (1e9, 1e9))
    (hosts.directory / "1" / "epochs.npz").rename(hosts.directory / "kept.npz")
    (hosts.directory / "1" / "epochs.npz").symlink_to(copy)
    try:
        result = run(hosts, *LEARN, "-o", "copy.json", "--checkpoint", "work")
    finally:
        (hosts.directory / "kept.npz").replace(hosts.directory / "1" / "epochs.npz")
    assert result.returncode == 0, result.stderr


def test_a_failure_of_one_host_is_told_in_its_words(hosts):
    """Found out by the command, not by the library."""
    result = run(hosts, *FIT, "-o", "far", second=["TESSERA_SCRATCH=/nowhere"], folder="0")
    assert result.returncode != 0
    assert "rank 1 of 2: TESSERA_SCRATCH '/nowhere': there is no such folder" in result.stderr


@pytest.mark.skipif(platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc",
                    reason="needs a C library that can be told what CPU there is")
def test_another_libm_is_refused(hosts):
    """As on a CPU without fused multiply-adds, which the instruction set of both does not have."""
    without = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"
    if " fma " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("a CPU without fused multiply-adds")
    result = run(hosts, *FIT, "-o", "libm", "--isa", "ref", second=[without], folder="0")
    assert result.returncode == 69, result.stderr
    assert "exp() and its like have other last digits on rank 1" in result.stderr


@pytest.mark.parametrize("left", [
    {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}, {"PMIX_RANK": "1"}])
def test_what_a_launcher_left_in_the_environment(hosts, left):
    """A rank's program starts the command: it says what it finds, or refuses, but is never mute."""
    for words in ([*FIT[:2], "0/s.txc2", *FIT[3:], "-o", "left"],
                  ["autoreject", "ptp", "0/epochs.npz", "-o", "left.npy"]):
        said = hosts(*words, environment=left)
        assert said.returncode == 69, said.stderr
        assert "TESSERA_COMM=none" in said.stderr
    said = hosts("info", "0/s.txc2", environment=left)
    assert said.returncode == 0 and "s.txc2" in said.stdout, said.stderr
    said = hosts("info", "none.txc2", environment=left)
    assert said.returncode == 66 and "none.txc2" in said.stderr
