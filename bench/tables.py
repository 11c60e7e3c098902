"""Makes docs/benchmarks.md and the README's table of speed from bench/results/*.json.

    python bench/tables.py            rewrite both
    python bench/tables.py --check    exit 1 and say what differs if they are not up to date
"""

import argparse
import difflib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import results

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
BEGIN = "<!-- made by bench/tables.py from bench/results: do not edit -->"
END = "<!-- end of what bench/tables.py makes -->"
SYSTEMS = ("autoreject", "decode", "xpcs", "clifford")

# The README's rows: system, machine, case, what a reader calls it.
SHOWN = [
    ("autoreject", "x86-64-2-cores", "fit-exact-300x128x1000",
     "`AutoReject.fit`, 300 epochs x 128 channels x 1000 samples"),
    ("autoreject", "x86-64-2-cores", "ransac-300x128x1000", "RANSAC, the same epochs"),
    ("decode", "x86-64-2-cores", "realistic", "`predict`, 64 electrodes, 2000 place bins"),
    ("decode", "x86-64-2-cores", "first-call-medium",
     "import, `fit` and `predict` in a new process"),
    ("xpcs", "x86-64-2-cores", "fit-laminar", "laminar-flow fit, 23 angles x 1000 frames"),
    ("xpcs", "x86-64-2-cores", "fit-laminar-23x200", "the same, 23 angles x 200 frames"),
    ("clifford", "nvidia-h200", "sgp3-fwdbwd", "3D product, forward and backward, 4096 x 512"),
    ("clifford", "nvidia-h200", "layer3-fwdbwd", "3D layer, forward and backward, 4096 x 512"),
]

INTRODUCTION = f"""{BEGIN}

# Benchmarks

Every figure on this page comes from a file of `bench/results`, which says machine, date, commit
and command; `bench/tables.py` makes the page. Measure it yourself, on your machine:

```sh
./dev bench decode             # installs the peer, checks agreement, times both, alternating
./dev bench decode --save      # keeps the rows in bench/results and makes this page anew
tessera bench                  # ours alone: kernels and systems, against the machine's ceilings
```

Ours and the peer run on the same data and cores, warm, in turn; agreement is checked first, and a
row that disagrees is not timed. *Ratio* is the peer's time over ours: below 1 the peer is faster.
*Of roofline* is the share of the memory bandwidth or of the arithmetic that the machine can do at
most, whichever the case counts, measured beside it; it exceeds 100 % where data stay in cache or a
method needs less than the plain sum. *Max error* is the largest difference from the peer in the
measure of the case. *Measured* is the date, and the commit that brought the figures.
"""


def key_of(row):
    return row["case"], row["threads"]


def newest_rows(all_results):
    """{(system, machine id): {(case, threads): (result, row)}}, newer rows over older ones."""
    tables = {}
    for result in all_results:
        table = tables.setdefault((result["system"], result["machine"]["id"]), {})
        for row in result["rows"]:
            table[key_of(row)] = result, row
    return tables


def milliseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e3:.3f}"


