"""Times Tessera against its peers: ours and theirs in one process, alternating, same data.

    python bench/run.py [SYSTEM...] [ROW...] [--case NAME] [--long] [--minutes M] [--list]
                        [--device NAME] [--json FILE] [--seconds S] [--command PATH] [--save]
                        [--machine NAME] [--flash-clifford DIR]

Rows are named, or chosen by a part of their name (--case), or all that do not take minutes (--long:
those too); --list names them, and with --minutes none is begun after that. --device is what
TESSERA_DEVICE says: ours runs there, and so does a peer that can.

Agreement is checked first; a row that disagrees is not timed and makes the exit status 1. Times
are medians of warm runs. share_of_roofline is the share of the memory-read bandwidth or of the
float32 arithmetic, whichever the case counts, measured by `tessera device --benchmark` with the
same number of threads; it exceeds 1 when the data stay in cache or a method needs less arithmetic
than the plain sum. Where a peer is not installed its columns say so. A ratio below 1 is a case in
which the peer is faster. A system is a file of bench/cases with a function cases(). --save keeps
the rows in bench/results and makes docs/benchmarks.md and the README's table anew; where others
kept the machine busy at the start, the file says so.
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

import results
import tables

HERE = Path(__file__).resolve().parent
MINIMUM_REPEATS = 7  # 3 where that would take longer than PATIENCE, 1 where three would
PATIENCE = 10.0


def systems():
    return sorted(path.stem for path in (HERE / "cases").glob("*.py") if path.stem[0] != "_")


def ceilings(command, threads):
    """What this machine reads and computes per second at most, as the command measures it."""
    answer = subprocess.run(
        [command, "device", "--benchmark", "--json", "--threads", str(threads), "--device", "cpu"],
        check=True, capture_output=True, text=True,
    )
    for device in json.loads(answer.stdout)["devices"]:
        if device["id"] == "cpu":
            return device["ceilings"]
    raise RuntimeError("tessera device --benchmark --json lists no cpu")


def time_alternating(ours, peer, seconds):
    """Median seconds of each, taking turns so that both meet the same machine.

    Both are warm: checking that they agree has run them once.
    """
    sides = [run for run in (ours, peer) if run is not None]
    times = [[] for _ in sides]
    begin = time.perf_counter()
    while True:
        for run, list_of_times in zip(sides, times):
            start = time.perf_counter()
            run()
            list_of_times.append(time.perf_counter() - start)
        elapsed = time.perf_counter() - begin
        enough = len(times[0]) >= MINIMUM_REPEATS and elapsed >= len(sides) * seconds
        if enough or len(times[0]) >= 3 and elapsed > PATIENCE or elapsed > 3 * PATIENCE:
            break
    medians = [statistics.median(list_of_times) for list_of_times in times]
    return medians[0], medians[1] if peer else None


def version_of(distribution):
    """The version of a peer; None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def timed(case, data, threads, has_peer, seconds):
    if case.times is not None:
        return case.times(data, threads)
    return time_alternating(lambda: case.ours(data, threads),
                            (lambda: case.peer(data)) if has_peer else None, seconds)


def share_of_roofline(case, ours_s, limits):
    if case.flop:
        return case.flop / ours_s / limits["flop_f32_per_s"]
    if case.bytes_read:
        return case.bytes_read / ours_s / limits["read_bytes_per_s"]
    return None


def rows_of(case, thread_counts, limits, seconds):
    """One row per thread count; the peer runs as it does by itself."""
    version = version_of(case.peer_name) if case.peer_name else None
    data = case.make()
    theirs = case.peer(data) if version else None
    for threads in thread_counts[-1:] if case.all_threads_only else thread_counts:
        found = case.ours(data, threads)
        error = case.error(found, theirs) if version else None
        row = {
            "case": case.name,
            "what": case.what,
            "sizes": case.sizes,
            "threads": threads,
            "peer": case.peer_label or case.peer_name,
            "peer_version": version,
            "max_error": error,
            "tolerance": case.tolerance,
            "agree": error is None or bool(error <= case.tolerance),
            "ours_s": None,
            "peer_s": None,
            "ratio": None,
            "share_of_roofline": None,
            "more": {},
        }
        if row["agree"]:
            ours_s, peer_s = timed(case, data, threads, version is not None, seconds)
            row.update(
                ours_s=ours_s,
                peer_s=peer_s,
                ratio=peer_s / ours_s if peer_s else None,
                share_of_roofline=share_of_roofline(case, ours_s, limits[threads]),
            )
        if case.more:
            row["more"] = case.more(data, threads, row["ours_s"])
            row["resident_bytes"] = row["more"].pop("resident_bytes", None)
        yield row


def cell(value, width, form, missing="-"):
    return f"{missing if value is None else format(value, form):>{width}}"


