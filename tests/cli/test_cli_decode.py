"""decode: run, fit, predict, em, simulate, report, and info on their files."""

import html
import json
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "decode"
REPORT_PARTS = [
    "Verdict", "Over time", "Non-local events", "Error", "Calibration", "By place", "Run",
]


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py")


def track(n_time=400, n_electrode=3, n_feature=2, seed=0):
    """A run back and forth on a line; each electrode has two units of clear amplitude and place."""
    rng = np.random.default_rng(seed)
    time = np.arange(2 * n_time) * 0.01
    position = 50 - 50 * np.cos(2 * np.pi * time / 4)
    times, marks, offsets = [], [], [0]
    for _ in range(n_electrode):
        centre = rng.uniform(0, 100, 2)
        rate = np.exp(-((position[:, None] - centre) ** 2) / 200) * 0.6
        fired = rng.random(rate.shape) < rate
        sample, unit = np.nonzero(fired)
        times.append(time[sample] + rng.uniform(0, 0.009, sample.size))
        order = np.argsort(times[-1], kind="stable")
        times[-1] = times[-1][order]
        amplitude = 80 + 120 * unit[order, None] + rng.normal(0, 12, (sample.size, n_feature))
        marks.append(amplitude)
        offsets.append(offsets[-1] + sample.size)
    return {
        "position_time": time,
        "position": position,
        "is_training": np.arange(2 * n_time) < n_time,
        "time": time[n_time:],
        "spike_times": np.concatenate(times),
        "spike_offsets": np.array(offsets),
        "marks": np.round(np.concatenate(marks) * 64) / 64,
    }


@pytest.fixture
def recording(tmp_path):
    np.savez(tmp_path / "rec.npz", **track())
    return tmp_path / "rec.npz"


def run_json(tessera, *words, code=0):
    result = tessera(*words, "--json")
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout) if code == 0 else result


def test_run_finds_the_animal(same_as_stored, recording, tmp_path, h5py):
    words = ["decode", "run", "rec.npz", "-o", "out.h5", "--mode", "exact", "--memory-limit=512M"]
    same_as_stored("decode_run", *words)
    with h5py.File(tmp_path / "out.h5") as file:
        posterior = file["acausal_posterior"][:]
        assert posterior.shape == (400, file["state_ind"].shape[0])
        assert np.allclose(posterior.sum(axis=1), 1, atol=1e-5)
        assert np.array_equal(file["time"][:], track()["time"])


def bent_track(**changes):
    """The line of track() with a corner in its middle, as a graph, the second half backwards."""
    data = track()
    line = data["position"]
    data["position"] = np.stack([np.minimum(line, 50), np.maximum(line - 50, 0)], axis=1)
    graph = {
        "node_positions": np.array([[0.0, 0], [50, 0], [50, 50]]),
        "edges": np.array([[0, 1], [1, 2]]),
        "edge_order": np.array([[0, 1], [2, 1]]),
        "edge_spacing": 30.0,
    }
    return {**data, **graph, **changes}


def test_distances_on_a_track_run_along_it(tessera, tmp_path, h5py):
    # On the line the corner lies at 50 and at 130 cm: nothing of that may be seen.
    np.savez(tmp_path / "bent.npz", **bent_track())
    np.savez(tmp_path / "line.npz", **track())
    words = ["--movement-variance", "20", "--report"]
    bent = run_json(tessera, "decode", "run", "bent.npz", "-o", "bent.h5", *words, "bent.html")
    line = run_json(tessera, "decode", "run", "line.npz", "-o", "line.h5", *words, "line.html")
    assert bent["score"]["chance_error"] == pytest.approx(line["score"]["chance_error"], rel=0.02)
    page = (tmp_path / "bent.html").read_text()
    assert "along the track" in page
    with h5py.File(tmp_path / "bent.h5") as file:
        assert file["env0_edge_from"][:].tolist() == [0, 2]
        assert file["env0_edge_start"][:].tolist() == [0, 80]
        assert set(file["true_edge"][:]) == {0, 1}


def test_bins_without_a_position(tessera, tmp_path, h5py):
    data = track()
    data["position"][450:470] = np.nan
    np.savez(tmp_path / "nan.npz", **data)
    words = ["decode", "run", "nan.npz", "--want", "log-likelihood", "-o"]
    # A model that needs no position keeps its spikes there.
    assert "decode.untracked" not in tessera(*words, "any.h5").stderr
    with h5py.File(tmp_path / "any.h5") as file:
        assert not (file["log_likelihood"][:] == 0).all(axis=1).any()
        assert np.isnan(file["true_position"][:]).sum() == 20
    # One that needs it takes them for missing, and says so, once.
    said = tessera(*words, "local.h5", "--model", "non-local").stderr
    assert said.count("position is NaN at 20 of 400 decoded times") == 1
    assert said.count("[decode.untracked]") == 1
    with h5py.File(tmp_path / "local.h5") as file:
        assert (file["log_likelihood"][:] == 0).all(axis=1).sum() == 20