def brief_time(seconds):
    """A time as a sentence has it."""
    for limit, factor, unit in ((1e-3, 1e6, "us"), (1, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def times_word(ratio):
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def when(result, row):
    return f"{result['date']}, {row.get('commit', result['commit'])}"


def has_peer(row):
    return row["ratio"] is not None


def markdown(head, rows, right):
    """A table; right: which columns are numbers."""
    rule = ["---:" if i in right else "---" for i in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def peer_table(pairs):
    extra = sorted({name for _, row in pairs for name, value in row.get("more", {}).items()
                    if isinstance(value, float)})
    head = ["case", "threads", "ours ms", "peer ms", "ratio", "of roofline", "max error", *extra,
            "measured"]
    rows = []
    for result, row in pairs:
        share = row["share_of_roofline"]
        error = row["max_error"]
        more = row.get("more", {})
        ratio = f"{row['ratio']:.2f}"
        rows.append([
            f"`{row['case']}`", str(row["threads"]), milliseconds(row["ours_s"]),
            milliseconds(row["peer_s"]), f"**{ratio}**" if row["ratio"] < 1 else ratio,
            "" if share is None else f"{share * 100:.0f} %",
            "" if error is None else f"{error:.2g}",
            *(f"{more[name]:.3g}" if name in more else "" for name in extra), when(result, row)])
    return markdown(head, rows, set(range(1, len(head) - 1)))


def megabytes(count):
    return "" if count is None else f"{count / 1e6:.0f} MB"


# What rows without a peer say beside their time: of online rows, overheads and posteriors.
TOLD = ("p50 ms", "p99 ms", "max ms", "overhead %", "at most %", "effective draws", "cpu s")


def rate_text(row):
    if row.get("rate") is None:
        return ""
    return f"{row['rate']:.4g} {row['rate_unit']}"


def alone_table(pairs):
    head = ["case", "what", "threads", "time", "rate", "resident", *TOLD, "measured"]
    rows = [[f"`{row['case']}`", row.get("what", ""), str(row["threads"]),
             "" if row["ours_s"] is None else brief_time(row["ours_s"]), rate_text(row),
             megabytes(row.get("resident_bytes")),
             *(f"{row['more'][name]:.3g}" if name in row.get("more", {}) else ""
               for name in TOLD), when(result, row)] for result, row in pairs]
    # columns that no row of this machine fills are left out
    keep = [i for i in range(len(head)) if i < 4 or any(cells[i] for cells in rows)]
    right = {k for k, i in enumerate(keep) if 2 <= i < len(head) - 1}
    return markdown([head[i] for i in keep], [[cells[i] for i in keep] for cells in rows], right)


def ceiling_line(result):
    return ", ".join(
        f"{c['read_bytes_per_s'] / 1e9:.1f} GB/s and {c['flop_f32_per_s'] / 1e9:.0f} GFLOP/s with"
        f" {c['threads']} thread{'s' * (c['threads'] != 1)}" for c in result.get("ceilings", []))


def about_runs(pairs):
    """Commands, ceilings, peers and notes of the results that have a row here."""
    seen = []
    for result, _ in pairs:
        if result not in seen:
            seen.append(result)
    lines = [f"- {result['date']}, {result['commit']}: `{result['command']}`"
             + (f"; the machine does {ceiling_line(result)}" if ceiling_line(result) else "")
             for result in seen]
    peers = sorted({f"{row['peer']} {row['peer_version'] or ''}".strip() for _, row in pairs
                    if row["peer"]})
    if peers:
        lines.append(f"- Peer: {', '.join(peers)}.")
    lines += [f"- {note}" for result in seen for note in result.get("notes", [])]
    return lines


def machine_section(table):
    pairs = list(table.values())
    machine = pairs[-1][0]["machine"]
    lines = ["", f"### {machine['name']}", ""]
    for make, some in ((peer_table, [pair for pair in pairs if has_peer(pair[1])]),
                       (alone_table, [pair for pair in pairs if not has_peer(pair[1])])):
        if some:
            lines += [*make(some), ""]
    return lines + about_runs(pairs)


def losses(tables):
    """Every case in which the peer is faster."""
    rows = [[system, result["machine"]["name"], f"`{row['case']}`", str(row["threads"]),
             milliseconds(row["ours_s"]), milliseconds(row["peer_s"]), f"{row['ratio']:.2f}"]
            for (system, _), table in sorted(tables.items()) for result, row in table.values()
            if has_peer(row) and row["ratio"] < 1]
    if not rows:
        return ["No case on this page."]
    head = ["system", "machine", "case", "threads", "ours ms", "peer ms", "ratio"]
    return markdown(head, rows, {3, 4, 5, 6})


def page(tables):
    lines = [*INTRODUCTION.splitlines(), "", "## Where we lose", "", *losses(tables)]
    for system in sorted({system for system, _ in tables}, key=lambda s: (*SYSTEMS, s).index(s)):
        lines += ["", f"## {system}"]
        for (owner, _), table in sorted(tables.items()):
            if owner == system:
                lines += machine_section(table)
    return "\n".join(lines) + "\n"


def readme_table(tables):
    rows = []
    for system, machine, case, words in SHOWN:
        found = [pair for (name, _), pair in tables.get((system, machine), {}).items()
                 if name == case]
        if not found:
            raise ValueError(f"bench/results has no {case} of {system} on {machine}: change SHOWN")
        result, row = found[-1]
        rows.append([f"{system}: {words}", f"{row['peer']} {row['peer_version']}",
                     brief_time(row["peer_s"]), brief_time(row["ours_s"]),
                     f"{times_word(row['ratio'])} x", result["machine"]["name"]])
    n_lost = sum(has_peer(row) and row["ratio"] < 1 for table in tables.values()
                 for _, row in table.values())
    n_rows = sum(has_peer(row) for table in tables.values() for _, row in table.values())
    table = markdown(["what", "peer", "its time", "ours", "faster", "on"], rows, {2, 3, 4})
    return [*table, "", f"We lose {n_lost} of {n_rows} measured cases: "
            "[where, and by how much](docs/benchmarks.md#where-we-lose)."]


def readme(text, tables):
    """The README with its table made anew between the two marks."""
    try:
        before, rest = text.split(BEGIN)
        _, after = rest.split(END)
    except ValueError:
        raise ValueError(f"{README}: the marks of the table are not there once each") from None
    return before + "\n".join([BEGIN, *readme_table(tables), END]) + after


def differences(path, wanted):
    found = path.read_text() if path.exists() else ""
    return list(difflib.unified_diff(found.splitlines(), wanted.splitlines(), str(path),
                                     "as bench/results has it", lineterm="", n=1))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    args = parser.parse_args(arguments)
    tables = newest_rows(results.load_all())
    pages = {PAGE: page(tables), README: readme(README.read_text(), tables)}
    if args.check:
        changes = [line for path, text in pages.items() for line in differences(path, text)]
        if changes:
            print("\n".join(changes[:40]))
            print("docs/benchmarks.md and README.md are not as bench/results has them:"
                  " python3 bench/tables.py")
        return 1 if changes else 0
    for path, text in pages.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
