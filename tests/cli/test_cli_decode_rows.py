"""decode run and predict: which rows are decoded, and what is written of each."""

import csv

import numpy as np
import pytest
from decode_recordings import bent_track, run_json, track

h5py = pytest.importorskip("h5py")

PATH = ("most_likely_bin", "most_likely_state")


def plane():
    """A circle in the plane."""
    data = track()
    angle = np.pi * data["position"] / 50
    data["position"] = 50 + 40 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return data


def read(path):
    with h5py.File(path) as file:
        return {name: file[name][()] for name in file}


KINDS = {
    "line": (track, ["--model", "cont-frag"]),
    "track": (bent_track, ["--model", "cont-frag"]),
    "plane": (plane, ["--model", "cont-frag", "--place-bin-size", "10"]),
    "local": (track, ["--model", "non-local"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_path_is_one_for_any_chunking(tessera, tmp_path, kind):
    make, words = KINDS[kind]
    data = make()
    data["is_missing"] = np.arange(400) % 50 == 3
    np.savez(tmp_path / "rec.npz", **data)
    first = None
    for k, more in enumerate(
        [
            ["--chunks", "1"],
            ["--chunks", "9", "--dtype", "f64", "--checkpoint", "work", "--checkpoint-every", "0"],
            ["--chunks", "400", "--want", "path,log-likelihood"],
        ]
    ):
        line = ["decode", "run", "rec.npz", "-o", f"{k}.h5", "--want", "path", *words, *more]
        score = run_json(tessera, *line)["score"]
        found = read(tmp_path / f"{k}.h5")
        first = first or found
        for name in PATH:
            assert np.array_equal(found[name], first[name]), (kind, more, name)
    bins, states = found["most_likely_bin"], found["most_likely_state"]
    assert bins.min() >= 0 and bins.max() < found["state_bins"].size
    assert np.array_equal(states, found["state_ind"][bins])
    axes = ["x_", "y_"] if kind == "plane" else [""]
    for axis in axes:
        place = found[f"most_likely_{axis}position"]
        assert np.array_equal(place, found[f"{axis}position"][bins], equal_nan=True)
    names = [name.decode() for name in found["states"]]
    share = {name: np.mean(states == k) for k, name in enumerate(names)}
    assert score["path"] == pytest.approx({"changes": np.sum(np.diff(states) != 0), **share})


def test_the_path_is_told_in_words(tessera, tmp_path):
    np.savez(tmp_path / "rec.npz", **track())
    line = ["decode", "run", "rec.npz", "-o", "out", "--want", "path", "--report", "out.html"]
    result = tessera(*line)
    assert result.returncode == 0, result.stderr
    assert any(line.startswith("path  ") for line in result.stdout.splitlines())
    assert "most likely path" in (tmp_path / "out.html").read_text()
    assert np.load(tmp_path / "out" / "most_likely_bin.npy").shape == (400,)
    result = tessera("decode", "run", "rec.npz", "-o", "no", "--want", "paths")
    assert result.returncode == 2 and "log-likelihood, path" in result.stderr


# In no order; one between two bins, one outside.
SPANS = [(4.105, 4.5), (6.0, 6.25), (5.001, 5.002), (6.25, 6.3), (9.0, 9.5)]


def write_spans(folder, spans=SPANS, name="spans.csv"):
    text = "".join(f"{start!r},{end!r}\n" for start, end in spans)
    (folder / name).write_text("start,end\n" + text)


@pytest.mark.parametrize("kind", KINDS)
def test_each_interval_is_a_recording_of_its_own(tessera, tmp_path, kind):
    make, words = KINDS[kind]
    data = make()
    np.savez(tmp_path / "rec.npz", **data)
    assert tessera("decode", "fit", "rec.npz", "-o", "model.npz", *words).returncode == 0
    write_spans(tmp_path)
    line = ["decode", "predict", "rec.npz", "--model-file", "model.npz", "--want", "filter,path"]
    told = run_json(tessera, *line, "--intervals", "spans.csv", "-o", "all.h5")
    found = read(tmp_path / "all.h5")
    starts = np.array([start for start, _ in SPANS])
    order = np.argsort(starts)
    assert np.array_equal(found["intervals"], order)
    assert np.array_equal(found["interval_start"], starts[order])
    time = data["time"]
    at = 0
    evidence = 0
    for k, number in enumerate(order):
        start, end = SPANS[number]
        rows = np.flatnonzero((time >= start) & (time < end))
        assert found["interval_rows"][k] == len(rows)
        if len(rows) == 0:
            assert np.isnan(found["interval_log_evidence"][k])
            continue
        # The same rows and the edge that closes the last, which opens a row of its own.
        np.savez(tmp_path / "one.npz", **{**data, "time": time[rows[0] : rows[-1] + 2]})
        one_line = [word.replace("rec.npz", "one.npz") for word in line]
        assert tessera(*one_line, "-o", "one.h5", "--overwrite").returncode == 0
        one = read(tmp_path / "one.h5")
        here = slice(at, at + len(rows))
        assert np.array_equal(found["time"][here], time[rows])
        assert set(found["interval"][here]) == {number}
        assert np.array_equal(found["causal_posterior"][here], one["causal_posterior"][: len(rows)])
        last = found["acausal_posterior"][at + len(rows) - 1]
        assert np.array_equal(last, found["causal_posterior"][at + len(rows) - 1])
        evidence += found["interval_log_evidence"][k]
        at += len(rows)
    assert at == found["time"].size == told["score"]["n_time"]
    assert told["result"]["n_interval"] == 5 and told["result"]["n_empty_interval"] == 2
    assert found["log_evidence"] == pytest.approx(evidence, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_are_the_same_for_any_chunking(tessera, tmp_path, kind):
    make, words = KINDS[kind]
    np.savez(tmp_path / "rec.npz", is_missing=np.arange(400) % 50 == 3, **make())
    write_spans(tmp_path)
    line = ["decode", "run", "rec.npz", "--intervals", "spans.csv", *words]
    line += ["--want", "filter,predictive,log-likelihood,path", "-q", "-o"]
    assert tessera(*line, "first.h5", "--chunks", "1").returncode == 0
    for more in (
        ["--chunks", "2"],
        ["--chunks", "69"],
        ["--chunks", "5", "--checkpoint", "work", "--checkpoint-every", "0"],
        ["--memory-limit", "64M", "--device", "cpu", "--threads", "2"],
    ):
        assert tessera(*line, "next.h5", "--overwrite", *more).returncode == 0
        assert (tmp_path / "next.h5").read_bytes() == (tmp_path / "first.h5").read_bytes(), more


def test_what_goes_with_intervals(tessera, tmp_path):
    np.savez(tmp_path / "rec.npz", **track())
    write_spans(tmp_path)
    np.savez(tmp_path / "spans.npz", start=[s for s, _ in SPANS], end=[e for _, e in SPANS])
    line = ["decode", "run", "rec.npz", "--intervals"]
    result = tessera(
        *line, "spans.csv", "-o", "a.h5", "--report", "a.html", "--verify", "20%", "--want", "path"
    )
    assert result.returncode == 0, result.stderr
    assert "intervals      5, 2 of them without a time bin" in result.stdout
    assert "[decode.empty-interval]" in result.stderr
    assert "each decoded as a sequence of its own" in (tmp_path / "a.html").read_text()
    assert tessera(*line, "spans.npz", "-o", "b.h5", "--want", "path").returncode == 0
    first, second = read(tmp_path / "a.h5"), read(tmp_path / "b.h5")
    assert first.keys() == second.keys()
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)
    assert "spans.npz" in tessera("diff", "a.h5", "b.h5").stdout
    report = ["decode", "report", "a.h5", "--recording", "rec.npz", "-o", "r.html"]
    assert tessera(*report).returncode == 0
    again = tessera("rerun", "a.h5", "-o", "again.h5")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "a.h5").read_bytes()
    plan = tessera(*line, "spans.csv", "--dry-run")
    assert plan.returncode == 0 and "69 bins" in plan.stdout + plan.stderr


def test_rerun_finds_what_was_typed(tessera, tmp_path):
    for name in ("data", "spans", "made", "elsewhere"):
        (tmp_path / name).mkdir()
    np.savez(tmp_path / "data" / "rec.npz", **track())
    write_spans(tmp_path / "spans")
    line = ["decode", "run", tmp_path / "data" / "rec.npz",
            f"--intervals={tmp_path / 'spans' / 'spans.csv'}", "-o"]
    for name in ("a.h5", "folder"):
        result = tessera(*map(str, line), str(tmp_path / "made" / name))
        assert result.returncode == 0, result.stderr
    for name in ("a.h5", "folder", "folder/"):
        again = tessera("rerun", f"{tmp_path / 'made'}/{name}")
        assert again.returncode == 0, again.stderr


def test_events_end_with_their_interval(tessera, tmp_path):
    data = track()
    np.savez(tmp_path / "rec.npz", **data)
    write_spans(tmp_path, [(4.0, 5.0), (5.0, 5.5), (6.0, 7.0)])
    line = ["decode", "run", "rec.npz", "--intervals", "spans.csv", "-o", "a.h5"]
    assert tessera(*line).returncode == 0
    states = ["--result", "a.h5", "--states", "Continuous,Fragmented", "--shuffles", "0"]
    table = tessera("decode", "events", "rec.npz", *states, "-o", "e.csv", "--max-duration", "9")
    assert table.returncode == 0, table.stderr
    lines = (tmp_path / "e.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert np.allclose([float(row["start"]) for row in rows], [4.0, 5.0, 6.0])
    assert np.allclose([float(row["end"]) for row in rows], [4.99, 5.49, 6.99])


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ([(5.0, 4.0)], "row 0 is from 5 to 4 s"),
        ([(4.0, float("nan"))], "row 0 is from 4 to nan s"),
        ([(4.5, 5.0), (4.0, 4.6)], "rows 1 (4 to 4.6 s) and 0 (4.5 to 5 s) share time"),
        ([(90.0, 91.0)], "no time bin begins in any"),
        ([], "there are none"),
    ],
)
def test_intervals_that_cannot_be(tessera, tmp_path, spans, said):
    np.savez(tmp_path / "rec.npz", **track())
    write_spans(tmp_path, spans)
    result = tessera("decode", "run", "rec.npz", "--intervals", "spans.csv", "-o", "a.h5")
    assert result.returncode == 65, result.stderr
    assert said in result.stderr and "spans.csv" in result.stderr
    assert not (tmp_path / "a.h5").exists()


def test_info_tells_what_a_recording_holds(tessera, tmp_path):
    data = track()
    data["position"][10:13] = np.nan
    keep = np.r_[0:500, 540:800]  # a gap of 0.41 s
    for name in ("position_time", "position", "is_training"):
        data[name] = data[name][keep]
    data["is_missing"] = np.arange(400) < 7
    np.savez(tmp_path / "rec.npz", **data)
    told = run_json(tessera, "decode", "info", "rec.npz")
    assert told["kind"] == "recording"
    position = told["position"]
    assert (position["n"], position["not_tracked"], position["gaps"]) == (760, 3, 1)
    assert position["rate_hz"] == 100 and position["longest_gap_s"] == pytest.approx(0.41)
    assert told["training_samples"] == 400
    assert told["time_bins"]["missing"] == 7
    counts = np.diff(data["spike_offsets"])
    assert [e["spikes"] for e in told["electrodes"]] == counts.tolist()
    assert told["electrodes"][0]["rate_hz"] == pytest.approx(counts[0] / 7.99, rel=1e-5)
    assert "non-local" in told["to_decode"]["models"]
    text = tessera("decode", "info", "rec.npz")
    assert text.returncode == 0 and "longest gap s" in text.stdout


def test_info_tells_what_models_and_results_hold(tessera, tmp_path):
    np.savez(tmp_path / "rec.npz", **track())
    write_spans(tmp_path)
    fit = ["decode", "fit", "rec.npz", "--model", "non-local", "-o", "m.npz", "--position-std", "7"]
    assert tessera(*fit).returncode == 0
    told = run_json(tessera, "decode", "info", "m.npz")
    assert told["kind"] == "model" and told["position_std"] == 7
    assert told["to_decode"]["position_at_time_bins"] is True
    assert len(told["electrodes"]) == told["to_decode"]["electrodes"] == 3
    line = ["decode", "predict", "rec.npz", "--model-file", "m.npz", "--intervals", "spans.csv"]
    for out in ("out.h5", "out"):
        assert tessera(*line, "-o", out).returncode == 0
        told = run_json(tessera, "decode", "info", out)
        assert told["kind"] == "result" and told["time_bins"]["n"] == 69
        assert [i["start_s"] for i in told["intervals"]] == sorted(s for s, _ in SPANS)
    (tmp_path / "no.txt").write_text("nothing")
    assert tessera("decode", "info", "no.txt").returncode == 65


def test_spikes_on_edges_are_those_of_the_bin_that_begins(tessera, tmp_path):
    """Clocks put spikes on the edges of bins: where intervals touch, each counts once."""
    data = track()
    edges = data["position_time"]
    data["spike_times"] = edges[np.searchsorted(edges, data["spike_times"], "right") - 1]
    np.savez(tmp_path / "rec.npz", **data)
    time = data["time"]
    spans = [(float(start), float(start) + 0.1 - 1e-9) for start in time[::10]]
    write_spans(tmp_path, spans)
    line = ["decode", "run", "rec.npz", "--want", "log-likelihood"]
    whole = run_json(tessera, *line, "-o", "whole.h5")
    parts = run_json(tessera, *line, "-o", "parts.h5", "--intervals", "spans.csv")
    one, many = (read(tmp_path / name)["log_likelihood"] for name in ("whole.h5", "parts.h5"))
    assert np.array_equal(one, many)
    assert whole["result"]["spikes_inside"] == parts["result"]["spikes_inside"]
