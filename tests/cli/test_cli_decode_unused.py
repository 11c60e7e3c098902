"""decode: options that what else is asked for makes idle are told of, or refused."""

import json
import re

import numpy as np
import pytest
from decode_recordings import bent_track, track

FITTING = ("Model:", "Position bins:", "Encoding:", "States:")


def options_of_fits(tessera):
    """Every option that a model is fitted with, and a value of it: its default."""
    found = {}
    for part in re.split(r"\n(?=\S)", tessera("decode", "fit", "--help").stdout):
        if part.startswith(FITTING):
            for option in re.split(r"\n      --", part)[1:]:
                name = re.match(r"[a-z-]+", option).group()
                default = re.search(r"\(?\bdefault\s+([^\s)]+)\)", option).group(1)
                found[name] = {"true": "yes", "false": "no"}.get(default, default)
    return found


def test_a_fitted_model_is_not_fitted_again(tessera, tmp_path):
    np.savez(tmp_path / "rec.npz", **track())
    assert tessera("decode", "fit", "rec.npz", "-o", "m.npz").returncode == 0
    options = options_of_fits(tessera)
    assert len(options) > 25
    for command in ("em", "events", "online"):
        for name, value in options.items():
            words = ["decode", command, "rec.npz", "--model-file", "m.npz", f"--{name}={value}"]
            result = tessera(*words, *(["-o", "out.npz"] if command != "online" else []))
            assert result.returncode == 2, (command, name, result.stderr)
            assert f"--{name}: the model of --model-file is fitted already" in result.stderr
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize(("words", "with_it"), [
    ("--bound 1e-3", "--mode bounded:1e-3"),
    ("--bound 1e-3 --algorithm clusterless_gmm", "--mode bounded:1e-3"),
    ("--mode bounded:1e-3 --algorithm clusterless_gmm", "--algorithm clusterless_kde"),
    ("--mode bounded:1e-3 --algorithm sorted_spikes_kde", "--mode exact"),
    ("--floor-nats 5 --floor absolute", "--floor relative:5"),
    ("--floor-nats 5", "--floor relative:5"),
    ("--floor none --algorithm sorted_spikes_kde", "--algorithm clusterless_gmm"),
    ("--floor-nats 5 --algorithm sorted_spikes_kde", "--floor relative:5"),
    ("--position-std 5 --algorithm clusterless_gmm", "--algorithm clusterless_kde"),
    ("--position-std 5 --model non-local --algorithm clusterless_gmm",
     "--model non-local --algorithm sorted_spikes_kde"),
    ("--waveform-std 20 --algorithm clusterless_gmm", "--algorithm clusterless_kde"),
    ("--waveform-std 20 --model non-local --algorithm sorted_spikes_kde", "--model non-local"),
    ("--mark-density unit_peak --algorithm clusterless_gmm", "--algorithm clusterless_kde"),
    ("--bin-count-threshold 1 --infer-track-interior=no", "--infer-track-interior"),
    ("--gmm-components-occupancy 2", "--algorithm clusterless_gmm"),
    ("--gmm-components-gpi 2", "--algorithm clusterless_gmm"),
    ("--gmm-components-joint 2", "--algorithm clusterless_gmm"),
    ("--gmm-iterations 3", "--algorithm clusterless_gmm"),
    ("--gmm-tolerance 0.1", "--algorithm clusterless_gmm"),
    ("--gmm-ridge 3", "--algorithm clusterless_gmm"),
    ("--seed 3", "--algorithm clusterless_gmm"),
    ("--glm-penalty 1", "--algorithm sorted_spikes_glm"),
    ("--glm-knot-spacing 9", "--algorithm sorted_spikes_glm"),
    ("--no-spike-rate 5", "--model no-spike-cont-frag"),
    ("--no-spike-rate 5", "--model non-local"),
    ("--local-position-std 5", "--model non-local"),
    ("--non-local-penalty-std 2", "--non-local-position-penalty 1"),
])
def test_what_changes_nothing_is_said(tessera, tmp_path, words, with_it):
    data = track()
    if "glm" in words:
        data = {k: v for k, v in data.items() if "mark" not in k}
    np.savez(tmp_path / "rec.npz", **data)
    line = ["decode", "fit", "rec.npz", "--overwrite", "-o", "m.npz"]
    sorted_kde = ["--algorithm", "sorted_spikes_kde"] if "glm" in words else []
    said = f"warning: {words.split()[0]} changes nothing "
    result = tessera(*line, *sorted_kde, *words.split())
    assert result.returncode == 0, result.stderr
    assert said in result.stderr
    more = words.split()[:2] + with_it.split()
    result = tessera(*line, *more)
    assert result.returncode == 0, result.stderr
    assert said not in result.stderr


