"""decode: what recordings, models and results are, and which are refused."""

import json

import numpy as np
import pytest
from decode_recordings import GOLDEN, bent_track, by_electrode, run_json, track


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


def test_positions_that_were_never_tracked(tessera, tmp_path):
    np.savez(tmp_path / "lost.npz", **{**track(), "position": np.full(800, np.nan)})
    result = tessera("decode", "run", "lost.npz", "-o", "lost.h5")
    assert result.returncode == 65
    assert "none of the 800 samples is free of NaN; bins are made of" in result.stderr
    assert "position_range" not in result.stderr  # which the command has no option for


def test_models_of_other_positions_are_refused(tessera, recording, tmp_path):
    np.savez(tmp_path / "bent.npz", **bent_track())
    tessera("decode", "fit", "rec.npz", "-o", "model.npz")
    for command in (["predict"], ["em", "--max-iterations", "1"]):
        words = [*command, "bent.npz", "--model-file", "model.npz", "-o", "out.h5"]
        result = tessera("decode", *words)
        assert result.returncode == 65
        assert "2 coordinates, and the model model.npz was fitted to 1" in result.stderr
        assert not (tmp_path / "out.h5").exists()


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


def test_a_recording_is_no_result(tessera, recording):
    result = tessera("decode", "report", "rec.npz", "-o", "page.html")
    assert result.returncode == 65
    assert "rec.npz: is a recording, not a result; 'tessera decode run" in result.stderr


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
