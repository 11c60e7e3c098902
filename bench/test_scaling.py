"""What bench/scaling.py and its model make of traces and rows."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import scaling
import scaling_cases
import scaling_model as model

TABLES = [{"ranks": p, "gather": [[b, 2e-6 + 3e-6 * p + p * p * b / 1e10] for b in (16, 4096)]}
          for p in (2, 4, 8)]  # fmt: skip


def near(found, wanted, error=1e-6):
    return abs(found - wanted) <= error * abs(wanted)


def test_exchange():
    found = model.Exchange(TABLES, 8)
    assert near(found.l0, 2e-6) and near(found.l1, 3e-6) and near(found.a, 1e10)
    assert found.error < 1e-6
    assert near(found(100, 10), 2e-6 + 3e-4 + 8 * 1000 / 1e10)
    assert found(1, 10) == 0


def test_constants():
    """Rows of a known machine give its constants, and no error."""
    exchange = model.Exchange(TABLES, 16)
    case = model.Xpcs()
    work = 23 * 1000 * 999 / 2

    def row(n_rank, threads):
        p = max(n_rank, 1)
        step = 5e-9 * case.units(work, p, threads) + 1e-4 + case.reduce(exchange, work, p)
        names = {"case": "xpcs-pass", "ranks": n_rank, "threads": threads}
        return names | {"work": work, "step": step}

    found = model.Model(case, exchange, [row(0, 16), row(1, 1), row(4, 4), row(16, 1)])
    assert near(found.c, 5e-9, 1e-3) and near(found.s, 1e-4, 1e-2)
    assert max(map(abs, found.errors())) < 1e-3
    assert found.last_rank(work) <= case.leaves(work) + 1


def test_leaves():
    """Of 1,000 frames there are 2,456 tiles; aligned shares are whole stretches of the tree."""
    case = model.Xpcs()
    assert case.leaves(23 * 1000 * 999 / 2) == math.ceil(2456 / 16)
    assert case.pieces(23 * 1000 * 999 / 2, 154) == 1


def test_steps():
    """Full passes alone, each with what follows it; communication inside a likelihood."""
    spans = [("xpcs.sweep", 0.0, 1.0, 0), ("xpcs.pass", 0.1, 0.8, 100), ("comm.wait", 1.0, 0.2, 0),
             ("comm.exchange", 1.2, 0.1, 50), ("xpcs.join", 1.3, 0.1, 0),
             ("xpcs.sweep", 2.0, 0.1, 0), ("xpcs.pass", 2.0, 0.1, 10)]  # fmt: skip
    (step,) = scaling_cases.Xpcs("x", 1).steps(spans)
    assert near(step["step"], 1.4) and near(step["reduce"], 0.2) and step["bytes"] == 50
    spans = [("decode.likelihood", 0.0, 2.0, 0), ("comm.wait", 0.5, 0.5, 0), ("comm.wait", 3, 1, 0)]
    (step,) = scaling_cases.Decode("d", 1).steps(spans)
    assert near(step["compute"], 1.5) and near(step["wait"], 0.5)


def test_plan():
    assert scaling.plan("strong", 4) == [(0, 4, 1.0), (1, 4, 1.0), (2, 2, 1.0), (4, 1, 1.0)]
    assert scaling.plan("weak", 4) == [(1, 1, 0.25), (2, 1, 0.5), (4, 1, 1.0)]


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
