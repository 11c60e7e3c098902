"""decode events: where events come from, hostile tables, edges of the test, the same bits."""

import csv
import json
import signal

import numpy as np
import pytest
from decode_recordings import track

# Events of the track's decoded half, 4 s to 7.99 s; the animal never rests there.
OPTIONS = ["--max-speed", "1000", "--min-electrodes", "1", "--min-spikes", "1", "--min-bins", "2"]
GOOD = np.array([[4.5, 4.8], [5.2, 5.5], [6.5, 6.8], [7.0, 7.3]])


@pytest.fixture(scope="module")
def folder(tessera_at, tmp_path_factory):
    """A folder with a recording and a model; commands in it."""
    path = tmp_path_factory.mktemp("events")
    np.savez(path / "rec.npz", **track(n_electrode=6))
    tessera = tessera_at(path)
    result = tessera("decode", "fit", "rec.npz", "-o", "model.npz", "--place-bin-size", "5")
    assert result.returncode == 0, result.stderr
    return tessera, path


def run(folder, *words, shuffles=9, out="e.csv", environment=None):
    tessera, _ = folder
    return tessera(
        *("decode", "events", "rec.npz", "--model-file", "model.npz", "--shuffles", str(shuffles)),
        *OPTIONS, "-o", out, "--overwrite", *map(str, words), environment=environment or {},
    )


