#!/usr/bin/env python3
"""A model of the time per step over ranks, its constants from measurements of scaling.py.

Usage: scaling_model.py [FILE ...] [--write | --check]

Prints the tables of docs/cluster.md; --write puts them there, --check says whether they are there.
FILES are those of scaling.py --json; without any, those of bench/results/scaling.

An exchange of b bytes per rank between P ranks, k on a machine, takes

    l0 + l1 P + k P b / A

l0, l1 and A are fitted to the gathers that scaling.py times on one machine, where k = P; beyond it
k stays, and the network is taken to bring a machine its bytes as fast as its ranks copy them.
Compute is what one thread does, in units that cannot be divided (leaves, rows, recordings):

    xpcs      ceil(leaves / (P t)) leaves, and s for the curves of a pass
    decode    rows / (P t), and all rows to one rank, r a byte
    study     ceil(recordings / (P t)), and s for each recording by rank 0

Constants of each are solved from two rows (one process with all cores, one rank with one thread);
all other rows test the model.
"""

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "bench" / "results" / "scaling"
PAGE = ROOT / "docs" / "cluster.md"
BEGIN = "<!-- made by bench/scaling_model.py: do not edit -->"
END = "<!-- end of what bench/scaling_model.py makes -->"
UNITS = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
RANKS = (1, 16, 64, 256, 1000, 4000)


