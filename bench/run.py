"""Times Tessera against its peers: ours and theirs in one process, alternating, same data.

    python bench/run.py [SYSTEM...] [--json FILE] [--seconds S] [--command PATH]

Agreement is checked first; a row that disagrees is not timed and makes the exit status 1. Times
are medians of warm runs. share_of_roofline is the share of the memory-read bandwidth measured by
`tessera device --benchmark` with the same number of threads; it exceeds 1 when the data stay in
cache. A system is a file of bench/cases with a function cases().
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MINIMUM_REPEATS = 7


def systems():
    return sorted(path.stem for path in (HERE / "cases").glob("*.py") if path.stem[0] != "_")


def read_bandwidth(command, threads):
    """Bytes per second this machine reads from memory, as the command measures it."""
    answer = subprocess.run(
        [command, "device", "--benchmark", "--json", "--threads", str(threads)],
        check=True, capture_output=True, text=True,
    )
    for device in json.loads(answer.stdout)["devices"]:
        if device["id"] == "cpu":
            return device["ceilings"]["read_bytes_per_s"]
    raise RuntimeError("tessera device --benchmark --json lists no cpu")


def time_alternating(ours, peer, seconds):
    """Median seconds of each, warm, taking turns so that both meet the same machine."""
    ours()
    peer()
    times = ([], [])
    begin = time.perf_counter()
    while len(times[0]) < MINIMUM_REPEATS or time.perf_counter() - begin < 2 * seconds:
        for run, list_of_times in zip((ours, peer), times):
            start = time.perf_counter()
            run()
            list_of_times.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def rows_of(case, thread_counts, bandwidth, seconds):
    """One row per thread count; the peer runs as it does by itself."""
    data = case.make()
    theirs = case.peer(data)
    for threads in thread_counts:
        error = case.error(case.ours(data, threads), theirs)
        row = {
            "case": case.name,
            "sizes": case.sizes,
            "threads": threads,
            "peer": case.peer_name,
            "peer_version": importlib.metadata.version(case.peer_name),
            "max_error": error,
            "tolerance": case.tolerance,
            "agree": bool(error <= case.tolerance),
            "ours_s": None,
            "peer_s": None,
            "ratio": None,
            "share_of_roofline": None,
        }
        if row["agree"]:
            ours_s, peer_s = time_alternating(
                lambda threads=threads: case.ours(data, threads),
                lambda: case.peer(data),
                seconds,
            )
            row.update(
                ours_s=ours_s,
                peer_s=peer_s,
                ratio=peer_s / ours_s,
                share_of_roofline=case.bytes_read / ours_s / bandwidth[threads],
            )
        yield row


def print_row(row):
    name = f"{row['case']:<24} {row['threads']:>7}"
    if not row["agree"]:
        print(f"{name}   DISAGREES: error {row['max_error']:.3g} > {row['tolerance']:.3g}")
        return
    print(
        f"{name} {row['ours_s'] * 1e3:>10.3f} {row['peer_s'] * 1e3:>10.3f} {row['ratio']:>7.2f}"
        f" {row['share_of_roofline'] * 100:>9.0f} % {row['max_error']:>9.2g}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(systems()))
    parser.add_argument("--json", metavar="FILE", help="write the rows there as a JSON array")
    parser.add_argument("--seconds", type=float, default=1.0, help="per side and row (default 1)")
    parser.add_argument("--command", default=shutil.which("tessera"), help="the tessera command")
    args = parser.parse_args()
    for name in set(args.systems) - set(systems()):
        parser.error(f"no cases for {name}; there are: {', '.join(systems())}")
    if args.command is None:
        parser.error("the command tessera is not on the path: name it with --command")

    sys.path.insert(0, str(HERE))
    all_cores = len(os.sched_getaffinity(0))
    thread_counts = sorted({1, all_cores})
    bandwidth = {n: read_bandwidth(args.command, n) for n in thread_counts}

    print(f"$ {shlex.join(sys.argv)}")
    print(f"{platform.machine()}, {all_cores} cores; memory read " + ", ".join(
        f"{value / 1e9:.1f} GB/s with {n} thread{'s' * (n > 1)}" for n, value in bandwidth.items()))
    print(f"{'case':<24} {'threads':>7} {'ours ms':>10} {'peer ms':>10} {'ratio':>7}"
          f" {'of roofline':>11} {'max error':>9}")
    rows = []
    for system in args.systems or systems():
        for case in importlib.import_module(f"cases.{system}").cases():
            for row in rows_of(case, thread_counts, bandwidth, args.seconds):
                rows.append(row)
                print_row(row)
    for peer in sorted({(row["peer"], row["peer_version"]) for row in rows}):
        print(f"peer: {peer[0]} {peer[1]}")
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["agree"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