def test_positions_are_not_invented(tessera, tmp_path, h5py):
    data = track()
    data["dec_position_time"] = data["position_time"][:500]
    data["dec_position"] = data["position"][:500]
    np.savez(tmp_path / "short.npz", **data)
    for model in ("cont-frag", "non-local"):
        words = ["decode", "run", "short.npz", "-o", f"{model}.h5", "--model", model]
        result = tessera(*words)
        assert result.stderr.count("[decode.outside]") == 1, result.stderr
        assert "over 100 of 400 bins" in result.stdout
        with h5py.File(tmp_path / f"{model}.h5") as file:
            assert np.isnan(file["true_position"][:]).sum() == 300
    # The end of the last bin lies a step beyond the last sample, and is nothing to speak of.
    edges = np.append(track()["time"], track()["time"][-1] + 0.005)
    np.savez(tmp_path / "edges.npz", **{**track(), "time": edges})
    assert "decode.outside" not in tessera("decode", "run", "edges.npz", "-o", "edges.h5").stderr
    data["dec_position_time"] = data["position_time"][:300]
    data["dec_position"] = data["position"][:300]
    np.savez(tmp_path / "none.npz", **data)
    result = tessera("decode", "run", "none.npz", "-o", "none.h5", "--report", "none.html")
    assert result.stderr.count("[decode.outside]") == 1, result.stderr
    with h5py.File(tmp_path / "none.h5") as file:
        assert "true_position" not in file
    assert "There is no telling" in (tmp_path / "none.html").read_text()


def test_models_of_other_positions_are_refused(tessera, recording, tmp_path):
    np.savez(tmp_path / "bent.npz", **bent_track())
    tessera("decode", "fit", "rec.npz", "-o", "model.npz")
    for command in (["predict"], ["em", "--max-iterations", "1"]):
        words = [*command, "bent.npz", "--model-file", "model.npz", "-o", "out.h5"]
        result = tessera("decode", *words)
        assert result.returncode == 65
        assert "2 coordinates, and the model model.npz was fitted to 1" in result.stderr
        assert not (tmp_path / "out.h5").exists()


def by_electrode(numbers, with_marks=True):
    """track() with a pair of arrays per electrode, under these numbers."""
    data = track()
    times, marks, offsets = (data.pop(name) for name in ("spike_times", "marks", "spike_offsets"))
    for number, first, end in zip(numbers, offsets[:-1], offsets[1:], strict=True):
        data[f"e{number}_times"] = times[first:end]
        if with_marks:
            data[f"e{number}_marks"] = marks[first:end]
    return data


@pytest.mark.parametrize("numbers, unused, absent", [((1, 2, 3), 1, 0), ((0, 1, 3), 3, 2)])
def test_electrodes_are_numbered_without_gaps(tessera, tmp_path, numbers, unused, absent):
    np.savez(tmp_path / "rec.npz", **by_electrode(numbers))
    result = tessera("decode", "run", "rec.npz", "-o", "out.h5")
    assert result.returncode == 65
    said = f"'e{unused}_times' would not be used, for there is no 'e{absent}_times'"
    assert said in result.stderr
    assert "number electrodes from e0" in result.stderr


def test_arrays_of_sorted_units(tessera, tmp_path):
    np.savez(tmp_path / "rec.npz", **by_electrode((0, 1, 2), with_marks=False))
    words = ["decode", "run", "rec.npz", "-o", "out.h5", "--algorithm", "sorted_spikes_kde"]
    assert run_json(tessera, *words)["recording"]["n_electrode"] == 3


def test_other_units_and_silent_electrodes_are_said(tessera, tmp_path):
    data = track()
    cases = {
        "metres": ({"position": data["position"] / 100}, "decode.scale", "are these metres?"),
        "volts": ({"marks": data["marks"] * 1e-6}, "decode.scale", "are these volts?"),
        "silent": (
            {"spike_offsets": np.append(data["spike_offsets"], data["spike_offsets"][-1])},
            "decode.electrode", "1 of 4 electrodes (the first is electrode 3) has no",
        ),
    }
    for name, (changes, warning, text) in cases.items():
        np.savez(tmp_path / f"{name}.npz", **{**data, **changes})
        said = tessera("decode", "fit", f"{name}.npz", "-o", f"{name}-model.npz").stderr
        assert said.count(f"[{warning}]") == 1, said
        assert text in said
    np.savez(tmp_path / "right.npz", **data)
    said = tessera("decode", "fit", "right.npz", "-o", "model.npz").stderr
    assert "decode.scale" not in said and "decode.electrode" not in said


def test_files_say_what_made_them(tessera, recording, tmp_path):
    words = ["--model", "decoder", "--movement-variance", "4", "--place-bin-size", "3"]
    tessera("decode", "fit", "rec.npz", "-o", "model.npz", *words)
    from_file = ["predict", "rec.npz", "--model-file", "model.npz"]
    for command in (["run", "rec.npz", *words], from_file):
        tessera("decode", *command, "-o", "out.h5", "--report", "out.html", "--overwrite")
        settings = json.loads((tmp_path / "out.h5.json").read_text())["settings"]
        assert settings["model"] == "decoder"
        assert (settings["movement_variance"], settings["place_bin_size"]) == (4, 3)
        page = (tmp_path / "out.html").read_text()
        assert "<title>Decoded position: rec.npz</title>" in page
        for fact in ("clusterless_kde", "decoder", "4 cm² per time bin", "24 µV"):
            assert fact in page


