"""Latencies of the online decoder, by the program bench/online_latency.c, in real time.

There is no peer: the original decodes whole recordings. The time of a row is its p50; a
neighbour is a process that never rests, of which there are as many as cores.
"""

import json
import os
import subprocess
from pathlib import Path

from cases._case import Case

COMMON = ["--encoding", 20_000, "--bins", 1000]
ROWS = {
    "online": ([], "40 spikes in every bin of 6 ms"),
    "online-busy": (["--busy", os.cpu_count()], "the same beside busy neighbours"),
    "online-fifo": (["--fifo", 20], "the same with real-time priority"),
    "online-fifo-busy": (["--fifo", 20, "--busy", os.cpu_count()], "both"),
    "online-learn": (["--fifo", 20, "--learn", 20_000], "real-time priority, every spike learned"),
    "online-learn-busy": (["--fifo", 20, "--learn", 20_000, "--busy", os.cpu_count()],
                          "the same beside busy neighbours"),
}


def program():
    """Beside the command in the folder of a build; None where it was not built."""
    path = Path(os.environ["TESSERA_COMMAND"]).parents[1] / "tests" / "online_latency"
    return path if path.exists() else None


def measure(options, threads):
    words = [program(), *COMMON, *options, "--threads", threads]
    answer = subprocess.run([str(word) for word in words], check=True, capture_output=True,
                            text=True)
    return json.loads(answer.stdout)


def more(found):
    facts = {f"{name} ms": found[f"{name}_us"] / 1e3 for name in ("p50", "p99", "p999", "max")}
    facts["late"] = found["late"]
    if found["fifo"] == 0:
        facts["priority"] = "as any process"
    return facts


def online_case(name):
    options, what = ROWS[name]
    found = {}

    def times(data, threads):
        found.update(measure(options, threads))
        return found["p50_us"] / 1e6, None

    def make():
        if program() is None:
            raise SystemExit("online rows need the program online_latency: ninja online_latency")

    return Case(
        name=name, what=what, peer_name=None, tolerance=0.0,
        sizes={"n_electrode": 64, "n_encoding": 20_000, "n_bin": 200, "n_feature": 4,
               "spikes_per_bin": 40, "bins": 1000},
        make=make, ours=lambda data, threads: None, peer=lambda data: None,
        error=lambda ours, theirs: 0.0, times=times,
        more=lambda data, threads, ours_s: more(found), all_threads_only=True)


def cases():
    return [online_case(name) for name in ROWS]
