"""Whole recordings through the command: simulated, then decoded from file to file in little memory.

There is no peer: the original needs the likelihood of all rows in memory several times over (33 GB
for day-2d) and compiles every electrode's shape anew. What it would do per electrode is in the rows
likelihood-*.
"""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from cases._case import Case

LIMIT = "2G"
# A part of every recording, such as 0.01, to see that the rows run; what they measure is named so.
SHARE = float(os.environ.get("TESSERA_BENCH_SHARE", "1"))
# name: size of the simulator, time bins, spikes to train on and to decode, what it is
RECORDINGS = {
    "day-1d": ("day-1d", 210_000, 1_170_000, 500_000, "64 electrodes"),
    "run-1m": ("day-1d", 1_000_000, 1_170_000, 500_000, "the same, a million bins"),
    "day-2d": ("day-2d", 709_321, 440_000, 440_000, "22 electrodes, 724 places"),
    "probe-8": ("probe-8", 900_000, 2_000_000, 2_000_000, "48 groups of 8 features"),
    "chronic": ("chronic", 1_800_000, 2_000_000, 3_000_000, "64 electrodes"),
}


def options_of(size, n_bin, n_encoding, n_decoding):
    """Words for the simulator: its size as it is, or a share of it."""
    if SHARE == 1:
        return [size, "--time-bins", n_bin]
    return [size, "--time-bins", max(1000, round(n_bin * SHARE)),
            "--encoding-spikes", max(1000, round(n_encoding * SHARE)),
            "--decoding-spikes", max(1000, round(n_decoding * SHARE))]


def command(*words):
    """Run the command; wall seconds, processor seconds, most bytes resident."""
    begin = time.perf_counter()
    child = subprocess.Popen([os.environ["TESSERA_COMMAND"], *map(str, words), "-q"])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if child.returncode != 0:
        raise RuntimeError(f"tessera {' '.join(map(str, words))}: exit status {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


class Streamed:
    """A recording in a folder of its own, and what decoding it took."""

    def __init__(self, options):
        self.folder = tempfile.TemporaryDirectory(prefix="tessera-bench-",
                                                  dir=os.environ.get("TESSERA_BENCH_DIR"))
        self.recording = Path(self.folder.name) / "recording.h5"
        command("decode", "simulate", *options, "-o", self.recording)
        self.took = None

    def run(self, threads):
        out = Path(self.folder.name) / "result.h5"
        self.took = command("decode", "run", self.recording, "-o", out, "--overwrite",
                            "--memory-limit", LIMIT, "--threads", threads)
        return self.took[0]

    def more(self):
        _, processor, resident = self.took
        found = {"processor s": processor, "resident_bytes": resident, "memory limit": LIMIT,
                 "recording MB": self.recording.stat().st_size / 1e6}
        if not re.match("cpu|$", os.environ.get("TESSERA_DEVICE", "")):
            found["device"] = os.environ["TESSERA_DEVICE"]
        return found


def streamed_case(name):
    size, n_bin, n_encoding, n_decoding, what = RECORDINGS[name]
    part = "" if SHARE == 1 else f"{SHARE:g} of "
    counts = f"{n_bin:,} bins, {n_encoding:,} and {n_decoding:,} spikes"
    options = options_of(size, n_bin, n_encoding, n_decoding)
    return Case(
        name=name, what=f"{part}{counts}, {what}; from file to file", sizes={}, peer_name=None,
        tolerance=0.0, make=lambda: Streamed(options), ours=lambda data, threads: None,
        peer=lambda data: None,
        error=lambda ours, theirs: 0.0, times=lambda data, threads: (data.run(threads), None),
        more=lambda data, threads, ours_s: data.more(), all_threads_only=True, is_long=True)


def cases():
    return [streamed_case(name) for name in RECORDINGS]