def test_sorted_units_are_told_their_algorithm(tessera, tmp_path):
    np.savez(tmp_path / "rec.npz", **by_electrode((0, 1, 2), with_marks=False))
    result = tessera("decode", "run", "rec.npz", "-o", "out.h5")
    assert result.returncode == 65
    assert "choose --algorithm sorted_spikes_kde" in result.stderr


def test_sizes_are_named_as_they_are_given(tessera, tmp_path):
    result = tessera("decode", "report", "any.h5", "-o", "any.html", "--max-size", "200K")
    assert "--max-size: 200K is out of range; allowed is 1M to 1T bytes" in result.stderr
    assert "at least 1.00 MiB" in " ".join(tessera("decode", "report", "--help").stdout.split())


def test_a_recording_is_no_result(tessera, recording):
    result = tessera("decode", "report", "rec.npz", "-o", "page.html")
    assert result.returncode == 65
    assert "rec.npz: is a recording, not a result; 'tessera decode run" in result.stderr


def test_run_json_and_info(tessera, recording, tmp_path):
    found = run_json(tessera, "decode", "run", "rec.npz", "-o", "out.h5", "--verify", "10%")
    assert found["schema"] == "tessera.decode.run/1"
    assert found["recording"]["n_electrode"] == 3
    assert found["model"]["states"] == ["Continuous", "Fragmented"]
    assert found["score"]["n_scored"] == 400
    assert found["score"]["median_error"] < 8
    assert sum(found["score"]["occupancy"].values()) == pytest.approx(1, abs=1e-5)
    assert 0 <= found["result"]["verified_difference"] < 1e-3
    assert found["result"]["verified_rows"] >= 40
    info = run_json(tessera, "info", "out.h5")
    assert info["score"]["log_evidence"] == pytest.approx(found["result"]["log_evidence"])
    assert info["provenance"]
    assert run_json(tessera, "info", "rec.npz")["recording"]["n_sample"] == 800


def test_fit_then_predict_is_run(tessera, recording, tmp_path, h5py):
    assert tessera("decode", "run", "rec.npz", "-o", "run.h5", "--model", "decoder").returncode == 0
    found = run_json(tessera, "decode", "fit", "rec.npz", "-o", "model.npz", "--model", "decoder")
    assert found["schema"] == "tessera.decode.fit/1"
    assert "model of decode" in tessera("info", "model.npz").stdout
    found = run_json(
        tessera, "decode", "predict", "rec.npz", "--model-file", "model.npz", "-o", "two.h5"
    )
    assert found["schema"] == "tessera.decode.predict/1"
    assert found["model"]["name"] == "decoder"
    with h5py.File(tmp_path / "run.h5") as a, h5py.File(tmp_path / "two.h5") as b:
        assert np.array_equal(a["acausal_posterior"][:], b["acausal_posterior"][:])


def test_threads_chunks_and_memory_change_no_bit(tessera, recording, tmp_path, h5py):
    base = ["decode", "run", "rec.npz", "--want", "filter,predictive,log-likelihood"]
    variants = [["--threads", "1"], ["--chunks", "7"], ["--threads", "2", "--chunks", "400"]]
    arrays = []
    for i, words in enumerate(variants):
        assert tessera(*base, *words, "-o", f"{i}.h5").returncode == 0
        with h5py.File(tmp_path / f"{i}.h5") as file:
            arrays.append({name: file[name][()].tobytes() for name in file})
    assert {"causal_posterior", "predictive_posterior", "log_likelihood"} <= set(arrays[0])
    assert arrays[0] == arrays[1] == arrays[2]


def test_em_improves_the_evidence(tessera, recording, tmp_path):
    found = run_json(tessera, "decode", "em", "rec.npz", "-o", "em.npz", "--max-iterations", "4")
    evidence = found["em"]["log_evidence"]
    assert len(evidence) == found["em"]["n_iteration"] <= 4
    assert evidence[-1] >= evidence[0]
    rows = np.array(found["model"]["discrete_transition"]).reshape(2, 2)
    assert np.allclose(rows.sum(axis=1), 1)
    result = tessera("decode", "predict", "rec.npz", "--model-file", "em.npz", "-o", "p.h5")
    assert result.returncode == 0, result.stderr