# Values that change the log evidence of track(), where anything does.
OTHER = {
    "movement-variance": "1", "place-bin-size": "5", "bin-count-threshold": "15", "mode": "exact",
    "floor": "relative:1", "floor-nats": "1", "mark-density": "unit_peak", "bin-scale": "2",
    "position-std": "3", "waveform-std": "9", "gmm-components-occupancy": "2",
    "gmm-components-gpi": "2", "gmm-components-joint": "2", "gmm-iterations": "1",
    "gmm-tolerance": "10", "gmm-ridge": "1", "seed": "5", "glm-knot-spacing": "20",
    "glm-penalty": "10", "no-spike-rate": "30", "non-local-position-penalty": "5",
    "non-local-penalty-std": "20", "local-position-std": "10", "fill-holes": "yes",
    "dilate": "yes",
}


@pytest.mark.parametrize("algorithm", ["clusterless_kde", "clusterless_gmm", "sorted_spikes_kde",
                                       "sorted_spikes_glm"])
def test_it_is_said_of_all_that_change_nothing_and_of_nothing_else(tessera, tmp_path, algorithm):
    np.savez(tmp_path / "rec.npz", **track())
    line = ["decode", "run", "rec.npz", "--overwrite", "-o", "r.h5", "--json", "--algorithm",
            algorithm, "--model", "non-local"]
    if algorithm == "clusterless_gmm":
        line += [f"--gmm-components-{name}=4" for name in ("occupancy", "gpi", "joint")]

    def run(*words):
        result = tessera(*line, *words)
        assert result.returncode == 0, (words, result.stderr)
        return json.loads(result.stdout)["result"]["log_evidence"], result.stderr

    usual, _ = run()
    for name, value in OTHER.items():
        found, words = run(f"--{name}={value}")
        assert (found == usual) == (f"--{name} changes nothing" in words), (name, found, words)


def test_places_have_options_of_their_own(tessera, tmp_path):
    np.savez(tmp_path / "line.npz", **track())
    np.savez(tmp_path / "graph.npz", **bent_track())

    def said(recording, option):
        return tessera("decode", "fit", recording, "--overwrite", "-o", "m.npz", option).stderr

    for option in ("--fill-holes", "--dilate"):
        assert f"{option} changes nothing where position has one" in said("line.npz", option)
    for option in ("--fill-holes", "--dilate", "--infer-track-interior", "--bin-count-threshold=1"):
        name = option.split("=")[0]
        assert f"{name} changes nothing on a track graph" in said("graph.npz", option)


@pytest.mark.parametrize(("command", "option", "idle", "used"), [
    ("events", "--shuffle-seed 3", "--shuffles 0", "--shuffles 5"),
    ("events", "--kinds time", "--shuffles 0", "--shuffles 5"),
    ("events", "--threshold-z 1", "--intervals iv.csv", ""),
    ("events", "--join 1", "--intervals iv.csv", ""),
    ("events", "--state-threshold 0.5", "", "--result r.h5 --states Local"),
    ("events", "--report-events 5", "", "--report e.html"),
    ("events", "--movement-variance 1", "", "--decoder states"),
    ("events", "--no-spike-rate 1", "--model non-local", "--model non-local --decoder states"),
    ("events", "--bin-scale 2", "", None),
    ("em", "--estimate-discrete-transition", "--model decoder", ""),
    ("em", "--regularization 3", "", "--covariates speed"),
    ("em", "--regularization 3", "--covariates speed --estimate-discrete-transition=no",
     "--covariates speed"),
    ("tune", "--bin-scale 2", "", None),
    ("tune", "--gmm-ridge 2", "", None),
    ("online", "--learn-capacity 900", "", "--learn grow"),
    ("online", "--learn-samples 9", "--learn grow", "--learn window"),
    ("online", "--learn-seed 3", "--learn window", "--learn reservoir"),
])
def test_options_of_all_commands_are_named(tessera, tmp_path, command, option, idle, used):
    data = track()
    np.savez(tmp_path / "rec.npz", **data, speed=np.sin(data["time"]))
    (tmp_path / "iv.csv").write_text("start,end\n4,4.3\n5,5.3\n")
    more = {"events": "-o e.csv --overwrite", "em": "-o m.npz --overwrite --max-iterations 2"}
    if "--result" in (used or ""):
        tessera("decode", "run", "rec.npz", "-o", "r.h5", "--model", "non-local")
    said = f"warning: {option.split()[0]} changes nothing"
    for words, is_said in ((idle, True), (used, False)):
        if words is not None:
            line = " ".join([command, "rec.npz", option, words, more.get(command, "")])
            result = tessera("decode", *line.split())
            assert result.returncode == 0, result.stderr
            assert (said in result.stderr) == is_said, result.stderr


def test_tables_of_text_are_not_described(tessera, tmp_path):
    (tmp_path / "events.csv").write_text("start,end\n1,2\n")
    result = tessera("decode", "info", "events.csv")
    assert result.returncode == 65
    assert "events.csv: is text" in result.stderr
    assert ".h5 and .npz are described" in result.stderr
    result = tessera("decode", "info", "nowhere.csv")
    assert result.returncode == 66
    assert "nowhere.csv: cannot open" in result.stderr
