"""Times clifford against torch.compile over batch sizes and features, and draws the maps.

    python bench/clifford_sweep.py [--op sgp3] [--batch LIST] [--features LIST] [--report FILE.html]

Every size runs in a process of its own, so that the peer is compiled for exactly that shape. The
page has maps of times, of the speed-up over torch.compile and, on a GPU, of peak memory and its
ratio. What is timed, and how, stands in bench/cases/clifford.py; agreement is checked first.
"""

import argparse
import html
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Clifford operations against torch.compile</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em}}
table{{border-collapse:collapse}}td,th{{padding:.3em .8em;text-align:right}}</style></head>
<body><h1>Clifford operations against torch.compile</h1><p>{facts}</p>
{maps}</body></html>
"""
MAPS = [
    ("Ours, ms", lambda row: row["ours_s"] * 1e3, "{:.3f}"),
    ("torch.compile, ms", lambda row: row["peer_s"] * 1e3, "{:.3f}"),
    ("Speed-up", lambda row: row["peer_s"] / row["ours_s"], "{:.2f}"),
    ("Peak memory, MiB", lambda row: row["more"].get("MiB"), "{:.0f}"),
    ("Peak memory, share of torch.compile",
     lambda row: row["more"].get("MiB") and row["more"]["MiB"] / row["more"]["peer MiB"], "{:.2f}"),
]


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


def colour(value, low, high):
    """From violet to yellow as the value rises; text that can be read on it."""
    fraction = 0.5 if high <= low else (value - low) / (high - low)
    red, green, blue = (round(a + (b - a) * fraction) for a, b in ((68, 253), (1, 231), (84, 37)))
    return f"background:rgb({red},{green},{blue});color:{'#000' if fraction > 0.5 else '#fff'}"


def map_table(rows, batches, features, value, form):
    """One map, or nothing where nothing was measured."""
    found = {(row["batch"], row["features"]): value(row) for row in rows}
    known = [v for v in found.values() if v is not None]
    if not known:
        return ""
    head = "".join(f"<th>{n}</th>" for n in features)
    lines = [f"<table><tr><th>batch \\ features</th>{head}</tr>"]
    for batch in batches:
        cells = "".join(
            f'<td style="{colour(found[batch, n], min(known), max(known))}">'
            f"{form.format(found[batch, n])}</td>" for n in features)
        lines.append(f"<tr><th>{batch}</th>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def page(rows, batches, features, command):
    """The whole page."""
    parts = []
    for op, way in dict.fromkeys((row["op"], row["way"]) for row in rows):
        these = [row for row in rows if (row["op"], row["way"]) == (op, way)]
        for title, value, form in MAPS:
            table = map_table(these, batches, features, value, form)
            if table:
                parts.append(f"<h2>{html.escape(f'{op}, {way}: {title}')}</h2>\n{table}")
    facts = html.escape(f"{rows[0]['more']['device']}; {command}")
    return PAGE.format(facts=facts, maps="\n".join(parts))


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--op", default="sgp2,sgp3,fcgp3,layer3", help="which, joined by commas")
    parser.add_argument("--way", default="fwd,fwdbwd")
    parser.add_argument("--batch", type=numbers, default=[1024, 2048, 4096, 8192])
    parser.add_argument("--features", type=numbers, default=[128, 256, 512, 1024])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--report", metavar="FILE", help="write the maps there")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
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
    if args.report:
        Path(args.report).write_text(page(rows, args.batch, args.features, " ".join(sys.argv)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