def test_tune(tessera, recording, tmp_path):
    short = ["--points", "3", "--rounds", "1", "--refine", "1", "--folds", "3"]
    found = run_json(tessera, "decode", "tune", "rec.npz", *short, "-o", "best.yaml",
                     "--report", "tune.html")
    assert found["schema"] == "tessera.decode.tune/1"
    tuning = found["tuning"]
    assert tuning["score"] == max(c["score"] for c in tuning["candidates"])
    assert "nats per held-out spike" in (tmp_path / "tune.html").read_text()
    assert tessera("info", "best.yaml", "--json").returncode == 0
    words = ["decode", "run", "rec.npz", "-o", "out.h5"]
    run = run_json(tessera, *words, "--config", "best.yaml")
    asked = tuning["options"].split()
    same = run_json(tessera, *words[:-1], "two.h5", *asked)
    evidence = run["result"]["log_evidence"]
    assert same["result"]["log_evidence"] == pytest.approx(evidence, rel=1e-3)
    text = tessera("decode", "tune", "rec.npz", *short).stdout
    assert f"tessera decode run rec.npz {tuning['options']} -o RESULT.h5" in text
    assert "<- best" in text
    plan = run_json(tessera, "decode", "tune", "rec.npz", *short, "--dry-run")
    assert plan["plan"]["system"]["folds"] == 3
    other = run_json(tessera, "decode", "tune", "rec.npz", *short, "--threads", "1")
    assert other["tuning"]["candidates"] == tuning["candidates"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--algorithm", "clusterless_gmm"], 69, "no bandwidths to tune"),
        (["--folds", "500"], 65, "folds: 500 blocks of 400 training samples"),
        (["-o", "rec.npz"], 2, "rec.npz"),
    ],
)
def test_tune_refuses(tessera, recording, words, code, said):
    result = tessera("decode", "tune", "rec.npz", *words)
    assert (result.returncode, result.stdout) == (code, ""), result.stderr
    assert said in result.stderr


def test_simulate(same_as_stored, tessera, tmp_path):
    same_as_stored("decode_simulate", "decode", "simulate", "tiny", "-o", "tiny.npz")
    first = (tmp_path / "tiny.npz").read_bytes()
    assert tessera("decode", "simulate", "-o", "two.npz").returncode == 0
    assert (tmp_path / "two.npz").read_bytes() == first
    same_as_stored("decode_simulate_size", "decode", "simulate", "hueg", "-o", "x.npz")
    assert not (tmp_path / "x.npz").exists()
    assert tessera("decode", "run", "tiny.npz", "-o", "tiny.h5").returncode == 0


def headings(page):
    return [re.sub("<[^>]*>", "", h) for h in re.findall(r"<h2[^>]*>(.*?)</h2>", page, re.S)]


def test_report(tessera, recording, tmp_path):
    result = tessera("decode", "run", "rec.npz", "-o", "out.h5", "--report", "run.html")
    assert result.returncode == 0, result.stderr
    result = tessera("decode", "report", "out.h5", "--recording", "rec.npz", "-o", "page.html")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "page.html: report of out.h5\n"
    for name, parts in [("run.html", REPORT_PARTS), ("page.html", REPORT_PARTS[:-1])]:
        page = (tmp_path / name).read_text()
        found = headings(page)
        assert [x for x in found if x in parts] == parts
        assert "Multi-unit rate" in page
        assert len(page) < 1e6
    assert tessera("decode", "report", "out.h5", "-o", "page.html").returncode == 73


def test_report_repeats_every_warning(tessera, recording, tmp_path):
    data = dict(np.load(tmp_path / "rec.npz"))
    data["time"] = data["time"][::2]
    np.savez(tmp_path / "wide.npz", **data)
    words = ["decode", "run", "wide.npz", "-o", "out.h5", "--model", "non-local"]
    result = tessera(*words, "--report", "run.html")
    assert result.returncode == 0, result.stderr
    said = {x.split("warning: ")[1] for x in result.stderr.splitlines() if "warning: " in x}
    assert any("decoding bins are" in line for line in said)
    assert tessera("decode", "report", "out.h5", "-o", "later.html", "-q").returncode == 0
    for name in ["run.html", "later.html"]:
        page = html.unescape((tmp_path / name).read_text())
        assert f"{len(said)} warning" in page
        for line in said:
            assert page.index(line) < page.index("Verdict</h2>"), line
    assert tessera(*words, "-q", "--overwrite", "--report", "q.html").returncode == 0
    assert "decoding bins are" in (tmp_path / "q.html").read_text()  # heard or not
    (tmp_path / "out.h5.json").unlink()
    assert tessera("decode", "report", "out.h5", "-o", "bare.html").returncode == 0
    assert "warnings of the run are not known" in (tmp_path / "bare.html").read_text()


def test_report_of_a_plane(tessera, tmp_path):
    words = ["decode", "run", str(GOLDEN / "03_open_field_2d.npz"), "-o", "out.h5"]
    result = tessera(*words, "--model", "decoder", "--report", "run.html")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "run.html").read_text()
    assert {"Moments", "By place"} <= set(headings(page))
    for title in ["Posterior over x", "Posterior over y", "Decoded x", "Decoded y", "Occupancy"]:
        assert title in page