def print_row(row):
    name = f"{row['case']:<24} {row['threads']:>7}"
    if row["agree"]:
        ours, peer = (row[side] and row[side] * 1e3 for side in ("ours_s", "peer_s"))
        missing = "-" if row["peer_version"] or not row["peer"] else "no peer"
        share = row["share_of_roofline"]
        print(f"{name} {cell(ours, 10, '.3f')} {cell(peer, 10, '.3f', missing)}"
              f" {cell(row['ratio'], 7, '.2f')} {cell(share and share * 100, 9, '.0f')} %"
              f" {cell(row['max_error'], 9, '.2g')}", flush=True)
    else:
        print(f"{name}   DISAGREES: error {row['max_error']:.3g} > {row['tolerance']:.3g}",
              flush=True)
    if row["more"]:
        said = (f"{key} {format(value, '.3g') if isinstance(value, float) else value}"
                for key, value in row["more"].items())
        print("    " + ", ".join(said), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="SYSTEM|ROW",
                        help=f"{', '.join(systems())}; or a row of one")
    parser.add_argument("--case", help="only rows whose name contains this")
    parser.add_argument("--long", action="store_true", help="rows that take minutes, too")
    parser.add_argument("--minutes", type=float, default=float("inf"),
                        help="begin no row after so many")
    parser.add_argument("--list", action="store_true", help="name the rows, and run none")
    parser.add_argument("--device", help="where ours runs: cpu, cuda, cuda:1 (default: cpu)")
    parser.add_argument("--json", metavar="FILE", help="write the rows there as a JSON array")
    parser.add_argument("--seconds", type=float, default=1.0, help="per side and row (default 1)")
    parser.add_argument("--command", default=shutil.which("tessera"), help="the tessera command")
    parser.add_argument("--save", action="store_true",
                        help="keep the rows in bench/results, a file per system")
    parser.add_argument("--flash-clifford", metavar="DIR",
                        help="a checkout of it: clifford's products against its Triton kernels")
    parser.add_argument("--machine", metavar="NAME",
                        help="what --save calls this machine (default: its GPU or processor)")
    args = parser.parse_intermixed_args()  # rows may stand after options
    args.systems = [word for word in args.words if word in systems()]
    args.rows = [word for word in args.words if word not in systems()]
    if args.flash_clifford:
        os.environ["TESSERA_FLASH_CLIFFORD"] = args.flash_clifford
    if args.device:
        os.environ["TESSERA_DEVICE"] = args.device
    if args.command is None and not args.list:
        parser.error("the command tessera is not on the path: name it with --command")
    if args.machine and not args.save:
        parser.error("--machine names the machine of --save, which is not there")
    if args.command:
        os.environ["TESSERA_COMMAND"] = str(Path(args.command).resolve())
    args.chosen = chosen(args)
    unknown = set(args.rows) - {case.name for _, case in args.chosen}
    if unknown:
        parser.error(f"no system and no row is called {', '.join(sorted(unknown))}; there are "
                     f"{', '.join(systems())}, and --list names the rows")
    return args


def chosen(args):
    """[(system, case)] that the arguments ask for."""
    found = []
    for system in args.systems or systems():
        for case in importlib.import_module(f"cases.{system}").cases():
            is_named = case.name in args.rows
            is_usual = not args.rows and (args.long or not case.is_long)
            if is_named or is_usual and (not args.case or args.case in case.name):
                found.append((system, case))
    return found


def list_rows(rows):
    for system, case in rows:
        print(f"{system:<11} {case.name:<24} {'long  ' if case.is_long else '      '}{case.what}")


def notes_of_load(load, cores):
    """What a file says where others had the processor."""
    if load <= 0.3 * cores:
        return []
    return [f"Measured beside others: {load:.1f} processes wanted the {cores} cores when it began. "
            "Both sides of a row met the same."]


def save_rows(args, rows_by_system, limits, cores, notes):
    """A result file per system, and the pages made of them."""
    ceilings_list = [{"threads": n, **limit} for n, limit in limits.items()]
    for system, rows in rows_by_system.items():
        words = ["./dev", "bench", system, *args.rows,
                 *(["--case", args.case] if args.case else []), *["--long"] * args.long,
                 *(["--device", args.device] if args.device else [])]
        on_gpu = any(row["more"].get("device", "cpu") != "cpu" for row in rows)
        machine = results.this_machine(cores, on_gpu, args.machine)
        path = results.save(system, machine, shlex.join(words), ceilings_list, rows, notes=notes)
        print(f"saved {path}")
    tables.main([])


def main():
    args = parse_arguments()
    if args.list:
        args.long = True
        return list_rows(chosen(args))
    all_cores = len(os.sched_getaffinity(0))
    notes = notes_of_load(os.getloadavg()[0], all_cores)
    thread_counts = sorted({1, all_cores})
    limits = {n: ceilings(args.command, n) for n in thread_counts}

    print(f"$ {shlex.join(sys.argv)}")
    print(f"{platform.machine()}, {all_cores} cores; " + ", ".join(
        f"{limit['read_bytes_per_s'] / 1e9:.1f} GB/s, {limit['flop_f32_per_s'] / 1e9:.0f} GFLOP/s"
        f" with {n} thread{'s' * (n > 1)}" for n, limit in limits.items()))
    print(f"{'case':<24} {'threads':>7} {'ours ms':>10} {'peer ms':>10} {'ratio':>7}"
          f" {'of roofline':>11} {'max error':>9}")
    by_system = {}
    begin = time.monotonic()
    for system, case in args.chosen:
        if time.monotonic() - begin > 60 * args.minutes:
            print(f"{case.name:<24} left out: {args.minutes:g} minutes are over")
            continue
        for row in rows_of(case, thread_counts, limits, args.seconds):
            by_system.setdefault(system, []).append(row)
            print_row(row)
    rows = [row for rows_of_system in by_system.values() for row in rows_of_system]
    peers = {(row["peer"], row["peer_version"]) for row in rows if row["peer"]}
    for peer, version in sorted(peers):
        print(f"peer: {peer} {version or 'is not installed'}")
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2) + "\n")
    all_agree = all(row["agree"] for row in rows)
    if args.save and all_agree:
        save_rows(args, by_system, limits, all_cores, notes)
    elif args.save:
        print("nothing saved: a row disagrees")
    return 0 if all_agree else 1


if __name__ == "__main__":
    sys.exit(main())