def rows_of(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def events_of(folder, *words, **keywords):
    result = run(folder, *words, **keywords)
    assert result.returncode == 0, result.stderr
    return rows_of(folder[1] / "e.csv")


def as_csv(path, header, rows):
    lines = [*header, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def write(h5py, path, ending, table):
    """The table as a file of each kind; its name."""
    start, end = table[:, 0], table[:, 1]
    file = path / f"iv{ending}"
    if ending == ".csv":
        as_csv(file, ["start,end"], table)
    elif ending == ".npz":
        np.savez(file, start=start, end=end)
    else:
        with h5py.File(file, "w") as out:
            if ending == ".nwb":
                out.attrs["nwb_version"] = "2.6.0"
                group = out.create_group("intervals/ripples")
                group["start_time"], group["stop_time"] = start, end
                group["id"] = np.arange(len(start))
            else:
                out["start"], out["end"] = start, end
    return file.name


ENDINGS = [".csv", ".npz", ".h5", ".nwb"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_of_file_gives_the_same_table(folder, h5py, ending):
    want = events_of(folder, "--intervals", write(h5py, folder[1], ".csv", GOOD))
    assert [row["reason"] for row in want] == ["0"] * 4
    got = events_of(folder, "--intervals", write(h5py, folder[1], ending, GOOD))
    assert got == want


@pytest.mark.parametrize("ending", ENDINGS)
def test_hostile_tables_keep_their_rows(folder, h5py, ending):
    """NaN, infinite, reversed, empty, overlapping, outside, huge: named, never a crash."""
    bad = [
        [np.nan, 5], [5, np.nan], [5.4, 5.2], [5.2, 5.2], [5.3, 5.6], [-3, 2], [7.9, 99],
        [-np.inf, np.inf], [1e300, 2e300], [5.0, 5.0 + 1e-12],
    ]
    table = np.concatenate([GOOD, np.array(bad)])
    rows = events_of(folder, "--intervals", write(h5py, folder[1], ending, table))
    reasons = [int(row["reason"]) for row in rows]
    assert [int(row["event"]) for row in rows] == list(range(len(table)))
    assert reasons[:4] == [0] * 4
    assert [reason & 128 for reason in reasons[4:8]] == [128] * 4
    assert reasons[8] == 256
    assert all(reason & 64 for reason in (reasons[9], reasons[10], reasons[12]))
    assert all(reason & (64 | 128) for reason in reasons[11:12])
    assert all(row["p_time_line_fit"] == "" for row in rows[4:8])
    # What is wrong with some rows changes no other.
    alone = events_of(folder, "--intervals", write(h5py, folder[1], ".csv", GOOD))
    keep = ("line_fit", "weighted_correlation", "p_time_line_fit", "p_column_line_fit")
    assert [[r[k] for k in keep] for r in rows[:4]] == [[r[k] for k in keep] for r in alone]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_table_without_rows(folder, h5py, ending):
    name = write(h5py, folder[1], ending, np.empty((0, 2)))
    assert events_of(folder, "--intervals", name, "--report", "r.html") == []
    assert "there are no events" in (folder[1] / "r.html").read_text()


TEXTS = {
    "words": ("start,end\n4.5,soon\n", "line 2: columns 1 and 2 are not both numbers"),
    "one column": ("start\n4.5\n", "line 1 has neither two numbers nor columns"),
    "other columns": ("begin,finish\n4.5,4.8\n", "line 1 has neither two numbers nor columns"),
    "short row": ("start,end\n4.5,4.8\n5.2\n", "line 3"),
    "prose": ("Dear reader\n", "line 1 has neither two numbers nor columns"),
    "late words": ("4.5,4.8\nx,y\n", "line 2"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_table(folder, name):
    text, told = TEXTS[name]
    (folder[1] / "bad.csv").write_text(text)
    result = run(folder, "--intervals", "bad.csv")
    assert result.returncode in (65, 66)
    assert "bad.csv" in result.stderr
    assert told in result.stderr


def test_text_is_one_table_without_a_name(folder, h5py):
    write(h5py, folder[1], ".csv", GOOD)
    result = run(folder, "--intervals", "iv.csv", "--intervals-name", "ripples")
    assert result.returncode == 2, result.stderr
    assert "iv.csv: is text, one table without a name: ripples is none" in result.stderr


def test_text_as_other_programs_write_it(folder, h5py):
    want = events_of(folder, "--intervals", write(h5py, folder[1], ".csv", GOOD))
    path = folder[1] / "other.csv"
    for header in (
        ["\ufeffstart,end"], ["# ripples", "", "start,end", "", "# first"], ['"start" , "stop"'],
        ["start_time,stop_time"], [],
    ):
        as_csv(path, header, GOOD)
        assert events_of(folder, "--intervals", "other.csv") == want, header
    as_csv(path, ["id,end,power,start"], [[i, b, 3, a] for i, (a, b) in enumerate(GOOD)])
    assert events_of(folder, "--intervals", "other.csv") == want
    path.write_bytes(("start;end\r\n" + "\r\n".join(f"{a};{b}" for a, b in GOOD)).encode())
    assert events_of(folder, "--intervals", "other.csv") == want


def test_data_sets_that_are_no_table(folder, h5py):
    path = folder[1]
    np.savez(path / "bad.npz", start=[4.5, 5.0], end=[4.8])
    result = run(folder, "--intervals", "bad.npz")
    assert result.returncode != 0
    assert "start has 2 items, end 1" in result.stderr
    np.savez(path / "bad.npz", begin=[4.5], finish=[4.8])
    result = run(folder, "--intervals", "bad.npz")
    assert "no data sets start and end" in result.stderr
    np.savez(path / "bad.npz", start=np.array(["a"]), end=np.array(["b"]))
    assert run(folder, "--intervals", "bad.npz").returncode != 0
    (path / "bad.npz").write_bytes((path / "iv.npz").read_bytes()[:150])
    assert run(folder, "--intervals", "bad.npz").returncode != 0
    with h5py.File(path / "two.nwb", "w") as out:
        for name, shift in (("ripples", 0.0), ("trials", 0.05)):
            out[f"intervals/{name}/start_time"] = GOOD[:, 0] + shift
            out[f"intervals/{name}/stop_time"] = GOOD[:, 1] + shift
    result = run(folder, "--intervals", "two.nwb")
    assert result.returncode != 0
    assert "--intervals-name" in result.stderr
    rows = events_of(folder, "--intervals", "two.nwb", "--intervals-name", "trials")
    assert float(rows[0]["start"]) == pytest.approx(4.55)
    result = run(folder, "--intervals", "two.nwb", "--intervals-name", "sleep")
    assert "in sleep" in result.stderr
    result = run(folder, "--intervals", "absent.csv")
    assert result.returncode == 66
    assert "absent.csv" in result.stderr


def test_runs_of_a_result(folder, h5py):
    """Where the states named hold the threshold together, row by row."""
    tessera, path = folder
    words = ["decode", "predict", "rec.npz", "--model-file", "model.npz", "-o", "res.h5"]
    assert tessera(*words, "--overwrite").returncode == 0
    with h5py.File(path / "res.h5") as found:
        time = found["time"][:]
        names = [str(n.decode() if isinstance(n, bytes) else n) for n in found["states"][:]]
        probability = found["acausal_state_probabilities"][:]
    state = names[-1]
    likely = probability[:-1, -1] >= 0.6
    edges = np.flatnonzero(np.diff(np.concatenate([[0], likely, [0]])))
    rows = events_of(
        folder, "--result", "res.h5", "--states", state, "--state-threshold", "0.6",
        "--min-bins", "1",
    )
    assert [float(r["start"]) for r in rows] == [time[i] for i in edges[::2]]
    assert [float(r["end"]) for r in rows] == [time[i] for i in edges[1::2]]
    result = run(folder, "--result", "res.h5", "--states", "Nowhere")
    assert result.returncode != 0
    assert "no state is named Nowhere" in result.stderr
    assert state in result.stderr
    result = run(folder, "--result", "rec.npz", "--states", state)
    assert result.returncode != 0
    assert "rec.npz" in result.stderr
    with h5py.File(path / "res.h5", "a") as found:
        found["time"][:] = found["time"][:] + 1e-3
    other = run(folder, "--result", "res.h5", "--states", state)
    assert other.returncode == 65
    assert "decoded from another recording" in other.stderr
    both = run(folder, "--result", "res.h5", "--intervals", "iv.csv")
    assert both.returncode == 2


def test_edges_of_the_test(folder, h5py):
    """No shuffle, one shuffle, an event alone, seeds."""
    name = write(h5py, folder[1], ".csv", GOOD)
    none = events_of(folder, "--intervals", name, shuffles=0)
    assert not any(key.startswith("p_") for key in none[0])
    one = events_of(folder, "--intervals", name, shuffles=1)
    assert {row["p_time_line_fit"] for row in one} <= {"0.5", "1"}
    assert all(row["more_shuffles_needed"] == "1" for row in one)
    seeds = [
        [row["p_column_net_distance"] for row in events_of(
            folder, "--intervals", name, "--shuffle-seed", seed, shuffles=99)]
        for seed in (0, 0, 1, 2**53)
    ]
    assert seeds[0] == seeds[1]
    assert len({tuple(s) for s in seeds}) > 1
    alone = events_of(folder, "--intervals", write(h5py, folder[1], ".csv", GOOD[:1]), shuffles=99)
    assert [alone[0][f"{a}_column_net_distance"] for a in "pq"] == [seeds[0][0]] * 2


@pytest.mark.parametrize("decoder", ["memoryless", "states"])
def test_the_same_bits_for_any_threads_and_limit(folder, h5py, decoder):
    name = write(h5py, folder[1], ".csv", GOOD)
    words = ["--intervals", name, "--decoder", decoder]
    want = events_of(folder, *words, "--threads", 1, shuffles=39)
    assert events_of(folder, *words, "--threads", 3, shuffles=39) == want
    assert events_of(folder, *words, "--memory-limit", "64M", shuffles=39) == want


def test_none_found_is_explained(folder):
    result = run(folder, "--threshold-z", 900)
    assert result.returncode == 0
    assert "none found" in result.stdout
    assert "threshold_z is 900" in result.stdout
    result = run(folder, "--max-speed", 0)
    assert "never slower than 0 cm/s" in result.stdout


def test_too_few_shuffles_are_said(folder, h5py):
    name = write(h5py, folder[1], ".csv", GOOD)
    assert "no p is below 0.05" in run(folder, "--intervals", name, shuffles=19).stderr
    assert "no p is below 0.05" not in run(folder, "--intervals", name, shuffles=20).stderr


def test_summary_as_json(folder, h5py):
    name = write(h5py, folder[1], ".csv", np.concatenate([GOOD, [[9.0, 8.0]]]))
    result = run(folder, "--intervals", name, "--json", "--report", "r.html", shuffles=19)
    found = json.loads(result.stdout)
    assert found["schema"] == "tessera.decode.events/1"
    events = found["events"]
    assert (events["n_event"], events["n_scored"], events["n_shuffle"]) == (5, 4, 19)
    assert events["reasons"]["empty"] == 1
    assert events["report"] == "r.html"
    share = {(s["shuffle"], s["score"]): s for s in events["shares"]}["time", "line_fit"]
    rows = rows_of(folder[1] / "e.csv")
    small = sum(float(r["p_time_line_fit"]) < 0.05 for r in rows if r["p_time_line_fit"])
    assert (share["n_event"], share["n_significant"]) == (4, small)


def test_tables_say_what_they_are_of(folder, h5py):
    write(h5py, folder[1], ".csv", GOOD)
    hashes = {}
    for name, words in {"a.csv": [], "b.csv": ["--shuffles", "0"], "c.h5": []}.items():
        assert run(folder, "--intervals", "iv.csv", *words, out=name).returncode == 0
        told = json.loads(folder[0]("info", name, "--json").stdout)["provenance"]["inputs"]
        hashes[name] = told
    assert hashes["a.csv"] == hashes["b.csv"] == hashes["c.h5"]
    (found,) = hashes["a.csv"]
    assert found.keys() == {"model", "spikes", "position"}
    assert len({*found.values()}) == 3 and all(len(value) == 32 for value in found.values())


def test_a_time_limit_that_never_helps_is_no_reason_to_try_again(folder, h5py):
    write(h5py, folder[1], ".csv", GOOD)
    words = ["--intervals", "iv.csv", "--checkpoint", "work", "--time-limit", "3600"]
    # The alarm comes as soon as the folder is in use, however fast the machine is.
    alarm = {"kind": "any", "signal": signal.SIGALRM, "at": 1, "after": "lock"}
    first = run(folder, *words, environment=folder[0].faulty(**alarm))
    assert first.returncode == 75, first.stderr
    assert "the time limit was reached" in first.stderr
    again = run(folder, *words, "--resume", environment=folder[0].faulty(**alarm))
    assert again.returncode == 2, again.stderr
    assert "--time-limit 3600: the next piece of work was not done by then" in again.stderr


def test_tables_are_known_for_what_they_are(folder, h5py):
    tessera, path = folder
    write(h5py, path, ".csv", GOOD)
    assert run(folder, "--intervals", "iv.csv", out="t.h5").returncode == 0
    found = json.loads(tessera("decode", "info", "t.h5", "--json").stdout)
    assert (found["kind"], found["n"], found["scored"]) == ("events", len(GOOD), len(GOOD))
    assert (found["from_s"], found["to_s"]) == (GOOD[0, 0], GOOD[-1, 1])
    assert found["shuffles"] == ["column", "field", "time", "marks"]
    report = tessera("decode", "report", "t.h5", "-o", "t.html")
    assert report.returncode == 65 and "is a table of events, not a result" in report.stderr
    for name in ("iv.csv", "IV.CSV"):
        (path / name).write_bytes((path / "iv.csv").read_bytes())
        assert "is text, to be read as it is" in tessera("decode", "info", name).stderr
    (path / "empty").mkdir()
    for words in (["info", "empty"], ["report", "empty", "-o", "t.html"]):
        result = tessera("decode", *words)
        assert result.returncode == 66 and "no result of decode" in result.stderr