def test_report_refuses_another_recording(tessera, recording, tmp_path):
    assert tessera("decode", "run", "rec.npz", "-o", "out.h5").returncode == 0
    np.savez(tmp_path / "spikes.npz", **track(seed=1))
    np.savez(tmp_path / "short.npz", **track(n_time=300))
    later = track()
    later["time"] = later["time"] + 0.001
    np.savez(tmp_path / "later.npz", **later)
    for name, said in [
        ("spikes.npz", "its spikes are not those that out.h5 was decoded from"),
        ("short.npz", "has 300 time bins to decode, and out.h5 has 400"),
        ("later.npz", "time bin 0 begins at 4.001 s, and at 4 s in out.h5"),
    ]:
        result = tessera("decode", "report", "out.h5", "--recording", name, "-o", "page.html")
        assert (result.returncode, result.stdout) == (65, ""), result.stderr
        assert f"{name}: {said}" in result.stderr
        assert not (tmp_path / "page.html").exists()
    (tmp_path / "rec.npz").rename(tmp_path / "moved.npz")
    words = ["decode", "report", "out.h5", "--recording", "moved.npz", "-o", "page.html"]
    assert tessera(*words).returncode == 0


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["--from", "5", "--to", "5"], 2, "to: 5 s is not after from (5 s)"),
        (["--from", "9"], 2, "no time bin begins at or after 9 s"),
        (["--event-threshold", "1.2"], 2, "event-threshold"),
        (["--max-size", "1k"], 2, "max-size"),
        (["--event-min-duration", "-1"], 2, "event-min-duration"),
    ],
)
def test_report_options_that_cannot_be(tessera, recording, tmp_path, words, code, said):
    assert tessera("decode", "run", "rec.npz", "-o", "out.h5").returncode == 0
    result = tessera("decode", "report", "out.h5", "-o", "page.html", *words)
    assert (result.returncode, result.stdout) == (code, ""), result.stderr
    assert said in result.stderr
    assert not (tmp_path / "page.html").exists()


def listed_events(page):
    """Heads and cells of the table of events."""
    section = page[page.index("Non-local events</h2>") :]
    table = section[section.index("<table") : section.index("</table>")]
    rows = re.findall(r"<tr.*?</tr>", table, re.S)
    cells = [re.findall(r"<t[dh].*?</t[dh]>", row, re.S) for row in rows]
    text = [[html.unescape(re.sub("<[^>]*>", "", c)).strip() for c in row] for row in cells]
    return text[0], text[1:]