def solve(matrix, right):
    """Solve a small system by elimination."""
    rows = [[*map(float, row), float(r)] for row, r in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        for i in range(n):
            if i != k:
                part = rows[i][k] / rows[k][k]
                rows[i] = [a - part * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]


class Exchange:
    """Seconds of a gather, fitted to those measured."""

    def __init__(self, tables, k):
        rows = [(t["ranks"], b, s) for t in tables for b, s in t["gather"]]
        terms = [(1 / s, p / s, p * p * b / s) for p, b, s in rows]  # errors are relative
        square = [[sum(t[i] * t[j] for t in terms) for j in range(3)] for i in range(3)]
        found = solve(square, [sum(t[i] for t in terms) for i in range(3)])
        self.l0, self.l1 = max(found[0], 0.0), max(found[1], 0.0)
        self.a = 1 / found[2]
        self.k = k
        self.error = statistics.median(abs(self(p, b, p) / s - 1) for p, b, s in rows)

    def __call__(self, n_rank, n_byte, k=None):
        """n_byte: of each rank."""
        k = min(n_rank, self.k) if k is None else k
        return 0.0 if n_rank < 2 else self.l0 + self.l1 * n_rank + k * n_rank * n_byte / self.a


class Xpcs:
    """A pass over 23 matrices of the laminar model."""

    name, unit = "xpcs-pass", "point"
    n_sum = 23 * (6 + 3 * 7) + 28
    big = 23 * 1e4 * (1e4 - 1) / 2
    big_text = "23 x 10,000 x 10,000 points"

    def leaves(self, work):
        n_frame = round((1 + math.sqrt(1 + 8 * work / 23)) / 2) - 1
        tiles = sum(math.ceil(m / 256) for m in range(1, n_frame))
        return math.ceil(tiles / 16)

    def units(self, work, n_rank, threads):
        """Points that the busiest thread takes."""
        n = self.leaves(work)
        return math.ceil(math.ceil(n / n_rank) / threads) * work / n

    def other(self, work, n_rank):
        return 1.0

    def pieces(self, work, n_rank):
        """Stretches of the tree that the ranks have of it, on the mean."""
        n = self.leaves(work)
        first, count = 0, 0
        for rank in range(n_rank):
            left = n // n_rank + (rank < n % n_rank)
            while left:
                size = min(first & -first or 1 << 62, 1 << (left.bit_length() - 1))
                first, left, count = first + size, left - size, count + 1
        return count / n_rank

    def reduce(self, exchange, work, n_rank):
        return exchange(n_rank, 8 * self.n_sum * self.pieces(work, n_rank))


class Decode:
    """The likelihood of a chunk of rows in f32, 200 places."""

    name, unit = "decode-likelihood", "row"
    big, big_text = 1e5, "100,000 rows of 200 places"
    row_bytes = 200 * 4

    def units(self, work, n_rank, threads):
        return math.ceil(work / (n_rank * threads))

    def other(self, work, n_rank):
        """Bytes that rank 0 receives; their seconds are the second constant."""
        return work * self.row_bytes * (1 - 1 / n_rank)

    def reduce(self, exchange, work, n_rank):
        return 3 * exchange(n_rank, 100)


class DecodeMaze(Decode):
    """The same, of 724 places."""

    name, big_text = "decode-maze", "100,000 rows of 724 places"
    row_bytes = 724 * 4


class Study:
    """Recordings of 14 channels and 4,000 windows."""

    name, unit = "study", "recording"
    big, big_text = 2000, "2,000 recordings"

    def units(self, work, n_rank, threads):
        return math.ceil(math.ceil(work / n_rank) / threads)

    def other(self, work, n_rank):
        return work

    def reduce(self, exchange, work, n_rank):
        return 4 * exchange(n_rank, 200 * work / n_rank)


def pick(case, rows):
    """The two rows that constants are solved from; fewer where they are not measured."""
    own = [row for row in rows if row["case"] == case.name]
    base = [row for row in own if row["ranks"] == 0]
    if isinstance(case, Decode):  # one process receives nothing
        other = [row for row in own if row["ranks"] == 2]
    else:
        other = [row for row in own if row["ranks"] == row["threads"] == 1]
    return base[:1] + other[:1]


class Model:
    """A case with its constants."""

    def __init__(self, case, exchange, rows):
        self.case, self.exchange = case, exchange
        self.rows = [row for row in rows if row["case"] == case.name]
        first = self.solved = pick(case, rows)
        left = [self.terms(row["work"], max(row["ranks"], 1), row["threads"]) for row in first]
        right = [row["step"] - self.fixed(row) for row in first]
        self.c, self.s = solve(left, right)
        self.s = max(self.s, 0.0)
        if self.s == 0:
            self.c = right[0] / left[0][0]

    def fixed(self, row):
        return self.case.reduce(self.exchange, row["work"], max(row["ranks"], 1))

    def terms(self, work, n_rank, threads):
        return self.case.units(work, n_rank, threads), self.case.other(work, n_rank)

    def step(self, work, n_rank, threads=1):
        units, other = self.terms(work, n_rank, threads)
        return self.c * units + self.s * other + self.case.reduce(self.exchange, work, n_rank)

    def efficiency(self, work, n_rank):
        return self.step(work, 1) / (n_rank * self.step(work, n_rank))

    def errors(self):
        tested = [row for row in self.rows if not any(row is one for one in self.solved)]
        return [self.step(r["work"], max(r["ranks"], 1), r["threads"]) / r["step"] - 1
                for r in tested]  # fmt: skip

    def last_rank(self, work):
        """Ranks beyond which a step takes longer, or no less."""
        counts = sorted({round(2 ** (k / 4)) for k in range(0, 61)})
        return min(counts, key=lambda n: (self.step(work, n), n))


def tell_time(seconds):
    scale, unit = next((s, u) for s, u in UNITS if seconds >= s or s == UNITS[-1][0])
    return f"{seconds / scale:.3g} {unit}"


def table_of_rows(rows):
    out = ["| | ranks x threads | step | compute | wait | reduce | efficiency |",
           "|---|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        who = f"{row['ranks']} x {row['threads']}" if row["ranks"] else f"{row['threads']} threads"
        parts = " | ".join(tell_time(row[key]) for key in ("step", "compute", "wait", "reduce"))
        out.append(f"| {row['case']}, {row['kind']} | {who} | {parts} "
                   f"| {100 * row['efficiency']:.0f} % |")  # fmt: skip
    return out


def table_of_model(models):
    out = ["| | of one thread | error of steps not used: median, worst | no faster beyond |",
           "|---|---|---|---|"]  # fmt: skip
    for m in models:
        errors = [abs(error) for error in m.errors()]
        out.append(f"| {m.case.name} | {tell_time(m.c)} a {m.case.unit} "
                   f"| {100 * statistics.median(errors):.0f} %, {100 * max(errors):.0f} % "
                   f"| {m.last_rank(m.case.big)} ranks of {m.case.big_text} |")  # fmt: skip
    out += ["", "| ranks of one thread | " + " | ".join(m.case.big_text for m in models) + " |",
            "|---|" + "---|" * len(models)]  # fmt: skip
    for n in RANKS:
        cells = [f"{tell_time(m.step(m.case.big, n))}, {100 * m.efficiency(m.case.big, n):.0f} %"
                 for m in models]  # fmt: skip
        out.append(f"| {n} | " + " | ".join(cells) + " |")
    return out


def make_page(found):
    rows = [row for one in found for row in one["rows"]]
    exchange = Exchange(found[0]["exchange"], found[0]["cores"])
    models = [Model(case, exchange, rows) for case in (Xpcs(), Decode(), DecodeMaze(), Study())
              if len(pick(case, rows)) == 2]  # fmt: skip
    machine = f"{found[0]['machine']}, {found[0]['cores']} cores, {found[0]['date']}"
    constants = (
        f"An exchange: {1e6 * exchange.l0:.1f} us + {1e6 * exchange.l1:.2f} us a rank + bytes at "
        f"{exchange.a / 1e9:.1f} GB/s of a machine (half of the gathers measured are within "
        f"{100 * exchange.error:.0f} %)."
    )
    notes = [one["note"] for one in found if "note" in one]
    head = " ".join([f"Measured on {machine}.", *notes])
    return [BEGIN, "", head, "", *table_of_rows(rows), "", constants, "", *table_of_model(models),
            "", END]  # fmt: skip


def put(page, lines):
    before, rest = page.split(BEGIN)
    return before + "\n".join(lines) + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    files = options.files or sorted(FOLDER.glob("*.json"))
    lines = make_page([json.loads(path.read_text()) for path in files])
    page = PAGE.read_text() if options.write or options.check else None
    if page is None:
        print("\n".join(lines))
        return 0
    new = put(page, lines)
    if options.write:
        PAGE.write_text(new)
    elif new != page:
        print(f"{PAGE}: not as bench/results/scaling has it; run bench/scaling_model.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
