"""decode: run, fit, predict, em, tune, simulate, online and events, and their options."""

import json
import signal

import numpy as np
import pytest
from decode_recordings import run_json, track


def test_run_finds_the_animal(same_as_stored, recording, tmp_path, h5py):
    words = ["decode", "run", "rec.npz", "-o", "out.h5", "--mode", "exact", "--memory-limit=512M"]
    same_as_stored("decode_run", *words)
    with h5py.File(tmp_path / "out.h5") as file:
        posterior = file["acausal_posterior"][:]
        assert posterior.shape == (400, file["state_ind"].shape[0])
        assert np.allclose(posterior.sum(axis=1), 1, atol=1e-5)
        assert np.array_equal(file["time"][:], track()["time"])


def test_sizes_are_named_as_they_are_given(tessera, tmp_path):
    result = tessera("decode", "report", "any.h5", "-o", "any.html", "--max-size", "200K")
    assert "--max-size: 200K is out of range; allowed is 1M to 1T bytes" in result.stderr
    assert "at least 1.00 MiB" in " ".join(tessera("decode", "report", "--help").stdout.split())


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
    np.savez(tmp_path / "rec.npz", **track(n_time=2000, n_electrode=4))
    words = ["decode", "run", "rec.npz", "--mode", "exact", "-o", "out.h5", "--chunks", "50"]
    kept = [*words, "--checkpoint", "work", "--checkpoint-every", "0"]
    fault = tessera.faulty(kind="rename", signal=signal.SIGINT, at=5, after="lock")
    stopped = tessera(*kept, environment=fault)
    assert stopped.returncode == 130, stopped.stderr
    assert "to continue, run: " in stopped.stderr
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


def test_online_says_why_it_did_not_learn(tessera, tmp_path):
    """An animal that the camera lost: those samples are counted, and the first is explained."""
    data = track()
    data["position"][600:] = np.nan
    np.savez(tmp_path / "off.npz", **data)
    result = tessera("decode", "online", "off.npz", "--learn", "grow", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["n_refused"] == 199  # the last one is at the end
    assert "199 position samples were not learned, the first: position, t = 6.0" in result.stderr
    assert "leave out samples at which the animal was not seen" in result.stderr


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
