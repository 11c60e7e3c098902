#!/usr/bin/env python3
"""How runs scale over ranks: time per step, split into compute, wait and reduce.

Usage: scaling.py [CASE ...] [--cores 16] [--repeats 3] [--minutes 2] [--json FILE]

Cases: xpcs-pass (a pass over all points), xpcs-fit (a whole fit), decode-likelihood (the rows of a
recording), study (recordings of a BIDS tree). Each is run

- strong: the same work by 1, 2, 4, ... ranks that share the cores, against one process that has
  them all as threads;
- ranks: the same work by 1, 2, 4, ... ranks of one thread each, against one of them;
- weak: the work of one rank times their number, one thread each.

Ranks must give the bytes of one process, else nothing is timed. Figures are of rank 0, from its
trace: wait is until the slowest rank came, reduce the exchange of bytes and putting them together,
compute the rest. Each is the median of all steps of all repeats. scaling_model.py makes tables of
the file, and a model that says what more ranks would give.
"""

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import scaling_cases

# Open MPI refuses root unless told otherwise; others do not know the variables.
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
KINDS = ("strong", "ranks", "weak")


class Runner:
    """Runs the command, alone or under mpirun, in a folder for a while."""

    def __init__(self, options, folder):
        self.command = options.command
        self.mpirun = shlex.split(options.mpirun)
        self.folder = folder
        self.end = time.monotonic() + 60 * options.minutes

    def has_time(self):
        return time.monotonic() < self.end

    def __call__(self, words, n_rank=0, threads=1):
        """Run; 0 ranks: without MPI. Returns what it printed."""
        limits = ["--threads", str(threads)] if threads else []
        return self.launch(n_rank, [self.command, *map(str, words), *limits])

    def launch(self, n_rank, line):
        line = [*self.mpirun, "-n", str(n_rank), *line] if n_rank > 0 else line
        done = subprocess.run(
            line, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            env=os.environ | ROOT,
        )
        if done.returncode != 0:
            sys.exit(f"{shlex.join(line)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout


def read_trace(path):
    """Spans of rank 0 in the order of their beginning: name, begin, seconds, bytes."""
    found = json.loads(path.read_text())
    found = found if isinstance(found, list) else found["traceEvents"]
    spans = [
        (e["name"], e["ts"] * 1e-6, e["dur"] * 1e-6, e.get("args", {}).get("bytes", 0))
        for e in found
        if e.get("ph") == "X"
    ]
    return sorted(spans, key=lambda span: span[1])


def measure(run, case, work, n_rank, threads):
    """Steps of one run: a list of {step, compute, wait, reduce, bytes}."""
    words = case.words(work)
    run([*words, "--trace", "trace.json", "--overwrite", "-q"], n_rank, threads)
    return case.steps(read_trace(run.folder / "trace.json"))


def plan(kind, cores):
    """(ranks, threads, share of the work) of a kind, the base first; 0 ranks: without MPI."""
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= cores]
    if kind == "strong":
        return [(0, cores, 1.0)] + [(n, cores // n, 1.0) for n in counts]
    share = [n / counts[-1] if kind == "weak" else 1.0 for n in counts]
    return [(n, 1, part) for n, part in zip(counts, share, strict=True)]


def check(run, case, cores):
    """Stop unless several ranks give the bytes of one process."""
    work = case.prepare(run, 1 / 16)
    want = None
    for n_rank in (0, 2, 3, cores):
        run([*case.words(work), "--overwrite", "-q"], n_rank, 1)
        found = case.digest(run.folder)
        want = want or found
        if found != want:
            sys.exit(f"{case.name}: {n_rank} ranks do not give the bytes of one process")


def run_case(run, case, options):
    rows = []
    check(run, case, options.cores)
    for kind in options.kind:
        base = None
        for n_rank, threads, share in plan(kind, options.cores):
            if not run.has_time():
                print(f"{case.name} {kind}: no time left", file=sys.stderr)
                return rows
            work = case.prepare(run, share)
            steps = []
            for _ in range(options.repeats):
                steps += measure(run, case, work, n_rank, threads)
            keys = ("step", "compute", "wait", "reduce", "bytes")
            row = {k: statistics.median(step[k] for step in steps) for k in keys}
            base = base or row["step"]
            row |= {"case": case.name, "kind": kind, "ranks": n_rank, "threads": threads}
            row |= {"work": work.amount, "n_step": len(steps), "efficiency": base / row["step"]}
            if kind == "ranks":
                row["efficiency"] /= n_rank
            rows.append(row)
            tell(row)
    return rows


def tell(row):
    times = " ".join(f"{k} {1e3 * row[k]:9.3f}" for k in ("step", "compute", "wait", "reduce"))
    print(
        f"{row['case']:18} {row['kind']:6} {row['ranks']:3} x {row['threads']:2}  {times} ms "
        f"{row['bytes'] / 1e3:10.1f} kB  {100 * row['efficiency']:5.1f} %",
        flush=True,
    )


def describe(options):
    """Where and when."""
    lines = [line for line in read_lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "machine": lines[0].split(":")[1].strip() if lines else platform.machine(),
        "cores": options.cores,
        "load_before": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
        "repeats": options.repeats,
    }


def read_lines(path):
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--command", default="build/release/bin/tessera")
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=30, help="no row begins after that")
    parser.add_argument("--kind", action="append", choices=KINDS, help="all of them")
    parser.add_argument("--size", type=float, default=1.0, help="of the work: 0.1 for a try")
    parser.add_argument("--json", type=Path, help="keep the rows here")
    options = parser.parse_args()
    options.command = str(Path(options.command).resolve())
    options.kind = options.kind or KINDS
    all_cases = {case.name: case for case in scaling_cases.make(options.size)}
    unknown = [name for name in options.cases if name not in all_cases]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(all_cases)}")
    facts = describe(options)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        run = Runner(options, Path(folder))
        exchange = scaling_cases.time_exchange(run, options.cores)
        for name in options.cases or all_cases:
            rows += run_case(run, all_cases[name], options)
    if options.json:
        found = facts | {"exchange": exchange, "rows": rows}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
