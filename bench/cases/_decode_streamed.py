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
# name: size of the simulator and more options, what it is
RECORDINGS = {
    "day-1d": (["day-1d"], "210 000 bins of 2 ms, 64 electrodes, 1.17 and 0.5 million spikes"),
    "run-1m": (["day-1d", "--time-bins", "1000000"], "the same, a million bins"),
    "day-2d": (["day-2d"], "709 321 bins, 22 electrodes, 0.44 and 0.44 million spikes, 724 places"),
    "probe-8": (["probe-8"], "900 000 bins, 48 groups of 8 features, 2 and 2 million spikes"),
    "chronic": (["chronic"], "1.8 million bins, 64 electrodes, 2 and 3 million spikes"),
}


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
    options, what = RECORDINGS[name]
    return Case(
        name=name, what=f"{what}; from file to file", sizes={}, peer_name=None, tolerance=0.0,
        make=lambda: Streamed(options), ours=lambda data, threads: None, peer=lambda data: None,
        error=lambda ours, theirs: 0.0, times=lambda data, threads: (data.run(threads), None),
        more=lambda data, threads, ours_s: data.more(), all_threads_only=True, is_long=True)


def cases():
    return [streamed_case(name) for name in RECORDINGS]