def runs(mask):
    """First and length of every run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def expected_events(file, spikes, threshold, shortest):
    """The definition of docs/systems/decode.md, literally."""
    names = [name.decode() for name in file["states"][:]]
    states = file["acausal_state_probabilities"][:].astype(float)
    time, animal = file["time"][:], file["true_position"][:]
    place, of_bin = file["position"][:], file["state_ind"][:]
    has_places = [bool(np.isfinite(place[of_bin == s]).any()) for s in range(len(names))]
    local = "Local" in names
    counts = [s for s in range(len(names)) if has_places[s] and names[s] != "Local"]
    posterior = file["acausal_posterior"][:].astype(float)
    centres = place[of_bin == counts[0]]
    by_place = sum(posterior[:, of_bin == s] for s in range(len(names)) if has_places[s])
    if local:
        probability = states[:, counts].sum(1)
    else:
        far = np.abs(centres - animal[:, None]) > 30
        probability = (by_place * far).sum(1)
    rows = []
    for first, n in runs(probability >= threshold):
        s = slice(first, first + n)
        step = np.median(np.diff(time))
        end = time[first + n] if first + n < time.size else time[-1] + step
        if end - time[first] < shortest * (1 - 1e-9):
            continue
        means = states[s][:, counts].mean(0)
        peak = centres[by_place[s].argmax(1)]
        inside = (spikes >= time[first]) & (spikes < end)
        rows.append(
            {
                "start (s)": time[first],
                "lasts (ms)": 1e3 * (end - time[first]),
                "state": f"{names[counts[int(means.argmax())]]} ({means.max():.2f})",
                "P(non-local)": probability[s].mean(),
                "path (cm)": f"{peak[0]:.0f} → {peak[-1]:.0f}",
                "distance (cm)": np.abs(peak - animal[s]).mean(),
                "moves (cm/s)": np.polyfit(time[s] - time[first], peak, 1)[0],
                "spikes": int(inside.sum()),
            }
        )
    return rows


@pytest.mark.parametrize("model", ["non-local", "cont-frag"])
def test_events_are_those_of_a_plain_program(tessera, tmp_path, h5py, model):
    words = ["decode", "simulate", "day-1d", "--time-bins", "6000", "--electrodes", "6"]
    words += ["--encoding-spikes", "6000", "--decoding-spikes", "2500", "--seed", "3"]
    assert tessera(*words, "-o", "rec.npz").returncode == 0
    assert tessera("decode", "run", "rec.npz", "-o", "out.h5", "--model", model).returncode == 0
    spikes = np.load(tmp_path / "rec.npz")["decode_spike_times"]
    for threshold in [0.5, 0.8]:
        words = ["decode", "report", "out.h5", "--recording", "rec.npz", "-o", "page.html"]
        words += ["--event-threshold", str(threshold), "--event-min-duration", "0.006"]
        assert tessera(*words, "--overwrite").returncode == 0
        heads, rows = listed_events((tmp_path / "page.html").read_text())
        with h5py.File(tmp_path / "out.h5") as file:
            expected = expected_events(file, spikes, threshold, 0.006)
        assert len(rows) == len(expected) > 5
        for row, event in zip(rows, expected, strict=True):
            for name, value in event.items():
                cell = row[heads.index(name)]
                if isinstance(value, str):
                    assert cell == value, name
                else:
                    cell = cell.split()[0]
                    digits = len(cell.partition(".")[2])
                    assert float(cell) == pytest.approx(value, abs=0.51 * 10**-digits), name


@pytest.mark.parametrize("name", ["01_linear_1d", "02_local_nospike", "04_track_graph"])
def test_golden_files_are_recordings(tessera, name):
    found = run_json(tessera, "decode", "run", str(GOLDEN / f"{name}.npz"), "-o", "out.h5")
    assert found["result"]["log_evidence"] < 0


def test_golden_evidence_of_cont_frag(tessera, tmp_path):
    golden = np.load(GOLDEN / "06_cont_frag.npz")
    words = ["decode", "run", str(GOLDEN / "06_cont_frag.npz"), "--mode", "exact"]
    found = run_json(tessera, *words, "-o", "a.h5", "--dtype", "f64")
    assert found["result"]["log_evidence"] == pytest.approx(float(golden["log_evidence"]), abs=1e-9)
    found = run_json(tessera, *words, "-o", "b.h5", "--model", "decoder")
    evidence = float(golden["decoder_log_evidence"])
    assert found["result"]["log_evidence"] == pytest.approx(evidence, abs=1e-9)


def test_golden_states_of_non_local(tessera, tmp_path, h5py):
    golden = np.load(GOLDEN / "07_non_local.npz")
    kept = {name: golden[name] for name in golden.files if name != "is_missing"}
    np.savez(tmp_path / "rec.npz", **kept)
    words = ["decode", "run", "rec.npz", "--model", "non-local", "--mode", "exact"]
    found = run_json(tessera, *words, "-o", "out.h5")
    assert found["result"]["log_evidence"] == pytest.approx(float(golden["log_evidence"]), abs=1e-9)
    with h5py.File(tmp_path / "out.h5") as file:
        states = file["acausal_state_probabilities"][:]
    assert states.dtype == np.float64
    assert np.abs(states - golden["acausal_state_probabilities"]).max() < 1e-10
    run_json(tessera, *words, "-o", "narrow.h5", "--dtype", "f32")
    with h5py.File(tmp_path / "narrow.h5") as file:
        assert file["acausal_posterior"].dtype == np.float32


def test_nwb(tessera, tmp_path, h5py):
    data = track()
    ends = data["spike_offsets"][1:]
    with h5py.File(tmp_path / "day.nwb", "w") as file:
        series = file.create_group("processing/behavior/Position/led")
        series["data"] = data["position"][:, None] / 100
        series["data"].attrs["unit"] = "meters"
        series["data"].attrs["conversion"] = 1.0
        series["timestamps"] = data["position_time"]
        units = file.create_group("units")
        units["spike_times"] = data["spike_times"]
        units["spike_times_index"] = ends.astype("u4")
        units["amplitude"] = data["marks"] * 1e-6
        units["amplitude"].attrs["unit"] = "volts"
        units["amplitude_index"] = ends.astype("u4")
    left_out = ("is_training", "time")
    np.savez(tmp_path / "same.npz", **{k: v for k, v in data.items() if k not in left_out})
    result = tessera("decode", "run", "day.nwb", "-o", "nwb.h5", "--json")
    assert result.returncode == 0, result.stderr
    assert "processing/behavior/Position/led/data: taken as the position" in result.stderr
    assert "unit 'meters', converted to cm" in result.stderr
    a = json.loads(result.stdout)
    b = run_json(tessera, "decode", "run", "same.npz", "-o", "npz.h5")
    assert a["result"]["log_evidence"] == pytest.approx(b["result"]["log_evidence"], abs=1e-3)


def spoil(tmp_path, **changes):
    data = track()
    for name, value in changes.items():
        if value is None:
            del data[name]
        else:
            data[name] = value
    np.savez(tmp_path / "bad.npz", **data)


BAD = {
    "no_time": ({"position_time": None}, 65, "no data set 'position_time'"),
    "rows": ({"position": np.zeros(5)}, 65, "'position' has 5 rows; expected 800"),
    "offsets": ({"spike_offsets": np.array([0, 1])}, 65, "'spike_offsets' runs from 0 to 1"),
    "text": ({"marks": np.array(["a", "b"])}, 65, "marks"),
    "training": ({"is_training": np.zeros(800, bool)}, 65, "training"),
    "nothing": ({"time": np.array([])}, 65, "time"),
    "backwards": ({"time": track()["time"][::-1]}, 65, "time"),
    "clock": ({"time": track()["time"] + 1e6}, 65, ""),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_recordings_are_refused(tessera, tmp_path, name):
    changes, code, message = BAD[name]
    spoil(tmp_path, **changes)
    result = tessera("decode", "run", "bad.npz", "-o", "out.h5")
    assert result.returncode == code, result.stderr
    assert message in result.stderr
    assert result.stderr.count("\n") < 8
    assert not (tmp_path / "out.h5").exists()


USAGE = {
    "usage_decode_nowhere": ["decode", "run", "rec.npz"],
    "usage_decode_want": ["decode", "run", "rec.npz", "-o", "x.h5", "--want", "filter,all"],
    "usage_decode_bound": ["decode", "run", "rec.npz", "-o", "x.h5", "--mode", "bounded:2"],
    "usage_decode_mode": ["decode", "run", "rec.npz", "-o", "x.h5", "--mode", "exact:1"],
    "usage_decode_floor": ["decode", "run", "rec.npz", "-o", "x.h5", "--floor", "relatve:3"],
    "usage_decode_verify": ["decode", "run", "rec.npz", "-o", "x.h5", "--verify", "all"],
    "usage_decode_model": ["decode", "run", "rec.npz", "-o", "x.h5", "--model", "magic"],
    "usage_decode_no_model": ["decode", "predict", "rec.npz", "-o", "x.h5"],
    "usage_decode_size_twice": ["decode", "simulate", "tiny", "--size=small", "-o", "x.npz"],
}


@pytest.mark.parametrize("name", USAGE)
def test_usage(name, same_as_stored, recording):
    assert same_as_stored(name, *USAGE[name]).returncode == 2


def test_spikes_in_milliseconds_are_refused(tessera, tmp_path):
    data = track()
    np.savez(tmp_path / "ms.npz", **{**data, "spike_times": 1000 * data["spike_times"]})
    for verb in ("run", "fit", "em"):
        result = tessera("decode", verb, "ms.npz", "-o", "out.npz" if verb != "run" else "out.h5")
        assert result.returncode == 65
        assert "spike times look like milliseconds, convert" in result.stderr


def test_exit_codes_of_files(tessera, recording, tmp_path):
    assert tessera("decode", "run", "none.npz", "-o", "x.h5").returncode == 66
    assert tessera("decode", "run", "rec.npz", "-o", "no/such/x.h5").returncode == 73
    (tmp_path / "x.h5").write_text("mine")
    assert tessera("decode", "run", "rec.npz", "-o", "x.h5").returncode == 73
    assert (tmp_path / "x.h5").read_text() == "mine"
    assert tessera("decode", "run", "rec.npz", "-o", "x.h5", "--overwrite").returncode == 0
    words = ["decode", "predict", "rec.npz", "--model-file", "rec.npz", "-o", "y.h5"]
    assert tessera(*words).returncode == 65
    assert tessera("decode", "report", "rec.npz", "-o", "y.html").returncode in (65, 66)


def test_dry_run(tessera, recording, tmp_path):
    found = run_json(tessera, "decode", "run", "rec.npz", "--dry-run", "--chunks", "5")
    assert found["schema"] == "tessera.plan/1"
    assert found["plan"]["n_item"] == 400
    assert found["plan"]["n_tile"] == 5
    assert [path.name for path in tmp_path.iterdir()] == ["rec.npz"]


def test_the_recording_s_wishes_yield_to_options_and_files(tessera, tmp_path, yaml):
    np.savez(tmp_path / "rec.npz", **track(), place_bin_size=4.0, position_std=5.0)
    result = tessera("decode", "fit", "rec.npz", "-o", "a.npz", "--json")
    assert "place_bin_size 4, as the recording asks" in result.stderr
    assert json.loads(result.stdout)["model"]["n_bin"] == 25
    result = tessera("decode", "fit", "rec.npz", "-o", "b.npz", "--json", "--place-bin-size", "10")
    assert json.loads(result.stdout)["model"]["n_bin"] == 10
    (tmp_path / "run.yaml").write_text("decode:\n  environment:\n    place_bin_size: 20\n")
    words = ["decode", "fit", "rec.npz", "-o", "c.npz", "--json", "--config", "run.yaml"]
    assert json.loads(tessera(*words).stdout)["model"]["n_bin"] == 5


def test_choices_with_numbers_in_a_file(tessera, recording, tmp_path, yaml):
    (tmp_path / "run.yaml").write_text("decode:\n  encoding:\n    floor: relative:3.5\n")
    shown = tessera("config", "show", "--config", "run.yaml").stdout
    assert "floor: relative\n" in shown
    assert "floor_nats: 3.5\n" in shown
    (tmp_path / "run.yaml").write_text("decode:\n  encoding:\n    floor: relative:many\n")
    result = tessera("config", "validate", "run.yaml")
    assert result.returncode == 78
    assert "run.yaml:3:" in result.stderr
    assert "floor_nats: 'many' is not a number" in result.stderr


def test_stop_and_resume(tessera, tmp_path, h5py):
    np.savez(tmp_path / "rec.npz", **track(n_time=20000, n_electrode=4))
    words = ["decode", "run", "rec.npz", "--mode", "exact", "-o", "out.h5", "--chunks", "50"]
    kept = [*words, "--checkpoint", "work", "--checkpoint-every", "0"]
    process = tessera.popen(*kept, "--progress=json", stderr=subprocess.PIPE, text=True)
    seen = ""
    for line in process.stderr:
        seen += line
        if line.startswith("{") and json.loads(line)["done"] > 0:
            break
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    seen += process.communicate(timeout=30)[1]
    if process.returncode == 0:
        pytest.skip("the machine was faster than the signal")
    assert process.returncode == 130, seen
    assert time.monotonic() - sent < 5
    assert "to continue, run: " in seen
    assert not (tmp_path / "out.h5").exists()
    again = tessera(*kept, "--resume")
    assert again.returncode == 0, again.stderr
    assert tessera(*words[:5], "-o", "whole.h5").returncode == 0
    with h5py.File(tmp_path / "out.h5") as a, h5py.File(tmp_path / "whole.h5") as b:
        assert np.array_equal(a["acausal_posterior"][:], b["acausal_posterior"][:])


def test_online_plays_a_recording(tessera, recording, tmp_path):
    played = run_json(tessera, "decode", "online", recording, "--bin-width", "0.01")
    assert played["n_bin"] == 399
    assert played["n_spike"] > 50
    assert played["n_late"] + played["n_dropped"] == 0
    assert 0 < played["p50_us"] <= played["p99_us"] <= played["p999_us"] <= played["max_us"]
    assert "n_learned" not in played
    model = tmp_path / "model.npz"
    assert tessera("decode", "fit", recording, "-o", model).returncode == 0
    learning = run_json(
        tessera, "decode", "online", recording, "--model-file", model, "--bin-width", "0.01",
        "--learn", "window", "--learn-capacity", "60", "--start", "7.5", "--real-time",
    )
    assert learning["n_bin"] == 49
    assert 0 < learning["n_learned"] < played["n_spike"]
    text = tessera("decode", "online", recording, "--learn", "grow").stdout
    assert "latency        p50 " in text
    assert "learned        " in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--start", "1e6"], "nothing to play"),
        (["--cpu", "60000"], "cannot run on CPU 60000"),
        (["--learn", "sometimes"], "none|grow|window|reservoir"),
        (["--learn", "grow", "--learn-capacity", "1"], "learn_capacity: 1, but electrode 0"),
        (["--algorithm", "clusterless_gmm", "--learn", "grow"], "cannot learn spike by spike"),
    ],
)
def test_online_says_what_is_wrong(tessera, recording, words, message):
    result = tessera("decode", "online", recording, "--threads", "2", *words)
    assert result.returncode != 0
    assert message in result.stderr


def test_events(tessera, recording, tmp_path):
    begin = float(track()["position_time"][0])
    intervals = [(begin + 1, begin + 1.2), (begin + 2, begin + 2.2), (begin + 3, begin + 3)]
    rows = "".join(f"{a!r},{b!r},x\n" for a, b in intervals)
    (tmp_path / "iv.csv").write_text("# found elsewhere\nstart,end,name\n" + rows)
    words = ["decode", "events", "rec.npz", "--intervals", "iv.csv", "--shuffles", "19"]
    words += ["--min-spikes", "0", "--min-electrodes", "0", "--min-bins", "1", "--max-speed", "1e6"]
    found = run_json(tessera, *words, "-o", "e.csv")["events"]
    assert found["n_event"] == 3
    assert found["source"] == "intervals"
    assert found["reasons"]["empty"] == 1
    lines = (tmp_path / "e.csv").read_text().splitlines()
    assert lines[0].startswith("# tessera_provenance {")
    names = lines[1].split(",")
    assert names[0] == "event"
    assert {"line_fit", "p_time_line_fit", "q_marks_weighted_correlation"} <= set(names)
    assert lines[4].endswith("empty")
    assert len(lines) == 5
    assert tessera(*words, "-o", "f.csv", "--threads", "1").returncode == 0
    assert (tmp_path / "f.csv").read_text().splitlines()[1:] == lines[1:]
    assert tessera(*words, "-o", "e.npz").returncode == 0
    with np.load(tmp_path / "e.npz") as z:
        assert z["posterior"].shape[0] == len(z["row_time"])
        np.testing.assert_allclose(z["posterior"].sum(axis=1), 1, atol=1e-12)


def test_events_refuses(tessera, recording, tmp_path):
    base = ["decode", "events", "rec.npz", "-o", "e.csv"]
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    for words, text in (
        (["--kinds", "fields"], "'fields' is none of column"),
        (["--states", "Local"], "--states needs --result"),
        (["--intervals-name", "x"], "--intervals-name needs --intervals"),
        (["--intervals", "bad.csv", "--result", "r.h5"], "take one"),
        (["--intervals", "bad.csv"], "line 1 has neither"),
        (["--intervals", "none.csv"], "none.csv"),
        (["--decoder", "states", "--event-bin", "0.5"], "moves in time bins of"),
    ):
        result = tessera(*base, *words)
        assert result.returncode != 0, words
        assert text in result.stderr, (words, result.stderr)
        assert not (tmp_path / "e.csv").exists()
