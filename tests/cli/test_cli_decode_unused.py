"""decode: options that what else is asked for makes idle are told of, or refused."""

import re

import numpy as np
import pytest
from decode_recordings import track

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
    ("--floor-nats 5 --floor absolute", "--floor relative:5"),
    ("--position-std 5 --algorithm clusterless_gmm", "--algorithm clusterless_kde"),
    ("--waveform-std 20 --algorithm clusterless_gmm", "--algorithm clusterless_kde"),
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
    said = f"warning: {words.split()[0]} changes nothing with"
    result = tessera(*line, *sorted_kde, *words.split())
    assert result.returncode == 0, result.stderr
    assert said in result.stderr
    more = words.split()[:2] + with_it.split()
    result = tessera(*line, *more)
    assert result.returncode == 0, result.stderr
    assert said not in result.stderr


def test_the_plane_has_options_of_its_own(tessera, tmp_path):
    np.savez(tmp_path / "rec.npz", **track())
    line = ["decode", "fit", "rec.npz", "--overwrite", "-o", "m.npz"]
    for option in ("--fill-holes", "--dilate"):
        assert f"{option} changes nothing where position has one" in tessera(*line, option).stderr


def test_tables_of_text_are_not_described(tessera, tmp_path):
    (tmp_path / "events.csv").write_text("start,end\n1,2\n")
    result = tessera("decode", "info", "events.csv")
    assert result.returncode == 65
    assert "events.csv: is text" in result.stderr
    assert ".h5 and .npz are described" in result.stderr
