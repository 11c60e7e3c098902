"""Times clifford against torch.compile over batch sizes and features, and draws the maps.

    python bench/clifford_sweep.py [--op sgp3] [--batch LIST] [--features LIST] [--report FILE.html]
                                    [--peer FILE.json]

Every size runs in a process of its own, so that the peer is compiled for exactly that shape. The
page (clifford_page.py) has maps of times, of the speed-up over torch.compile and, on a GPU, of peak
memory and its ratio, with marks where we lose. What is timed, and how, stands in
bench/cases/clifford.py; agreement is checked first.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from clifford_page import make

HERE = Path(__file__).resolve().parent


def measure_one(op, way, batch, features, dtype):
    """In the process of one size: check, time, print."""
    sys.path.insert(0, str(HERE))
    from cases.clifford import Prepared, relative

    data = Prepared(op[:-1], int(op[-1]), batch, features, dtype, way == "fwdbwd")
    threads = len(os.sched_getaffinity(0))
    error = relative(data.ours(threads), data.peer())
    ours_s, peer_s = data.times(threads)
    print(json.dumps({"op": op, "way": way, "batch": batch, "features": features, "error": error,
                      "ours_s": ours_s, "peer_s": peer_s, "more": data.more()}))


def numbers(text):
    return [int(part) for part in text.split(",")]


def peer_times(op, dtype, rows):
    """The peer's medians as 'tessera clifford bench --json' writes its own."""
    names = {"fwd": "forward_s", "fwdbwd": "forward_backward_s"}
    sizes = {}
    for row in rows:
        if row["op"] == op:
            at = row["batch"], row["features"]
            found = sizes.setdefault(at, {"batch": at[0], "features": at[1]})
            found[names[row["way"]]] = row["peer_s"]
    dtypes = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16"}
    return {"schema": "tessera.clifford.bench/1", "op": op[:-1], "metric": "+" * int(op[-1]),
            "dtype": dtypes[dtype], "rows": list(sizes.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--op", default="sgp2,sgp3,fcgp3,layer3", help="which, joined by commas")
    parser.add_argument("--way", default="fwd,fwdbwd")
    parser.add_argument("--batch", type=numbers, default=[1024, 2048, 4096, 8192])
    parser.add_argument("--features", type=numbers, default=[128, 256, 512, 1024])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--report", metavar="FILE", help="write the maps there")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    parser.add_argument("--peer", metavar="FILE", help="write the peer's times of the last of the "
                        "operations there, for 'tessera clifford bench --peer FILE'")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        return measure_one(args.op, args.way, args.batch[0], args.features[0], args.dtype)
    rows = []
    for op in args.op.split(","):
        for way in args.way.split(","):
            for batch in args.batch:
                for n in args.features:
                    answer = subprocess.run(
                        [sys.executable, __file__, "--one", "--op", op, "--way", way, "--batch",
                         str(batch), "--features", str(n), "--dtype", args.dtype],
                        check=True, stdout=subprocess.PIPE, text=True)
                    row = json.loads(answer.stdout.splitlines()[-1])
                    rows.append(row)
                    print(f"{op} {way:<6} {batch:>6} x {n:<5} ours {row['ours_s'] * 1e3:9.3f} ms, "
                          f"torch.compile {row['peer_s'] * 1e3:9.3f} ms, "
                          f"{row['peer_s'] / row['ours_s']:6.2f} x, error {row['error']:.1e}",
                          flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2) + "\n")
    if args.peer:
        last = peer_times(args.op.split(",")[-1], args.dtype, rows)
        Path(args.peer).write_text(json.dumps(last, indent=1))
    if args.report:
        text = make(rows, args.batch, args.features, " ".join(sys.argv))
        Path(args.report).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
