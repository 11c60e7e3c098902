"""A test of events stopped and killed at any instant goes on to the same table."""

import random
import re
import signal

import pytest
from fault_support import (
    BINARY,
    FULL,
    Killer,
    assert_one_message,
    killed_after_a_checkpoint,
    leftovers,
    remove,
)

KEPT = ["--checkpoint", "work", "--checkpoint-every", 0, "--resume"]
WORDS = ["decode", "events", "rec.npz", "--model-file", "model.npz", "--intervals", "iv.csv"]
WORDS += ["--max-speed", 1000, "--min-spikes", 0, "--min-electrodes", 0, "--min-bins", 2]
N_KILL = 60 if FULL else 3


@pytest.fixture
def events(tessera):
    """A recording, its model and intervals that take some batches."""
    tessera.environment["TESSERA_PLUGIN_PATH"] = str(BINARY.parents[1] / "plugins")
    counts = ["--electrodes", 4, "--encoding-spikes", 8000, "--decoding-spikes", 8000]
    for words in (
        ["simulate", "day-1d", "-o", "rec.npz", "--time-bins", 6000, *counts],
        ["fit", "rec.npz", "-o", "model.npz", "--place-bin-size", 3],
    ):
        result = tessera("decode", *words, "-q")
        assert result.returncode == 0, result.stderr
    info = tessera("info", "rec.npz").stdout
    begin = float(re.search(r"time bins +\d+, ([0-9.]+) to", info)[1])
    rows = [f"{begin + 0.5 + k * 0.8},{begin + 0.7 + k * 0.8}" for k in range(12)]
    (tessera.directory / "iv.csv").write_text("\n".join(["start,end", *rows, ""]))
    return tessera


def table(path):
    """The table without the line of its provenance, which has the time."""
    return [row for row in path.read_text().splitlines() if not row.startswith("#")]


def line(out, *words, shuffles=2000):
    return [*WORDS, "--shuffles", shuffles, "--kinds", "time", "-o", out, *words]


def test_killed_at_random_instants(events):
    folder = events.directory
    result = events(*line("right.csv", "--report", "right.html", "-q"))
    assert result.returncode == 0, result.stderr
    right = table(folder / "right.csv")
    assert sum(bool(row.split(",")[20]) for row in right[1:]) > 6
    rng = random.Random(3)
    killer = Killer(events, rng, *line("counted.csv", "--report", "counted.html", "-q", *KEPT))

    def words():
        threads = ["--threads", rng.choice([1, 2])]
        return line("out.csv", "--report", "out.html", "-q", *threads, *KEPT)

    def nothing_half_written():
        if (folder / "out.csv").exists():
            assert table(folder / "out.csv") == right
        if (folder / "out.html").exists():
            assert (folder / "out.html").read_text().rstrip().endswith("</html>")

    for _ in range(N_KILL):
        result = killer.finish(words, nothing_half_written)
        assert result.returncode == 0, result.stderr
        assert table(folder / "out.csv") == right
        assert (folder / "out.html").exists()
        assert not (folder / "work").exists()
        assert leftovers(folder) == []
        (folder / "out.csv").unlink()
        (folder / "out.html").unlink()
    assert killer.n_killed >= N_KILL // 2


def test_stopped_and_continued(events):
    """Ctrl-C keeps the batches that are done, and says how to go on."""
    folder = events.directory
    assert events(*line("right.csv", "-q")).returncode == 0
    words = line("out.csv", *KEPT, "--threads", 1)  # two batches
    stopped = killed_after_a_checkpoint(events, *words, number=signal.SIGINT, at=1)
    assert stopped.returncode == 130, stopped.stderr
    assert "to continue, run:" in stopped.stderr
    assert not (folder / "out.csv").exists()
    result = events(*line("out.csv", *KEPT))
    assert result.returncode == 0, result.stderr
    assert re.search(r"resumed from \d+ %", result.stderr), result.stderr
    assert table(folder / "out.csv") == table(folder / "right.csv")
    # All is there: nothing is made again.
    again = events(*line("out.csv", *KEPT))
    assert again.returncode == 0
    assert "complete already" in again.stderr


def test_another_test_is_not_continued(events):
    folder = events.directory
    killed_after_a_checkpoint(events, *line("out.csv", *KEPT, "--threads", 1))
    for words, told in (
        (line("out.csv", *KEPT, shuffles=1999), "shuffles"),
        (line("out.csv", *KEPT, "--shuffle-seed", 3), "shuffle_seed"),
    ):
        result = events(*words)
        assert result.returncode != 0
        assert told in result.stderr
    (folder / "iv.csv").write_text("start,end\n1,2\n")
    result = events(*line("out.csv", *KEPT))
    assert result.returncode != 0
    assert "the events differ" in result.stderr


@pytest.mark.parametrize("kind", ["write", "fsync", "rename"])
def test_a_full_disk_leaves_nothing_half_written(events, kind):
    """The k-th call fails, and all that follow: one sentence, files that are whole or absent."""
    folder = events.directory
    words = line("e.csv", "--report", "e.html", "-q", shuffles=9)
    result, calls, _ = events.faulty({"kind": kind, "at": 0}, *words)
    assert result.returncode == 0, result.stderr
    right = table(folder / "e.csv")
    for k in range(1, calls + 1):
        remove(folder / "e.csv", folder / "e.html")
        fault = {"kind": kind, "at": k, "error": "ENOSPC", "mode": "from"}
        result, _, n_fault = events.faulty(fault, *words)
        if n_fault == 0:
            continue
        assert result.returncode != 0, k
        assert_one_message(result, f"{kind} {k}")
        assert not (folder / "e.html").exists()
        assert not (folder / "e.csv").exists() or table(folder / "e.csv") == right
        assert leftovers(folder) == []


def test_folders_that_are_not_there(events):
    for out in ("no/such/e.csv", "no/such/e.npz"):
        result = events(*line(out, "-q", shuffles=9))
        assert result.returncode != 0
        assert "no/such" in result.stderr
    result = events(*line("e.csv", "--report", "no/such/e.html", "-q", shuffles=9))
    assert result.returncode != 0
    assert "no/such" in result.stderr
    assert not (events.directory / "e.csv").exists()
